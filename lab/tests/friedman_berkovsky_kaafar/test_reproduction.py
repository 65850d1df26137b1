import polars as pl
import pytest

from lab.friedman_berkovsky_kaafar import figures, private_neighbours, reproduction


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
def test_page_of_figures_and_csv_from_finished_runs(made_up):
    folder = made_up(*figures.NAMES)
    counts = pl.DataFrame({"rank": range(1, 201), "ratings": [3] * 100 + [1] * 100})
    counts.write_parquet(folder / f"{figures.COUNTS}.parquet")
    made = neighbours(folder)
    figures.page(folder, folder / "pages")
    names = {path.name for path in (folder / "pages").iterdir()}
    assert names == {"figures.md", "figures.csv"}
    page = (folder / "pages" / "figures.md").read_text("utf-8")
    assert "| 100 | 75 % |" in page
    lines = pl.read_csv(folder / "pages" / "figures.csv")
    for name, table in (("kNN", made), ("GE", pl.read_parquet(folder / "figures-1m.parquet"))):
        rows, line = table.filter(name=name, epsilon=2.0), lines.filter(name=name, epsilon=2.0)
        assert line["rmse"].item() == round(rows["rmse"].mean(), 5)
    assert "| 1 and 4 | 1 and 4 |" in page
    assert "| ISGD | 4 |" in page


@pytest.mark.full
def test_page_and_csv_from_finished_runs(made_up):
    folder = made_up(*reproduction.NAMES)
    reproduction.page(folder, folder / "pages")
    names = {path.name for path in (folder / "pages").iterdir()}
    assert names == {"friedman.md", "friedman.csv"}
    page = (folder / "pages" / "friedman.md").read_text("utf-8")
    assert "| PALS, bounds put right |" in page
    assert "| GE | bounded (replace) | 0.500 | 4.000 |" in page  # true ε is half of the claimed one here
    lines = pl.read_csv(folder / "pages" / "friedman.csv")
    rows = pl.read_parquet(folder / "ml-1m.parquet").filter(name="ISGD", adjacency="replace", epsilon=2.0)
    mean = rows.filter(analysis="corrected", fold_in=False)["rmse"].mean()
    line = lines.filter(grid="ml-1m", name="ISGD", adjacency="replace", analysis="corrected", epsilon=2.0)
    assert line["rmse"].item() == round(mean, 5)
