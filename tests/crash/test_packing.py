"""A killed load_blocks leaves no ratings to be found: at once, or after the next run, which names them."""

import os
import signal
import stat
import subprocess
import sys
import time
import warnings
from pathlib import Path

import pytest

from hushrec.data.blocks import Blocks
from hushrec.data.domain import Domain
from hushrec.data.pack import load_blocks
from hushrec.errors import DataError
from hushrec.files import draft

DOMAIN = Domain(["10", "20"], scale=(1, 5, 1), max_users=5000)
PACK = """
import os, signal, sys
from pathlib import Path
import hushrec.data.blocks as block_files
import hushrec.data.blocks as blocks
from hushrec.data.domain import Domain
from hushrec.data.pack import load_blocks
from hushrec.data.pack import Partitions

def dies(owner, name, calls, after):
    real, left = getattr(owner, name), [calls]
    def counted(*given, **named):
        left[0] -= 1
        if not left[0] and not after:
            os.kill(os.getpid(), signal.SIGKILL)
        found = real(*given, **named)
        if not left[0]:
            os.kill(os.getpid(), signal.SIGKILL)
        return found
    setattr(owner, name, counted)

moment = sys.argv[2]
if moment in MOMENTS:
    dies(*MOMENTS[moment])
domain = Domain(["10", "20"], scale=(1, 5, 1), max_users=5000)
print("started", flush=True)
load_blocks(sys.argv[1], domain, Path("packed"), ratings_per_block=500)
"""
MOMENTS = {
    "records set aside": '(Partitions, "add", 1, True)',
    "all records set aside": '(Partitions, "add", 3, True)',
    "a part taken back": '(Partitions, "take", 1, True)',
    "one block written": '(block_files, "_written", 1, True)',
    "some blocks written": '(block_files, "_written", 3, True)',
    "a file just created": '(block_files, "sha256", 1, False)',
    "all but the manifest": '(block_files, "asdict", 1, False)',
    "before it is renamed": '(os, "replace", 1, False)',
}
ASIDE = {"records set aside", "all records set aside"}


@pytest.fixture
def here(tmp_path, monkeypatch):
    monkeypatch.chdir(tmp_path)
    lines = [f"SECRET{person},{item},{1 + person % 5}" for person in range(1500) for item in (10, 20)]
    (tmp_path / "source").mkdir()
    for name in "abc":
        (tmp_path / "source" / f"{name}.csv").write_text("\n".join(["user,item,rating", *lines]) + "\n")
    (tmp_path / "beside").mkdir()
    monkeypatch.chdir(tmp_path / "beside")
    os.umask(0o022)
    return tmp_path / "beside"


def start(moment):
    code = PACK.replace(
        "moment = sys", f"MOMENTS = {{{', '.join(f'{k!r}: {v}' for k, v in MOMENTS.items())}}}\nmoment = sys"
    )
    return subprocess.Popen([sys.executable, "-c", code, "../source", moment], stdout=subprocess.PIPE)


def secrets(folder):
    return [file for file in folder.rglob("*") if file.is_file() and b"SECRET" in file.read_bytes()]


def packed_again(here):
    """The next run, and what it says that it removed."""
    with warnings.catch_warnings(record=True) as told:
        warnings.simplefilter("always")
        blocks = load_blocks("../source", DOMAIN, Path("packed"), ratings_per_block=500)
    assert blocks.n_users == 1500
    blocks.verify()
    assert [path.name for path in here.iterdir()] == ["packed"]
    return [str(warning.message) for warning in told]


@pytest.mark.parametrize("moment", MOMENTS)
@pytest.mark.full
def test_a_killed_run_leaves_nothing_that_stays(here, moment):
    child = start(moment)
    assert child.wait(60) == -signal.SIGKILL
    child.stdout.close()
    left = list(here.iterdir())
    if moment in ASIDE:
        assert left == []
    else:
        assert [path.name.startswith(".packed.") for path in left] == [True]
        assert stat.S_IMODE(left[0].stat().st_mode) == 0o700
        files = [path for path in left[0].rglob("*") if path.is_file()]
        assert {stat.S_IMODE(file.stat().st_mode) for file in files} <= {0o600}
    assert bool(secrets(here)) == (moment not in ASIDE | {"a part taken back"})
    named = [path.name for path in left if any(path.iterdir())]
    said = packed_again(here)
    assert len(said) == len(named)
    assert all(name in line for name, line in zip(named, said, strict=True))


@pytest.mark.parametrize(
    "wait", [0.0, 0.05, 0.2, *(pytest.param(wait, marks=pytest.mark.full) for wait in (0.02, 0.1))]
)
@pytest.mark.full
def test_a_run_killed_at_any_moment(here, wait):
    child = start("any")
    child.stdout.readline()
    time.sleep(wait)
    child.kill()
    child.wait(60)
    child.stdout.close()
    if not Path("packed").exists():
        packed_again(here)
    assert [path.name for path in here.iterdir()] == ["packed"]
    Blocks.open("packed", DOMAIN).verify()


def test_what_another_process_is_writing_is_left_alone(here):
    with draft(here / "other") as live:
        (live / "file").write_text("SECRET")
        code = (
            "import warnings; warnings.simplefilter('error')\n"
            "from pathlib import Path\nfrom hushrec.data.domain import Domain\n"
            "from hushrec.data.pack import load_blocks\n"
            "load_blocks('../source', Domain(['10'], scale=(1, 5, 1), max_users=9), Path('packed'))"
        )
        subprocess.run([sys.executable, "-c", code], check=True)
        assert (live / "file").exists()
    assert not live.exists()


def test_a_link_in_the_place_of_a_draft_is_not_followed(here):
    (here.parent / "precious").mkdir()
    (here.parent / "precious" / "file").write_text("mine")
    Path(".packed.x.hushrec-draft").symlink_to(here.parent / "precious")
    load_blocks("../source", DOMAIN, Path("packed"))
    assert (here.parent / "precious" / "file").exists()


def test_a_disk_without_room_is_told(here, monkeypatch):
    def full(*_, **__):
        raise OSError(28, "No space left on device")

    monkeypatch.setattr("hushrec.data.pack.Partitions.add", full)
    with pytest.raises(DataError, match="No space left on device; make room"):
        load_blocks("../source", DOMAIN, Path("packed"))
    monkeypatch.setattr("tempfile.TemporaryFile", full)
    with pytest.raises(DataError, match="No space left on device; choose another"):
        load_blocks("../source", DOMAIN, Path("packed"))
