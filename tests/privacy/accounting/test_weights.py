"""Personal ε: never more than a user asks for, and hardly less."""

import dataclasses
import itertools
import math
from fractions import Fraction

import numpy as np
import pytest
from hypothesis import example, given
from hypothesis import strategies as st

from hushrec.documents.measured import Promised
from hushrec.errors import BudgetError
from hushrec.privacy.accounting import fixed_point
from hushrec.privacy.accounting import weights as weights_module
from hushrec.privacy.accounting.accountant import Spent, gaussian_epsilon, largest_cost, spent_of
from hushrec.privacy.accounting.budget import Budget
from hushrec.privacy.accounting.calibration import calibrated
from hushrec.privacy.accounting.measurement import Measurement
from hushrec.privacy.accounting.plan import Plan
from hushrec.privacy.accounting.weights import GRID, classes, promised, weight, weights

DELTA = 1e-6
BUDGET = Budget(epsilon=4.0, delta=DELTA, unit="user", adjacency="add-remove")


def rounds(count: int = 10) -> tuple[Measurement, ...]:
    split = {"items": 0.1} | {f"round {i}": 0.9 / count for i in range(count)}
    return calibrated([Measurement(name, 1.5, "l2", 2**-10, 4) for name in split], split, BUDGET)


PLANS: dict[str, tuple[tuple[Measurement, ...], float]] = {
    "gaussian": (
        (Measurement("a", 2.0, "l2", 2**-8, 4, noise=3.0), Measurement("b", 0.1, "l2", 2**-8, 4, noise=0.3)),
        DELTA,
    ),
    "rounds": (rounds(), DELTA),
    "laplace": (tuple(Measurement(f"{i}", 1.0, "l1", 2**-8, 4, noise=10.0) for i in range(30)), 0.0),
    "posterior": ((Measurement("v", 3.0, "loss", 2**-8, 4, noise=1.0),), 0.0),
    "both": (
        (
            Measurement("v", 1.0, "loss", 2**-8, 4, noise=1.0),
            Measurement("b", 1.0, "l1", 2**-8, 4, noise=0.7),
        ),
        0.0,
    ),
}
EACH = pytest.mark.parametrize(("measurements", "delta"), PLANS.values(), ids=PLANS)
ASKED = (0.01, 0.1, 0.3, 0.5, 1.0, 1.7, 2.0, 2.9)


def brute(measurements: tuple[Measurement, ...], part: int, delta: float = DELTA) -> int:
    """ε in units where the noise is scaled by GRID/part, and not what a person adds by part/GRID."""

    def noisier(one: Measurement) -> Measurement:
        return dataclasses.replace(one, noise=one.noise * GRID / part, step=one.step * GRID / part)

    return spent_of(map(noisier, measurements)).epsilon_units(delta) if part else 0


@EACH
def test_it_is_the_largest_weight_that_keeps_what_is_asked(
    measurements: tuple[Measurement, ...], delta: float
) -> None:
    for asked in ASKED:
        part = round(weight(measurements, delta, asked) * GRID)
        slack = 2 * len(measurements) * 100  # units: the two sides round differently
        assert brute(measurements, part, delta) <= fixed_point.allowance(asked) + slack
        if part < GRID:
            assert brute(measurements, part + 1, delta) >= fixed_point.allowance(asked) - slack


@EACH
def test_more_is_promised_to_nobody_and_weights_rise_with_what_is_asked(
    measurements: tuple[Measurement, ...], delta: float
) -> None:
    found = [weight(measurements, delta, asked) for asked in ASKED]
    assert found == sorted(found)
    for asked, part in zip(ASKED, found, strict=True):
        assert promised(measurements, delta, part) <= asked
        assert (part * GRID).is_integer()
    grown = [promised(measurements, delta, part) for part in np.linspace(0, 1, 33)]
    assert all(less <= more for less, more in itertools.pairwise(grown))


@EACH
def test_the_ends(measurements: tuple[Measurement, ...], delta: float) -> None:
    whole = spent_of(measurements).epsilon_at(delta)
    assert weight(measurements, delta, 0.0) == weight(measurements, delta, 1e-13) == 0.0
    assert promised(measurements, delta, 0.0) == 0.0
    for enough in (whole, 2 * whole, 1e5):
        assert weight(measurements, delta, enough) == 1.0
    assert promised(measurements, delta, 1.0) == whole


@example(1.130218505861, 0.5, 0.0)  # a whole step by division, and one unit less than it costs
@example(5.5e-12, 2.0**23, 0.0)  # between two units, and the upper one is what a step costs
@given(st.floats(1e-6, 20.0), st.floats(0.5, 60.0), st.sampled_from([0.0, 1e-9, 1e-6]))
def test_a_division_never_promises_more_than_is_asked(asked: float, noise: float, delta: float) -> None:
    norm = "l2" if delta else "l1"
    measurements = tuple(Measurement(f"{i}", 1.0, norm, 2**-8, 4, noise=noise) for i in range(3))
    part = weight(measurements, delta, asked)
    assert promised(measurements, delta, part) <= fixed_point.shown(fixed_point.allowance(asked))


