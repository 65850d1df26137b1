"""Years: crowds move as they should, shares add up, and the pages have the table of the rows."""

from dataclasses import replace

import pyarrow.compute as pc
import pytest

import hushrec as hr
from lab.tests.test_benchmarks import script

module = script("year")
FILMS = {item: 1950 + item for item in range(40)}


def rows_of(people):
    """What everybody gave."""
    return {tuple(row.values()) for row in people.table().to_pylist()}


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
    before, half, after = (year.at(part).train for part in (0, 0.5, 1))
    ages = [week.items.mean() for week in (before, half, after)]
    assert ages[0] + 4 < ages[1] < ages[2] - 4
    one, other = rows_of(before), rows_of(after)
    assert not one & other
    assert one | other == rows_of(parts.train)


def test_a_crowd_grows_and_its_histories_lengthen():
    parts = crowd()
    year = module.grows(5)(parts, FILMS, 0)
    before, half, after = (year.at(part).train for part in (0, 0.5, 1))
    n = parts.train.n_users
    assert before.n_users == pytest.approx(n / 5, abs=1)
    assert half.n_users == pytest.approx(n * (1 + 1 / 5) / 2, abs=1)
    assert after.n_users == n
    assert rows_of(before) <= rows_of(half) <= rows_of(after) < rows_of(parts.train)


def test_all_shares_are_the_total():
    assert sum(module.shares(module.ENDS)) == pytest.approx(1)


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


def test_the_release_of_a_year_takes_over_what_an_equal_share_does_not():
    parts = crowd(2_000, 40, 10)
    total = hr.Budget(epsilon=0.5, delta=1e-6, unit="user", adjacency="add-remove")
    found = [*module.measured(module.stays(parts, FILMS, 0), hr.Popularity(), total, 0, (1, 26, 52))]
    last = next(row for row in found if row["week"] == 52 and row["metric"] == "ndcg@100")
    assert last["continued"] > last["equal"]
    assert last["one"] == pytest.approx(last["popularity"], abs=0.05)
