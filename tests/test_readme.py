"""What the README tells a newcomer to type does what it says."""

import ast
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
README = (ROOT / "README.md").read_text("utf-8")
LIKED = ["Bright Garden", "Frozen Letter"], ["Tender Passenger", "Restless Sister"]
BLOCKS = re.findall(r"^```(\w*)\n(.*?)^```", README, re.MULTILINE | re.DOTALL)


def block(language, nth=0):
    return [text for kind, text in BLOCKS if kind == language][nth]


@pytest.fixture
def shop(tmp_path, monkeypatch):
    """A folder with a catalogue and clicks, as the README assumes them."""
    monkeypatch.chdir(tmp_path)
    rng, items = np.random.default_rng(0), ["Alien", "Heat", "Tron", *(f"Film {n}" for n in range(37))]
    (tmp_path / "films.txt").write_text("\n".join(items) + "\n", "utf-8")
    rows = [
        f"user{user},{items[item]}"
        for user in range(200)
        for item in rng.choice(len(items), 12, replace=False)
    ]
    (tmp_path / "clicks.csv").write_text("\n".join(["user_id,item_id", *rows]) + "\n", "utf-8")
    return tmp_path


def test_the_table_has_the_figures_of_the_results():
    """Those of MovieLens 1M at ε = 1."""
    results = (ROOT / "lab/scoreboard/top_n.md").read_text("utf-8")
    stored = re.search(
        r"<!-- table: top_n.csv; MovieLens 1M, likes; lists -->\n(.*?)\n\n", results, re.DOTALL
    )[1]
    head, _, *rows = [[cell.strip() for cell in line.split("|")[1:-1]] for line in stored.splitlines()]
    units = {"rating": "like", "record": "like", "user": "user"}
    wanted = [
        f"| {name} | {' | '.join(cells[head.index(epsilon)].split(' / '))} |"
        for method, unit, epsilon, name in [
            ("EASE", "–", "∞", "EASE, not private"),
            *(("PrivateEASE", unit, "1", f"`PrivateEASE`, ε = 1 per {units[unit]}") for unit in units),
            ("popularity", "–", "∞", "most popular, not private"),
        ]
        for cells in rows
        if cells[:2] == [method, unit]
    ]
    shown = re.search(r"^\| lists .*?\n\n", README, re.MULTILINE | re.DOTALL)[0].splitlines()[2:-1]
    assert sorted(shown) == sorted(wanted)
    assert len(shown) == 4


def test_the_python_block_prints_lists_of_titles(tmp_path, monkeypatch, capsys):
    """Every run draws its own noise; the lists shown are compared with those of the model without noise."""
    monkeypatch.chdir(tmp_path)
    names = {}
    exec(compile(block("python"), "README.md", "exec"), names)
    printed = [ast.literal_eval(line) for line in capsys.readouterr().out.splitlines()]
    shown = [ast.literal_eval(line) for line in block("text").splitlines()]
    assert [len(row) for row in printed] == [len(row) for row in shown] == [4, 4]
    assert set(printed[0]) != set(printed[1])
    assert names["client"].release.statement.private
    exact = hushrec.Client(hushrec.baseline(names["clicks"], hushrec.PrivateEASE()))
    for liked, row in zip(LIKED, shown, strict=True):
        assert str(liked).replace("'", '"') in block("python")
        assert set(row) <= {found.item_id for found in exact.recommend(liked, n=40)}
    assert len(block("python").splitlines()) <= 10


def test_the_line_that_loads_clicks_runs(shop):
    (line,) = re.findall(r"`(hr\.load\(.*?)`", README)
    loaded = eval(line, {"hr": hushrec, "items": ["Alien", "Heat", "Tron"]})
    assert loaded.n_entries > 0


def test_the_command_lines_run(shop):
    """The first as it is typed; the others in this process."""
    (program, *arguments), *others = (
        shlex.split(line, comments=True) for line in block("sh", 1).replace("\\\n", "").splitlines()
    )
    command = [Path(sys.executable).with_name(program), *arguments]
    done = subprocess.run(command, capture_output=True, text=True)
    assert done.returncode == 0, f"{arguments}\n{done.stdout}{done.stderr}"
    for same, *arguments in others:
        found = CliRunner().invoke(app, arguments)
        assert (same, found.exit_code) == (program, 0), f"{arguments}\n{found.output}"
    assert len(others) == 4
