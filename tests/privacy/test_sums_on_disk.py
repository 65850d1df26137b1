"""Sums on disk: drafts, records, locks and marks. Of a measurement one value is recorded, and returned."""

import json
import os
import resource
import shutil
import signal
from collections.abc import Callable
from pathlib import Path

import numpy as np
import pytest

from hushrec import files
from hushrec.arrays import Ints
from hushrec.errors import GrantError, LedgerError, LedgerStale, SumsError
from hushrec.privacy import grant as grant_module
from hushrec.privacy import sums_on_disk as module
from hushrec.privacy.accounting.budget import Budget
from hushrec.privacy.accounting.measurement import Measurement
from hushrec.privacy.accounting.plan import Plan
from hushrec.privacy.ledger.ledger import Ledger
from hushrec.privacy.noise.entropy import Seeded
from hushrec.privacy.sums_on_disk import ChargeSums, SumsFolder
from support.forks import fork, status

MakePlan, MakeSum = Callable[..., Plan], Callable[..., tuple[Measurement, Ints]]
TOTAL = Budget(epsilon=2.0, delta=1e-6, unit="user", adjacency="add-remove")
LEDGER = "f" * 32
ARRAYS = {
    "floats": np.linspace(0, 1, 12).reshape(3, 4),
    "none": np.ones((2, 0, 3), np.float32),
    "turned": np.arange(6).reshape(2, 3).T,
    "bytes": np.arange(5, dtype=np.uint8),
}

pytestmark = pytest.mark.filterwarnings("ignore:This process .* is multi-threaded:DeprecationWarning")


@pytest.fixture
def folder(tmp_path: Path) -> SumsFolder:
    return SumsFolder(tmp_path / "ledger.db.sums", LEDGER)


def again(sums: ChargeSums) -> ChargeSums:
    """The folder of a process that is gone."""
    sums.close()
    return ChargeSums(sums.path)


def names(sums: ChargeSums) -> list[str]:
    return sorted(file.name for file in sums.path.rglob("*") if file.is_file())


# -- values -----------------------------------------------------------------------------------------------


def test_a_recorded_value_comes_back_as_it_was(folder: SumsFolder) -> None:
    recorded: dict[str, str] = {}
    with folder.new() as sums:
        assert sums.load("round 3/∞") is None
        for name, arrays in (("round 3/∞", ARRAYS), ("empty", {"none": ARRAYS["none"]})):
            sums.keep(name, arrays, lambda digest, name=name: recorded.update({name: digest}))
    with again(sums) as sums:
        sums.settle(recorded)
        found = sums.load("round 3/∞")
        assert found is not None
        assert found.keys() == ARRAYS.keys()
        for name, array in ARRAYS.items():
            np.testing.assert_array_equal(found[name], array)
            assert found[name].dtype == array.dtype


def test_a_value_is_on_disk_before_it_is_recorded_and_recorded_before_it_has_its_place(
    folder: SumsFolder, monkeypatch: pytest.MonkeyPatch
) -> None:
    sync, done = files.sync, []
    monkeypatch.setattr(files, "sync", lambda path: done.append(path) or sync(path))
    with folder.new() as sums:
        done.clear()

        def record(digest: str) -> None:
            (draft,) = sums.path.glob("drafts/*")
            assert done == [draft, draft.parent]
            assert files.sha256(draft) == digest
            assert sums.load("sums") is None
            done.append("recorded")

        sums.keep("sums", ARRAYS, record)
        assert sums.load("sums") is not None
        assert done[2:][:1] == ["recorded"]
        assert done[-1] == sums.path, "its name as well"


@pytest.mark.parametrize("answer", ["refused", "lost"])
def test_a_draft_is_kept_if_it_was_recorded_and_dropped_if_not(folder: SumsFolder, answer: str) -> None:
    """The record decides, and not what the process that drew it came to know."""
    recorded: dict[str, str] = {}

    def record(digest: str) -> None:
        if answer == "lost":
            recorded["sums"] = digest
        raise LedgerError("planted")

    with folder.new() as sums:
        with pytest.raises(LedgerError, match="planted"):
            sums.keep("sums", ARRAYS, record)
        assert sums.load("sums") is None
    with again(sums) as sums:
        sums.settle(recorded)
        assert (sums.load("sums") is None) == (answer == "refused")
        assert not [*sums.path.glob("drafts/*")]


