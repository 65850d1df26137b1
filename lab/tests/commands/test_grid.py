"""The command, and what is left of it when it is killed."""

import os
import re
import signal
import subprocess
import sys
import time
from pathlib import Path

import polars as pl
import pytest

from lab.experiments import results
from lab.experiments.grid import Grid
from lab.experiments.runner import Experiment

GRID = """
[data]
generated = { users = 200, items = 60, ratings = 3000, seed = 3 }
[split]
kind = "kfold"
folds = 3
[[run]]
name = "svd"
model = "CovarianceSVD"
settings = { rank = 3 }
unit = "record"
adjacency = "add-remove"
epsilon = [0.3, 1, 5, inf]
delta = 1e-6
seeds = 4
[[run]]
name = "effects"
model = "McSherryEffects"
unit = "record"
adjacency = "add-remove"
epsilon = [1, 5]
delta = 1e-6
[[run]]
name = "effects"
model = "global-effects"
unit = "record"
adjacency = "add-remove"
epsilon = [1, 5]
delta = 1e-6
[[reference]]
name = "item average"
"""
RUNS = 3 * (3 * 4 + 1 + 4 + 1)
ROOT = Path(__file__).resolve().parents[3]
TIMING = ["fit_seconds", "predict_seconds", "peak_mb"]


@pytest.fixture
def grid(tmp_path, monkeypatch):
    monkeypatch.chdir(tmp_path)
    monkeypatch.setenv("COLUMNS", "100")
    Path("grid.toml").write_text(GRID)
    return tmp_path


@pytest.mark.full
def test_it_runs_tells_and_draws(grid, lab):
    shown = lab("grid grid.toml --figure curve.svg").out
    assert shown.startswith("NOT PRIVATE, not for publication")
    assert f"Wrote grid.parquet: {RUNS} runs, {RUNS} of them now, 0 failed" in shown
    table = pl.read_parquet("grid.parquet")
    assert len(table) == RUNS
    mean = table.filter(name="svd", epsilon=1.0)["rmse"].mean()
    assert re.search(rf"^svd +0\.3 .*\n +1 +1 +{mean:.4f} ", shown, re.MULTILINE)
    assert re.search(r"^effects, published +[\d.>≤]", shown[shown.index("falls below") :], re.MULTILINE)
    assert Path("curve.svg").read_text().startswith("<svg ")
    again = lab("grid grid.toml --out grid.parquet").out
    assert f"{RUNS} runs, 0 of them now, 0 failed" in again


@pytest.mark.full
def test_files_are_what_their_names_say(grid, lab, refused):
    pytest.importorskip("matplotlib")
    Path("clicks.toml").write_text(CLICKS)
    begins = {
        "t.csv": b"name,key,",
        "t.parquet": b"PAR1",
        "f.svg": b"<svg ",
        "f.pdf": b"%PDF-",
        "f.png": b"\x89PNG",
    }
    for out, figure in (("t.csv", "f.svg"), ("t.parquet", "f.pdf"), ("t.csv", "f.png")):
        lab(f"grid clicks.toml --out {out} --figure {figure}")
    for name, begin in begins.items():
        assert Path(name).read_bytes().startswith(begin), name
    assert "6 runs, 0 of them now" in lab("grid clicks.toml --out t.csv").out
    assert results.read("t.csv").drop(TIMING).equals(pl.read_parquet("t.parquet").drop(TIMING))
    before = sorted(Path().iterdir())
    for asked in ("--out t.xlsx", "--out t", "--figure f.jpg", "--figure f"):
        told = refused(f"grid grid.toml {asked}")
        assert "its ending says the format, which is ." in told
    assert sorted(Path().iterdir()) == before, "nothing ran"


def test_a_figure_without_matplotlib_is_refused_before_anything_runs(grid, refused, monkeypatch):
    monkeypatch.setitem(sys.modules, "matplotlib", None)
    assert "--figure needs matplotlib: pip install -r lab/requirements.txt" in refused(
        "grid grid.toml --figure curve.svg"
    )
    assert sorted(Path().iterdir()) == [Path("grid.toml")]


@pytest.mark.full
def test_what_failed_is_listed_and_tried_again(grid, lab):
    Path("grid.toml").write_text(
        GRID.replace("5]\ndelta = 1e-6", "5]\ndelta = 0").replace("3\n[[run", "2\n[[run")
    )
    for _ in range(2):
        result = lab("grid grid.toml --out some.parquet", code=1)
        assert result.err.count("failed: effects, ε = 5 at δ = 0 per record, add-remove, split 1: ") == 2
        assert "8 failed\nRun the same command to retry the failed runs." in result.out
    assert "36 runs, 8 of them now" in result.out


def test_refusals(grid, refused):
    Path("grid.toml").write_text(GRID.replace("rank", "rnk"))
    assert "grid.toml: run[1]: invalid settings for CovarianceSVD: rnk" in refused("grid grid.toml")
    assert "cannot be read as a grid" in refused("grid none.toml")


def start(out):
    command = [sys.executable, "-m", "lab", "grid", "grid.toml", "--out", out, "--workers", "2"]
    paths = os.pathsep.join(filter(None, [str(ROOT), os.environ.get("PYTHONPATH")]))
    environment = {**os.environ, "OMP_NUM_THREADS": "1", "OPENBLAS_NUM_THREADS": "1", "PYTHONPATH": paths}
    return subprocess.Popen(command, env=environment, stdout=subprocess.DEVNULL)


