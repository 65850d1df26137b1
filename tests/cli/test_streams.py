"""What cannot be printed: for want of a sign in an encoding, of room on a disk, or of a reader of a pipe."""

import contextlib
import os
import subprocess
import sys
from pathlib import Path
from shlex import split

import pytest
from pyarrow import csv

import hushrec as hr
from hushrec.cli import console
from hushrec.data.synthetic import netflix_like
from hushrec.documents import sentences
from hushrec.privacy.ledger.ledger import Ledger

ASCII = {"PYTHONIOENCODING": "ascii"}
POSIX = {"LC_ALL": "POSIX", "PYTHONCOERCECLOCALE": "0", "PYTHONUTF8": "0"}
FULL = Path("/dev/full")
BUDGET = "--epsilon 1 --delta 1e-6 --unit user --adjacency add-remove"
MODEL = "--domain domain.json --model global-effects"
FIT = f"fit stars.csv {MODEL} {BUDGET} --ledger ledger.db -o r.safetensors"
"""Of all that charges: every command does so in the same lines."""
TOLD = "its charge is in the ledger: do not repeat this command. The rest cannot be printed"
needs_full = pytest.mark.skipif(not FULL.exists(), reason="no /dev/full on this machine")


@pytest.fixture
def here(tmp_path, monkeypatch):
    """A working folder with ratings, their domain, and a ledger for a charge and one more."""
    monkeypatch.chdir(tmp_path)
    stars = netflix_like(60, 20, 300, 1)
    stars.domain.save(tmp_path / "domain.json")
    csv.write_csv(stars.table(), tmp_path / "stars.csv")
    Ledger.create("ledger.db", hr.Budget(epsilon=4.0, delta=1e-5, unit="user", adjacency="add-remove"))


@contextlib.contextmanager
def closed_pipe():
    read, write = os.pipe()
    os.close(read)
    yield write
    os.close(write)


@contextlib.contextmanager
def full():
    with FULL.open("wb") as stream:
        yield stream


def run(line, environment=None, out=None, err=None):
    """Run a command in a process of its own; what it prints is read unless a stream is given."""
    return subprocess.run(
        [sys.executable, "-c", "from hushrec.cli import main; main()", *split(line)],
        env={**os.environ, "PYTHONUNBUFFERED": "", **(environment or {})},
        stdout=out or subprocess.PIPE,
        stderr=err or subprocess.PIPE,
    )


def charges():
    return len(Ledger.open("ledger.db").state().charges)


def require_made_once(done):
    """The command succeeded, what it made is there under one charge, and it is not made again."""
    assert done.returncode == 0, done.stderr
    assert Path("r.safetensors").exists()
    assert charges() == 1
    assert run(FIT).returncode == 2
    assert charges() == 1


@pytest.mark.parametrize(
    "broken",
    [pytest.param(full, marks=needs_full), pytest.param(closed_pipe, marks=pytest.mark.full)],
)
def test_output_that_is_lost_after_the_charge_is_told_and_no_failure(here, broken):
    with broken() as out:
        done = run(FIT, out=out)
    assert TOLD in done.stderr.decode()
    assert "Traceback" not in done.stderr.decode()
    require_made_once(done)


@pytest.mark.full
@pytest.mark.parametrize("environment", [ASCII, POSIX, {"PYTHONIOENCODING": "latin-1"}])
def test_signs_that_an_encoding_lacks_are_spelled(here, environment):
    done = run(FIT, environment)
    assert done.stdout.decode("ascii" if environment == ASCII else "latin-1").count("epsilon = ")
    assert b"\\u" not in done.stdout
    require_made_once(done)


@pytest.mark.full
@pytest.mark.parametrize("both", [False, True])
@needs_full
def test_standard_error_may_be_full(here, both):
    with full() as broken:
        done = run(FIT, {"PYTHONUNBUFFERED": "1"} if both else None, broken if both else None, broken)
    require_made_once(done)


@pytest.mark.full
def test_warnings_as_errors_stop_nothing(here):
    left = Path(".r.safetensors.abc.hushrec-draft")
    left.mkdir()
    (left / "new").touch()
    done = run(FIT, {"PYTHONWARNINGS": "error", "PYTHONDEVMODE": "1"})
    assert b"a killed run had left it" in done.stderr
    require_made_once(done)


@needs_full
def test_before_a_charge_lost_output_is_a_failure(here):
    with full() as out:
        assert run("models", out=out).returncode != 0


def test_what_is_read_alone_is_printed_in_any_encoding(here):
    for line in ("ledger show ledger.db", f"plan --domain domain.json {BUDGET} --model global-effects"):
        done = run(line, ASCII)
        assert (done.returncode, done.stderr) == (0, b"")
        assert b"epsilon = " in done.stdout


def test_our_own_texts_are_spelled_and_the_signs_of_ids_stay_apart():
    def printed(text, encoding="ascii"):
        return text.encode(encoding, "hushrec.spelled").decode(encoding)

    english = Path(sentences.__file__).read_text("utf-8")
    assert "\\" not in printed(english.replace("\\", ""))
    assert printed("ε ≤ 1, δ…") == "epsilon <= 1, delta..."
    assert printed("Amélie 天") == "Am\\xe9lie \\u5929"
    assert printed("Amélie, ε²", "latin-1") == "Amélie, epsilon²"
    assert printed("\udcff", "utf-8") == "\\udcff"


def test_a_closed_stream_is_no_file_that_is_opened_later():
    script = "import os; from hushrec.cli.console import prepare; prepare(); os._exit(os.open('/', 0))"
    done = subprocess.run(["/bin/sh", "-c", 'exec "$0" -c "$1" <&- >&- 2>&-', sys.executable, script])
    assert done.returncode > 2


def test_any_failure_after_publication_is_told(capsys):
    with console.publication("r.safetensors"):
        raise ValueError("a bug")
    assert f"hushrec: r.safetensors is written and {TOLD}: ValueError: a bug" in capsys.readouterr().err
