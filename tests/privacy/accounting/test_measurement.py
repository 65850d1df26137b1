"""What every measurement says of itself, what is none, and that each is made by its own method alone."""

import dataclasses
import math
from collections.abc import Callable
from fractions import Fraction

import numpy as np
import pytest

from hushrec.documents.measured import SYMBOLS
from hushrec.errors import BudgetError, GrantError
from hushrec.models.du_leighton_patel.method import randomize_rows
from hushrec.models.du_leighton_patel.response import ResponseRandomizer
from hushrec.models.du_leighton_patel.rows import Rows
from hushrec.privacy.accounting.accountant import Spent
from hushrec.privacy.accounting.budget import Budget
from hushrec.privacy.accounting.measurement import EVERY_RATING, Measurement, Responses, Substitutions
from hushrec.privacy.accounting.plan import Plan
from hushrec.privacy.accounting.weights import weight
from hushrec.privacy.ledger.ledger import Ledger
from hushrec.privacy.noise.entropy import Seeded
from hushrec.privacy.noisy import Cells

BUDGET = Budget(epsilon=50.0, delta=1e-6, unit="user", adjacency="add-remove")
SUMS = Measurement("sums", 1.0, "l2", 2**-8, 4, noise=4.0)
ALL: dict[str, Measurement] = {
    "gaussian": SUMS,
    "laplace": dataclasses.replace(SUMS, norm="l1"),
    "posterior sample": dataclasses.replace(SUMS, norm="loss"),
    "randomized response": Responses.of("sums", 3, 1.0, 1, 4),
    "item substitution": Substitutions.of("sums", 0.5, 0.5, 1, 4),
}
EACH = pytest.mark.parametrize("measurement", ALL.values(), ids=ALL)
SUM = pytest.mark.parametrize("norm", ["l1", "l2"])


def plan(*measurements: Measurement) -> Plan:
    return Plan("toy", {}, "d" * 64, 1000, BUDGET, measurements)


def test_readers_of_releases_know_the_symbols_of_all_mechanisms() -> None:
    assert [one.mechanism for one in ALL.values()] == [*ALL]
    assert SYMBOLS.keys() == ALL.keys()


def test_deviations() -> None:
    assert dataclasses.replace(SUMS, noise=3.0).deviation == 3.0
    assert dataclasses.replace(SUMS, noise=3.0, norm="l1").deviation == pytest.approx(math.sqrt(18))


@EACH
def test_it_is_a_frozen_description_and_its_list_has_no_noise(measurement: Measurement) -> None:
    with pytest.raises(dataclasses.FrozenInstanceError):
        measurement.size = 5  # type: ignore[misc]
    row = measurement.norm in ("cells", "slots")
    assert measurement.listed == (measurement if row else dataclasses.replace(measurement, noise=0.0))


def test_what_all_neighbours_have_in_common_is_exact_and_costs_nothing() -> None:
    public = dataclasses.replace(SUMS, sensitivity=0.0, noise=0.0)
    assert (public.is_exact, public.mechanism, public.spent()) == (True, "exact", Spent())
    assert not dataclasses.replace(SUMS, sensitivity=1e-300).is_exact
    with pytest.raises(BudgetError, match="needs no noise"):
        dataclasses.replace(SUMS, sensitivity=0.0)


@pytest.mark.parametrize("norm", ["l1", "l2", "loss"])
def test_a_measurement_without_noise_has_no_price(norm: str) -> None:
    with pytest.raises(BudgetError, match="without noise nothing is private"):
        dataclasses.replace(SUMS, norm=norm).listed.spent()


@SUM
@pytest.mark.parametrize(
    "change",
    [
        {"noise": -1.0},
        {"noise": math.inf},
        {"noise": math.nan},
        {"sensitivity": -1.0},
        {"sensitivity": math.nan},
        {"sensitivity": math.inf},
        {"step": 0.0},
        {"step": 41.0},  # noise narrower than a tenth of the grid
        {"step": 1e-16},  # wider than the sampler reaches
        {"size": -1},
        {"size": 1.5},
    ],
    ids=str,
)
def test_measurements_without_sense_are_refused(norm: str, change: dict[str, float]) -> None:
    with pytest.raises(BudgetError):
        dataclasses.replace(SUMS, norm=norm, **change)  # type: ignore[arg-type]


def test_the_refusal_of_a_grid_names_one_that_would_do() -> None:
    with pytest.raises(BudgetError, match=r"between 8.88e-16 and 10$"):
        Measurement("sums", 1.0, "l2", 11.0, 1, noise=1.0)


@SUM
def test_a_size_may_be_left_to_the_number_of_ratings(norm: str) -> None:
    assert dataclasses.replace(SUMS, norm=norm, size=EVERY_RATING).size == 0


@EACH
def test_a_key_depends_on_every_field(measurement: Measurement) -> None:
    other = {"name": "others", "sensitivity": 2.0, "size": 5, "symbols": 4, "branch": "b"}
    for field in dataclasses.fields(measurement):
        if field.name == "norm":
            continue
        value = other[field.name] if field.name in other else 1.5 * getattr(measurement, field.name)
        changed = dataclasses.replace(measurement, **{field.name: value})
        if field.name == "branch":  # of which Gaussian noise alone can be
            assert changed.facts() != measurement.facts()
            continue
        assert plan(measurement).key("l") != plan(changed).key("l"), field.name
    assert len({plan(one).key("l") for one in ALL.values()}) == len(ALL)


@EACH
def test_it_is_made_by_its_own_method_alone(measurement: Measurement) -> None:
    """Each method of the grant takes the noise that it adds, and refuses all other."""
    none = np.zeros(3, np.int64), np.zeros(0, np.int32), np.zeros(0, np.int64)
    rows = Rows("sums", 4, np.zeros(2, np.int64), np.zeros(0, np.int32), np.zeros(0, np.uint8))
    charged = Ledger.ephemeral(BUDGET).charge(plan(measurement), entropy=Seeded(1))
    calls: dict[str, Callable[[], object]] = {
        "measure": lambda: charged.measure(measurement.listed, np.zeros(4, np.int64)),
        "measure_cells": lambda: charged.measure_cells(measurement.listed, Cells((2, 2), *none, 1, 9)),
        "randomize": lambda: randomize_rows(charged, rows, ResponseRandomizer(3, 1.0)),
        "sample": lambda: charged.sample(measurement.listed, lambda _: {}),
    }
    own = {"l2": {"measure"}, "l1": {"measure", "measure_cells"}, "loss": {"sample"}}
    for method in calls.keys() - own.get(measurement.norm, {"sample", "randomize"}):
        with pytest.raises(GrantError, match=f"booked was {measurement.mechanism}"):
            calls[method]()


@pytest.mark.parametrize("measurement", [ALL["randomized response"], ALL["item substitution"]])
def test_a_row_has_no_part(measurement: Measurement) -> None:
    with pytest.raises(BudgetError, match="cannot be weighted"):
        weight((dataclasses.replace(measurement, sensitivity=3.0),), 0.0, 0.01)


def test_a_part_is_never_less_than_the_part() -> None:
    third = dataclasses.replace(SUMS, sensitivity=0.1).scaled(Fraction(1, 3))
    assert (third.name, third.noise) == ("", SUMS.noise)
    assert Fraction(third.sensitivity) >= Fraction(0.1) / 3 > Fraction(math.nextafter(third.sensitivity, 0))
