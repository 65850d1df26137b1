import math
import shutil
from pathlib import Path

import polars as pl

from lab.experiments.grid import Grid
from lab.reproduction import GRIDS
from lab.scoreboard import movielens

STORED = Path(__file__).parents[2] / "scoreboard"
CASE = ["model", "cleaning", "unit", "adjacency", "analysis", "noise", "epsilon", "split"]


def test_the_stored_page_is_made_of_the_stored_csv(tmp_path):
    for name in ("movielens-1m.csv", "movielens-1m-recommended.csv", "ceiling.csv"):
        shutil.copy(STORED / name, tmp_path)
    movielens.page(tmp_path / "none", tmp_path)
    assert (tmp_path / "movielens-1m.md").read_text("utf-8") == (STORED / "movielens-1m.md").read_text(
        "utf-8"
    )
    for label in ("CovarianceKNN", "McSherryKNN", "CovarianceSVD without noise 0.8380"):
        assert label in (tmp_path / "movielens-1m.svg").read_text("utf-8")


def test_the_grid_is_that_of_the_stored_csv(made_up):
    """Every stored run, in its order; and each with the split's number as the seed of its noise."""
    folder = made_up("movielens-1m")
    movielens.page(folder, folder / "pages")
    text = {"infer_schema": False}
    ours = pl.read_csv(folder / "pages" / "movielens-1m.csv", **text)
    stored = pl.read_csv(STORED / "movielens-1m.csv", **text)
    assert ours.columns == stored.columns
    assert ours.select(CASE).equals(stored.select(CASE))
    cases = Grid.open(GRIDS / "movielens-1m.toml").cases()
    assert all(case.entropy == case.split for case in cases if math.isfinite(case.coordinates()["epsilon"]))
