"""The commands: what they run, say and write, and what they refuse."""

import re
import sys
from pathlib import Path
from shlex import split
from types import SimpleNamespace

import polars as pl
import pytest
from typer.testing import CliRunner

from lab import commands, reproduction
from lab.__main__ import app
from lab.experiments.datasets import FETCHED
from lab.reproduction import Reproduction, Trial, Trials


def lab(line, code=0):
    """Run a command; check its exit code, and that nobody sees a traceback."""
    result = CliRunner().invoke(app, split(line))
    if result.exception and not isinstance(result.exception, SystemExit):
        raise result.exception
    assert result.exit_code == code, result.output
    assert "Traceback" not in result.output
    return result


def refused(line):
    """Run a command that must be refused; the last line of what it says."""
    return lab(line, code=2).stderr.rstrip().splitlines()[-1]


@pytest.fixture(autouse=True)
def elsewhere(tmp_path, monkeypatch):
    """An empty folder, and a wide screen."""
    monkeypatch.chdir(tmp_path)
    monkeypatch.setenv("COLUMNS", "200")


# -- bench, data --------------------------------------------------------------------------------------------


def test_all_benchmarks_are_listed_and_get_their_own_options(monkeypatch):
    shown, seen = lab("bench").stdout, []
    for path in (path for folder in commands.FOLDERS for path in folder.glob("*.py")):
        assert (f"\n{path.stem} " in shown) == ("__main__" in path.read_text("utf-8")), path
    monkeypatch.setattr(
        commands.subprocess, "run", lambda command, env: seen.append(command) or SimpleNamespace(returncode=3)
    )
    lab("bench ratios --rounds 3 --help", code=3)
    assert seen == [[sys.executable, str(commands.FOLDERS[1] / "ratios.py"), "--rounds", "3", "--help"]]
    assert "there is no benchmark 'nosuch'; there are als, bench" in refused("bench nosuch")


def test_data_sets_are_listed_and_what_is_not_the_published_archive_is_refused():
    assert all(name in lab("data list").stdout for name in FETCHED)
    Path("train.csv").write_text("user_id,item_id,rating\n")
    assert "not the published archive" in refused("data get ml-1m --from train.csv --to sets")
    assert "data set 'nosuch' is unknown" in refused("data get nosuch --to sets")


# -- grid ---------------------------------------------------------------------------------------------------

CLICKS = """
[data]
generated = { users = 200, items = 30, interactions = 2500, seed = 3 }
[split]
kind = "people"
people = 40
splits = 2
[measure]
metrics = ["ndcg@10", "recall@5"]
[[run]]
name = "noisy"
model = "outside_grid:Listed"
unit = "user"
adjacency = "add-remove"
epsilon = [1, 8]
delta = 1e-6
[[reference]]
name = "popularity"
"""


def test_a_grid_of_a_model_of_ones_own_runs_once_and_tells(monkeypatch):
    monkeypatch.setattr(sys, "path", [*sys.path])
    Path("outside_grid.py").write_text("import hushrec as hr\nclass Listed(hr.Popularity): ...")
    Path("clicks.toml").write_text(CLICKS)
    shown = lab("grid clicks.toml").stdout
    assert shown.startswith("NOT PRIVATE, not for publication")
    assert "Wrote clicks.parquet: 6 runs, 6 of them now, 0 failed" in shown
    assert "ε at which ndcg@10 exceeds" in shown
    assert "RMSE" not in shown
    rows = pl.read_parquet("clicks.parquet")
    assert rows["model"].unique().sort().to_list() == ["outside_grid:Listed", "popularity"]
    assert rows["ndcg@10"].is_between(0, 1, closed="none").all()
    mean = rows.filter(name="noisy", epsilon=1.0)["ndcg@10"].mean()
    assert re.search(rf"^noisy +1 .*\b{mean:.4f} ", shown, re.MULTILINE)
    assert "6 runs, 0 of them now" in lab("grid clicks.toml --out clicks.parquet").stdout
    Path("clicks.toml").write_text(CLICKS.replace("delta", "deltaa"))
    assert "clicks.toml: run[1].deltaa: Extra inputs" in refused("grid clicks.toml")


# -- reproduce ----------------------------------------------------------------------------------------------


class Squares:
    """A bench; 3 fails until it is mended."""

    def __init__(self):
        self.mended, self.seen = False, []

    def open(self):
        pass

    def measure(self, trial):
        self.seen.append(trial.name)
        if trial.settings["x"] == 3 and not self.mended:
            raise ArithmeticError("three\x1b[2J")
        return [{"found": trial.settings["x"] ** 2}]


@pytest.fixture
def squares(monkeypatch):
    """A reproduction of squares in place of those that there are."""
    found = Squares()

    def works(folder):
        trials = [Trial(f"x = {x}", {"x": x}) for x in (2, 3)]
        return {"squares": Trials(trials, found, {"x": pl.Int64, "found": pl.Int64})}

    def page(results, folder):
        rows = reproduction.read(results, "squares")["squares"]["found"]
        (folder / "squares.md").write_text(f"{rows.to_list()}")

    made = Reproduction("Euclid", "squares", ("ml-1m",), 1, works, page)
    monkeypatch.setattr(reproduction, "MODULES", {"squares": "none"})
    monkeypatch.setattr(reproduction, "named", lambda name: made)
    return found


def test_failed_runs_are_named_and_tried_again_and_no_page_is_written_meanwhile(squares):
    failed = lab("reproduce squares", code=2)
    assert r"failed: squares: x = 3: ArithmeticError: three\x1b[2J" in failed.stderr
    assert "1 runs failed; start again to try them again" in failed.stderr
    assert not Path("reproduced").exists()
    squares.mended = True
    assert lab("reproduce squares").stdout.startswith("NOT PRIVATE, not for publication")
    assert squares.seen == ["x = 2", "x = 3", "x = 3"]
    assert Path("reproduced/squares.md").read_text() == "[4, 9]"


def test_without_runs_the_page_alone_is_written(squares):
    wanted = "squares.parquet is not there; leave out --no-runs, and the runs are made first"
    assert wanted in refused("reproduce squares --no-runs")
    Path("runs").mkdir()
    pl.DataFrame({"found": [7]}).write_parquet("runs/squares.parquet")
    lab("reproduce squares --no-runs")
    assert Path("reproduced/squares.md").read_text() == "[7]"
    assert squares.seen == []


def test_without_a_name_all_are_listed():
    shown = lab("reproduce").stdout
    assert all(f"\n{name} " in shown for name in reproduction.MODULES)
