"""Files and folders appear whole, on the disk before their names, and errors name file and fix."""

import errno
import os
import signal
import stat
import sys
import warnings
from collections.abc import Callable, Iterator
from pathlib import Path
from typing import BinaryIO

import pytest

from hushrec.errors import DataError, ReleaseError
from hushrec.files import draft, read, whole, whole_folder, write

FULL = OSError(errno.ENOSPC, os.strerror(errno.ENOSPC))


def names(folder: Path) -> set[str]:
    return {path.name for path in folder.iterdir()}


def put(path: Path, content: bytes = b"new", *, mode: int = 0o666, new: bool = False) -> None:
    write(path, content, ReleaseError, fix="choose another", mode=mode, new=new)


def put_folder(path: Path, *, new: bool = False) -> None:
    with whole_folder(path, new=new) as made:
        (made / "inner").mkdir()
        (made / "inner" / "file").write_bytes(b"new")


# -- written whole -----------------------------------------------------------------------------------------


def test_a_file_takes_its_place_and_nothing_else_is_left(tmp_path: Path) -> None:
    for content in (b"first", b"second"):
        put(tmp_path / "file", content)
        assert (tmp_path / "file").read_bytes() == content
        assert names(tmp_path) == {"file"}
    write(tmp_path / "file", "Ωmega\r\n", DataError, fix="")
    assert (tmp_path / "file").read_bytes() == "Ωmega\r\n".encode()


@pytest.mark.parametrize("error", [KeyError("stop"), KeyboardInterrupt()])
def test_an_error_leaves_what_was_there(tmp_path: Path, error: BaseException) -> None:
    def half(made: Path) -> None:
        (made / "half").touch()
        raise error

    def half_file(file: BinaryIO) -> None:
        file.write(b"half")
        raise error

    put(tmp_path / "file", b"old")
    put_folder(tmp_path / "folder")
    with pytest.raises(type(error)), whole(tmp_path / "file") as file:
        half_file(file)
    with pytest.raises(type(error)), whole_folder(tmp_path / "folder") as made:
        half(made)
    assert (tmp_path / "file").read_bytes() == b"old"
    assert names(tmp_path) == {"file", "folder"}
    assert names(tmp_path / "folder") == {"inner"}


@pytest.mark.parametrize("call", ["fsync", "replace", "rename"])
def test_a_full_disk_leaves_what_was_there(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, call: str
) -> None:
    def full(*_: object) -> None:
        raise FULL

    put(tmp_path / "file", b"old")
    put_folder(tmp_path / "folder")
    with monkeypatch.context() as patched:
        patched.setattr(os, call, full)
        if call != "rename":  # which only a folder needs
            with pytest.raises(
                ReleaseError, match=r"file cannot be written: No space left.*; choose another"
            ):
                put(tmp_path / "file")
        if call != "replace":
            with pytest.raises(OSError, match="No space left"):
                put_folder(tmp_path / "folder")
    assert (tmp_path / "file").read_bytes() == b"old"
    assert (tmp_path / "folder" / "inner" / "file").read_bytes() == b"new"
    assert names(tmp_path) == {"file", "folder"}


def test_what_is_private_is_so_from_its_first_byte(tmp_path: Path) -> None:
    before = os.umask(0)
    try:
        with whole(tmp_path / "key", mode=0o600) as file:
            (aside,) = tmp_path.iterdir()
            assert stat.S_IMODE(aside.stat().st_mode) == 0o700
            assert stat.S_IMODE(os.fstat(file.fileno()).st_mode) == 0o600
        assert stat.S_IMODE((tmp_path / "key").stat().st_mode) == 0o600
        put_folder(tmp_path / "folder")
        assert stat.S_IMODE((tmp_path / "folder").stat().st_mode) == 0o700
        os.umask(0o022)
        put(tmp_path / "public")
        assert stat.S_IMODE((tmp_path / "public").stat().st_mode) == 0o644
    finally:
        os.umask(before)


