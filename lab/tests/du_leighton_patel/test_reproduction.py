"""The page from tables of runs that nobody made: what the reproduction lists, with losses from a formula."""

import re
from pathlib import Path

import polars as pl
import pytest

from lab.du_leighton_patel import attack, randomizing, reproduction

HIDDEN = 500
"""Ratings whose errors a loss sums: not 1,000, so that a loss of 1,000 users is not what was summed."""


def recommenders():
    """Every recommender that a release may be measured with, and where it is."""
    rows = [
        {"by": by, "by_distance": distance, "k": k, "query": query}
        for by, distances, queries in (
            ("users", randomizing.DISTANCES, ("own",)),
            ("users", ("squared",), ("released",)),
            ("items", randomizing.DISTANCES, ("own",)),
            ("users, holes as 0", ("squared",), ("released",)),
        )
        for distance in distances
        for k in randomizing.KS.tolist()
        for query in queries
    ]
    rows += [{"by": "factors", "k": 8, "query": "own"}, {"by": "means", "query": "own"}, {"by": "central"}]
    return pl.DataFrame(rows, schema={name: randomizing.TYPES[name] for name in rows[0]})


def releases():
    """The table of every listed release: less is lost with a larger ε, p and p*."""
    listed = randomizing.work(Path("nowhere"))
    runs = pl.DataFrame([trial.coordinates() for trial in listed.cases()], schema_overrides=randomizing.TYPES)
    release, by = pl.col("release"), pl.col("by")
    measured = (
        ((by == "central") == (release == "central"))
        & ((by != "means") | (release == "randomized response"))
        & ((by != "users, holes as 0") | (pl.col("data") == randomizing.FULL))
    )
    rows = runs.join(recommenders(), how="cross").filter(measured).with_row_index("place")
    noise = (pl.col("place") * 7919 % 1009) / 1009
    harm = (1 / pl.col("epsilon")).fill_null(0) + (2 - pl.col("keep") - pl.col("group")).fill_null(0)
    noisy = release != "raw"
    cell = pl.coalesce("slot", pl.col("epsilon") / 100, pl.lit(8.0))
    rows = rows.with_columns(
        n=pl.lit(HIDDEN, pl.Int64),
        loss=HIDDEN * (0.7 + 0.1 * noise + 0.2 * harm),
        cell_epsilon=pl.when(noisy).then(cell),
        user_epsilon=pl.when(noisy).then(100 * cell),
    )
    return as_written(listed, rows, release)


def as_written(work, rows, name):
    """The columns that the runner would write."""
    absent = {c: pl.lit(None, t) for c, t in work.columns().items() if c not in rows.columns}
    return rows.with_columns(name=name, **absent).select(
        "name", *(pl.col(c).cast(t) for c, t in work.columns().items())
    )


def listed(work, results):
    """The table of every trial with these results."""
    rows = [{"name": trial.name, **trial.coordinates(), **results} for trial in work.cases()]
    table = pl.DataFrame(rows, infer_schema_length=None)
    return as_written(work, table, pl.col("name"))


@pytest.mark.full
def test_page_figures_and_csv_from_finished_runs(tmp_path):
    folder = tmp_path
    (folder / "pages").mkdir()
    releases().write_parquet(folder / "du-releases.parquet")
    found = {"attacker": "Scoreboard-RH", "epsilon": "12", "first": 900.0, "named": 800.0, "misnamed": 7.0}
    listed(attack.work(Path("nowhere")), found).write_parquet(folder / "du-linkage.parquet")
    reproduction.page(folder, folder / "pages")
    page = (folder / "pages" / "du.md").read_text("utf-8")
    names = {path.name for path in (folder / "pages").iterdir()}
    assert names == {"du.md", "du.csv", "du-epsilon.svg", "du-loss.svg"}
    assert "{{" not in page
    assert not re.search(r"\bnan\b", page)
    assert "| raw | Scoreboard-RH | 12 | 900.0 | 800.0 | 7.0 |\n" in page
