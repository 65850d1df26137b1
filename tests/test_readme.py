"""What the README tells a newcomer to type does what it says."""

import os
import re
import shlex
import subprocess
import sys
from pathlib import Path

import numpy as np
import pytest
from typer.testing import CliRunner

import hushrec
from hushrec.cli.app import app

ROOT = Path(__file__).resolve().parents[1]
BLOCKS = re.findall(
    r"^```(\w*)\n(.*?)^```", (ROOT / "README.md").read_text("utf-8"), re.MULTILINE | re.DOTALL
)


def block(language, nth=0):
    return [text for kind, text in BLOCKS if kind == language][nth]


@pytest.fixture
def shop(tmp_path, monkeypatch):
    """A folder with a catalogue and ratings, as the README assumes them."""
    monkeypatch.chdir(tmp_path)
    rng, items = np.random.default_rng(0), ["Alien", "Heat", "Tron", *(f"Film {n}" for n in range(37))]
    (tmp_path / "films.txt").write_text("\n".join(items) + "\n", "utf-8")
    rows = [
        f"user{user},{items[item]},{rng.integers(1, 6)}"
        for user in range(200)
        for item in rng.choice(len(items), 12, replace=False)
    ]
    (tmp_path / "ratings.csv").write_text("\n".join(["user_id,item_id,rating", *rows]) + "\n", "utf-8")
    return tmp_path


def test_the_first_block_is_the_two_commands():
    commands = [line.split("#")[0].strip() for line in BLOCKS[0][1].splitlines()]
    assert commands == ["make demo", "make test"]


def test_continuous_integration_runs_the_lint_and_the_readmes_test_command(tmp_path):
    make = tmp_path / "make"
    make.write_text('#!/bin/sh\necho "make $*"\n')
    make.chmod(0o755)
    environment = {**os.environ, "PATH": f"{tmp_path}:{os.environ['PATH']}"}
    done = subprocess.run([ROOT / ".ci" / "run"], env=environment, capture_output=True, text=True)
    assert done.returncode == 0, done.stderr
    assert done.stdout.splitlines() == ["make lint", "== make test", "make test"]


def test_the_python_block_runs(shop, capsys):
    names = {}
    exec(compile(block("python"), "README.md", "exec"), names)
    printed = capsys.readouterr().out
    assert "true ε = 1 at δ = 1e-06" in printed
    assert "Charged to ledger" in printed
    assert "NOT PRIVATE" in printed
    assert len(names["client"].recommend({"Alien": 5, "Heat": 2}, n=10)) == 10
    assert names["release"].statement.private
    with pytest.raises(hushrec.BudgetExceeded):
        hushrec.fit(names["ratings"], names["config"], names["budget"], ledger="ledger.db")


def test_the_command_lines_run(shop):
    """The first as it is typed; the others, which differ in arguments alone, in this process."""
    (program, *arguments), *others = (
        shlex.split(line, comments=True) for line in block("sh", 1).replace("\\\n", "").splitlines()
    )
    command = [Path(sys.executable).with_name(program), *arguments]
    done = subprocess.run(command, capture_output=True, text=True)
    assert done.returncode == 0, f"{arguments}\n{done.stdout}{done.stderr}"
    for same, *arguments in others:
        found = CliRunner().invoke(app, arguments)
        assert (same, found.exit_code) == (program, 0), f"{arguments}\n{found.output}"
