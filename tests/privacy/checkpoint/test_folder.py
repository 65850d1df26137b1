"""A private folder: one process holds it, its files are whole or absent, what goes is overwritten."""

import os
import re
from pathlib import Path

import numpy as np
import pytest

from hushrec import files
from hushrec.errors import CheckpointError
from hushrec.privacy.checkpoint import folder as module
from hushrec.privacy.checkpoint.checkpoint import Checkpoint
from hushrec.privacy.checkpoint.folder import Folder
from support.checkpoints import bound


@pytest.fixture
def folder(tmp_path: Path) -> Path:
    return tmp_path / "checkpoint"


def modes(folder: Path) -> set[int]:
    return {path.stat().st_mode & 0o777 for path in folder.rglob("*") if path.is_file()}


ARRAYS = {
    "floats": np.linspace(0, 1, 12).reshape(3, 4),
    "singles": np.ones((2, 0, 3), np.float32),
    "turned": np.arange(6).reshape(2, 3).T,
    "few": np.array([True, False]),
    "bytes": np.arange(5, dtype=np.uint8),
    "items": np.arange(5, dtype=np.int32),
}


def test_a_full_disk_keeps_the_state_before(folder: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    with bound(folder) as checkpoint:
        checkpoint.save_state("state", {}, {"round": 1})

        def full(path: Path) -> None:
            raise OSError(28, "No space left on device")

        monkeypatch.setattr(files, "sync", full)
        with pytest.raises(CheckpointError, match="No space left on device"):
            checkpoint.save_state("state", {}, {"round": 2})
        monkeypatch.undo()
        assert checkpoint.load_state("state") == ({}, {"round": 1})


@pytest.mark.parametrize("mode", [None, 0o755, 0o777])
def test_the_folder_is_its_owners_alone(folder: Path, mode: int | None) -> None:
    if mode:
        folder.mkdir()
        folder.chmod(mode)
    before = os.umask(0)
    try:
        with bound(folder) as checkpoint:
            checkpoint.save_state("state", ARRAYS, {})
            assert folder.stat().st_mode & 0o777 == 0o700
            assert modes(folder) == {0o600}
    finally:
        os.umask(before)


def test_one_holds_it_at_a_time(folder: Path) -> None:
    with Checkpoint(folder):
        with pytest.raises(CheckpointError, match="another process"):
            Checkpoint(folder)
        assert (folder / "key").exists()
    Checkpoint(folder).close()


def test_a_folder_of_something_else_is_left_alone(tmp_path: Path) -> None:
    for number, name in enumerate(("notes.txt", "key", f"{'0' * 40}.safetensors", "release.safetensors")):
        folder = tmp_path / str(number)
        folder.mkdir()
        (folder / name).write_text("mine")
        with pytest.raises(CheckpointError, match="contains other files"):
            Checkpoint(folder)
        assert [path.name for path in folder.iterdir()] == [name]
    with pytest.raises(CheckpointError, match="no checkpoint can be kept here"):
        Checkpoint(tmp_path / "nowhere" / "checkpoint")


def held(path: Path) -> Folder:
    return Folder(path, re.compile(r"[a-z]+\.bin"))


def test_a_file_is_there_whole_or_not_at_all(folder: Path) -> None:
    """A draft is none of the files, and what a killed process drafted is removed."""
    opened = held(folder)
    opened.draft("a.bin").write_bytes(b"half")
    assert opened.files() == frozenset()
    opened.close()
    opened = held(folder)
    assert not opened.draft("a.bin").exists()
    opened.write("a.bin", b"whole")
    assert opened.files() == {"a.bin"}
    assert (folder / "a.bin").read_bytes() == b"whole"
    assert not opened.draft("a.bin").exists()
    opened.write("a.bin", b"x")
    assert (folder / "a.bin").read_bytes() == b"x"
    opened.close()


def test_a_file_is_on_disk_before_its_name(folder: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    opened, synced = held(folder), []
    monkeypatch.setattr(files, "sync", lambda path: synced.append((path.name, (folder / "a.bin").exists())))
    opened.write("a.bin", b"whole")
    assert synced == [("a.bin", False), ("checkpoint", True)]
    opened.close()


def test_what_is_shredded_is_overwritten_out_of_its_place(
    folder: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    opened, seen = held(folder), []
    opened.write("a.bin", b"SECRET")
    os.link(folder / "a.bin", folder.with_name("twin"))  # another name for the same bytes on disk
    sync = module.os.fsync
    monkeypatch.setattr(
        module.os, "fsync", lambda handle: seen.append((folder / "a.bin").exists()) or sync(handle)
    )
    opened.shred("a.bin")
    assert folder.with_name("twin").read_bytes() == bytes(6)
    assert seen[0] is False, "half overwritten, it stands nowhere that it is read from"
    assert opened.files() == frozenset()
    opened.close()


def test_removing_it_gives_the_name_back_and_leaves_what_others_put_there(folder: Path) -> None:
    for strange in (False, True):
        opened = held(folder)
        opened.write("a.bin", b"whole")
        if strange:
            (folder / "mine.txt").write_text("mine")
        opened.remove()
        assert not opened.open
        assert ([file.name for file in folder.iterdir()] if folder.exists() else []) == ["mine.txt"] * strange
