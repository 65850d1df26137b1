"""The command, on runs that somebody else makes."""

from pathlib import Path

import polars as pl
import pytest

from lab import reproduction
from lab.reproduction import Reproduction, Trial, Trials

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
def bench(tmp_path, monkeypatch):
    """A reproduction of squares in place of those that there are."""
    monkeypatch.chdir(tmp_path)
    monkeypatch.setenv("COLUMNS", "140")
    bench, folders = Squares(), []

    def works(*numbers):
        def made(folder):
            folders.append(folder)
            return {"squares": Trials([Trial(f"x = {x}", {"x": x}) for x in numbers], bench, TYPES)}

        return made

    def page(results, folder):
        found = reproduction.read(results, "squares")["squares"]["found"]
        (folder / "squares.md").write_text(f"{found.to_list()}")

    made = Reproduction("Euclid", "squares", ("ml-1m",), 1, works(2, 3), page)
    monkeypatch.setattr(reproduction, "MODULES", {"squares": "none"})
    monkeypatch.setattr(reproduction, "named", lambda name: made)
    bench.folders = folders
    return bench


def test_it_runs_tells_and_writes(bench, lab):
    bench.mended = True
    shown = lab("reproduce squares --data sets --results kept -o pages").out
    assert shown.startswith("NOT PRIVATE, not for publication")
    assert Path("pages/squares.md").read_text() == "[4, 9]"
    assert bench.folders == [Path("sets").resolve()]
    assert bench.seen == ["x = 2", "x = 3"]


def test_failed_runs_are_named_and_tried_again_and_no_page_is_written_meanwhile(bench, lab):
    failed = lab("reproduce squares", code=2)
    assert r"failed: squares: x = 3: ArithmeticError: three\x1b[2J" in failed.err
    assert "1 runs failed; start again to try them again" in failed.err
    assert not Path("reproduced").exists()
    bench.mended = True
    lab("reproduce squares")
    assert bench.seen == ["x = 2", "x = 3", "x = 3"]
    assert Path("reproduced/squares.md").read_text() == "[4, 9]"


def test_without_runs_the_page_alone_is_written(bench, refused, lab):
    wanted = "squares.parquet is not there; leave out --no-runs, and the runs are made first"
    assert wanted in refused("reproduce squares --no-runs")
    Path("runs").mkdir()
    pl.DataFrame({"found": [7]}).write_parquet("runs/squares.parquet")
    lab("reproduce squares --no-runs")
    assert Path("reproduced/squares.md").read_text() == "[7]"
    assert bench.seen == []


def test_without_a_name_all_are_listed(lab, monkeypatch):
    monkeypatch.setenv("COLUMNS", "140")
    shown = lab("reproduce").out
    for name in reproduction.MODULES:
        assert f"\n{name} " in shown
    assert "filmtrust" in shown