@pytest.mark.parametrize("damage", [Path.unlink, lambda file: file.write_bytes(b"x"), Path.touch])
def test_a_recorded_value_that_is_gone_or_altered_is_refused(
    folder: SumsFolder, damage: Callable[[Path], object]
) -> None:
    recorded: dict[str, str] = {}
    with folder.new() as sums:
        sums.keep("sums", ARRAYS, lambda digest: recorded.update(sums=digest))
        (file,) = sums.path.glob("*.safetensors")
        damage(file)
        if damage is Path.touch:
            sums.settle(recorded)
            recorded["sums"] = "0" * 64  # the ledger knows another value
        with pytest.raises(SumsError, match=r"recorded the value of sums, .* hushrec ledger forfeit"):
            sums.settle(recorded)


# -- with a ledger ----------------------------------------------------------------------------------------


@pytest.fixture
def ledger(path: Path) -> Ledger:
    return Ledger.create(path, TOTAL, max_releases=2)


@pytest.fixture
def beside(path: Path, ledger: Ledger) -> SumsFolder:
    return SumsFolder(path.with_name("sums"), ledger.id)


class Killed(BaseException):
    """The process ends here; nothing is cleaned up that a kill would leave."""


def killed(*_: object) -> None:
    raise Killed


POINTS = {"after-draw": 2, "after-draft": 2, "inside-record": 2, "after-record": 1, "after-keep": 1}
"""How often a value is drawn that a process was killed over at each point."""


@pytest.mark.parametrize("point", POINTS)
def test_whatever_stops_a_measurement_it_has_one_value(
    ledger: Ledger,
    beside: SumsFolder,
    make_plan: MakePlan,
    make_sum: MakeSum,
    monkeypatch: pytest.MonkeyPatch,
    point: str,
) -> None:
    drawn, add, sums = [], grant_module._add_noise, beside.new()

    def add_noise(steps: np.ndarray, *how: object) -> None:
        add(steps, *how)
        drawn.append(steps * 2.0**-8)

    def failpoint(name: str) -> None:
        if name == point:
            raise Killed

    grant = ledger.charge(make_plan(), sums=sums)
    monkeypatch.setattr(grant_module, "_add_noise", add_noise)
    with pytest.MonkeyPatch.context() as patch:
        for place in ("sums_on_disk", "grant", "ledger.ledger"):
            patch.setattr(f"hushrec.privacy.{place}.failpoint", failpoint)
        with pytest.raises(Killed):
            grant.measure(*make_sum())
    charge = ledger.state().under(sums.token)
    assert charge is not None
    assert bool(charge.measured) == (POINTS[point] == 1), "what was not recorded is undone"
    value = ledger.charge(make_plan(), sums=again(sums)).measure(*make_sum()).values
    assert len(drawn) == POINTS[point]
    np.testing.assert_array_equal(value, drawn[-1])


def test_a_ledger_that_was_restored_inside_a_fit_is_refused(
    ledger: Ledger, beside: SumsFolder, make_plan: MakePlan, make_sum: MakeSum, tmp_path: Path
) -> None:
    """The mark is older than the backup, and the value is not."""
    sums = beside.new()
    grant = ledger.charge(make_plan(), sums=sums)
    shutil.copy(str(ledger.path), tmp_path / "backup")
    grant.measure(*make_sum())
    shutil.copy(tmp_path / "backup", str(ledger.path))
    restored = Ledger.open(str(ledger.path))
    with pytest.raises(LedgerStale, match="does not know a value"):
        restored.charge(make_plan(), sums=again(sums))


def test_no_seeded_value_is_kept_for_a_private_release(
    ledger: Ledger, beside: SumsFolder, make_plan: MakePlan
) -> None:
    sums = beside.new()
    with pytest.raises(GrantError, match="a seeded experiment keeps no sums"):
        ledger.charge(make_plan(), sums=sums, entropy=Seeded(1))
    ledger.charge(make_plan(), sums=sums)
    with pytest.raises(GrantError, match="a seeded experiment keeps no sums"):
        ledger.charge(make_plan(), sums=again(sums), entropy=Seeded(1))