def differing(table, expected):
    """Keys that are missing, there twice, or of another result."""
    columns = [name for name in expected.columns if name not in TIMING]
    mine, theirs = (sorted(map(repr, rows.select(columns).iter_rows())) for rows in (table, expected))
    return [row for row in {*mine, *theirs} if mine.count(row) != theirs.count(row)]


@pytest.mark.skipif(sys.platform != "linux", reason="looks for its processes in /proc")
@pytest.mark.filterwarnings("default:removed .* a killed run had left it")  # kill -9 may strike a draft
@pytest.mark.parametrize("kills", [[10], pytest.param([1, 2, 5, 15, 30, 45], marks=pytest.mark.full)])
@pytest.mark.full
def test_killed_in_the_middle_it_loses_and_repeats_nothing(grid, kills, lab):
    lab("grid grid.toml --out whole.parquet")
    expected = pl.read_parquet("whole.parquet")
    parts = Path("killed.parquet.parts")
    for at_least in kills:
        process = start("killed.parquet")
        while len(list(parts.glob("*.parquet"))) < at_least:
            assert process.poll() is None
            time.sleep(0.005)
        workers = children(process.pid)
        os.kill(process.pid, signal.SIGKILL)
        process.wait()
        assert len(workers) >= 2
        wait_for_end(workers)
        kept = {file.name: file.stat().st_mtime_ns for file in parts.glob("*.parquet")}
        assert at_least <= len(kept) < RUNS
        assert not Path("killed.parquet").exists()
    last = Experiment(Grid.open(Path("grid.toml")), Path("killed.parquet"))
    assert sum(1 for _ in last.run()) == RUNS - len(kept)
    for name, changed in kept.items():  # what was finished is not run again
        assert (parts / name).stat().st_mtime_ns == changed
    table = last.table()
    assert table.equals(pl.read_parquet("killed.parquet"))
    assert not differing(table, expected)
    assert not parts.exists()


def children(process):
    return Path(f"/proc/{process}/task/{process}/children").read_text().split()


def wait_for_end(processes):
    """Workers end with their parent, or they would write beside the next start."""
    deadline = time.monotonic() + 20
    while any(map(alive, processes)):
        assert time.monotonic() < deadline
        time.sleep(0.01)


def alive(process):
    try:
        return Path(f"/proc/{process}/stat").read_text().rpartition(")")[2].split()[0] != "Z"
    except FileNotFoundError:
        return False


def test_a_lost_a_repeated_and_a_changed_row_would_be_noticed():
    whole = pl.DataFrame({"key": ["a", "b"], "rmse": [1.0, 2.0], "fit_seconds": [1.0, 2.0]})
    assert not differing(whole.reverse().with_columns(pl.lit(9.0).alias("fit_seconds")), whole)
    assert differing(whole.head(1), whole)
    assert differing(pl.concat([whole, whole.head(1)]), whole)
    assert differing(whole.with_columns(pl.col("rmse") + 1e-15), whole)


CLICKS = """
[data]
generated = { users = 200, items = 30, interactions = 2500, seed = 3 }
[split]
kind = "people"
people = 40
splits = 2
[measure]
metrics = ["ndcg@10", "recall@5"]
[[run]]
name = "noisy"
model = "popularity"
unit = "user"
adjacency = "add-remove"
epsilon = [1, 8]
delta = 1e-6
[[reference]]
name = "popularity"
"""


def test_a_grid_of_interactions(grid, lab):
    pytest.importorskip("matplotlib")
    Path("clicks.toml").write_text(CLICKS)
    shown = lab("grid clicks.toml --figure clicks.svg").out
    assert "6 runs, 6 of them now, 0 failed" in shown
    header = next(line for line in shown.splitlines() if "interval" in line)
    assert header.split()[:6] == ["ε", "true", "ε", "ndcg@10", "95", "%"]
    assert "recall@5" in header
    assert "RMSE" not in shown
    assert "ε at which ndcg@10 exceeds" in shown
    rows = pl.read_parquet("clicks.parquet")
    assert rows["ndcg@10"].is_between(0, 1, closed="none").all()
    assert "ndcg@10 against epsilon" in Path("clicks.svg").read_text()
    assert "6 runs, 0 of them now" in lab("grid clicks.toml").out


OUTSIDE = """
import hushrec as hr

class Listed(hr.Popularity):
    \"\"\"A model of somebody's own.\"\"\"
"""


@pytest.mark.full
def test_a_model_of_ones_own_is_run(grid, lab, refused, monkeypatch):
    monkeypatch.setattr(sys, "path", list(sys.path))
    Path("outside_grid.py").write_text(OUTSIDE)
    Path("own.toml").write_text(CLICKS.replace('"popularity"\nunit', '"outside_grid:Listed"\nunit'))
    assert "6 runs, 6 of them now, 0 failed" in lab("grid own.toml --workers 2").out
    rows = pl.read_parquet("own.parquet")
    assert rows["model"].unique().sort().to_list() == ["outside_grid:Listed", "popularity"]
    Path("own.toml").write_text(CLICKS.replace('"popularity"\nunit', '"nowhere:Listed"\nunit'))
    assert "own.toml: run[1].model: there is no module 'nowhere'" in refused("grid own.toml")
