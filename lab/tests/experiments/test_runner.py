import math

import polars as pl
import pytest

from hushrec.data.split import kfold
from hushrec.errors import ConfigError
from hushrec.evaluation import baselines
from hushrec.evaluation.compare import rmse
from hushrec.evaluation.protocol import evaluate, predictions
from hushrec.privacy.accounting.budget import Budget
from lab import published
from lab.experiments.grid import Grid
from lab.experiments.runner import Experiment
from lab.mcsherry_mironov.published import McSherrySVD

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
ONE = """
[data]
generated = { users = 150, items = 40, ratings = 2500, seed = 3 }
[split]
kind = "holdout"
splits = 1
[[reference]]
name = "item average"
"""
"""A single run, for which one process is started however many may be."""
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


@pytest.mark.full
def test_a_row_is_what_the_library_says(ended):
    _, table = ended
    ratings = Grid.model_validate({"data": {"generated": GENERATED}, "split": {"kind": "kfold"}}).data.load()
    train, test = list(kfold(ratings, 2, 0))[1]
    budget = Budget(epsilon=8.0, delta=1e-6, unit="record", adjacency="add-remove")
    model = McSherrySVD(rank=3)
    release = published.fit(train, model, budget, 1001)
    found = evaluate(release, train=train, test=test)
    row = table.row(
        by_predicate=(pl.col("analysis") == "published")
        & (pl.col("epsilon") == 8)
        & (pl.col("split") == 1)
        & (pl.col("seed") == 1),
        named=True,
    )
    assert (row["rmse"], row["mae"]) == (found["rmse"], found["mae"])
    assert (row["true_epsilon"], row["claimed_epsilon"]) == (
        published.cost(model, train.domain, budget).true,
        8.0,
    )
    assert row["fit_seconds"] > 0
    assert row["peak_mb"] is None or row["peak_mb"] > 10
    reference = table.row(
        by_predicate=(pl.col("name") == "item average") & (pl.col("split") == 1), named=True
    )
    assert reference["rmse"] == rmse(test.numbers(), baselines.item_average(train, test))
    assert reference["settings"] is None


GENERATED = {"users": 150, "items": 40, "ratings": 2500, "seed": 3}


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
    assert parallel.rows().drop(TIMING).equals(ended[1].drop(TIMING))
    assert parallel.table().drop(TIMING).equals(ended[1].drop(TIMING))


def test_stopped_in_the_middle_it_keeps_what_is_finished(experiment):
    first = experiment()
    for done, _ in zip(first.run(), range(5), strict=False):
        assert done.case
    assert 5 <= len(first.rows()) <= 6
    assert len(experiment().missing()) == len(first.cases) - len(first.rows())


@pytest.mark.full
def test_workers_say_why_they_cannot_start(experiment, tmp_path):
    (tmp_path / "broken.parquet").write_text("no ratings")
    file = 'ratings = "broken.parquet"\ndomain = { items = [1, 9], scale = [1, 5, 1], max_users = 9 }'
    text = ONE.replace("generated = { users = 150, items = 40, ratings = 2500, seed = 3 }", file)
    with pytest.raises(Exception, match=r"broken\.parquet") as caught:
        list(experiment(text).run(workers=2))
    assert type(caught.value).__name__ == "DataError"


def test_missing_ratings_are_noticed_before_anything_runs(experiment):
    file = 'ratings = "none.csv"\ndomain = { items = [1, 9], scale = [1, 5, 1], max_users = 9 }'
    with pytest.raises(ConfigError, match=r"data\.ratings: .*none\.csv cannot be read"):
        experiment(TEXT.replace("generated = { users = 150, items = 40, ratings = 2500, seed = 3 }", file))


@pytest.mark.full
def test_a_killed_worker_is_an_error_with_its_fix(experiment, monkeypatch):
    monkeypatch.setattr("lab.experiments.runner._run", _die)
    with pytest.raises(ConfigError, match="fewer --workers"):
        list(experiment(ONE).run(workers=2))


def _die(*_):
    import os
    import signal

    os.kill(os.getpid(), signal.SIGKILL)


def test_a_prediction_that_is_no_number_is_a_failure(experiment, monkeypatch):
    described = experiment()
    monkeypatch.setattr(baselines, "item_average", lambda train, test: test.numbers() * math.nan)
    errors = {done.case.name: done.error for done in described.run()}
    assert errors["item average"] == "ArithmeticError: a prediction is not a finite number"


def test_known_people_fold_in_at_home_where_told(experiment, monkeypatch):
    asked = []

    def spy(*parts, fold_in, **more):
        asked.append(fold_in)
        return predictions(*parts, fold_in=fold_in, **more)

    monkeypatch.setattr("lab.experiments.measure.predictions", spy)
    text = TEXT.replace("delta = 0\n", "delta = 1e-6\nfold_in = true\n")
    assert not [done.error for done in experiment(text).run() if done.error]
    assert (asked.count(True), asked.count(False)) == (2, 20)
