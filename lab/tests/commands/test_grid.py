"""The command, and what is left of it when it is killed."""

import re
import sys
from pathlib import Path

import polars as pl
import pytest

GRID = """
[data]
generated = { users = 200, items = 60, ratings = 3000, seed = 3 }
[split]
kind = "kfold"
folds = 3
[[run]]
name = "svd"
model = "CovarianceSVD"
settings = { rank = 3 }
unit = "record"
adjacency = "add-remove"
epsilon = [0.3, 1, 5, inf]
delta = 1e-6
seeds = 4
[[run]]
name = "effects"
model = "McSherryEffects"
unit = "record"
adjacency = "add-remove"
epsilon = [1, 5]
delta = 1e-6
[[run]]
name = "effects"
model = "global-effects"
unit = "record"
adjacency = "add-remove"
epsilon = [1, 5]
delta = 1e-6
[[reference]]
name = "item average"
"""
RUNS = 3 * (3 * 4 + 1 + 4 + 1)


@pytest.fixture
def grid(tmp_path, monkeypatch):
    monkeypatch.chdir(tmp_path)
    monkeypatch.setenv("COLUMNS", "100")
    Path("grid.toml").write_text(GRID)
    return tmp_path


@pytest.mark.full
def test_it_runs_tells_and_draws(grid, lab):
    shown = lab("grid grid.toml --figure curve.svg").out
    assert shown.startswith("NOT PRIVATE, not for publication")
    assert f"Wrote grid.parquet: {RUNS} runs, {RUNS} of them now, 0 failed" in shown
    table = pl.read_parquet("grid.parquet")
    assert len(table) == RUNS
    mean = table.filter(name="svd", epsilon=1.0)["rmse"].mean()
    assert re.search(rf"^svd +0\.3 .*\n +1 +1 +{mean:.4f} ", shown, re.MULTILINE)
    assert re.search(r"^effects, published +[\d.>≤]", shown[shown.index("falls below") :], re.MULTILINE)
    assert Path("curve.svg").read_text().startswith("<svg ")
    again = lab("grid grid.toml --out grid.parquet").out
    assert f"{RUNS} runs, 0 of them now, 0 failed" in again


def test_refusals(grid, refused):
    Path("grid.toml").write_text(GRID.replace("rank", "rnk"))
    assert "grid.toml: run[1]: invalid settings for CovarianceSVD: rnk" in refused("grid grid.toml")
    assert "cannot be read as a grid" in refused("grid none.toml")


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
model = "popularity"
unit = "user"
adjacency = "add-remove"
epsilon = [1, 8]
delta = 1e-6
[[reference]]
name = "popularity"
"""


def test_a_grid_of_interactions(grid, lab):
    pytest.importorskip("matplotlib")
    Path("clicks.toml").write_text(CLICKS)
    shown = lab("grid clicks.toml --figure clicks.svg").out
    assert "6 runs, 6 of them now, 0 failed" in shown
    header = next(line for line in shown.splitlines() if "interval" in line)
    assert header.split()[:6] == ["ε", "true", "ε", "ndcg@10", "95", "%"]
    assert "recall@5" in header
    assert "RMSE" not in shown
    assert "ε at which ndcg@10 exceeds" in shown
    rows = pl.read_parquet("clicks.parquet")
    assert rows["ndcg@10"].is_between(0, 1, closed="none").all()
    assert "ndcg@10 against epsilon" in Path("clicks.svg").read_text()
    assert "6 runs, 0 of them now" in lab("grid clicks.toml").out


OUTSIDE = """
import hushrec as hr

class Listed(hr.Popularity):
    \"\"\"A model of somebody's own.\"\"\"
"""


@pytest.mark.full
def test_a_model_of_ones_own_is_run(grid, lab, refused, monkeypatch):
    monkeypatch.setattr(sys, "path", list(sys.path))
    Path("outside_grid.py").write_text(OUTSIDE)
    Path("own.toml").write_text(CLICKS.replace('"popularity"\nunit', '"outside_grid:Listed"\nunit'))
    assert "6 runs, 6 of them now, 0 failed" in lab("grid own.toml --workers 2").out
    rows = pl.read_parquet("own.parquet")
    assert rows["model"].unique().sort().to_list() == ["outside_grid:Listed", "popularity"]
    Path("own.toml").write_text(CLICKS.replace('"popularity"\nunit', '"nowhere:Listed"\nunit'))
    assert "own.toml: run[1].model: there is no module 'nowhere'" in refused("grid own.toml")