def test_a_division_by_mu_would_promise_too_little_of_laplace_noise() -> None:
    """At half of the weight of a plan of ε = 8, δ = 1e-6: ε = 4.13, where half of μ says 3.62."""
    budget = BUDGET.model_copy(update={"epsilon": 8.0})
    (whole,) = calibrated([Measurement("a", 1.0, "l1", 2**-8, 1)], {"a": 1.0}, budget)
    half = whole.scaled(Fraction(1, 2)).spent().epsilon_at(DELTA)
    by_division = gaussian_epsilon(math.sqrt(largest_cost(budget) / fixed_point.PER_ONE) / 2, DELTA)
    assert (half, by_division) == (pytest.approx(4.134, abs=0.001), pytest.approx(3.616, abs=0.001))


@pytest.mark.parametrize("norm", ["l1", "loss"])
def test_weights_of_other_noise_than_gaussian_need_delta_zero(norm: str) -> None:
    mixed = (*PLANS["gaussian"][0], Measurement("v", 1.0, norm, 2**-8, 4, noise=20.0))
    for refused in (lambda: weight(mixed, DELTA, 0.1), lambda: plan({"strict": 0.5}, measurements=mixed)):
        with pytest.raises(BudgetError, match=r"v: personal ε of .* noise need delta = 0"):
            refused()
    assert weight(mixed[2:], 0.0, 0.025) == 0.5


def test_who_asks_for_nothing_has_no_weight_even_where_a_little_would_be_free() -> None:
    measurements = (Measurement("a", 1.0, "l2", 2**-8, 1, noise=1000.0),)
    assert gaussian_epsilon(1e-3 / GRID, 1e-6) == 0.0  # the smallest weight costs no ε at this δ
    assert weight(measurements, DELTA, 0.0) == 0.0


def test_half_a_weight_halves_mu_and_epsilon() -> None:
    normal, double = (
        Measurement("a", 1.0, "l2", 2**-8, 1, noise=2.0),
        Measurement("b", 1.0, "l1", 2**-8, 1, noise=2.0),
    )
    assert promised((normal,), DELTA, 0.5) == pytest.approx(gaussian_epsilon(0.25, DELTA), rel=1e-9)
    assert promised((double,), 0.0, 0.5) == 0.25
    assert weight((double,), 0.0, 0.25) == 0.5


def test_an_asked_epsilon_is_the_decimal_that_was_written() -> None:
    one = (Measurement("b", 0.3, "l1", 2**-8, 1, noise=1.0),)  # 0.3 is a little less in binary
    assert weight(one, 0.0, 0.3) == 1.0
    assert weight((Measurement("b", 3.0, "l1", 2**-8, 1, noise=10.0),), 0.0, 0.3) == 1.0
    (level,) = classes((Measurement("b", 3.0, "l1", 2**-8, 1, noise=10.0),), 0.0, {"all": 0.3})
    assert level == Promised("all", 0.3, 1.0, 0.3)


def test_what_a_person_adds_is_never_priced_below_their_part_of_it() -> None:
    one = Measurement("a", 0.1, "l2", 2**-8, 4, noise=3.0)
    for part in range(1, GRID, 97):
        assert (
            Fraction(one.scaled(Fraction(part, GRID)).sensitivity) >= Fraction(one.sensitivity) * part / GRID
        )


def test_a_weight_is_found_once_for_all_blocks_and_passes(monkeypatch: pytest.MonkeyPatch) -> None:
    measurements, asked = PLANS["gaussian"][0], np.array([0.123, 0.987])
    priced: list[int] = []
    original = weights_module._spent

    def counted(measurements: tuple[Measurement, ...], part: int) -> Spent:
        priced.append(part)
        return original(measurements, part)

    monkeypatch.setattr(weights_module, "_spent", counted)
    first = weights(measurements, DELTA, asked)
    made = len(priced)
    assert made <= 6  # the whole, and what is promised, of each
    for block in (asked, asked[:1], asked[::-1]):
        weights(measurements, DELTA, block)
    assert len(priced) == made
    assert weight(measurements, 1e-7, 0.123) < first[0]  # another δ, another plan: another division
    assert weight(measurements[:1], DELTA, 0.123) > first[0]


def plan(asked: dict[str, float], measurements: tuple[Measurement, ...] = (), **changes: str) -> Plan:
    budget = BUDGET.model_copy(update=changes)
    measurements = measurements or PLANS["rounds"][0]
    return Plan("toy", {}, "d" * 64, 1000, budget, measurements, personal_epsilon=asked)


def test_a_plan_says_what_each_class_is_promised() -> None:
    text = str(plan({"strict": 0.5, "default": 2, "generous": 8, "absent": 0})).splitlines()
    assert text[-9:] == [
        "What each class asks for:",
        "class     asks for   is promised  weight",
        "────────────────────────────────────────",
        "strict     ε = 0.5  ε = 0.499979  0.1481",
        "default      ε = 2         ε = 2  0.5351",
        "generous     ε = 8         ε = 4  1.0000",
        "absent       ε = 0         ε = 0  0.0000",
        "",
        "This is promised if the ratings have a column personal_epsilon with each user's ε.",
    ]
    assert "class" not in str(plan({}))


def test_people_choose_only_where_whole_people_come_and_go() -> None:
    for changes in ({"unit": "record"}, {"adjacency": "replace"}):
        with pytest.raises(BudgetError, match="personal ε needs unit"):
            plan({"strict": 0.5}, **changes)
        plan({}, **changes)
