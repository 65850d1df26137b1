import polars as pl
import pytest

from hushrec.errors import ConfigError
from hushrec.experiments.reproductions import command
from hushrec.experiments.reproductions.trials import Trial, Trials

TRIALS = [Trial(f"x = {x}", {"x": x}) for x in (2, 3)]
TYPES = {"x": pl.Int64, "found": pl.Int64}


class Squares:
    """A bench; 3 fails until it is mended."""

    def __init__(self):
        self.mended, self.seen = False, []

    def open(self):
        pass

    def measure(self, trial):
        self.seen.append(trial.name)
        if trial.settings["x"] == 3 and not self.mended:
            raise ArithmeticError("three\x1b[2J")
        return [{"found": trial.settings["x"] ** 2}]


@pytest.fixture
def bench():
    return Squares()


@pytest.fixture
def start(tmp_path, bench):
    """Start a reproduction of one table; the folders of ratings and what its page reads."""
    folders, pages = [], []

    def works(folder):
        folders.append(folder)
        return {"squares": Trials(TRIALS, bench, TYPES)}

    def page(results, folder):
        pages.append((command.read(results, "squares")["squares"]["found"].to_list(), folder))

    def start(*more):
        command.reproduce(works, page, "About.", [str(tmp_path), str(tmp_path / "pages"), *more])
        return folders, pages

    return start


def test_without_ratings_the_page_alone_is_written(start, bench, tmp_path):
    pl.DataFrame({"found": [7]}).write_parquet(tmp_path / "squares.parquet")
    assert start() == ([], [([7], tmp_path / "pages")])
    assert bench.seen == []


def test_a_missing_table_is_named(tmp_path, start):
    with pytest.raises(SystemExit, match=r"squares\.parquet is not there; give --ratings"):
        start()
    pl.DataFrame({"found": [7]}).write_parquet(tmp_path / "squares.parquet")
    with pytest.raises(ConfigError, match=r"cubes\.parquet is not there"):
        command.read(tmp_path, "squares", "cubes")


def test_failed_runs_are_reported_and_tried_again(start, bench, tmp_path, capsys, monkeypatch):
    monkeypatch.chdir(tmp_path)
    with pytest.raises(SystemExit, match="1 runs of squares failed; start again to try them again"):
        start("--ratings", "ratings")
    assert capsys.readouterr().out.splitlines() == [
        "squares: 1 of 2 runs",
        "squares: 2 of 2 runs",
        r"failed: x = 3: ArithmeticError: three\x1b[2J",  # and no terminal obeys it
    ]
    assert pl.read_parquet(tmp_path / "squares.parquet")["found"].to_list() == [4, None]
    bench.mended = True
    folders, pages = start("--ratings", "ratings")
    assert bench.seen == ["x = 2", "x = 3", "x = 3"]
    assert pages == [([4, 9], tmp_path / "pages")]  # none while a run had failed
    assert folders == [tmp_path / "ratings"] * 2


def test_the_grids_of_the_package_read_ratings_from_the_folder_given(tmp_path):
    names = sorted(path.stem for path in command.GRIDS.glob("*.toml"))
    found = command.grids(*names)(tmp_path)
    assert list(found) == names
    assert {grid.data.folder for grid in found.values()} == {tmp_path}
