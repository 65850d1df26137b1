"""The rows of the bench table, and the page that is made of them."""

import dataclasses
import importlib.util
import json
import sys
from itertools import product
from pathlib import Path

import numpy as np
import polars as pl
import pytest
from scipy.sparse import csr_matrix

import hushrec as hr
from hushrec.errors import DomainError
from lab.pages import scale, speed

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


rows = script("rows")
bench, ratios = script("bench"), script("ratios")
choice, crowds = script("choice"), script("crowds")
synthetic = script("synthetic_people")
ROW = {"kind": "covariance", "work": "one matrix", "size": "10 M ratings", "unit": "s", "ours": 2.0}


@pytest.mark.parametrize(
    ("changed", "ratio", "met"),
    [
        ({}, None, None),
        ({"mark": "≤ 2 s"}, None, True),
        ({"mark": "≤ 1.9 s"}, None, False),
        ({"peer": "scipy", "theirs": 20.0, "mark": "≥ 10 ×"}, 10, True),
        ({"peer": "scipy", "theirs": 19.0, "mark": "≥ 10 ×"}, 9.5, False),
        ({"peer": "scipy", "mark": "≥ 10 ×"}, None, None),
        ({"unit": "M draws/s", "mark": "≥ 2 M draws/s"}, None, True),
        ({"unit": "users/s", "ours": 1999, "mark": "≥ 2,000 users/s"}, None, False),
        ({"unit": "users/s", "peer": "implicit", "theirs": 4.0, "mark": "≥ 1 ×"}, 0.5, False),
    ],
)
def test_a_row_is_judged_by_its_mark(changed, ratio, met):
    row = rows.Row(**{**ROW, **changed})
    assert (row.ratio, row.met) == (ratio, met)


@pytest.mark.parametrize("mark", ["10 ×", "≥ ten ×", "≥ 10", "≤ 5 ms"])
def test_a_mark_that_nothing_can_judge_is_refused(mark):
    with pytest.raises(ValueError, match="mark"):
        rows.Row(**ROW, mark=mark)


def test_a_row_is_printed_and_handed_on(tmp_path, monkeypatch, capsys):
    monkeypatch.setenv(rows.FILE, str(tmp_path / "rows"))
    made = [rows.report(*ROW.values(), peer="scipy", theirs=theirs, mark="≥ 10 ×") for theirs in (20, 3)]
    assert rows.read(tmp_path / "rows") == made
    assert [json.loads(line)["theirs"] for line in (tmp_path / "rows").read_text().splitlines()] == [20, 3]
    first, second = capsys.readouterr().out.splitlines()
    assert " ".join(first.split()).endswith("2 s scipy: 20, 10 × ≥ 10 × met")
    assert second.endswith("NOT MET")


def test_the_page_is_what_its_rows_make_of_it():
    before = speed.PAGE.read_text("utf-8")
    assert speed.written(before, bench.kept()) == before, "run python -m lab.pages.speed"


def test_the_page_follows_the_rows_and_lacks_no_table():
    cells = [dict(cells) for cells in bench.kept()]
    cells[0]["ours"] = "123456"
    assert "123,456" in speed.written(speed.PAGE.read_text("utf-8"), cells)
    cells[0]["kind"] = "unplaced"
    with pytest.raises(SystemExit, match="unplaced"):
        speed.written(speed.PAGE.read_text("utf-8"), cells)


def test_exponents_are_of_seconds_whether_a_row_is_a_time_or_a_rate():
    sizes = 1e6, 3e6, 1e7
    times = [rows.Row("a", "time", f"{n}", "s", n**1.5, n, "peer", 2 * n) for n in sizes]
    rates = [rows.Row("a", "rate", f"{n}", "M ratings/s", n**-0.5, n) for n in sizes]
    few = [rows.Row("a", "few", f"{n}", "s", n, n) for n in sizes[:2]]
    first, second = bench.exponents([*times, *rates, *few])
    assert first == ("a", "time, peer", pytest.approx(1.5), pytest.approx(1))
    assert second == ("a", "rate", pytest.approx(1.5), None)


