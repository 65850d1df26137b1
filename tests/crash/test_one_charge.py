"""One charge, one draw: files with two names, ledgers that were restored, children, and threads."""

import multiprocessing
import os
import subprocess

import pytest

from hushrec.errors import GrantError, LedgerError
from hushrec.privacy.ledger.ledger import Ledger
from hushrec.privacy.ledger.stores import sqlite
from hushrec.privacy.ledger.stores.sqlite import SqliteStore
from support.played import played

pytestmark = pytest.mark.filterwarnings("ignore:This process .* is multi-threaded:DeprecationWarning")


def race(crash, names):
    """Charges that were granted to two processes, each by its own name of the ledger."""
    start, granted = multiprocessing.Barrier(2), names[0].parent / "granted"

    def work(name):
        ledger = Ledger.open(name)
        start.wait()
        for _ in range(15):
            ledger.charge(crash.plan, accept="share")
            with granted.open("a") as file:
                file.write("x")

    children = [crash.fork(lambda name=name: work(name)) for name in names]
    assert [crash.status(child) for child in children] == [0, 0]
    return len(granted.read_text())


@pytest.fixture
def twin(path, crash):
    """Another place for a name of the ledger, which lies in another folder."""
    Ledger.create(path, crash.total.model_copy(update={"epsilon": 20.0}), max_releases=1000)
    (path.parent / "other").mkdir()
    return path.parent / "other" / path.name


def test_a_ledger_of_two_names_forgets_no_charge(path, twin, crash, monkeypatch):
    os.link(path, twin)
    monkeypatch.setattr(sqlite, "_require_one_name", lambda path: None)
    assert race(crash, (path, twin)) == 30 == len(Ledger.open(path).state().charges)


def test_who_has_a_ledger_by_one_name_excludes_others_by_another(path, twin, crash, monkeypatch):
    os.link(path, twin)
    monkeypatch.setattr(sqlite, "_require_one_name", lambda path: None)
    monkeypatch.setattr(sqlite, "_PATIENCE", 0.1)

    def other():
        with pytest.raises(LedgerError, match="another process holds the ledger"):
            Ledger.open(twin)

    with SqliteStore(path).writing():
        assert crash.status(crash.fork(other)) == 0
    Ledger.open(twin)


def test_a_ledger_that_is_mounted_by_itself_forgets_no_charge(path, twin, crash):
    twin.touch()
    if os.geteuid() or subprocess.run(["mount", "--bind", path, twin], capture_output=True).returncode:
        pytest.skip("this user may not mount")
    try:
        assert race(crash, (path, twin)) == 30 == len(Ledger.open(path).state().charges)
    finally:
        subprocess.run(["umount", twin], check=True)


def test_a_hard_link_is_refused_and_says_what_to_do(path, twin):
    os.link(path, twin)
    with pytest.raises(LedgerError, match=r"second name, a hard link.*delete the other name"):
        Ledger.open(path)
    twin.unlink()
    Ledger.open(path)


# -- in a process of its own --------------------------------------------------------------------------------

STALE, REFUSED = 3, 4  # the statuses of stopped.py


def one_value_each(found):
    """What was made is what was recorded, once for each measurement."""
    return (found["charges"], found["states"], found["second values"]) == (1, ["made"], [])


def back(verb, point):
    return {f"{verb}, {point}": {"play": "restored", "verb": verb, "point": point}}


def test_a_restored_ledger_is_not_believed(tmp_path):
    """Its charge is gone; what was drawn under it, or made with it, is not."""
    plays = back("effects", "after-mark") | back("rows", "after-keep") | back("effects", "at no point")
    for name, found in played(tmp_path, plays).items():
        first = 0 if name.endswith("at no point") else -9
        assert (found["statuses"], found["charges"]) == ([first, STALE, STALE], 0), name


@pytest.mark.full
def test_a_restored_ledger_is_believed_at_no_point_after_the_charge(tmp_path):
    points = "after-mark", "after-draw", "after-record", "after-keep", "inside-finish", "after-finish"
    plays = {
        name: play
        for verb in ("descent", "branches", "draw", "rows")
        for point in points
        for name, play in back(verb, point).items()
    }
    for name, found in played(tmp_path, plays).items():
        assert (found["statuses"], found["charges"]) == ([-9, STALE, STALE], 0), name


def copies(rounds):
    """Copied with nothing measured, in the middle, and near the end."""
    points = [("after-mark", 1), ("after-keep", 3), ("after-draft", 6), ("after-keep", 7)]
    return {
        f"round {n}": {"play": "copied", "verb": "descent", "point": point, "passes": passes}
        for n in range(rounds)
        for point, passes in points[n % len(points) :][:1]
    }


def one_of_two_hosts(found):
    """One goes on, or both have its release; whoever came second was refused in words."""
    _, *hosts = found["statuses"]
    assert 0 in hosts, found
    assert {*hosts} <= {0, REFUSED}, found
    assert one_value_each(found), found
    assert found["files"] == found["stored"], found
    return hosts.count(0) == 1


def test_of_two_copies_of_the_sums_one_goes_on(tmp_path):
    for found in played(tmp_path, copies(2)).values():
        one_of_two_hosts(found)


@pytest.mark.full
def test_forty_rounds_of_two_copies(tmp_path):
    refused = sum(map(one_of_two_hosts, played(tmp_path, copies(40)).values()))
    print(f"one of two hosts refused in {refused} of 40 rounds")
    assert refused > 10


@pytest.mark.parametrize("point", ["after-draw", "after-draft", "after-keep"])
def test_a_charge_that_is_given_up_while_it_is_measured_records_no_more(tmp_path, point):
    plays = {"forfeited": {"play": "forfeited", "verb": "effects", "point": point, "passes": 3}}
    (found,) = played(tmp_path, plays).values()
    assert found["statuses"] == [REFUSED, 0]  # and the next call makes a release of a new charge
    assert (found["states"], found["left"]) == (["forfeited", "made"], [])


def test_other_people_are_not_measured_under_a_charge_that_was_stopped(tmp_path):
    plays = {verb: {"play": "changed", "verb": verb, "point": "after-keep"} for verb in ("effects", "rows")}
    for found in played(tmp_path, plays).values():
        assert found["statuses"] == [-9, REFUSED, 0], found["said"]
        assert one_value_each(found)


def test_as_many_processes_as_want_to_have_a_charge_each(tmp_path):
    (found,) = played(tmp_path, {"race": {"play": "raced", "verb": "effects", "processes": 6}}).values()
    assert found["statuses"] == [0] * 6, found["said"]
    assert found["states"] == ["made"] * 6
    assert found["files"] == sorted(found["stored"])
    assert len({*found["stored"]}) == 6
    assert found["left"] == []


def test_a_child_does_not_hold_its_parents_fit(tmp_path):
    (found,) = played(tmp_path, {"child": {"play": "left_alone", "verb": "effects"}}).values()
    assert found["statuses"] == [-9, 0]
    assert one_value_each(found)


def test_a_branch_is_taken_in_the_process_that_was_charged(path, crash):
    grant = Ledger.create(path, crash.total).charge(crash.plan, accept="share")

    def take():
        with pytest.raises(GrantError, match="stays in the process"):
            grant.take("any")

    assert crash.status(crash.fork(take)) == 0
