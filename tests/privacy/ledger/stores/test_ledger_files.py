"""Which files are ledgers is told by SQLite; the rest of it stands in test_other_ledgers."""

from pathlib import Path

from hushrec.privacy.accounting.budget import Budget
from hushrec.privacy.ledger.ledger import Ledger
from hushrec.privacy.ledger.stores import sqlite

TOTAL = Budget(epsilon=2.0, delta=1e-6, unit="user", adjacency="add-remove")


def test_a_ledger_is_told_by_what_it_holds_not_by_its_name(path: Path) -> None:
    Ledger.create(path, TOTAL)
    path.rename(path.with_name("holiday.jpg"))
    path.write_bytes(b"SQLite format 3\0")
    assert [found.name for found in sqlite.others(path)] == ["holiday.jpg"]
    assert sqlite.others(path.with_name("holiday.jpg")) == []
    assert sqlite.others(path.parent / "nowhere" / "ledger.db") == []