@pytest.mark.parametrize("links", [True, False], ids=["links", "no hard links"])
def test_a_new_file_replaces_none(tmp_path: Path, monkeypatch: pytest.MonkeyPatch, links: bool) -> None:
    def unknown(*_: object) -> None:
        raise PermissionError(errno.EPERM, "Operation not permitted")

    if not links:
        monkeypatch.setattr(os, "link", unknown)
    path = tmp_path / "key"
    put(path, b"first", new=True)
    assert path.read_bytes() == b"first"
    with pytest.raises(ReleaseError, match="key cannot be written: File exists; choose another"):
        put(path, new=True)
    path.unlink()
    with pytest.raises(FileExistsError), whole(path, new=True):
        path.write_bytes(b"of another process, meanwhile")
    assert path.read_bytes() == b"of another process, meanwhile"
    assert names(tmp_path) == {"key"}


@pytest.mark.parametrize("kind", ["link", "dangling", "folder", "device", "pipe"])
def test_what_is_no_regular_file_is_not_replaced(tmp_path: Path, kind: str) -> None:
    path = tmp_path / kind
    if kind == "folder":
        path.mkdir()
    elif kind == "pipe":
        os.mkfifo(path)
    else:
        path.symlink_to({"link": "precious", "dangling": "gone", "device": "/dev/null"}[kind])
    (tmp_path / "precious").write_text("mine")
    before = path.lstat()
    with pytest.raises(ReleaseError, match=rf"{kind} cannot be written: it is a link, a folder or a device;"):
        put(path)
    assert path.lstat() == before
    assert (tmp_path / "precious").read_text() == "mine"


# -- on the disk -------------------------------------------------------------------------------------------


def calls(work: Callable[[], None], monkeypatch: pytest.MonkeyPatch) -> list[tuple[str, str]]:
    """What is brought to the disk and renamed, in order; the draft is called by its last part."""
    done: list[tuple[str, str]] = []
    with monkeypatch.context() as patched:
        for name in ("link", "rename", "replace"):
            real = getattr(os, name)

            def moved(part: Path, path: Path, real: Callable[..., None] = real) -> None:
                done.append(("move", Path(path).name))
                real(part, path)

            patched.setattr(os, name, moved)
        real_sync = os.fsync

        def synced(handle: int) -> None:
            done.append(("sync", os.readlink(f"/proc/self/fd/{handle}").rpartition("/")[2]))
            real_sync(handle)

        patched.setattr(os, "fsync", synced)
        work()
    return done


@pytest.mark.skipif(sys.platform != "linux", reason="a handle's name is asked of /proc")
@pytest.mark.parametrize("new", [False, True])
def test_a_file_is_on_the_disk_before_its_name_and_then_its_name(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, new: bool
) -> None:
    def work() -> None:
        put(tmp_path / "file", new=new)

    expected = [("sync", "new"), ("move", "file"), ("sync", tmp_path.name)]
    assert calls(work, monkeypatch) == expected


