"""Years: crowds move as they should, shares add up, and the table's means and worst ends are right."""

import csv
from dataclasses import replace

import polars as pl
import pyarrow.compute as pc
import pytest

import hushrec as hr
from lab.tests.test_benchmarks import script

module = script("year")
FILMS = {item: 1950 + item for item in range(40)}


def rows_of(people):
    """What everybody gave."""
    return {tuple(row.values()) for row in people.table().to_pylist()}


def of_users(people, users):
    """The same without others than these."""
    return people.select(pc.is_in(people.users, users).to_numpy(zero_copy_only=False)[people.user_index()])


def crowd(users=400, items=40, each=10):
    people = hr.synthetic.interactions(users, items, users * each, 0, 2)
    return module.parted(replace(people, domain=hr.Domain(range(items), max_users=users)), 0)


def test_a_fifth_of_the_films_enters_evenly():
    parts = crowd()
    year = module.films_enter(parts, FILMS, 0)
    sizes = [len(year.at(part).train.domain.items) for part in (0, 0.5, 1)]
    assert sizes == [32, 36, 40]
    start = year.at(0)
    names = start.train.domain.items
    assert all(part.domain.items == names for part in start)
    kept = parts.train.table().filter(pc.field("item_id").isin(names))
    assert start.train.table().equals(kept)  # indexes of items are those of the smaller catalogue
    assert year.at(1) == parts


def test_likes_drift_from_older_to_newer_films():
    parts = crowd()
    year = module.drifts(parts, FILMS, 0)
    before, half, after = (year.at(part) for part in (0, 0.5, 1))
    whole = len(parts.train.items)
    for week in (before, half, after):
        assert len(week.train.items) == pytest.approx(whole / 2, rel=0.1)
    ages = [week.train.items.mean() for week in (before, half, after)]
    assert ages[0] + 4 < ages[1] < ages[2] - 4
    assert before.sought.items.mean() + 8 < after.sought.items.mean()
    one, other = (rows_of(week.train) for week in (before, after))
    assert not one & other
    assert one | other == rows_of(parts.train)


@pytest.mark.parametrize("times", [2, 5])
def test_a_crowd_grows_and_its_histories_lengthen(times):
    parts = crowd()
    year = module.grows(times)(parts, FILMS, 0)
    before, half, after = (year.at(part).train for part in (0, 0.5, 1))
    n = parts.train.n_users
    assert before.n_users == pytest.approx(n / times, abs=1)
    assert half.n_users == pytest.approx(n * (1 + 1 / times) / 2, abs=1)
    assert after.n_users == n
    there = of_users(parts.train, before.users)
    assert (before.counts == -(-there.counts // 2)).all()  # half of each history, rounded up
    at_the_end = of_users(after, before.users)
    assert (at_the_end.counts == there.counts).all()
    assert len(after.items) < len(parts.train.items)  # the last to come gave half
    assert rows_of(before) <= rows_of(half) <= rows_of(after)
    assert year.at(0).known is parts.known


@pytest.mark.parametrize("ends", [module.ENDS, range(1, module.WEEKS + 1), (1, 52)])
def test_all_shares_are_the_total(ends):
    found = module.shares(ends)
    assert len(found) == len(ends)
    assert found[0] == 0.5
    assert sum(found) == pytest.approx(1)


def rows(continued, metric="ndcg@100", draw=0, one=0.5):
    case = {"scene": "whole", "model": "PrivateEASE", "unit": "user", "epsilon": 1.0, "draw": draw}
    others = {"one": one, "equal": one / 2, "popularity": None if metric == "rmse" else one / 4}
    found = [
        {**case, "week": week, "metric": metric, "continued": value, **others}
        for week, value in zip((1, 2, 52), continued, strict=True)
    ]
    return pl.DataFrame(found, schema={name: module.TYPES[name] for name in (*module.CASE, *module.FOUND)})


def test_a_larger_error_is_a_loss():
    (found,) = module.losses(rows((1.0, 1.1, 1.0), "rmse", one=1.0)).to_dicts()
    assert found["loss"] == pytest.approx(-100 * (0.05 * 51 / 52))
    assert (found["worst"], found["worst_week"]) == (pytest.approx(-10), 2)
    assert found["popular"] is None


def test_the_table_has_means_over_draws_and_the_worst_end_of_all():
    found = pl.concat(
        [
            rows((0.4, 0.4, 0.4)),
            rows((0.45, 0.45, 0.35), draw=1),
            *(rows((0.4, 0.4, 0.4), "recall@20", draw) for draw in (0, 1)),
        ]
    )
    (line,) = module.table(found).splitlines()[2:]
    cells = [cell.strip() for cell in line.strip("|").split("|")]
    losses = module.losses(found.filter(metric="ndcg@100"))["loss"]
    assert cells[:3] == ["all films, the crowd stays", "PrivateEASE", "1 per user"]
    assert cells[5] == f"{losses.mean():+.1f} ± {losses.std():.1f} %"
    assert cells[6] == "-30.0 %, week 52"


def test_the_pages_have_the_table_of_the_stored_rows():
    whole, part = (
        (module.ROOT / page)
        .read_text("utf-8")
        .partition("<!-- table -->\n")[2]
        .partition("\n<!-- end of table -->")[0]
        .splitlines()
        for page in ("lab/scoreboard/year.md", "docs/weekly.md")
    )
    assert whole == module.table(module.stored(module.RESULTS)).splitlines()
    assert len(part) > 2
    assert part == [line for line in whole if line in part]


def test_rows_are_stored_and_not_run_again(tmp_path, monkeypatch):
    monkeypatch.setattr(module, "everybody", lambda *_: hr.synthetic.interactions(400, 40, 4_000, 0, 2))
    monkeypatch.setattr(module, "films_of", lambda _: FILMS)
    path, case = tmp_path / "year.csv", module.Case("1000 films enter", "Popularity", "user", 4.0)
    monkeypatch.setattr(module, "WEEKS", 3)
    monkeypatch.setattr(module, "ENDS", (1, 3))
    module.run([case], [0], tmp_path, path)
    with path.open(encoding="utf-8") as file:
        assert next(csv.reader(file)) == [*module.CASE, *module.FOUND]
    there = module.stored(path)
    assert there["week"].to_list() == [1, 1, 2, 2, 3, 3]
    assert there.filter(there["one"].is_null())["week"].to_list() == [2, 2], "compared at the ends"
    assert not there["continued"].null_count()
    monkeypatch.setattr(module, "measured", None)
    module.run([case], [0], tmp_path, path)
    assert module.stored(path).equals(there)


def test_the_release_of_a_year_takes_over_what_an_equal_share_does_not():
    parts = crowd(2_000, 40, 10)
    total = hr.Budget(epsilon=0.5, delta=1e-6, unit="user", adjacency="add-remove")
    found = [*module.measured(module.stays(parts, FILMS, 0), hr.Popularity(), total, 0, (1, 26, 52))]
    last = next(row for row in found if row["week"] == 52 and row["metric"] == "ndcg@100")
    assert last["continued"] > last["equal"]
    assert last["one"] == pytest.approx(last["popularity"], abs=0.05)
