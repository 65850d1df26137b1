"""Entries for every rating, whose number is not in the ledger."""

from pathlib import Path

from hushrec.privacy.accounting.budget import Budget
from hushrec.privacy.accounting.events import EVERY_RATING, Laplace
from hushrec.privacy.accounting.plan import Measurement, Plan
from hushrec.privacy.ledger.ledger import Ledger

TOTAL = Budget(epsilon=4.0, delta=1e-6, unit="record", adjacency="replace")
EVERY = Laplace("errors", 1.0, 8.0, 1.0, EVERY_RATING)
PLAN = Plan("toy", {}, "d" * 64, 1000, TOTAL, (Measurement(EVERY, 1.0),))


def test_entries_for_every_rating_are_kept_and_replayed(path: Path) -> None:
    ledger = Ledger.create(path, TOTAL)
    grant = ledger.charge(PLAN, release_index=0)
    ledger.sampled(grant, b"factors")
    reopened = Ledger.open(path)
    assert reopened.entries() == ledger.entries()
    assert reopened.entries()[0].size == EVERY_RATING
    assert reopened.stored(PLAN, 0) == b"factors"
    assert reopened.spent == PLAN.spent
