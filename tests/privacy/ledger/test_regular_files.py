"""What lies in a folder is opened without waiting, and its names are printed on one line."""

import os
import signal
from collections.abc import Iterator
from pathlib import Path

import pytest

from hushrec.privacy.ledger import regular_files
from hushrec.privacy.ledger.regular_files import opened, shown


def test_a_file_is_read_also_through_a_link(tmp_path: Path) -> None:
    (tmp_path / "file").write_bytes(b"content")
    (tmp_path / "link").symlink_to("file")
    for name in ("file", "link"):
        with opened(tmp_path / name) as file:
            assert file.read() == b"content"


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
@pytest.mark.parametrize("kind", ["pipe", "folder", "device", "gone"])
def test_what_is_no_file_is_refused_at_once(tmp_path: Path, kind: str) -> None:
    path = tmp_path / kind
    if kind == "pipe":
        os.mkfifo(path)
    elif kind == "folder":
        path.mkdir()
    elif kind == "device":
        path.symlink_to("/dev/zero")
    with pytest.raises(OSError, match=r"not a regular file|No such file"), opened(path):
        pass


@pytest.mark.usefixtures("impatient")
def test_a_file_that_becomes_a_pipe_meanwhile_is_not_waited_for(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    os.mkfifo(tmp_path / "pipe")
    monkeypatch.setattr(regular_files.stat, "S_ISREG", lambda mode: True)
    with opened(tmp_path / "pipe") as pipe:
        assert not pipe.read()


def test_names_are_short_and_act_on_no_terminal() -> None:
    assert shown("ratings.safetensors") == "ratings.safetensors"
    assert shown("a" * 80) == "a" * 80
    assert shown("a" * 81) == "a" * 77 + "…"
    found = shown("\x1b[31m\nred\u202e")
    assert found.isprintable()
    assert "red" in found
    assert shown(7) == "7"
