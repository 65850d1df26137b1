"""Every cell of the guides, which the documentation runs as notebooks, does what it says."""

import contextlib
import io
import re
import shlex
from pathlib import Path

import pytest
from typer.testing import CliRunner

from hushrec.cli.app import app

DOCS = Path(__file__).resolve().parents[1] / "docs"
FENCE = re.compile(r"^```([^\n]*)\n(.*?)^```$", re.MULTILINE | re.DOTALL)
INSTALL = "python3 -m venv .venv\n.venv/bin/pip install '.[curator]'\n.venv/bin/hushrec --version\n"
"""The one block that the tests cannot run: they are what it installs."""
REFUSED = ":tags: [raises-exception]\n"


def guides():
    """The pages that are notebooks."""
    return [
        page for page in sorted(DOCS.glob("*.md")) if page.read_text("utf-8").startswith("---\nfile_format")
    ]


def cells(text):
    """The code of a page's cells, and whether each must be refused; other blocks of code are not allowed."""
    for kind, body in FENCE.findall(text):
        if kind == "{code-cell} python":
            refused = body.startswith(REFUSED)
            yield body.removeprefix(REFUSED).strip("\n"), refused
        else:
            assert kind == "{toctree}" or body == INSTALL, f"a block that nobody runs: {kind}\n{body}"


def run(cell, names, refused):
    """Run a cell as the notebook would: Python, or commands in this process; return what it prints."""
    printed = io.StringIO()
    if not cell.startswith("!"):
        with contextlib.redirect_stdout(printed):
            exec(compile(cell, "cell", "exec"), names)
        return printed.getvalue()
    for line in cell.replace("\\\n", "").splitlines():
        program, *arguments = shlex.split(line, comments=True)
        assert program == "!hushrec", f"not a command of hushrec: {line}"
        done = CliRunner().invoke(app, arguments)
        assert done.exit_code == (2 if refused else 0), f"{line}\n{done.output}"
        printed.write(done.output)
    return printed.getvalue()


@pytest.mark.parametrize("page", guides(), ids=lambda page: page.stem)
@pytest.mark.full
def test_every_cell_runs(page, tmp_path, monkeypatch):
    monkeypatch.chdir(tmp_path)
    names = {"__name__": "__main__"}
    for cell, refused in cells(page.read_text("utf-8")):
        run(cell, names, refused)
