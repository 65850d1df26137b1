import polars as pl
import pytest

from lab.friedman_berkovsky_kaafar import figures, private_neighbours
from lab.reproduction import Trial


def neighbours(folder, epsilons=figures.EPSILONS):
    """A table of neighbours that nobody made: better than ISGD of the made-up grid below ε = 3."""
    grid = pl.read_parquet(folder / "figures-1m.parquet").filter(name="ISGD")
    rows = [
        {"name": "kNN", "split": split, "epsilon": epsilon, "ridge": 4.0**split, "looks": 5, "mae": 0.7}
        | {
            "rmse": grid.filter(split=split, epsilon=epsilon)["rmse"].item()
            + (0.01 if epsilon > 3 else -0.01)
        }
        for split in (0, 1)
        for epsilon in epsilons
    ]
    table = pl.DataFrame(rows, schema={"name": pl.String, **private_neighbours.TYPES})
    table.write_parquet(folder / f"{figures.KNN}.parquet")
    return table


@pytest.mark.full
def test_page_figures_and_csv_from_finished_runs(made_up):
    folder = made_up(*figures.NAMES)
    counts = pl.DataFrame({"rank": range(1, 201), "ratings": [3] * 100 + [1] * 100})
    counts.write_parquet(folder / f"{figures.COUNTS}.parquet")
    made = neighbours(folder)
    figures.page(folder, folder / "pages")
    drawn = {"3a", "3b", "5a"}
    names = {path.name for path in (folder / "pages").iterdir()}
    assert names == {f"figures-fig-{name}.svg" for name in drawn} | {
        "figures.md",
        "figures.csv",
        "figures-laplace.svg",
        "figures-fig-6.svg",
        "figures-liu-1.svg",
    }
    page = (folder / "pages" / "figures.md").read_text("utf-8")
    assert "| 100 | 75 % |" in page
    lines = pl.read_csv(folder / "pages" / "figures.csv")
    for name, table in (("kNN", made), ("GE", pl.read_parquet(folder / "figures-1m.parquet"))):
        rows, line = table.filter(name=name, epsilon=2.0), lines.filter(name=name, epsilon=2.0)
        assert line["rmse"].item() == round(rows["rmse"].mean(), 5)
    assert "| 1 and 4 | 1 and 4 |" in page
    assert "| ISGD | 4 |" in page


def test_settings_are_sorted_and_the_best_is_named(made_up):
    folder = made_up("figures-100k")
    rows = pl.read_parquet(folder / "figures-100k.parquet")
    factors = figures._exact(rows, "d")
    assert [at for at, *_ in factors] == [1, 2, 5, 8, 12, 18, 25]
    best = min(factors, key=lambda point: point[1])
    assert f"| factors d, λ = 0.08 | {best[0]:g} | {best[1]:.4f} |" in figures._best(rows)


def test_items_are_counted_most_rated_first(tmp_path):
    rows = pl.DataFrame({"user": [1, 2, 3, 1], "item": [7, 7, 7, 9], "rating": [1.0, 2.0, 3.0, 4.0]})
    rows.write_parquet(tmp_path / "ml-1m.parquet")
    found = figures._Items(tmp_path).measure(Trial("items", {}))
    assert found == [{"rank": 1, "ratings": 3}, {"rank": 2, "ratings": 1}]


def test_the_papers_crossings_and_its_conclusion_are_beside_ours(made_up):
    folder = made_up("figures-1m")
    data = {"figures-1m": pl.read_parquet(folder / "figures-1m.parquet"), figures.KNN: neighbours(folder)}
    lines = figures.lines(data)
    assert [line.paper for line in lines] == ["0.18", "0.18", "higher"]
    assert lines[2].published == "4"
    assert figures.lines({}) == []


def test_a_small_part_says_nothing_of_an_epsilon_that_it_did_not_run(made_up):
    """It once explained a crossing at 3.9 by a grid that began at 0.2."""
    folder = made_up("figures-1m")
    few = {1.0, 4.0}
    kept = pl.read_parquet(folder / "figures-1m.parquet").filter(
        pl.col("epsilon").is_in(few) | pl.col("epsilon").is_infinite()
    )
    lines = figures.lines({"figures-1m": kept, figures.KNN: neighbours(folder, sorted(few))})
    assert "0.2" not in " ".join(line.why for line in lines)
    runs = {run.name for run in figures.quick(None)["figures-1m"].run}
    assert runs == {"GE", "ISGD", "PSGD"}
    assert {case.settings["epsilon"] for case in figures.quick(None)[figures.KNN].cases()} == few
