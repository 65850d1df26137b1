"""A killed load onto disk leaves no people to be found: at once, or after the next run, which names them."""

import os
import signal
import stat
import subprocess
import sys
import time
import warnings
from pathlib import Path

import pytest

import hushrec as hr
from hushrec.errors import DataError
from hushrec.files import draft

DOMAIN = hr.Domain(["10", "20"], scale=(1, 5, 1), max_users=5000)
PACK = """
import os, signal, sys
from pathlib import Path
import hushrec as hr
from hushrec.data import folder
from hushrec.data.clean import Cleaner
from hushrec.data.folder import Folder

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
domain = hr.Domain(["10", "20"], scale=(1, 5, 1), max_users=5000)
print("started", flush=True)
hr.load(sys.argv[1], domain, where=Path("packed"))
"""
MOMENTS = {
    "records cleaned": '(Cleaner, "clean", 1, True)',
    "people known": '(Cleaner, "people", 1, True)',
    "some rows written": '(Folder, "add", 3, True)',
    "all rows written": '(Folder, "finish", 1, False)',
    "all but the manifest": '(folder, "asdict", 1, False)',
    "before it is renamed": '(os, "replace", 1, False)',
}
WITH_IDS = {"all but the manifest", "before it is renamed"}
"""Where the folder of the killed run holds ids."""


@pytest.fixture
def here(tmp_path, monkeypatch):
    monkeypatch.chdir(tmp_path)
    lines = [f"SECRET{person},{item},{1 + person % 5}" for person in range(1500) for item in (10, 20)]
    (tmp_path / "source").mkdir()
    for name in "abc":
        (tmp_path / "source" / f"{name}.csv").write_text("\n".join(["user,item,rating", *lines]) + "\n")
    for name in ("beside", "aside"):
        (tmp_path / name).mkdir()
    monkeypatch.setenv("TMPDIR", str(tmp_path / "aside"))  # of the runs that are killed
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
        people = hr.load("../source", DOMAIN, where=Path("packed"))
    assert people.n_users == 1500
    people.verify()
    assert [path.name for path in here.iterdir()] == ["packed"]
    return [str(warning.message) for warning in told]


@pytest.mark.parametrize("moment", MOMENTS)
@pytest.mark.full
def test_a_killed_run_leaves_nothing_that_stays(here, moment):
    child = start(moment)
    assert child.wait(60) == -signal.SIGKILL
    child.stdout.close()
    left = list(here.iterdir())
    assert [path.name.startswith(".packed.") for path in left] == [True]
    assert stat.S_IMODE(left[0].stat().st_mode) == 0o700
    files = [path for path in left[0].rglob("*") if path.is_file()]
    assert {stat.S_IMODE(file.stat().st_mode) for file in files} <= {0o600}
    assert bool(secrets(here)) == (moment in WITH_IDS)
    assert not secrets(here.parent / "aside")
    (said,) = packed_again(here)
    assert left[0].name in said


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
    hr.People.open("packed", DOMAIN).verify()


def test_what_another_process_is_writing_is_left_alone(here):
    with draft(here / "other") as live:
        (live / "file").write_text("SECRET")
        code = (
            "import warnings; warnings.simplefilter('error')\n"
            "from pathlib import Path\nimport hushrec as hr\n"
            "hr.load('../source', hr.Domain(['10'], scale=(1, 5, 1), max_users=9), where=Path('packed'))"
        )
        subprocess.run([sys.executable, "-c", code], check=True)
        assert (live / "file").exists()
    assert not live.exists()


def test_a_link_in_the_place_of_a_draft_is_not_followed(here):
    (here.parent / "precious").mkdir()
    (here.parent / "precious" / "file").write_text("mine")
    Path(".packed.x.hushrec-draft").symlink_to(here.parent / "precious")
    hr.load("../source", DOMAIN, where=Path("packed"))
    assert (here.parent / "precious" / "file").exists()


def test_a_disk_without_room_is_told(here, monkeypatch):
    def full(*_, **__):
        raise OSError(28, "No space left on device")

    monkeypatch.setattr("hushrec.data.folder.Folder.add", full)
    with pytest.raises(DataError, match="No space left on device; choose another"):
        hr.load("../source", DOMAIN, where=Path("packed"))
