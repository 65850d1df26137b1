"""The rows of the bench table, and the page that is made of them."""

import dataclasses
import importlib.util
import sys
import xml.etree.ElementTree as ElementTree
from pathlib import Path

import numpy as np
import polars as pl
import pytest
from scipy.sparse import csr_matrix

import hushrec as hr
from hushrec.errors import DomainError
from lab.pages import choosing

ROOT = Path(__file__).resolve().parents[1]


def script(name):
    """A script; what lies beside it can be imported by it."""
    path = next(
        path for path in (ROOT / "speed" / f"{name}.py", ROOT / "scoreboard" / f"{name}.py") if path.is_file()
    )
    spec = importlib.util.spec_from_file_location(name, path)
    module = importlib.util.module_from_spec(spec)
    sys.path.insert(0, str(path.parent))
    try:
        sys.modules[name] = module
        spec.loader.exec_module(module)
    finally:
        sys.path.remove(str(path.parent))
    return module


bench, ratios = script("bench"), script("ratios")
synthetic, recommended = script("synthetic_people"), script("recommended")
membership, scoreboard, deletion = script("membership"), script("scoreboard"), script("deletion")
ROW = {"kind": "covariance", "work": "one matrix", "size": "10 M ratings", "unit": "s", "ours": 2.0}


@pytest.mark.parametrize(
    ("changed", "ratio", "met"),
    [
        ({}, None, None),
        ({"mark": "≤ 2 s"}, None, True),
        ({"mark": "≤ 1.9 s"}, None, False),
        ({"peer": "scipy", "theirs": 20.0, "mark": "≥ 10 ×"}, 10, True),
        ({"peer": "scipy", "mark": "≥ 10 ×"}, None, None),
        ({"unit": "users/s", "ours": 1999, "mark": "≥ 2,000 users/s"}, None, False),
        ({"unit": "users/s", "peer": "implicit", "theirs": 4.0, "mark": "≥ 1 ×"}, 0.5, False),
    ],
)
def test_a_row_is_judged_by_its_mark(changed, ratio, met):
    row = bench.Row(**{**ROW, **changed})
    assert (row.ratio, row.met) == (ratio, met)


def test_a_row_is_handed_on(tmp_path, monkeypatch):
    monkeypatch.setenv(bench.FILE, str(tmp_path / "rows"))
    made = [bench.report(*ROW.values(), peer="scipy", theirs=theirs, mark="≥ 10 ×") for theirs in (20, 3)]
    assert bench.read(tmp_path / "rows") == made


def test_the_page_is_what_its_rows_make_of_it():
    before = bench.PAGE.read_text("utf-8")
    assert bench.written(before, bench.kept()) == before


def test_a_kept_row_takes_the_place_of_the_one_before(tmp_path, monkeypatch):
    monkeypatch.setattr(bench, "KEPT", tmp_path / "speed.csv")
    about = {"machine": "2 cores", "versions": "Python 3.11", "load": "0.1"}
    older, other = bench.Row(**ROW), bench.Row(**{**ROW, "size": "1 M ratings"})
    newer = bench.Row(**{**ROW, "ours": 1.0}, amount=1e7, mark="≤ 2 s", note="a note, with a comma")
    bench.keep([(older, about), (other, about)])
    bench.keep([(newer, {**about, "load": "0.2"})])
    assert [bench.row_of(cells) for cells in bench.kept()] == [newer, other]
    assert [cells["load"] for cells in bench.kept()] == ["0.2", "0.1"]


SLOWED = {
    "covariance": (ratios.gram, "weighted_gram"),
    "exact noise": (ratios.sampler, "rounded"),
    "gradient descent": (ratios.visits, "descend"),
    "least squares": (ratios.least_squares, "solve_rows"),
}


STEADY = "exact noise"
"""The kernel whose ratio spreads least; the others take a minute."""


@pytest.mark.parametrize(
    "work",
    [pytest.param(work, marks=() if work.name == STEADY else pytest.mark.full) for work in ratios.WORKS],
    ids=lambda work: work.name.replace(" ", "-"),
)
def test_a_kernel_that_takes_twice_as_long_is_found(work, monkeypatch, capsys):
    """The usual ratio is measured here, so that the test holds on any machine.

    With 31 rounds, the logarithm of the ratio of two runs has a standard deviation of at most 0.044 on a busy
    machine. √2 is 7.9 of them: a false alarm has a probability below 1e-14, if they are normal.
    """
    work = dataclasses.replace(work, usual=ratios.ratio(work, 31))
    assert ratios.below((work,), 31) == []
    module, name = SLOWED[work.name]
    kernel = getattr(module, name)

    def twice(*arguments, **named):
        kernel(*arguments, **named)
        return kernel(*arguments, **named)

    monkeypatch.setattr(module, name, twice)
    assert ratios.below((work,), 31) == [work.name]
    assert "TOO SLOW" in capsys.readouterr().out