def test_a_kept_row_takes_the_place_of_the_one_before(tmp_path, monkeypatch):
    monkeypatch.setattr(bench, "KEPT", tmp_path / "speed.csv")
    about = {"machine": "2 cores", "versions": "Python 3.11", "load": "0.1"}
    older, other = rows.Row(**ROW), rows.Row(**{**ROW, "size": "1 M ratings"})
    newer = rows.Row(**{**ROW, "ours": 1.0}, amount=1e7, mark="≤ 2 s", note="a note, with a comma")
    bench.keep([(older, about), (other, about)])
    bench.keep([(newer, {**about, "load": "0.2"})])
    assert [bench.row_of(cells) for cells in bench.kept()] == [newer, other]
    assert [cells["load"] for cells in bench.kept()] == ["0.2", "0.1"]


def test_a_script_that_fails_is_named_and_its_rows_are_kept(tmp_path, monkeypatch):
    (tmp_path / "lab/speed").mkdir(parents=True)
    text = "import sys\nsys.path.insert(0, sys.argv[1])\nfrom rows import report\n"
    (tmp_path / "lab/speed/one.py").write_text(text + "report('a', 'b', 'c', 's', 1)\nsys.exit(3)\n")
    monkeypatch.setattr(bench, "ROOT", tmp_path)
    found, failed = bench.ran([f"one.py {ROOT / 'speed'}"])
    assert [row.kind for row, _ in found] == ["a"]
    assert failed == [f"one.py {ROOT / 'speed'}"]
    assert "cores" in found[0][1]["machine"]


def test_every_script_of_the_suites_is_there():
    later = {"netflix_scale.py", "spark.py", "recommend_all.py"}
    named = {command.split()[0] for suite in bench.SUITES.values() for command in suite}
    assert {name for name in named if not (ROOT / "speed" / name).is_file()} <= later


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


def test_the_page_of_scale_is_what_its_rows_make_of_it():
    before = scale.PAGE.read_text("utf-8")
    assert scale.written(before) == before, "run python -m lab.pages.scale"


def test_costs_that_are_linear_are_found_and_foretold():
    true, work = np.array([0.1, 2.0, 0.5, 0.03]), "a work"
    made = [(1e6, 1e4, 1e3), (4e6, 1e4, 1e3), (1e6, 1e6, 1e3), (1e6, 1e4, 1e5)]
    fits = [dict(zip(("ratings", "users", "items"), size, strict=True), work=work) for size in made]
    fits = [fit | {"seconds": true @ scale.sizes(fit)} for fit in fits]
    costs = scale.unit_costs(fits)
    assert costs[work] == pytest.approx(true)
    target = {"ratings": 1e9, "users": 1e8, "items": 1e6}
    assert scale.predicted(costs, work, target) == pytest.approx(0.1 + 2000 + 50 + 30)


def test_fits_at_a_tenth_took_what_was_foretold_and_no_more_memory_than_planned():
    costs, checks = scale.unit_costs(scale.rows("unit costs")), scale.rows("check")
    largest = [max(float(row[name]) for row in checks) for name in ("ratings", "users", "items")]
    assert largest == pytest.approx([1e8, 1e7, 1e5], rel=0.25)  # the cap takes some ratings
    for row in checks:
        assert 2 / 3 < float(row["seconds"]) / scale.predicted(costs, row["work"], row) < 1.5
        assert float(row["memory"]) <= float(row["planned"])


def test_the_drivers_memory_is_that_of_a_plan():
    domain = hr.Domain([f"i{n}" for n in range(3000)], scale=(1, 5, 1), max_users=100)
    budget = hr.Budget(epsilon=4, delta=1e-10, unit="user", adjacency="add-remove")
    config = hr.PosteriorMF(rank=scale.RANK, epochs=scale.ROUNDS)
    assert scale.footprint(3000) == config.footprint(domain, budget)