def test_what_stops_a_charge_after_it_was_made_says_so(
    ledger: Ledger, beside: SumsFolder, make_plan: MakePlan, make_sum: MakeSum
) -> None:
    sums = beside.new()
    ledger.charge(make_plan(), sums=sums).measure(*make_sum())
    (value,) = sums.path.glob("*.safetensors")
    value.unlink()
    with pytest.raises(SumsError, match="the file of it is not here") as refused:
        ledger.charge(make_plan(), sums=again(sums))
    assert refused.value.__notes__ == ["Its charge is made and stays open; nothing more was drawn."]


def test_nothing_is_drawn_where_there_is_no_room(
    ledger: Ledger, beside: SumsFolder, make_plan: MakePlan, make_sum: MakeSum
) -> None:
    """A file system that takes no file of this size; the charge stays open for where there is room."""
    plan, bounded, sums = make_plan(size=1 << 17), make_sum(size=1 << 17), beside.new()
    ledger.charge(plan, sums=sums)

    def work() -> None:
        grant_module._add_noise = None  # type: ignore[assignment]
        resource.setrlimit(resource.RLIMIT_FSIZE, (1 << 19, resource.RLIM_INFINITY))
        grant = Ledger.open(str(ledger.path)).charge(plan, sums=ChargeSums(sums.path))
        with pytest.raises(SumsError, match=r"no sums can be kept here \(File too large\); make room"):
            grant.measure(*bounded)

    sums.close()
    assert status(fork(work)) == 0
    charge = ledger.state().under(sums.token)
    assert charge is not None
    assert not charge.measured
    assert ledger.charge(plan, sums=again(sums)).measure(*bounded).values.size == 1 << 17


def test_what_nobody_draws_leaves_its_room(
    ledger: Ledger, beside: SumsFolder, make_plan: MakePlan, make_sum: MakeSum
) -> None:
    sums = beside.new()
    grant = ledger.charge(make_plan(), sums=sums)
    grant.measure(*make_sum())
    sums.hold(1 << 16)  # and the process is killed
    assert "room" in names(sums)
    ledger.charge(make_plan(), sums=again(sums))
    assert "room" not in names(sums)


# -- whose folder it is -----------------------------------------------------------------------------------


