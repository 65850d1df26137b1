"""The part on other libraries of the page on evaluation: its scripts print what it shows.

LensKit is in the environment of ``make test-elsewhere``, RecTools in one of its own, whose
Python ``RECTOOLS`` names. Without them only hushrec's part runs.
"""

import os
import re
import subprocess
import sys
from pathlib import Path

import pyarrow.compute as pc
import pyarrow.parquet as pq
import pytest

ROOT = Path(__file__).resolve().parents[2]
PAGE = (ROOT / "docs" / "evaluation.md").read_text("utf-8").partition("## In other libraries\n")[2]
EXAMPLE = ROOT / "examples" / "evaluate_elsewhere"
OURS, LENSKIT, RECTOOLS = (
    text.splitlines() for text in re.findall(r"^```text\n(.*?)^```", PAGE, re.MULTILINE | re.DOTALL)
)


def run(script, folder, python=sys.executable):
    """What a script of the example prints, line by line."""
    done = subprocess.run(
        [python, EXAMPLE / script, folder], capture_output=True, text=True, check=False, timeout=300
    )
    assert done.returncode == 0, done.stderr
    return [line.rstrip() for line in done.stdout.splitlines()]


@pytest.fixture(scope="module")
def made(tmp_path_factory):
    """The folder of ``make_lists.py``, and what that printed."""
    folder = tmp_path_factory.mktemp("elsewhere") / "lists"
    return folder, run("make_lists.py", folder)


def values(lines):
    """Name of a metric → its first value."""
    return {
        found[1].lower(): float(found[2])
        for line in lines
        if (found := re.match(r"(\S.*?)\s+(\d\.\d+)", line))
    }


@pytest.mark.full
def test_the_files_are_as_the_page_says(made):
    folder, printed = made
    assert [line for line in printed if "@" in line] == OURS
    said = dict(re.findall(r"^\| `(\w+)\.parquet` \| (.*?) \|", PAGE, re.MULTILINE))
    for name, columns in said.items():
        table = pq.read_table(folder / f"{name}.parquet")
        assert table.column_names == re.findall(r"`(\w+)`", columns)
    lists = pq.read_table(folder / "lists.parquet")
    ranks = pc.min_max(lists["rank"]).as_py()
    assert (len(lists["user_id"].unique()), ranks["min"], ranks["max"]) == (500, 1, 100)
    assert {path.stem for path in folder.iterdir()} == said.keys()


@pytest.mark.full
def test_lenskit_finds_the_same_recall_and_with_one_option_the_same_ndcg(made):
    pytest.importorskip("lenskit")
    folder, _ = made
    printed = run("with_lenskit.py", folder)
    ours, theirs = values(OURS), values(printed)
    assert printed == LENSKIT
    assert [theirs["recall@20"], theirs["recall@50"]] == [ours["recall@20"], ours["recall@50"]]
    assert theirs["ndcg@100, offset 1"] == ours["ndcg@100"] != theirs["ndcg@100"]


@pytest.mark.skipif("RECTOOLS" not in os.environ, reason="make test-elsewhere names RecTools' environment")
def test_rectools_finds_the_same_ndcg_with_one_option(made):
    folder, _ = made
    printed = run("with_rectools.py", folder, os.environ["RECTOOLS"])
    ours, theirs = values(OURS), values(printed)
    assert printed == RECTOOLS
    assert theirs["ndcg@100, achievable"] == ours["ndcg@100"]
    assert theirs["recall@20"] < ours["recall@20"]
