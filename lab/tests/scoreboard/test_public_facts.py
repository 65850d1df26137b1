import math

import polars as pl
import pytest

from lab.scoreboard import public_facts
from lab.scoreboard.contest import ALONE, RECOMMENDED, TYPES


def rows(*lines):
    """Runs: model, public, unit, ε, split, RMSE."""
    columns = ("model", "public", "unit", "epsilon", "split", "rmse")
    found = [dict(zip(columns, line, strict=True)) for line in lines]
    chosen = pl.when(model=RECOMMENDED).then(pl.lit("PosteriorMF")).otherwise("model")
    return pl.DataFrame(found, schema=TYPES).with_columns(chosen=chosen)


@pytest.fixture
def some():
    return rows(
        (RECOMMENDED, "", "user", 1.0, 0, 0.95),
        (RECOMMENDED, "", "user", 1.0, 1, 0.97),
        (RECOMMENDED, "features", "user", 1.0, 0, 0.94),
        (RECOMMENDED, "", None, math.inf, 0, 0.84),
        ("GlobalEffects", "", "user", 1.0, 0, 0.98),
        (ALONE, "", None, math.inf, 0, 0.93),
    )


def test_each_aim_stands_above_what_is_to_reach_it(some):
    lines = public_facts.table(some, "user").splitlines()
    assert lines[2] == f"| aim, {RECOMMENDED} | 0.975 | 0.953 | 0.926 | 0.897 | 0.879 | 0.864 |  |"
    assert lines[3].startswith(f"| {RECOMMENDED} |  | 0.9600 ± 0.0141 |")
    assert lines[3].endswith("| 0.8400 |")
    assert "| chosen |  | `PosteriorMF` |" in lines[4]
    assert lines[5].startswith("| aim, with genres and year | 0.960 |")
    assert lines[6].startswith("| with genres and year |  | 0.9400 |")
    assert lines[-1] == f"| {ALONE} |  |  |  |  |  |  | 0.9300 |"


def test_the_figure_has_every_curve_and_the_honest_lines(some):
    drawn = public_facts.drawn(some, "user", (0.8, 1.0))
    for label in (RECOMMENDED, "with genres and year", "GlobalEffects", f"{ALONE} 0.9300"):
        assert label in drawn
    assert "with public ratings" not in drawn  # it was not run


def test_non_private_models_are_read_beside_the_runs(some, tmp_path):
    some.select(public_facts.COLUMNS).write_csv(tmp_path / f"{public_facts.NAME}.csv")
    assert public_facts.read_csv(tmp_path).select("model", "rmse").equals(some.select("model", "rmse"))
    (tmp_path / "ceiling.csv").write_text("method,split,sweeps,rmse,seconds\nmyfm,0,200,0.831,9\n")
    assert public_facts.read_csv(tmp_path).select("model", "rmse").row(-1) == ("myfm", 0.831)


def test_every_run_is_listed_once_and_every_aim_has_its_runs():
    listed = [tuple(trial.settings.values()) for trial in public_facts.runs()]
    assert len(set(listed)) == len(listed)
    assert sum(run[4] == ALONE for run in listed) == public_facts.SPLITS
    for (unit, public), aims in public_facts.AIMS.items():
        mine = {run[3] for run in listed if run[1:3] == (public, unit)}
        assert len(aims) <= len(mine) + 1
