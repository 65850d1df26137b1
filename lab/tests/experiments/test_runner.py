import polars as pl
import pytest

from lab.experiments.grid import Grid
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
seeds = 2
[[run]]
name = "svd"
model = "McSherrySVD"
settings = { rank = 3 }
unit = "record"
adjacency = "add-remove"
epsilon = [1, 8, inf]
delta = 1e-6
seeds = 2
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
TIMING = ["fit_seconds", "predict_seconds", "peak_mb"]


@pytest.fixture
def experiment(tmp_path):
    def experiment(text=TEXT, out="out.parquet"):
        (tmp_path / "grid.toml").write_text(text)
        return Experiment(Grid.open(tmp_path / "grid.toml"), tmp_path / out)

    return experiment


@pytest.fixture(scope="module")
def ended(tmp_path_factory):
    folder = tmp_path_factory.mktemp("grid")
    (folder / "grid.toml").write_text(TEXT)
    experiment = Experiment(Grid.open(folder / "grid.toml"), folder / "out.parquet")
    return list(experiment.run()), experiment.table()


def test_a_failed_run_is_recorded_and_stops_no_other(ended, experiment):
    done, table = ended
    failed = table.filter(pl.col("error").is_not_null())
    assert failed["name"].to_list() == ["impossible"] * 2
    assert failed["error"][0].startswith("BudgetUnsupported: Gaussian noise needs delta > 0")
    assert failed["rmse"].null_count() == 2
    assert [d.case.name for d in done if d.error] == ["impossible"] * 2
    assert len(table) == 2 * (2 * (2 * 2 + 1) + 1 + 1)
    assert table.filter(pl.col("error").is_null())["rmse"].is_finite().all()


@pytest.mark.full
def test_a_second_start_tries_what_failed_and_nothing_else(experiment):
    first = experiment()
    list(first.run())
    table = first.table()
    assert {case.name for case in experiment().missing().values()} == {"impossible"}
    again = experiment(TEXT.replace("delta = 0", 'delta = 0\nsettings = { noise = "laplace" }'))
    assert [d.error for d in again.run()] == [None] * 2
    mended = again.table()
    assert mended["error"].null_count() == len(mended) == len(table)
    same = mended.filter(pl.col("name") != "impossible")
    assert same.equals(table.filter(pl.col("name") != "impossible"))  # to the second: nothing was run again


@pytest.mark.full
def test_processes_change_no_result(ended, experiment):
    parallel = experiment()
    assert len(list(parallel.run(workers=2))) == len(ended[0])
    assert parallel.table().drop(TIMING).equals(ended[1].drop(TIMING))
    assert parallel.table().drop(TIMING).equals(ended[1].drop(TIMING))