@pytest.mark.skipif(sys.platform != "linux", reason="a handle's name is asked of /proc")
def test_so_is_a_folder_with_all_that_is_in_it(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    put_folder(tmp_path / "folder")
    done = calls(lambda: put_folder(tmp_path / "folder"), monkeypatch)
    assert done[0] == ("move", "folder"), "the earlier one is moved aside"
    assert {*done[1:4]} == {("sync", "inner"), ("sync", "file"), ("sync", "new")}
    assert done[4:] == [("move", "folder"), ("sync", tmp_path.name)]


# -- drafts ------------------------------------------------------------------------------------------------


def test_a_draft_is_its_owners_alone_and_gone_in_the_end(tmp_path: Path) -> None:
    before = os.umask(0)
    try:
        with draft(tmp_path / "packed") as made:
            assert made.parent == tmp_path
            assert made.name.startswith(".packed.")
            assert stat.S_IMODE(made.stat().st_mode) == 0o700
            (made / "file").write_text("SECRET")
    finally:
        os.umask(before)
    assert names(tmp_path) == set()


def test_remains_are_removed_and_named_unless_they_are_empty(tmp_path: Path) -> None:
    for name in ("full", "empty"):
        (tmp_path / f".{name}.x.hushrec-draft").mkdir()
    (tmp_path / ".full.x.hushrec-draft" / "file").write_text("SECRET")
    (tmp_path / "mine.hushrec-draft").mkdir()  # not hidden: none of these
    with warnings.catch_warnings(record=True) as told:
        warnings.simplefilter("always")
        put(tmp_path / "file")
    assert names(tmp_path) == {"mine.hushrec-draft", "file"}
    (said,) = told
    assert ".full.x.hushrec-draft: a killed run had left it" in str(said.message)


@pytest.mark.filterwarnings("ignore:removed")
def test_a_folder_that_was_being_replaced_goes_back(tmp_path: Path) -> None:
    for name in ("site", "other"):
        earlier = tmp_path / f".{name}.x.hushrec-draft" / "earlier" / name
        earlier.mkdir(parents=True)
        (earlier / "index.html").write_text("earlier")
    (tmp_path / "other").mkdir()
    put(tmp_path / "file")
    assert names(tmp_path) == {"file", "other", "site"}
    assert (tmp_path / "site" / "index.html").read_text() == "earlier"
    assert names(tmp_path / "other") == set(), "another one has its place"


def test_processes_that_write_one_file_at_once_leave_it_whole(tmp_path: Path) -> None:
    children = []
    for content in (b"a", b"b", b"c", b"d"):
        if child := os.fork():
            children.append(child)
            continue
        code = 1
        try:
            warnings.simplefilter("error")  # no draft of another is taken for one of a killed process
            for _ in range(50):
                put(tmp_path / "file", content * 9000)
            code = 0
        finally:
            os._exit(code)
    assert [os.waitstatus_to_exitcode(os.waitpid(child, 0)[1]) for child in children] == [0] * 4
    assert names(tmp_path) == {"file"}
    whole_one = (tmp_path / "file").read_bytes()
    assert len(whole_one) == 9000
    assert len({*whole_one}) == 1


def test_a_link_in_the_place_of_a_draft_is_not_followed(tmp_path: Path) -> None:
    (tmp_path / "precious").mkdir()
    (tmp_path / "precious" / "file").write_text("mine")
    (tmp_path / ".x.hushrec-draft").symlink_to(tmp_path / "precious")
    put(tmp_path / "file")
    assert (tmp_path / "precious" / "file").read_text() == "mine"


# -- read --------------------------------------------------------------------------------------------------


@pytest.fixture
def impatient() -> Iterator[None]:
    """A reader of a pipe waits for good: not here."""

    def give_up(*_: object) -> None:
        raise TimeoutError

    before = signal.signal(signal.SIGALRM, give_up)
    signal.alarm(10)
    yield
    signal.alarm(0)
    signal.signal(signal.SIGALRM, before)


@pytest.mark.usefixtures("impatient")
@pytest.mark.parametrize(
    ("kind", "reason"),
    [
        ("pipe", "it is not a regular file"),
        ("folder", "Is a directory"),
        ("device", "it is not a regular file"),
        ("gone", "No such file or directory"),
        ("loop", "Too many levels of symbolic links"),
        ("large", "it is larger than 8 bytes"),
    ],
)
def test_what_cannot_be_read_is_named_at_once(tmp_path: Path, kind: str, reason: str) -> None:
    path = tmp_path / kind
    if kind == "pipe":
        os.mkfifo(path)
    elif kind == "folder":
        path.mkdir()
    elif kind == "large":
        path.write_bytes(bytes(9))
    elif kind != "gone":
        path.symlink_to("/dev/zero" if kind == "device" else "loop")
    with pytest.raises(DataError, match=rf"{kind} cannot be read: {reason}; choose another"):
        read(path, DataError, fix="choose another", largest=8)