def test_the_covariance_takes_the_declared_users_of_the_page_and_not_one_more():
    assert "67,108,863 declared users" in (ROOT.parent / "docs/large.md").read_text("utf-8")
    budget = hr.Budget(epsilon=4, delta=1e-10, unit="user", adjacency="add-remove")
    largest, more = (
        hr.Domain(["a", "b"], scale=(1, 5, 1), max_users=n, max_per_user=2) for n in (67_108_863, 67_108_864)
    )
    hr.CovarianceSVD(rank=1).plan(largest, budget)
    with pytest.raises(DomainError, match="do not fit 64 bits"):
        hr.CovarianceSVD(rank=1).plan(more, budget)


def crowds_of(loss):
    """Rows of three crowds under four budgets, whose loss in per cent is a function of users and μ."""
    lines = [(n, None, np.inf, np.inf, "PosteriorMF", 0.8, 1.0) for n in (1_000, 10_000, 100_000)]
    for n, unit in product((1_000, 10_000, 100_000), ("record", "user")):
        for epsilon, mu in ((0.5, 0.01), (1.0, 0.1), (4.0, 1.0), (8.0, 10.0)):
            lines.append((n, unit, epsilon, mu, "GlobalEffects", 0.8 * (1 + loss(n, mu) / 100), 1.0))
    return pl.DataFrame(lines, schema=crowds.SCHEMA, orient="row")


@pytest.mark.parametrize("twice", [False, True])
def test_crowds_are_compared_at_the_same_product_of_users_and_mu(twice):
    def loss(users, mu):
        return (30 - 2 * np.log(users * mu)) * (1 + twice * (users == 10_000))

    found = list(crowds.apart(crowds.losses(crowds_of(loss)), "user"))
    assert [pair[:2] for pair in found] == [(1_000, 10_000), (10_000, 100_000)]
    for place, (_, _, first, further) in enumerate(found):
        assert further == pytest.approx(twice * (first if place == 0 else -first / 2))


def test_the_page_of_crowds_says_what_was_chosen_and_lost():
    text = crowds.page(crowds_of(lambda users, mu: 2.5))
    assert "| 10,000 | 2.50 | 2.50 | 2.50 | 2.50 | `GlobalEffects` |" in text
    assert "| record | 1,000 | 10,000 | 2.50 | +0.00 |" in text


def test_the_page_of_crowds_is_what_its_rows_make_of_it():
    stored = ROOT / "scoreboard/crowds.csv"
    assert crowds.page(crowds.stored(stored)) == (ROOT / "scoreboard/crowds.md").read_text("utf-8")


def test_the_grid_of_choices_shows_each_models_loss_by_the_branch_that_was_taken(capsys):
    line = (1_000, 500, 5_000, "user", 1.0)
    rows = [
        (*line, "GlobalEffects", "", None, 0.9, 1.0),
        (*line, "PosteriorMF", "", None, 0.918, 1.0),
        (*line, "CovarianceSVD", "", None, None, None),
        (*line, "AdaptiveFactors", "effects", 3.0, 0.8991, 1.0),
        (*line, "AdaptiveFactors, undeclared", "covariance", 40.0, 0.9045, 1.0),
    ]
    choice.show(pl.DataFrame(rows, schema=choice.SCHEMA, orient="row"))
    shown = capsys.readouterr().out
    cells = shown.splitlines()[-2].strip("│").split("┆")
    assert [cell.strip() for cell in cells] == ["user", "effects", "0.00", "2.00", "-0.10", "0.50", "1"]


def test_the_page_of_synthetic_people_is_made_of_its_rows():
    results = pl.read_csv(synthetic.ROWS, schema_overrides={"epsilon": pl.Float64})
    text = synthetic.PAGE.read_text("utf-8")
    assert synthetic.page(results, text) == text
    other = results.with_columns(value=pl.col("value") * 2)
    assert synthetic.page(other, text) != text


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
