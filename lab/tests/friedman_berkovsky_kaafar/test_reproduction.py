import polars as pl
import pytest

from hushrec.errors import ConfigError
from lab.friedman_berkovsky_kaafar import reproduction


@pytest.mark.full
def test_page_figures_and_csv_from_finished_runs(made_up):
    folder = made_up(*reproduction.NAMES)
    reproduction.page(folder, folder / "pages")
    names = {path.name for path in (folder / "pages").iterdir()}
    drawn = {f"fbk-{f}-{a}.svg" for f in ("published", "corrected") for a in reproduction.BOUND}
    assert names == {"friedman.md", "friedman.csv"} | drawn
    page = (folder / "pages" / "friedman.md").read_text("utf-8")
    assert "| PALS, bounds put right |" in page
    assert "| GE | bounded (replace) | 0.500 | 4.000 |" in page  # true ε is half of the claimed one here
    lines = pl.read_csv(folder / "pages" / "friedman.csv")
    rows = pl.read_parquet(folder / "ml-1m.parquet").filter(name="ISGD", adjacency="replace", epsilon=2.0)
    mean = rows.filter(analysis="corrected", fold_in=False)["rmse"].mean()
    line = lines.filter(grid="ml-1m", name="ISGD", adjacency="replace", analysis="corrected", epsilon=2.0)
    assert line["rmse"].item() == round(mean, 5)


def test_missing_runs_are_named(tmp_path):
    with pytest.raises(ConfigError, match=r"ml-100k\.parquet is not there; leave out --no-runs"):
        reproduction.page(tmp_path, tmp_path)


def test_every_crossing_of_the_papers_tables_is_beside_ours(made_up):
    folder = made_up("ml-1m")
    lines = reproduction.lines({"ml-1m": pl.read_parquet(folder / "ml-1m.parquet")})
    assert len(lines) == 2 * 4 * 2
    (line,) = (li for li in lines if li.what.startswith("PSGD falls below global effects at ε =, unb"))
    assert line.paper == "7"
    assert {line.paper for line in lines if line.what.startswith("GE falls below global effects")} == {
        "never"
    }
