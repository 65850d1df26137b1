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
from hushrec.cli.demo import FULL, RELEASE, two_tastes
from hushrec.figures import above

ROOT = Path(__file__).resolve().parents[1]
README = (ROOT / "README.md").read_text("utf-8")
BLOCKS = re.findall(r"^```(\w*)\n(.*?)^```", README, re.MULTILINE | re.DOTALL)


def block(language, nth=0):
    return [text for kind, text in BLOCKS if kind == language][nth]


@pytest.fixture
def shop(tmp_path, monkeypatch):
    """A folder with a catalogue, ratings and clicks, as the README assumes them."""
    monkeypatch.chdir(tmp_path)
    rng, items = np.random.default_rng(0), ["Alien", "Heat", "Tron", *(f"Film {n}" for n in range(37))]
    (tmp_path / "films.txt").write_text("\n".join(items) + "\n", "utf-8")
    rows = [
        f"user{user},{items[item]},{rng.integers(1, 6)}"
        for user in range(200)
        for item in rng.choice(len(items), 12, replace=False)
    ]
    (tmp_path / "ratings.csv").write_text("\n".join(["user_id,item_id,rating", *rows]) + "\n", "utf-8")
    clicks = [row.rpartition(",")[0] for row in rows if row.split(",")[1] in items[:3]]
    (tmp_path / "clicks.csv").write_text("\n".join(["user_id,item_id", *clicks]) + "\n", "utf-8")
    return tmp_path


def test_the_first_block_is_the_two_commands():
    commands = [line.split("#")[0].strip() for line in BLOCKS[0][1].splitlines()]
    assert commands == ["make demo", "make test"]


def test_the_lists_come_before_it_and_are_of_the_demos_users():
    """Every run draws its own noise, so the rest of the lists is not compared with another run's."""
    assert README.index("| rank |") < README.index("make demo  ")
    header, _, *lines = re.search(r"<!-- demo lists -->\n(.*?)<!--", README, re.DOTALL)[1].splitlines()
    clicks = FULL.make_clicks()
    tastes = two_tastes(clicks)
    users = [f"for user {user}, who clicked {', '.join(own)}" for user, own in zip("AB", tastes, strict=True)]
    assert header == f"| rank | most popular | {' | '.join(users)} |"
    ranks, popular, first, second = zip(*(line.strip("| ").split(" | ") for line in lines), strict=True)
    assert ranks == ("1", "2", "3", "4", "5")
    counts = np.bincount(clicks.items)
    often = {clicks.domain.items[item] for item in np.argsort(-counts)[:10]}
    assert set(popular) <= often
    assert not set(first) <= often
    assert not set(second) <= often
    for listed, own in ((first, tastes[0]), (second, tastes[1])):
        assert set(listed) <= set(clicks.domain.items) - set(own)
    items = r"\s+".join(f"--item\\s+{item}" for item in tastes[0])
    assert re.search(rf"`\.venv/bin/hushrec\s+recommend\s+demo/{RELEASE} {items}`", README)


def table(text):
    """The demo's table in a text: lines of cells."""
    (found,) = re.findall(r"^ε  .*?(?=\n\s*\n|\n```)", text, re.MULTILINE | re.DOTALL)
    return [re.split(r"\s{2,}", line.strip()) for line in found.splitlines()]


def test_the_table_has_the_columns_and_rows_that_the_demo_prints(tmp_path, monkeypatch):
    monkeypatch.setenv("COLUMNS", "80")
    printed = CliRunner().invoke(app, ["demo", "--quick", "--out", str(tmp_path / "demo")]).stdout
    shown, now = table(README), table(printed)
    assert shown[0] == now[0]
    assert [row[0] for row in shown[2:]] == [*map(above, FULL.epsilons), "∞"]


@pytest.mark.full
def test_the_table_has_the_numbers_that_the_demo_prints(tmp_path, monkeypatch):
    """Seeded, so equal but for the last digits on another machine; seconds are the machine's own."""
    monkeypatch.setenv("COLUMNS", "80")
    printed = CliRunner().invoke(app, ["demo", "--out", str(tmp_path / "demo")]).stdout
    for mine, now in zip(table(README)[2:], table(printed)[2:], strict=True):
        numbers = [[float(x) for x in re.findall(r"[\d.]+", " ".join(row[1:-1]))] for row in (mine, now)]
        assert numbers[0] == pytest.approx(numbers[1], abs=0.0021, rel=0.02)


def test_continuous_integration_runs_the_lint_and_the_readmes_test_command(tmp_path):
    make = tmp_path / "make"
    make.write_text('#!/bin/sh\necho "make $*"\n')
    make.chmod(0o755)
    environment = {**os.environ, "PATH": f"{tmp_path}:{os.environ['PATH']}"}
    done = subprocess.run([ROOT / ".ci" / "run"], env=environment, capture_output=True, text=True)
    assert done.returncode == 0, done.stderr
    more = ["make test-lab", "make bench-ratios", "make test-page", "make test-postgres", "make test-spark"]
    assert done.stdout.splitlines() == ["make lint", "== make test", "make test", *more]


def test_the_python_block_runs(shop, capsys):
    names = {}
    exec(compile(block("python"), "README.md", "exec"), names)
    printed = capsys.readouterr().out
    assert "ε = 1 at δ = 1e-06" in printed
    assert "Charged to ledger" in printed
    assert "NOT PRIVATE" in printed
    assert len(names["client"].recommend({"Alien": 5, "Heat": 2}, n=10)) == 10
    assert names["release"].statement.private
    with pytest.raises(hushrec.BudgetExceeded):
        hushrec.fit(names["ratings"], names["model"], names["budget"], ledger="ledger.db")


def test_the_python_block_of_clicks_runs(shop, capsys):
    names = {}
    exec(compile(block("python", 1), "README.md", "exec"), names)
    assert "Recommendation(item_id='Tron'" in capsys.readouterr().out
    assert names["release"].statement.private
    assert names["release"].model == "PrivateEASE"


@pytest.mark.parametrize("nth", [1, 2], ids=["ratings", "clicks"])
def test_the_command_lines_run(shop, nth):
    """The first as it is typed; the others, which differ in arguments alone, in this process."""
    (program, *arguments), *others = (
        shlex.split(line, comments=True) for line in block("sh", nth).replace("\\\n", "").splitlines()
    )
    command = [Path(sys.executable).with_name(program), *arguments]
    done = subprocess.run(command, capture_output=True, text=True)
    assert done.returncode == 0, f"{arguments}\n{done.stdout}{done.stderr}"
    for same, *arguments in others:
        found = CliRunner().invoke(app, arguments)
        assert (same, found.exit_code) == (program, 0), f"{arguments}\n{found.output}"
