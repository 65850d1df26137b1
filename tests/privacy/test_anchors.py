"""Released data sets beside a ledger remember it, as releases do."""

import json
from collections.abc import Callable
from pathlib import Path

import pytest

from hushrec.errors import LedgerMissing, LedgerStale
from hushrec.privacy import anchors
from hushrec.privacy.budget import Budget
from hushrec.privacy.ledger import Ledger
from hushrec.privacy.plan import Plan

MakePlan = Callable[..., Plan]
TOTAL = Budget(epsilon=2.0, delta=1e-6, unit="user", adjacency="add-remove")


def write_facts(folder: Path, name: str, ledger: object) -> Path:
    """What stands beside a data set, with nothing in it but its ledger."""
    file = folder / f"{name}.parquet.statement.json"
    file.write_text(json.dumps({"statement": {"ledger": ledger}}))
    return file


def test_a_missing_ledger_is_missed_by_a_data_set(path: Path, make_plan: MakePlan) -> None:
    grant = Ledger.create(path, TOTAL).charge(make_plan())
    write_facts(path.parent, "ratings", grant.ledger)
    Ledger.open(path)
    path.unlink()
    with pytest.raises(LedgerMissing, match=r"ratings\.parquet\.statement\.json was charged to ledger\.db"):
        Ledger.for_fit(path, TOTAL)


def test_a_restored_backup_is_noticed_by_a_data_set(path: Path, make_plan: MakePlan) -> None:
    ledger = Ledger.create(path, TOTAL, horizon=9)
    backup = path.read_bytes()
    facts = write_facts(path.parent, "ratings", ledger.charge(make_plan(0.1)).ledger)
    path.write_bytes(backup)
    with pytest.raises(LedgerStale, match=r"ratings\.parquet"):
        Ledger.open(path)
    facts.unlink()
    Ledger.open(path)  # what nothing names, nobody can miss


def test_strange_files_say_nothing_and_strange_claims_close_the_ledger(
    path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    ledger = Ledger.create(path, TOTAL)
    folder = path.parent
    for name, text in {
        "empty": b"",
        "short": b"{",
        "text": b"\xff\xfe",
        "list": b"[1, 2]",
        "number": b"7",
        "null": b"null",
        "plain": b"{}",
        "inner": b'{"statement": []}',
        "deep": b"[" * 200_000,
    }.items():
        (folder / f"{name}.statement.json").write_bytes(text)
    (folder / "folder.statement.json").mkdir()
    for kept in ({}, [], None, "x", {"id": ledger.id}):
        write_facts(folder, "partial", kept)
        assert anchors.beside(path) == []
    write_facts(folder, "elsewhere", {"id": "f" * 32, "file": "other.db", "seq": 5, "head": "00"})
    assert Ledger.open(path).id == ledger.id
    strange = write_facts(folder, "strange", {"id": ledger.id, "file": "x", "seq": 10**400, "head": {}})
    with pytest.raises(LedgerStale):
        Ledger.open(path)
    monkeypatch.setattr(anchors, "_LARGEST_HEADER", len(strange.read_bytes()) - 1)
    assert [anchor.release for anchor in anchors.beside(path)] == ["elsewhere.parquet.statement.json"]
