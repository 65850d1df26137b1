"""What every store does for a ledger."""

import contextlib
import hashlib
from collections.abc import Callable
from pathlib import Path

import pytest

from hushrec.privacy.accounting.budget import Budget
from hushrec.privacy.ledger.history import opening
from hushrec.privacy.ledger.stores.places import store_of
from hushrec.privacy.ledger.stores.store import totals

TOTAL = Budget(epsilon=2.0, delta=1e-6, unit="user", adjacency="add-remove")
DECLARED = {"kind": "declared", "declared": {"contact": "x"}}


@pytest.fixture
def first() -> dict[str, object]:
    return opening(TOTAL, 3)


def test_what_is_written_is_there_and_what_fails_is_not(place: str, first: dict[str, object]) -> None:
    store = store_of(place)
    assert not store.exists()
    store.create(first)
    assert store.exists()
    store.inspect()
    with store.writing() as session:
        assert session.append(**DECLARED) == 1
    with contextlib.suppress(ZeroDivisionError), store.writing() as session:
        session.append(**DECLARED)
        raise ZeroDivisionError
    with store_of(place).reading() as session:
        assert session.history.head.seq == 1
        assert session.account() == [totals(session.history)]
        assert session.history.declared == {"contact": "x"}


def test_records_are_a_chain_that_anybody_can_check(place: str, first: dict[str, object]) -> None:
    store = store_of(place)
    store.create(first)
    with store.writing() as session:
        session.append(**DECLARED)
    with store.reading() as session:
        records = session.records()
    last = bytes(32)
    for seq, record in enumerate(records):
        last = hashlib.sha256(last + seq.to_bytes(8, "big") + str(record["record"]).encode()).digest()
        assert record == {"seq": seq, "record": record["record"], "hash": last.hex()}
    assert len(records) == 2


def test_neighbours_are_the_others(
    place: str, beside: Callable[[str], str], first: dict[str, object]
) -> None:
    store = store_of(place)
    assert list(store.neighbours()) == []
    store.create(first)
    other = store_of(beside("other"))
    other.create(opening(TOTAL, 4))
    assert [found.name for found in store.neighbours()] == [other.name]
    (found,) = other.neighbours()
    with found.reading() as session:
        assert session.history.id == first["id"]
    assert isinstance(other.path, Path) or other.path is None
