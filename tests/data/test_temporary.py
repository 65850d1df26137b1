"""Temporary folders are private and do not outlive their use."""

import gc
import os
import stat
import subprocess
import sys
import tempfile

import pytest

from hushrec.data.blocks import Temporary
from hushrec.errors import DataError


@pytest.mark.full
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
from hushrec.data.blocks import Temporary
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
