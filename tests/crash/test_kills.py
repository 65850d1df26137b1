"""kill -9 at every failpoint, and at any moment: the same call ends in one release, of one charge.

No measurement has a second value: what the ledger recorded before a kill is what the release is made from,
and a value is drawn again only if the one before was never recorded.
"""

import random
from pathlib import Path

import pytest

from hushrec.errors import LedgerError
from hushrec.privacy.ledger.ledger import Ledger
from hushrec.privacy.sums_on_disk import SumsFolder
from support.played import one_release, played

POINTS = (
    "inside-create",
    "before-charge",
    "inside-charge",
    "after-charge",
    "after-mark",
    "after-draw",
    "after-draft",
    "inside-record",
    "after-record",
    "after-keep",
    "inside-finish",
    "after-finish",
)
VERBS = {"descent": 8, "branches": 7, "draw": 1, "rows": 1}
"""How many measurements each makes."""


def at(verb, point, passes=1, **more):
    return {"play": "killed", "verb": verb, "point": point, "passes": passes, **more}


EVERYWHERE = {point: at("effects", point, created=point != "inside-create") for point in POINTS}
DEEP = {
    f"{verb}, {point} {passes}": at(verb, point, passes)
    for verb, point, passes in (
        ("descent", "after-draw", 8),
        ("descent", "inside-record", 7),
        ("branches", "after-record", 5),  # just before the branch is taken
        ("branches", "inside-record", 6),  # the branch itself
        ("branches", "after-draw", 6),
        ("draw", "after-draft", 1),
        ("draw", "after-record", 1),
        ("rows", "after-draw", 1),
        ("rows", "inside-finish", 1),
    )
}
FAULTS = {
    fault: at("effects", "after-record", 3, fault=fault)
    for fault in ("nothing comes back", "nothing is recorded", "nothing is settled")
}
MANY = {
    f"{verb}, {point} {passes}": at(verb, point, passes, created=point != "inside-create")
    for verb, count in VERBS.items()
    for point in POINTS
    for passes in sorted({1, (count + 1) // 2, count} if point.startswith("after-") else {1})
    if passes == 1 or point in ("after-draw", "after-draft", "after-record", "after-keep")
}


@pytest.fixture(scope="module")
def outcomes(tmp_path_factory):
    return played(tmp_path_factory.mktemp("kills"), EVERYWHERE | DEEP | FAULTS)


@pytest.mark.parametrize("name", [*EVERYWHERE, *DEEP])
def test_a_kill_at_a_point_costs_nothing_and_draws_nothing_twice(outcomes, name):
    found = outcomes[name]
    assert found["statuses"] == [-9, 0], found["said"]
    assert one_release(found)
    assert found["left"] == []


@pytest.mark.parametrize("fault", FAULTS)
def test_a_planted_fault_is_found(outcomes, fault):
    assert outcomes[fault]["statuses"][0] == -9
    assert not one_release(outcomes[fault])


@pytest.mark.full
def test_kills_at_every_point_of_every_verb(tmp_path):
    found = played(tmp_path, MANY)
    wrong = {name: one for name, one in found.items() if one["statuses"] != [-9, 0] or not one_release(one)}
    assert not wrong
    assert len(found) > 60


def hounded(rounds, verbs):
    """Kills at moments that no point names; the same ones each time that the test runs."""
    moments = random.Random(7)
    return {
        f"{verb}, round {number}": {
            "play": "hounded",
            "verb": verb,
            "delays": [moments.uniform(0.0, 0.4) for _ in range(3)],
        }
        for verb in verbs
        for number in range(rounds)
    }


def test_kills_at_any_moment(tmp_path):
    found = played(tmp_path, hounded(3, ["descent"]))
    assert all(map(one_release, found.values())), found


@pytest.mark.full
@pytest.mark.parametrize("verb", VERBS)
def test_forty_rounds_of_kills_at_any_moment(tmp_path, verb):
    found = played(tmp_path, hounded(40, [verb]))
    assert all(map(one_release, found.values())), found
    killed = sum(one["statuses"].count(-9) for one in found.values())
    print(f"{verb}: {killed} kills in {len(found)} rounds")
    assert killed >= 20


def test_every_failpoint_is_rehearsed():
    from hushrec.privacy import failpoints

    sources = Path(failpoints.__file__).parent.rglob("*.py")
    named = {name for source in sources for name in source.read_text().split('failpoint("')[1:]}
    assert {name.split('"')[0] for name in named} == {*POINTS}


def test_the_hook_has_one_reader():
    from hushrec.privacy import failpoints

    root = Path(failpoints.__file__).parents[1]
    readers = {source.name for source in root.rglob("*.py") if "HUSHREC_FAILPOINT" in source.read_text()}
    assert readers == {"failpoints.py"}


def test_a_lost_write_ahead_log_is_noticed(path, crash):
    """A crash between commit and checkpoint leaves the last charges in a file of their own."""
    import sqlite3

    ledger = Ledger.create(path, crash.total, max_releases=9)
    ledger.charge(crash.plan, accept="share")
    folder = SumsFolder(path.with_name("sums"), ledger.id)
    reader = sqlite3.connect(path)  # holds the checkpoint back, as a crash would
    reader.execute("BEGIN")
    reader.execute("SELECT * FROM log").fetchone()
    Ledger.open(path).charge(crash.plan, sums=folder.new(), accept="share")
    rest = path.with_name("ledger.db-wal").read_bytes()
    kept = path.read_bytes()
    reader.close()
    for damaged in (b"", rest[:100], rest[:200] + bytes([rest[200] ^ 1]) + rest[201:]):
        path.write_bytes(kept)
        path.with_name("ledger.db-wal").write_bytes(damaged)
        with pytest.raises(LedgerError):
            Ledger.open(path).charge(crash.plan, sums=folder.new(), accept="share")
        for rubbish in path.parent.glob("ledger.db-*"):
            rubbish.unlink()
    path.write_bytes(kept)
    path.with_name("ledger.db-wal").write_bytes(rest)
    assert len(Ledger.open(path).state().charges) == 2
