"""Entries for every rating, whose number is not in the ledger."""

from pathlib import Path

from hushrec.privacy.accounting.budget import Budget
from hushrec.privacy.accounting.measurement import EVERY_RATING, Measurement
from hushrec.privacy.accounting.plan import Plan
from hushrec.privacy.ledger.ledger import Ledger

TOTAL = Budget(epsilon=4.0, delta=1e-6, unit="record", adjacency="replace")
EVERY = Measurement("errors", 1.0, "l1", 1.0, EVERY_RATING, noise=8.0)
PLAN = Plan("toy", {}, "d" * 64, 1000, TOTAL, (EVERY,))


def test_entries_for_every_rating_are_kept_and_replayed(path: Path) -> None:
    ledger = Ledger.create(path, TOTAL)
    grant = ledger.charge(PLAN)
    ledger.finish(grant, b"factors")
    reopened = Ledger.open(path)
    state = reopened.state()
    assert state == ledger.state()
    assert state.charges[0].booked[0]["size"] == EVERY_RATING
    assert state.spent == PLAN.spent.mu_squared
    assert reopened.artefact(0) == b"factors"
