import polars as pl
import pytest

from lab.friedman_berkovsky_kaafar import reproduction


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
