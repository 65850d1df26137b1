"""The package that researchers copy does what its page says, and the page shows its lines."""

import re
import shlex
import subprocess
import sys
from pathlib import Path

import pytest

ROOT = Path(__file__).resolve().parents[2]
EXAMPLE = ROOT / "examples" / "own_model"
PAGE = (ROOT / "docs" / "own-model.md").read_text("utf-8")
HUSHREC = "from hushrec.cli import main; main()"
AUDITS = 2
"""Commands of the page that audit: the model, and the wrong one."""


def blocks(*languages):
    """The blocks of code of the page, in order, with their language."""
    found = re.findall(r"^```(\w*)\n(.*?)^```", PAGE, re.MULTILINE | re.DOTALL)
    return [(language, body) for language, body in found if language in languages]


def session():
    """The one block that is run as it stands: it uses the model, and is not a part of it."""
    (body,) = [body for _, body in blocks("python") if body.startswith("import hushrec")]
    return body


def shown(heading):
    """What the page says that a command of one of its sections prints."""
    part = PAGE.partition(f"\n## {heading}\n")[2].partition("\n## ")[0]
    return re.findall(r"^```text\n(.*?)^```", part, re.MULTILINE | re.DOTALL)


def flat(text):
    return " ".join(text.split())


@pytest.fixture
def typed(tmp_path, monkeypatch):
    """Types a command of the page as its reader would; returns the exit code and what is printed."""
    monkeypatch.setenv("COLUMNS", "100")
    monkeypatch.setenv("PYTHONPATH", str(EXAMPLE))
    monkeypatch.setenv("PYTHONDONTWRITEBYTECODE", "1")

    def run(*command, cwd=tmp_path):
        done = subprocess.run([sys.executable, *command], cwd=cwd, capture_output=True, text=True)
        return done.returncode, done.stdout + done.stderr

    return run


@pytest.mark.full
def test_the_example_passes_its_own_tests(typed):
    # Not the search that finds nothing: the audits below hold it, and it is the longest.
    options = "-p", "no:cacheprovider", "--deselect", "test_landmark_items.py::test_delta_holds"
    code, printed = typed("-m", "pytest", *options, cwd=EXAMPLE)
    assert code == 0, printed
    assert "9 passed, 1 deselected" in printed


@pytest.mark.full
def test_the_session_of_the_page_runs(typed):
    code, printed = typed("-c", session())
    assert code == 0, printed
    lists = re.findall(r"^\[('i\d{5}'(?:, )?){5}\]$", printed, re.MULTILINE)
    one, other = [line for line in printed.splitlines() if line.startswith("['i")]
    assert len(lists) == 2
    assert one != other
    (plan,) = shown("6. Run it")
    (statement,) = shown("9. Read the statement")
    assert flat(plan) in flat(printed)
    assert statement.startswith("AUTHOR'S CLAIM: landmark_items.LandmarkItems")
    assert flat(statement) in flat(printed)
    assert float(re.search(r"recall@20 +([\d.]+)", printed)[1]) > 0.5


@pytest.mark.full
@pytest.mark.parametrize("number", range(AUDITS))
def test_an_audit_prints_what_the_page_says(number, typed):
    audits = [body for _, body in blocks("sh") if body.startswith("hushrec audit")]
    assert len(audits) == len(shown("7. Audit it")) == AUDITS
    code, printed = typed("-c", HUSHREC, *shlex.split(audits[number])[1:])
    assert printed.rstrip() == shown("7. Audit it")[number].rstrip()
    assert code == number, "the second one is wrong"
    assert ("EXCEEDED" in printed) == bool(number)