def test_another_kind_of_processor_has_wider_floors():
    same, other = ratios.works_on(ratios.MEASURED_ON), ratios.works_on("another")
    assert same == ratios.WORKS
    assert all(far.floor < near.floor / 2 for far, near in zip(other, same, strict=True))


def test_the_covariance_takes_the_declared_users_of_the_page_and_not_one_more():
    assert "67,108,863 declared users" in (ROOT.parent / "docs/large.md").read_text("utf-8")
    budget = hr.Budget(epsilon=4, delta=1e-10, unit="user", adjacency="add-remove")
    largest, more = (
        hr.Domain(["a", "b"], scale=(1, 5, 1), max_users=n, max_per_user=2) for n in (67_108_863, 67_108_864)
    )
    hr.CovarianceSVD(rank=1).plan(largest, budget)
    with pytest.raises(DomainError, match="do not fit 64 bits"):
        hr.CovarianceSVD(rank=1).plan(more, budget)


def test_the_page_of_synthetic_people_is_made_of_its_rows():
    results = pl.read_csv(synthetic.ROWS, schema_overrides={"epsilon": pl.Float64})
    text = synthetic.PAGE.read_text("utf-8")
    assert synthetic.page(results, text) == text


def test_randomized_rows_without_noise_are_trained_on_as_real_ones():
    rng = np.random.default_rng(0)
    rows = csr_matrix((rng.random((300, 120)) < 0.05 + 0.4 * (np.arange(120) % 2)[None]).astype(np.float32))
    fold = synthetic.Fold(rows[:100], rows[100:200])
    free = synthetic.randomized(rows, 2000.0, fold, np.random.default_rng(1))
    noisy = synthetic.randomized(rows, 1.0, fold, np.random.default_rng(1))
    best = max(
        synthetic.measured(rows[:100] @ synthetic.EASE(650.0 * 4.0**k).fit(rows, seed=0), fold)[
            "nDCG@100"
        ].mean()
        for k in range(12)
    )
    assert synthetic.measured(free, fold)["nDCG@100"].mean() == pytest.approx(best, abs=0.01)
    assert synthetic.measured(noisy, fold)["nDCG@100"].mean() < best


def test_the_page_of_every_set_is_made_of_its_rows():
    rows, text = recommended.stored(recommended.ROWS), recommended.PAGE.read_text("utf-8")
    assert recommended.page(rows, text) == text


def test_ratios_are_taken_over_the_splits_that_both_were_run_on():
    lines = [
        ("recommended", 0, 0.9),
        ("recommended", 1, 1.1),
        ("GlobalEffects", 0, 1.0),
        ("item average", 0, 2),
    ]
    rows = pl.DataFrame(
        [("ml-1m", "", "user", 1.0, name, split, "effects", float(rmse)) for name, split, rmse in lines],
        schema=[*recommended.CASE, "chosen", "rmse"],
        orient="row",
    )
    (line,) = recommended.ratios(rows).iter_rows(named=True)
    assert (line["ratio"], line["average"]) == (pytest.approx(0.9), 2.0)


def words(path):
    """The lines of text of a figure."""
    return {text.text for text in ElementTree.parse(path).iter("{http://www.w3.org/2000/svg}text")}


@pytest.mark.parametrize("board", [membership, scoreboard, deletion], ids=lambda board: board.__name__)
def test_tables_and_figures_are_those_of_the_rows(board):
    rows = scoreboard.read(board.ROWS) if board is scoreboard else membership.read(board.ROWS)
    text = board.PAGE.read_text("utf-8")
    assert board.page(rows, text) == text
    column = "auc" if board is membership else "value"
    assert board.page(rows.with_columns(rows[column] / 2), text) != text


def test_the_page_of_lists_is_made_of_its_rows():
    text = scoreboard.LISTS_PAGE.read_text("utf-8")
    assert scoreboard.lists_page(text) == text


def test_figures_of_the_documentation_are_drawn_from_stored_rows(tmp_path):
    (tmp_path / "choosing.svg").write_text(choosing.picture(), "utf-8")
    assert "(choosing.svg)" in (choosing.DOCS / "choosing.md").read_text("utf-8")
    assert {"Gaussian noise", "unit record"} <= words(tmp_path / "choosing.svg")


def test_synthetic_ratings_lose_what_the_page_says():
    """The ratio of errors, from the scoreboard's rows."""
    rows = scoreboard.read(scoreboard.ROWS).filter(task="ratings", data="MovieLens 1M")
    both = rows.filter(method="synthetic people + CovarianceSVD").join(
        rows.filter(method="CovarianceSVD"), on=("unit", "asked", "draw")
    )
    page = scoreboard.PAGE.with_name("synthetic_people.md").read_text("utf-8")
    for unit, label in (("user", "people"), ("record", "single ratings")):
        found = (both.filter(unit=unit, asked=epsilon) for epsilon in (1.0, 4.0, 20.0))
        ratios = [(each["value"] / each["value_right"]).mean() for each in found]
        assert f"| {label} | {' | '.join(f'{ratio:.4f}' for ratio in ratios)} |" in page
