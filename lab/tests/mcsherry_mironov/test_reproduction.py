import math

import polars as pl
import pytest

import hushrec as hr
from lab.experiments.results import SCHEMA
from lab.mcsherry_mironov import over_time, refitting, reproduction
from lab.published import McSherrySVD


def table(grid, rmse):
    """What a run of the grid would write, with errors and a true ε of half of what is claimed.

    The line, effects without noise, has an RMSE of 0.9.
    """
    rows = []
    for case in grid.cases():
        epsilon = case.coordinates()["epsilon"]
        line = case.config is None or (case.name == reproduction.EFFECTS and math.isinf(epsilon))
        exact = 0.9 if line else rmse(case.name, epsilon) + 0.001 * case.split
        found = {"rmse": exact, "mae": 0.7, "true_epsilon": epsilon / 2, "fit_seconds": 1.0}
        found = found if case.config else {"rmse": exact, "mae": 0.7}
        rows.append({"name": case.name, **case.coordinates(), **found})
    return pl.DataFrame(rows, schema={"name": pl.String, **SCHEMA})


@pytest.fixture
def tables():
    works = reproduction.works(None)
    found = {
        name: table(works[name], lambda label, epsilon: 0.85 + 0.1 / (1 + epsilon))
        for name in reproduction.GRIDS
    }
    rows = [
        {"name": trial.name, **trial.settings, "ratings": 10 * trial.settings["day"], "users": 7}
        | {"rmse": 1.0 + (trial.settings["theta"] is not None) / trial.settings["day"]}
        | {"true_epsilon": worth(trial.settings["theta"])}
        for trial in works["mm-time"].cases()
    ]
    types = {"name": pl.String, **over_time.TYPES}
    again = {
        name: refits(works[name], lambda label, theta: 0.85 + 0.05 / theta) for name in reproduction.REFITS
    }
    return {**found, **again, "mm-time": pl.DataFrame(rows, schema=types)}


def worth(theta):
    """The true ε of all rows at one θ."""
    return over_time.claimed(theta) / 2 if theta else math.inf


def refits(work, rmse):
    """What a refit would write, with errors by curve and θ, which is infinite without noise."""
    rows = []
    for trial in work.cases():
        said = trial.settings
        found = {"rmse": rmse(trial.name, said["theta"] or math.inf), "looks": 9}
        found["true_epsilon"] = worth(said["theta"])
        beta = {"diagonal": 10.0, "rest": 400.0} if said["cleaning"] == "shrink" else {}
        rows.append({"name": trial.name, **said, **found, **beta, "ridge": 2.0 + said["split"]})
    return pl.DataFrame(rows, schema={"name": pl.String, **refitting.TYPES})


@pytest.mark.parametrize("label", reproduction.PUBLISHED)
def test_noise_is_what_the_paper_says_at_theta(label):
    """σ_i = Δ_i/θ_i (§5.1) of every measurement, Δ_i as printed and θ_i its share of θ."""
    theta = 0.15
    grid = reproduction.grid("mm-1m", "record", None, splits=1, thetas=(theta,), epsilons=(1,))
    (case,) = (case for case in grid.cases() if case.name == label and case.budget)
    config, domain, budget = case.config, grid.data.domain_of(), case.budget
    queries, shares = config.queries(domain, budget), config.default_split(domain, budget)
    claims = config.claims(domain, budget)
    for name, event in config.printed(domain, budget).items():
        printed = claims.get(name, next(q.sensitivity for q in queries if q.name == name))
        assert event.noise == pytest.approx(printed / (shares[name] * theta))
    assert sum(shares.values()) == pytest.approx(1)


@pytest.mark.full
def test_page_and_csv_from_finished_runs(tables, tmp_path):
    for name, rows in tables.items():
        rows.write_parquet(tmp_path / f"{name}.parquet")
    (tmp_path / "pages").mkdir()
    reproduction.page(tmp_path, tmp_path / "pages")
    names = {path.name for path in (tmp_path / "pages").iterdir()}
    written = {f"mcsherry-mironov{part}" for part in (".md", ".csv", "-time.csv", "-refit.csv")}
    assert names == written
    page = (tmp_path / "pages" / "mcsherry-mironov.md").read_text("utf-8")
    claim = over_time.claimed(0.15)
    error = f"{0.85 + 0.1 / (1 + claim) + 0.001:.4f}"  # the mean of three splits
    assert f"| 0.15 | {claim:.3g} | {claim / 2:.3g} | {error} ±" in page
    assert "| 30 | 7 | 300 | 1.0000 | 3.3 | 3.3 | 3.3 | 3.3 | 3.3 | 3.3 |" in page
    assert "| 10 | " in page
    assert "| θ = 4 | 0.8625 | 0.8625 | 0.8625 | 0.8625 |" in page  # refitted, MovieLens 1M
    assert "| θ = 4 | ridge × 2 to 4; β 10, 400 |" in page  # over three splits of MovieLens 100K
    assert "nan" not in page


def test_claimed_epsilon_is_that_of_theorem_3():
    budget = hr.Budget(epsilon=over_time.claimed(1), delta=1e-6, unit="record", adjacency="add-remove")
    (first, *_) = McSherrySVD().printed(hr.Domain(range(9), scale=(1, 5, 1), max_users=9), budget).values()
    assert first.noise == pytest.approx(4 / 0.01)  # the global sum: α over its hundredth of θ
