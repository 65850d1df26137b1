import math
import shutil
from pathlib import Path

import polars as pl
import pytest

from lab.scoreboard import every_set
from lab.scoreboard.contest import AVERAGE, RECOMMENDED, TYPES, UNDECLARED

STORED = Path(__file__).parents[2] / "scoreboard"


def rows(*lines):
    """Runs of ml-100k, unit user, ε = 1: model, split, RMSE."""
    fixed = {"data": "ml-100k", "public": "", "unit": "user", "epsilon": 1.0, "fit_seconds": 2.0, "mae": 0.7}
    found = [
        {**fixed, "model": m, "split": s, "rmse": e, "chosen": "PosteriorMF" if m == RECOMMENDED else m}
        for m, s, e in lines
    ]
    return pl.DataFrame(found, schema=TYPES)


def test_a_ratio_is_taken_over_the_splits_that_both_were_run_on():
    found = every_set.Cell.of(
        rows(
            (RECOMMENDED, 0, 0.95),
            (RECOMMENDED, 1, 0.85),
            ("GlobalEffects", 0, 1.0),
            ("GlobalEffects", 1, 0.9),
            ("PosteriorMF", 0, 0.94),
            ("PrivateALS", 0, None),
        )
    )
    assert (found.best, found.error, found.ratio) == ("PosteriorMF", 0.94, pytest.approx(0.95 / 0.94))
    assert found.over_simplest == pytest.approx(1.8 / 1.9)
    assert (found.recommended, found.simplest) == pytest.approx((0.9, 0.95))
    assert found.chosen == "PosteriorMF"
    assert every_set.Cell.of(rows((RECOMMENDED, 0, 0.95))) is None


@pytest.mark.parametrize(("error", "near", "least"), [(0.9, 1, 1), (1.0, 1, 1), (1.001, 1, 0), (1.003, 0, 0)])
def test_the_page_says_where_a_mark_is_missed(error, near, least):
    text = every_set._marks(rows((RECOMMENDED, 0, error), ("GlobalEffects", 0, 1.0)))
    assert text.startswith(f"In {near} of 1 cells")
    assert f"and in {least} it is at most `GlobalEffects`" in text
    assert ("| ml-100k | user | 1 | `PosteriorMF` |" in text) == (near == 0)


def test_a_mark_may_be_missed_where_no_crowd_is_declared():
    text = every_set._marks(rows((RECOMMENDED, 0, 1.0), (UNDECLARED, 0, 1.004), ("GlobalEffects", 0, 1.0)))
    assert "no crowd is declared, it is at most 1.002 times the best other model in 0 of 1." in text
    assert "| 1.0000 | 1.0040 |" in text


def test_every_run_is_listed_once_and_what_the_marks_compare_comes_first():
    listed = [tuple(trial.settings.values()) for trial in every_set._runs(every_set.SETS)]
    assert len(set(listed)) == len(listed)
    cells = len(every_set.SETS) * len(every_set.BUDGETS)
    compared = {RECOMMENDED, UNDECLARED, every_set.SIMPLEST}
    assert {run[4] for run in listed[: 2 * cells]} == {*compared, AVERAGE}
    assert sum(run[4] == RECOMMENDED for run in listed) == every_set.SPLITS * cells
    assert {run[4] for run in listed if run[2] == "user"} == compared | {*every_set.others("user")}


def test_others_add_noise_to_ratings_and_support_the_unit():
    assert "GlobalEffects" in every_set.others("user")
    assert "PosteriorMF" not in every_set.others("record")
    assert {"PosteriorMF", "PrivateSGD"} < set(every_set.others(None))
    apart = {"MatrixFactorization", "PrivateEASE", "PosteriorSampleMF", "AdaptiveFactors"}
    assert not apart & set(every_set.others(None))


@pytest.mark.full
def test_a_page_is_made_of_a_table_with_what_was_refused_and_what_is_missing(tmp_path):
    some = rows((RECOMMENDED, 0, 0.95), ("GlobalEffects", 0, 1.0), ("PosteriorMF", 0, None))
    exact = some.with_columns(unit=pl.lit(None, pl.String), epsilon=pl.lit(math.inf))
    pl.concat([some, exact]).write_parquet(tmp_path / "every-set.parquet")
    every_set.page(tmp_path, tmp_path)
    text = (tmp_path / "every-set.md").read_text("utf-8")
    assert "| `PosteriorMF` |  |  |  |  |  |  |  | refused |  |  |  |  | refused |" in text
    assert "| ml-100k | ∞ | `PosteriorMF` | 0.9500 | 1.0000 | `GlobalEffects` | 1.0000 | 0.9500 |  |" in text
    assert "Not measured yet.\n" in text
    line = "user,4.0,recommended,GlobalEffects,0.95757,0.67,0.12"
    (tmp_path / "sparse.csv").write_text(f"unit,epsilon,model,chosen,rmse,seconds,memory_gb\n{line}\n")
    every_set.page(tmp_path, tmp_path)
    text = (tmp_path / "every-set.md").read_text("utf-8")
    assert "| user | 4.0 | `recommended` | `GlobalEffects` | 0.95757 | 0.67 | 0.12 |" in text
    (tmp_path / "every-set.parquet").unlink()
    every_set.page(tmp_path, tmp_path)  # from its CSV
    assert (tmp_path / "every-set.md").read_text("utf-8") == text


@pytest.mark.full
def test_the_stored_page_is_made_of_the_stored_csv(tmp_path):
    for name in ("every-set.csv", "sparse.csv"):
        shutil.copy(STORED / name, tmp_path)
    every_set.page(tmp_path / "none", tmp_path)
    assert (tmp_path / "every-set.md").read_text("utf-8") == (STORED / "every-set.md").read_text("utf-8")
