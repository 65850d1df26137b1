"""Grids are run once, whatever fails or is killed, and their table is in the grid's order."""

import json

import polars as pl
import pytest

from lab.experiments.grid import Grid
from lab.experiments.results import SCHEMA, Results
from lab.experiments.runner import Experiment

TEXT = """
[data]
generated = { users = 150, items = 40, ratings = 2500, seed = 3 }
[split]
kind = "kfold"
folds = 2
[[run]]
name = "svd"
model = "CovarianceSVD"
settings = { rank = 3 }
unit = "record"
adjacency = "add-remove"
epsilon = [1, 8, inf]
delta = 1e-6
[[run]]
name = "impossible"
model = "GlobalEffects"
epsilon = 1
delta = 0
unit = "record"
adjacency = "add-remove"
[[reference]]
name = "item average"
"""
TIMING = ["fit_seconds", "predict_seconds"]


@pytest.fixture
def experiment(tmp_path):
    def experiment(text=TEXT, out="out.parquet"):
        (tmp_path / "grid.toml").write_text(text)
        return Experiment(Grid.open(tmp_path / "grid.toml"), tmp_path / out)

    return experiment


def test_a_failed_run_stops_no_other_and_alone_is_tried_again(experiment):
    first = experiment()
    assert [done.case.name for done in first.run() if done.error] == ["impossible"] * 2
    table = first.table()
    assert len(table) == 2 * (3 + 1 + 1)
    failed = table.filter(pl.col("error").is_not_null())
    assert failed["name"].to_list() == ["impossible"] * 2
    assert failed["error"][0].startswith("BudgetUnsupported: Gaussian noise needs delta > 0")
    assert {case.name for case in experiment().missing().values()} == {"impossible"}
    again = experiment(TEXT.replace("delta = 0", 'delta = 0\nsettings = { noise = "laplace" }'))
    assert [done.error for done in again.run()] == [None] * 2
    mended = again.table()
    assert mended["error"].null_count() == len(mended) == len(table)
    same = mended.filter(pl.col("name") != "impossible")
    assert same.equals(table.filter(pl.col("name") != "impossible"))  # to the second: nothing was run again


@pytest.mark.full
def test_processes_change_no_result(experiment):
    one, two = experiment(), experiment(out="parallel.csv")
    assert len(list(one.run())) == len(list(two.run(workers=2)))
    assert two.table().drop(TIMING).equals(one.table().drop(TIMING))


def row(key, rmse=1.0, **more):
    return {**dict.fromkeys(SCHEMA), "key": key, "rmse": rmse, **more}


@pytest.mark.parametrize("ending", ["parquet", "csv"])
def test_runs_are_in_the_grids_order_under_its_names_and_the_last_of_a_key_counts(tmp_path, ending):
    results = Results(tmp_path / "deep" / f"table.{ending}")
    results.add([row("a", None, error="it failed")])
    for key in "bca":
        results.add([row(key, 1.5)])
    table = results.table({"c": "curve", "a": "curve", "b": "other", "d": "other"})
    assert table.select("name", "key", "rmse").rows() == [
        ("curve", "c", 1.5),
        ("curve", "a", 1.5),
        ("other", "b", 1.5),
    ]
    assert table["error"].null_count() == 3
    assert results.out.exists()
    assert results.table({"c": "renamed"})["name"].to_list() == ["renamed"]


def test_half_a_line_of_a_killed_process_does_no_harm(tmp_path):
    results = Results(tmp_path / "table.parquet")
    results.add([row("a")])
    with results.log.open("a") as file:
        file.write("\n" + json.dumps([{"key": "b", "rmse": 2.0}])[:15])
    results.add([row("c")])
    assert [*results.runs()] == ["a", "c"]
