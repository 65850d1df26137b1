"""Noise of which no finite ε is known, and entries for every rating, as a ledger keeps them."""

import math
from pathlib import Path

import numpy as np
import pytest

from hushrec.errors import BudgetError
from hushrec.privacy.accounting.accountant import Spent
from hushrec.privacy.accounting.budget import Budget
from hushrec.privacy.accounting.events import EVERY_RATING, Event, Laplace, Spherical
from hushrec.privacy.accounting.plan import Measurement, Plan
from hushrec.privacy.ledger.ledger import Ledger
from hushrec.privacy.noise.entropy import OperatingSystem, Seeded

TOTAL = Budget(epsilon=4.0, delta=1e-6, unit="rating", adjacency="replace")
ENDLESS = Spherical("rows", math.inf, 1.0, 2**-20, 60)
BOUNDED = Laplace("errors", 1.0, 8.0, 1.0, EVERY_RATING)


def plan_of(*events: Event) -> Plan:
    measurements = tuple(Measurement(event, 1 / len(events)) for event in events)
    return Plan("toy", {}, "d" * 64, 1000, TOTAL, measurements, 1.0)


@pytest.mark.parametrize("entropy", [Seeded(1), OperatingSystem()])
def test_a_ledger_on_disk_refuses_what_nobody_can_add_up(path: Path, entropy: Seeded) -> None:
    ledger = Ledger.create(path, TOTAL)
    with pytest.raises(
        BudgetError, match=r"choose another model, or make a seeded experiment without a ledger"
    ):
        ledger.charge(plan_of(BOUNDED, ENDLESS), entropy=entropy)
    assert Ledger.open(path).entries() == ()
    assert ledger.remaining == 4.0


def test_a_ledger_in_memory_says_that_nothing_is_left() -> None:
    ledger = Ledger.ephemeral(TOTAL)
    grant = ledger.charge(plan_of(BOUNDED, ENDLESS), entropy=Seeded(1))
    assert grant.caveat == "not private: seeded"
    assert ledger.spent == plan_of(BOUNDED, ENDLESS).spent
    assert ledger.spent.epsilon(1e-6) == math.inf
    assert ledger.remaining == 0
    first, second = ledger.entries()
    assert (first.sensitivity, first.size, first.unbounded) == (1.0, 0, 0)
    assert (second.sensitivity, second.mechanism, second.unbounded) == (math.inf, "spherical", 1)
    totals = (Spent(e.rho, e.epsilon_sum, e.pure_rho, e.unbounded) for e in ledger.entries())
    assert sum(totals, Spent()) == ledger.spent
    grant.release_rows("rows", np.zeros((12, 5)), np.ones(12))
    ledger.sampled(grant, b"factors")
    assert ledger.stored(plan_of(BOUNDED, ENDLESS), 0) == b"factors"


def test_what_has_a_bound_counts_beside_what_has_none() -> None:
    ledger = Ledger.ephemeral(TOTAL)
    with pytest.raises(BudgetError, match="bring the total"):
        ledger.charge(plan_of(Laplace("errors", 5.0, 1.0, 1.0, 4), ENDLESS), entropy=Seeded(1))


def test_entries_for_every_rating_are_kept_and_replayed(path: Path) -> None:
    ledger = Ledger.create(path, TOTAL)
    grant = ledger.charge(plan_of(BOUNDED), release_index=0)
    ledger.sampled(grant, b"factors")
    reopened = Ledger.open(path)
    assert reopened.entries() == ledger.entries()
    assert reopened.entries()[0].size == EVERY_RATING
    assert reopened.stored(plan_of(BOUNDED), 0) == b"factors"
    assert reopened.spent == plan_of(BOUNDED).spent
