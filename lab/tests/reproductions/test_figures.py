import polars as pl
import pytest

from lab.reproductions import figures
from lab.reproductions.trials import Trial


@pytest.mark.full
def test_page_figures_and_csv_from_finished_runs(made_up):
    folder = made_up(*figures.NAMES)
    counts = pl.DataFrame({"rank": range(1, 201), "ratings": [3] * 100 + [1] * 100})
    counts.write_parquet(folder / f"{figures.COUNTS}.parquet")
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
    rows = pl.read_parquet(folder / "figures-1m.parquet").filter(name="kNN", epsilon=2.0)
    line = lines.filter(name="kNN", epsilon=2.0)
    assert line["rmse"].item() == round(rows["rmse"].mean(), 5)


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


def test_the_papers_crossing_is_beside_ours(made_up):
    folder = made_up("figures-1m")
    lines = figures.lines({"figures-1m": pl.read_parquet(folder / "figures-1m.parquet")})
    assert [line.paper for line in lines] == ["0.18", "0.18"]
    assert figures.lines({}) == []
