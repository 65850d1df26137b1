"""A process that is killed at any line of ``files.py`` leaves the old file or the new one, never a part."""

import os
import signal
import sys
import warnings
from collections.abc import Callable, Iterator
from pathlib import Path
from types import FrameType
from typing import Any

import pytest

from hushrec import files
from hushrec.errors import ReleaseError

OLD, NEW = b"old" * 5000, b"new" * 5000
MOST = 400
"""Lines that are run at most: more would be another kind of writing."""


def killed_at_every_line(crash: Any, work: Callable[[], object]) -> Iterator[int]:
    """Run the work in child processes, killed at the first line of files.py, at the second, and so on."""
    for line in range(MOST):

        def until(line: int = line) -> None:
            left = line

            def count(frame: FrameType, event: str, _: Any) -> Any:
                nonlocal left
                if frame.f_code.co_filename != files.__file__:
                    return None
                if event == "line":
                    if not left:
                        os.kill(os.getpid(), signal.SIGKILL)
                    left -= 1
                return count

            sys.settrace(count)
            work()

        ended = crash.status(crash.fork(until))
        assert ended in (0, -signal.SIGKILL)
        yield ended
        if not ended:
            return
    pytest.fail("there is no end of lines")


def swept(folder: Path) -> set[str]:
    """What lies in a folder once another file was written there: what the killed process left is gone."""
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")
        files.write(folder / "another", b"", ReleaseError, fix="")
    (folder / "another").unlink()
    return {path.name for path in folder.iterdir()}


@pytest.fixture(autouse=True)
def quick(monkeypatch: pytest.MonkeyPatch) -> None:
    """The disk is slow, and a kill loses nothing that waits for it."""
    monkeypatch.setattr(os, "fsync", lambda handle: None)


@pytest.mark.parametrize("new", [False, True])
@pytest.mark.full
def test_a_file_is_the_old_one_or_the_new_one(tmp_path: Path, new: bool, crash: Any) -> None:
    path, found = tmp_path / "file", []

    def write() -> None:
        files.write(path, NEW, ReleaseError, fix="", mode=0o600, new=new)

    for _ in killed_at_every_line(crash, write):
        parts = [part for part in tmp_path.rglob("*") if part.is_file()]
        assert all(part.stat().st_mode & 0o777 == 0o600 for part in parts), (
            "a part is as private as the whole"
        )
        names = swept(tmp_path)
        assert names == ({"file"} if path.exists() else set())
        found.append(path.read_bytes() if path.exists() else b"")
        assert found[-1] in ({b"", NEW} if new else {b"", OLD, NEW})
        path.unlink(missing_ok=True)
        if not new:
            path.write_bytes(OLD)
            path.chmod(0o600)
    assert {*found[1:]} == {b"" if new else OLD, NEW}


@pytest.mark.full
def test_a_folder_is_the_old_one_or_the_new_one(tmp_path: Path, crash: Any) -> None:
    place, found, gone = tmp_path / "folder", [], 0

    def replace() -> None:
        with files.whole_folder(place) as made:
            (made / "one").write_bytes(NEW)
            (made / "two").write_bytes(NEW)

    replace()
    for _ in killed_at_every_line(crash, replace):
        gone += not place.exists()  # for an instant, until another draft is made there
        assert swept(tmp_path) == {"folder"}
        found.append([(place / name).read_bytes() for name in ("one", "two")])
        (place / "one").write_bytes(OLD)
        (place / "two").write_bytes(OLD)
    assert {tuple(pair) for pair in found[1:]} == {(OLD, OLD), (NEW, NEW)}
    assert gone
