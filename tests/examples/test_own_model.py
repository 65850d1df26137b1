"""The package that researchers copy does what its page says, and the page shows its lines."""

import re
import shlex
import subprocess
import sys
import textwrap
from importlib import import_module
from inspect import signature
from pathlib import Path

import pytest

from hushrec.models.phases import outputs

ROOT = Path(__file__).resolve().parents[2]
EXAMPLE = ROOT / "examples" / "own_model"
PAGE = (ROOT / "docs" / "own-model.md").read_text("utf-8")
FILES = [path.read_text("utf-8") for path in sorted(EXAMPLE.iterdir()) if path.is_file()]
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


def test_the_page_shows_lines_of_the_example():
    listed = [body for language, body in blocks("python", "toml") if body != session()]
    assert len(listed) > 8
    for body in listed:
        method = textwrap.indent(body.replace("\n\n\n", "\n\n"), "    ")
        assert any(body in file or method in file for file in FILES), body


@pytest.mark.full
def test_the_example_passes_its_own_tests(typed):
    # Not the search that finds nothing: the audits below hold it, and it is the longest.
    options = "-p", "no:cacheprovider", "--deselect", "test_landmark_items.py::test_delta_holds"
    code, printed = typed("-m", "pytest", *options, cwd=EXAMPLE)
    assert code == 0, printed
    assert "9 passed, 1 deselected" in printed


def test_the_model_of_ratings_is_shown_whole():
    (shown,) = [body for _, body in blocks("python") if "class CappedMeans" in body]
    assert (EXAMPLE / "capped_means.py").read_text("utf-8").endswith(shown)


def test_the_outputs_are_called_as_the_page_says():
    calls = re.findall(r"^\| `(\w+_release)\((.*?)\)`", PAGE, re.MULTILINE)
    assert len(calls) == 5
    for name, arguments in calls:
        assert [*signature(getattr(outputs, name)).parameters] == arguments.split(", ")


def test_classes_are_imported_from_where_the_page_says():
    modules = re.findall(r"^\| `(\w+)` \| `(hushrec[\w.]+)` \|$", PAGE, re.MULTILINE)
    assert len(modules) == 3
    for name, module in modules:
        assert getattr(import_module(module), name).__module__ == module


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


@pytest.mark.full
def test_the_grid_prints_what_the_page_says(typed, tmp_path):
    (command,) = [body for _, body in blocks("sh") if body.startswith("python -m lab")]
    code, printed = typed(*shlex.split(command.replace("landmarks.", f"{tmp_path}/landmarks."))[1:], cwd=ROOT)
    assert code == 0, printed
    assert "27 runs" in printed
    (table,) = shown("8. Compare it")
    assert recalls(table) == pytest.approx(recalls(printed), abs=0.005)
    assert (tmp_path / "landmarks.pdf").is_file()


def recalls(table):
    """The recall of every line of a table: before an interval."""
    found = [float(value) for value in re.findall(r"([01]\.\d+)  +[01]\.\d+ to [01]\.\d+", table)]
    assert len(found) == 9
    return found
