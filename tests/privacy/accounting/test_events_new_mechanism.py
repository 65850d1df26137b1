"""A mechanism that no other file names, from plan to release; and what every event says of itself."""

import dataclasses
from collections.abc import Callable
from fractions import Fraction
from pathlib import Path
from typing import ClassVar

import numpy as np
import pytest

from hushrec.documents.measured import SYMBOLS
from hushrec.documents.words import Clause
from hushrec.errors import BudgetError, GrantError
from hushrec.privacy import grant as grant_module
from hushrec.privacy.accounting.accountant import Spent, price, pure_loss
from hushrec.privacy.accounting.budget import Budget
from hushrec.privacy.accounting.events import (
    AdditiveNoise,
    Event,
    Gaussian,
    Laplace,
    PosteriorSample,
    Responses,
    Substitutions,
)
from hushrec.privacy.accounting.plan import Measurement, Plan
from hushrec.privacy.accounting.weights import weight
from hushrec.privacy.bounded import Bounded, BoundedMatrix
from hushrec.privacy.ledger.ledger import Ledger
from hushrec.privacy.local.response import ResponseRandomizer
from hushrec.privacy.local.rows import Rows
from hushrec.privacy.noise.entropy import Seeded

BUDGET = Budget(epsilon=50.0, delta=1e-6, unit="user", adjacency="add-remove")


@dataclasses.dataclass(frozen=True, slots=True)
class Staircase(AdditiveNoise):
    """Geng & Viswanath 2014; drawn here as Laplace noise, which has the same ε."""

    mechanism: ClassVar[str] = "staircase"
    norm: ClassVar[str] = "l1"
    condition: ClassVar[Clause] = Clause("convergence.chain")
    assumes: ClassVar[tuple[Clause, ...]] = (Clause("assumes.floating"),)

    def spent(self) -> Spent:
        return pure_loss(self.ratio)


STAIRS = Staircase("sums", 1.0, 4.0, 2**-8, 4)


def plan(*events: Event) -> Plan:
    split = tuple(Measurement(event, 1 / len(events)) for event in events)
    return Plan("toy", {}, "d" * 64, 1000, BUDGET, split)


def sums() -> Bounded:
    return Bounded("sums", np.zeros(4, np.int64), 1.0, "l1", 2**-8)


def test_it_is_priced_listed_and_booked(path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    planned = plan(STAIRS, Gaussian("counts", 1.0, 40.0, 2**-8, 4))
    assert price(STAIRS) == pure_loss(Fraction(1, 4))
    with pytest.raises(KeyError):  # a table needs a line for its symbols
        str(planned)
    monkeypatch.setitem(SYMBOLS, "staircase", ("γ", "ε"))
    (line,) = (line for line in str(planned).splitlines() if line.startswith("sums"))
    assert " ".join(line.split()) == "sums staircase 1 γ = 4 4 0.500 ε = 0.25"
    assert planned.caveats == (STAIRS.condition,)
    Ledger.create(path, BUDGET).charge(planned)
    first, second = Ledger.open(path).entries()
    assert (first.mechanism, first.sigma, first.spent) == ("staircase", 4.0, price(STAIRS))
    assert (second.mechanism, second.sigma, second.rate) == ("gaussian", 40.0, 1.0)
    assert weight((STAIRS,), 0.0, 0.125) == 0.5


def test_its_noise_needs_a_line_in_the_grant(path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    ledger = Ledger.create(path, BUDGET, max_releases=2)
    with pytest.raises(KeyError):
        ledger.charge(plan(STAIRS)).measure(sums())
    monkeypatch.setitem(grant_module.DRAWS, Staircase, "add_laplace")
    noisy = ledger.charge(plan(STAIRS), release_index=1).measure(sums())
    assert noisy.event == STAIRS
    assert np.any(noisy.values)


EVENTS: dict[str, Event] = {
    "gaussian": Gaussian("sums", 1.0, 4.0, 2**-8, 4),
    "subsampled gaussian": Gaussian("sums", 1.0, 9.0, 2**-8, 4, 0.5),
    "laplace": Laplace("sums", 1.0, 4.0, 2**-8, 4),
    "posterior sample": PosteriorSample("sums", 1.0, 4.0, 2**-8, 4),
    "randomized response": Responses("sums", 3, 1.0, 1, 4),
    "item substitution": Substitutions("sums", 0.5, 0.5, 1, 4),
}
EACH = pytest.mark.parametrize("event", EVENTS.values(), ids=EVENTS)


def test_readers_of_releases_know_the_symbols_of_all_events() -> None:
    assert {event.mechanism for event in EVENTS.values()} == SYMBOLS.keys()
    assert list(EVENTS) == [event.mechanism for event in EVENTS.values()]


@EACH
def test_a_key_depends_on_every_field(event: Event) -> None:
    other = {"name": "others", "size": 5, "symbols": 4, "rate": 0.25, "cells": 2, "branch": "b"}
    for field in dataclasses.fields(event):  # type: ignore[arg-type]
        value = other[field.name] if field.name in other else 1.5 * getattr(event, field.name)
        if (field.name, value) == ("rate", 0.25) and event.rate == 1:
            continue  # everybody: another mechanism
        if field.name == "branch" and event.rate < 1:
            continue  # a sample is in none
        changed = dataclasses.replace(event, **{field.name: value})  # type: ignore[type-var]
        assert plan(event).key("l", 0) != plan(changed).key("l", 0), field.name


@EACH
def test_it_is_released_through_its_own_door_alone(event: Event) -> None:
    """Each method of the grant takes the events that name it, and refuses all others."""
    ledger = Ledger.ephemeral(BUDGET)
    matrix = BoundedMatrix(
        "sums",
        (2, 2),
        np.zeros(3, np.int64),
        np.zeros(0, np.int32),
        np.zeros(0, np.int64),
        1.0,
        "l1",
        2**-8,
    )
    rows = Rows("sums", 4, np.zeros(2, np.int64), np.zeros(0, np.int32), np.zeros(0, np.uint8))
    charged = ledger.charge(plan(event), entropy=Seeded(1))
    calls: dict[str, Callable[[], object]] = {
        "measure": lambda: charged.measure(sums()),
        "measure_matrix": lambda: charged.measure_matrix(matrix, threshold=1, limit=9),
        "randomize": lambda: charged.randomize(rows, ResponseRandomizer(3, 1.0)),
        "sample": lambda: charged.sample("sums"),
        "sample_key": lambda: charged.sample_key("sums"),
    }
    assert set(event.doors) <= set(calls)
    for door in calls.keys() - set(event.doors):
        with pytest.raises(GrantError, match=f"booked was {event.mechanism} noise, which this release"):
            calls[door]()


@pytest.mark.parametrize("event", [EVENTS["randomized response"], EVENTS["item substitution"]])
def test_a_row_has_no_part(event: Event) -> None:
    with pytest.raises(BudgetError, match="cannot be weighted"):
        weight((dataclasses.replace(event, cells=3),), 1e-6, 0.01)  # type: ignore[type-var]
