"""Folders that are still being written: their owner's alone, gone in the end, and remains are removed."""

import gc
import os
import stat
import subprocess
import sys
import tempfile
import warnings
from pathlib import Path

import pytest

from hushrec.data.packed.draft import Temporary, draft
from hushrec.errors import DataError


def test_a_draft_is_its_owners_alone_and_gone_in_the_end(tmp_path):
    before = os.umask(0)
    try:
        with draft(tmp_path / "packed") as made:
            assert made.parent == tmp_path
            assert made.name.startswith(".packed.")
            assert stat.S_IMODE(made.stat().st_mode) == 0o700
            (made / "file").write_text("SECRET")
    finally:
        os.umask(before)
    assert list(tmp_path.iterdir()) == []


def test_a_draft_that_was_renamed_stays(tmp_path):
    with draft(tmp_path / "packed") as made:
        (made / "file").write_text("mine")
        made.rename(tmp_path / "packed")
    assert [path.name for path in tmp_path.rglob("*")] == ["packed", "file"]


def test_a_failure_leaves_nothing(tmp_path):
    def fails(made: Path):
        (made / "file").write_text("SECRET")
        raise KeyError("stop")

    with pytest.raises(KeyError), draft(tmp_path / "packed") as made:
        fails(made)
    assert list(tmp_path.iterdir()) == []


def test_remains_are_removed_and_named_unless_they_are_empty(tmp_path):
    for name in ("full", "empty"):
        (tmp_path / f".{name}.x.hushrec-draft").mkdir()
    (tmp_path / ".full.x.hushrec-draft" / "file").write_text("SECRET")
    (tmp_path / "mine.hushrec-draft").mkdir()  # not hidden: none of these
    with warnings.catch_warnings(record=True) as told:
        warnings.simplefilter("always")
        with draft(tmp_path / "packed"):
            pass
    assert [path.name for path in tmp_path.iterdir()] == ["mine.hushrec-draft"]
    (said,) = told
    assert ".full.x.hushrec-draft: private ratings that a killed run had left" in str(said.message)


def test_a_draft_that_is_being_written_is_no_remains(tmp_path):
    with draft(tmp_path / "one") as one:
        (one / "file").write_text("SECRET")
        with draft(tmp_path / "two"):
            assert (one / "file").exists()
        assert (one / "file").exists()


def test_a_link_is_not_followed(tmp_path):
    (tmp_path / "precious").mkdir()
    (tmp_path / "precious" / "file").write_text("mine")
    (tmp_path / ".x.hushrec-draft").symlink_to(tmp_path / "precious")
    with draft(tmp_path / "packed"):
        pass
    assert (tmp_path / "precious" / "file").read_text() == "mine"


def test_without_a_parent_the_system_says_so(tmp_path):
    with pytest.raises(OSError, match="No such file"), draft(tmp_path / "nowhere" / "packed"):
        pass


def test_a_temporary_folder_is_private_and_ends_with_its_use(tmp_path, monkeypatch):
    monkeypatch.setattr(tempfile, "tempdir", str(tmp_path))
    for end in (lambda made: made.close(), lambda made: None):
        made = Temporary()
        (made.folder / "ratings").write_bytes(b"private")
        assert stat.S_IMODE(made.folder.stat().st_mode) == 0o700
        end(made)
        del made
        gc.collect()
        assert list(tmp_path.iterdir()) == []


def test_a_program_that_fails_leaves_no_temporary_folder_and_a_killed_one_until_the_next(tmp_path):
    script = """
import os
from hushrec.data.packed.draft import Temporary
made = Temporary()
(made.folder / "ratings").write_bytes(b"private")
"""
    run = {"env": {**os.environ, "TMPDIR": str(tmp_path)}, "capture_output": True}
    assert subprocess.run([sys.executable, "-c", script + "raise SystemExit(3)"], **run).returncode == 3
    assert list(tmp_path.iterdir()) == []
    subprocess.run([sys.executable, "-c", script + "os._exit(9)"], **run)
    assert len(list(tmp_path.iterdir())) == 1
    subprocess.run([sys.executable, "-c", script], **run)
    assert list(tmp_path.iterdir()) == []


def test_without_a_place_for_temporary_files_the_fix_is_named(tmp_path, monkeypatch):
    monkeypatch.setattr(tempfile, "tempdir", str(tmp_path / "nosuch"))
    with pytest.raises(DataError, match="TMPDIR"):
        Temporary()