def test_the_folder_is_its_owners_alone_whatever_writes_it(
    ledger: Ledger,
    beside: SumsFolder,
    make_plan: MakePlan,
    make_sum: MakeSum,
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    """Not every version of safetensors makes files that only their owner reads."""
    save, before = module.safetensors.numpy.save_file, os.umask(0)

    def open_to_all(arrays: object, path: Path) -> None:
        save(arrays, path)
        path.chmod(0o644)

    monkeypatch.setattr(module.safetensors.numpy, "save_file", open_to_all)
    try:
        with beside.new() as sums:
            sums.set_people("people")
            ledger.charge(make_plan(), sums=sums).measure(*make_sum())
    finally:
        os.umask(before)
    reached = {path: path.stat().st_mode & 0o777 for path in (beside.path, *beside.path.rglob("*"))}
    assert {mode for path, mode in reached.items() if path.is_dir()} == {0o700}
    assert {mode for path, mode in reached.items() if path.is_file()} == {0o600}


def test_the_people_are_told_apart_and_not_shown(folder: SumsFolder) -> None:
    one, two = folder.new(), folder.new()
    for sums in (one, two):
        assert not sums.is_of("digest"), "of nobody yet, or any more"
        sums.set_people("digest")
        assert sums.is_of("digest")
        assert not sums.is_of("another")
        assert "digest" not in (sums.path / "people").read_text()
    marks = [json.loads((sums.path / "people").read_text())[1] for sums in (one, two)]
    assert marks[0] != marks[1], "a salt, so that the same people cannot be looked up"


@pytest.mark.parametrize("name", ["notes.txt", "release.safetensors", f"{'0' * 41}.safetensors", "key"])
def test_a_folder_of_something_else_is_left_alone(folder: SumsFolder, name: str) -> None:
    sums = folder.new()
    (sums.path / name).write_text("mine")
    sums.close()
    with pytest.raises(SumsError, match="contains other files; move them away"):
        ChargeSums(sums.path)
    with pytest.raises(SumsError, match="contains other files"):
        [*folder.free()]
    assert (sums.path / name).read_text() == "mine"
    (sums.path / name).unlink()
    again(sums).close()


def test_a_place_that_is_none_is_told(tmp_path: Path) -> None:
    with pytest.raises(SumsError, match=r"no sums can be kept here .*name a folder of your own"):
        SumsFolder(tmp_path / "nowhere" / "ledger.db.sums", LEDGER).new()
    (tmp_path / "file").touch()
    with pytest.raises(SumsError, match="no sums can be kept here"):
        SumsFolder(tmp_path / "file", LEDGER).new()


def test_a_link_is_not_followed(folder: SumsFolder, tmp_path: Path) -> None:
    (tmp_path / "precious").mkdir()
    folder.path.mkdir()
    (folder.path / f"{LEDGER[:16]}-{'0' * 16}").symlink_to(tmp_path / "precious")
    with pytest.raises(SumsError):
        [*folder.free()]
    assert not [*(tmp_path / "precious").iterdir()]


# -- one process at a time --------------------------------------------------------------------------------


def test_one_holds_it_at_a_time(folder: SumsFolder) -> None:
    with folder.new() as sums:
        with pytest.raises(SumsError, match="another process is using these sums"):
            ChargeSums(sums.path)
        assert [*folder.free()] == []
    assert [one.path for one in folder.free()] == [sums.path]


def test_a_dead_process_holds_nothing_and_a_living_one_does(folder: SumsFolder) -> None:
    told, tell = os.pipe()
    child = os.fork()
    if child == 0:
        sums = folder.new()
        os.write(tell, sums.path.name.encode())
        signal.pause()
    held = folder.path / os.read(told, 99).decode()
    with pytest.raises(SumsError, match="another process"):
        ChargeSums(held)
    os.kill(child, signal.SIGKILL)
    os.waitpid(child, 0)
    ChargeSums(held).close()


def test_a_child_does_not_hold_what_its_parent_held(folder: SumsFolder) -> None:
    sums = folder.new()
    (leave, left), (ready, start) = os.pipe(), os.pipe()
    child = os.fork()
    if child == 0:
        os.close(left)
        os.write(start, b"x")
        os.read(leave, 1)
        os._exit(0)
    os.read(ready, 1)
    sums.close()
    again(sums).close()
    os.close(left)
    os.waitpid(child, 0)


def test_a_folder_that_was_taken_before_it_was_held_is_another(
    folder: SumsFolder, monkeypatch: pytest.MonkeyPatch
) -> None:
    """By a process that clears up, and takes it for what a killed one left."""
    claimed, faster = ChargeSums._claimed, []

    def late(sums: ChargeSums) -> int:
        if not faster:
            faster.append(sums.path)
            for found in folder.free():
                found.remove()
        return claimed(sums)

    monkeypatch.setattr(ChargeSums, "_claimed", late)
    with folder.new() as sums:
        assert sums.path.exists()
        assert sums.path != faster[0]


def test_a_folder_that_another_process_removed_is_passed_over(
    folder: SumsFolder, monkeypatch: pytest.MonkeyPatch
) -> None:
    folder.new().close()
    claimed = ChargeSums._claimed
    monkeypatch.setattr(ChargeSums, "_claimed", lambda sums: shutil.rmtree(sums.path) or claimed(sums))
    assert [*folder.free()] == []
    assert not [*folder.path.iterdir()], "and is not made again"


def test_what_a_kill_leaves_of_a_folder_can_be_removed(folder: SumsFolder) -> None:
    """Whichever of its files went first."""
    for kept in ([], ["drafts"], ["people"], [f"{'0' * 40}.safetensors"]):
        sums = folder.new()
        sums.set_people("people")
        (sums.path / f"{'0' * 40}.safetensors").touch()
        for file in sums.path.iterdir():
            if file.name not in kept:
                shutil.rmtree(file) if file.is_dir() else file.unlink()
        sums.close()
        for left in folder.free():
            left.remove()
    assert not folder.path.exists()


def test_a_kill_in_a_removal_leaves_the_people_or_nothing(
    folder: SumsFolder, monkeypatch: pytest.MonkeyPatch
) -> None:
    """While the folder is there, its release can be written again; what is left of it goes next time."""
    sums, remove = folder.new(), shutil.rmtree
    sums.set_people("people")
    with monkeypatch.context() as patched:
        patched.setattr(Path, "rename", killed)
        with pytest.raises(Killed):
            sums.remove()
    assert sums.is_of("people")
    sums = again(sums)
    with monkeypatch.context() as patched:
        patched.setattr(
            shutil, "rmtree", lambda path, **_: killed() if "removed" in path.name else remove(path)
        )
        with pytest.raises(Killed):
            sums.remove()
    assert [file.name for file in folder.path.glob("*/*")] == ["people"]
    assert [*folder.free()] == []
    assert not [*folder.path.iterdir()]


# -- marks ------------------------------------------------------------------------------------------------


def test_the_last_mark_stays(folder: SumsFolder) -> None:
    assert folder.marks() == []
    with folder.new() as sums:
        for seq in (5, 3, 8, 8):
            sums.mark(seq, f"digest {seq}")
        assert folder.marks() == [(8, "digest 8")]
        sums.remove()
    assert SumsFolder(folder.path, "e" * 32).marks() == []
    (mark,) = folder.path.iterdir()
    assert mark.stat().st_mode & 0o777 == 0o600


def test_what_a_kill_leaves_of_a_mark_goes_with_the_drafts_unsaid(folder: SumsFolder) -> None:
    """Warnings are errors here, and none is due of a draft that nobody can miss."""
    with folder.new() as sums:
        (sums.path / "drafts" / "mark").touch()
    with again(sums) as sums:
        sums.settle({})
        assert names(sums) == []
        sums.mark(5, "digest")
    assert folder.marks() == [(5, "digest")]


def test_a_mark_that_just_went_is_no_error(folder: SumsFolder, monkeypatch: pytest.MonkeyPatch) -> None:
    folder.new().mark(5, "digest")
    read = Path.read_text
    monkeypatch.setattr(Path, "read_text", lambda path: path.unlink() or read(path))
    assert folder.marks() == []


def test_a_ledger_is_marked_before_anything_is_drawn(
    ledger: Ledger, beside: SumsFolder, make_plan: MakePlan
) -> None:
    grant = ledger.charge(make_plan(), sums=beside.new())
    assert beside.marks() == [(grant.ledger["seq"], grant.ledger["head"])] == [(1, ledger.state().head.hash)]


@pytest.mark.parametrize("made", [False, True])
def test_a_restored_ledger_is_refused(
    path: Path, ledger: Ledger, beside: SumsFolder, make_plan: MakePlan, make_sum: MakeSum, made: bool
) -> None:
    """Also after the release was made, and its sums removed; and one that was charged again."""
    backup, sums, plan = path.read_bytes(), beside.new(), make_plan(0.5)
    grant = ledger.charge(plan, sums=sums)
    grant.measure(*make_sum())
    if made:
        ledger.finish(grant, b"factors")
        sums.remove()
    path.write_bytes(backup)
    for charged in (False, True):
        fresh = Ledger.open(path)
        if charged:
            fresh.charge(plan)
        head = fresh.state().head
        with beside.new() as new, pytest.raises(LedgerStale, match="a backup was restored"):
            fresh.charge(plan, sums=new)
        assert fresh.state().head == head
    if not made:
        with pytest.raises(LedgerStale):
            fresh.charge(plan, sums=again(sums))


def test_a_value_is_not_kept_after_its_charge_was_given_up(
    ledger: Ledger, beside: SumsFolder, make_plan: MakePlan, make_sum: MakeSum
) -> None:
    sums = beside.new()
    grant = ledger.charge(make_plan(0.5), sums=sums)
    ledger.forfeit(0)
    with pytest.raises(GrantError, match="charge is forfeited"):
        grant.measure(*make_sum())
    assert not [*sums.path.glob("*.safetensors")]
