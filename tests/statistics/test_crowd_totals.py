"""Totals of a crowd: nobody moves them by more than Δ, and somebody by as much."""

import numpy as np
import polars as pl
import pytest

from hushrec.data.domain import Domain
from hushrec.data.load import load
from hushrec.statistics import crowd_totals as module
from hushrec.statistics.crowd_totals import CrowdTotals
from hushrec.statistics.population import Population

N_ITEMS, CAP = 60, 40
BESIDE = [range(5), range(3, 50)]


@pytest.fixture(autouse=True)
def _few(monkeypatch):
    monkeypatch.setattr(module, "MOST", 25)


def people(*rows, max_per_user=CAP):
    """People who gave the items of each row, capped."""
    domain = Domain(range(N_ITEMS), max_per_user=CAP, max_users=10)
    pairs = [(f"u{user}", str(item)) for user, row in enumerate(rows) for item in row]
    schema = {"user_id": pl.String, "item_id": pl.String}
    return Population(load(pl.DataFrame(pairs, schema=schema, orient="row"), domain).capped(max_per_user))


def totals(unit):
    return CrowdTotals(people().domain, unit)


def farthest(search, unit, others):
    """Largest distance over Δ of each total between some people and neighbours of them."""
    sums = totals(unit)
    whole = dict(sums.measure(people(*BESIDE)))
    return [
        max(search.exceeds(query, dict(sums.measure(people(*other)))[query], values) for other in others)
        for query, values in whole.items()
    ]


def test_a_person_moves_each_total_by_delta_at_most(search):
    assert farthest(search, "user", [[*BESIDE, range(n)] for n in range(1, N_ITEMS + 1)]) == [1, 1]


def test_a_person_without_a_bound_would_be_found(search, monkeypatch):
    monkeypatch.setattr(CrowdTotals, "records", totals("user").records)
    monkeypatch.setattr(CrowdTotals, "most", N_ITEMS)
    assert farthest(search, "user", [[*BESIDE, range(CAP)]])[1] > 1.5


def test_a_rating_moves_each_total_by_one_at_most(search):
    """Also somebody's only rating, which takes them away."""
    whole = [*BESIDE, [7]]
    sums = totals("record")
    assert sums.most == N_ITEMS
    moved = [[range(4), BESIDE[1], [7]], [BESIDE[0], [*BESIDE[1]][1:], [7]], BESIDE]
    by = {
        query.name: [
            search.exceeds(query, values, dict(sums.measure(people(*other, max_per_user=N_ITEMS)))[query])
            for other in moved
        ]
        for query, values in sums.measure(people(*whole, max_per_user=N_ITEMS))
    }
    assert by == {"number of users": [0, 0, 1], "number of interactions": [1, 1, 1]}


def test_they_are_what_they_say():
    users, given = (values for _, values in totals("user").measure(people(*BESIDE)))
    assert (users.item(), given.item()) == (2, 5 + 25)
    assert np.issubdtype(given.dtype, np.integer)
