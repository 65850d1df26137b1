"""Tastes from which items the same people rated, whatever they gave them."""

import numpy as np
import pyarrow as pa
import pytest

import hushrec as hr
from hushrec.models.lists import choices
from hushrec.models.lists.choices import choice_pairs, measure_tastes
from hushrec.sums.item_sums import ItemCounts
from support.runs import exact

EACH, ITEMS = 12, 40


@pytest.fixture(scope="module")
def camps():
    """Even people rate even items, odd ones odd items; a star too many or too few means nothing."""
    rng, people = np.random.default_rng(0), 400
    own = [2 * rng.permutation(ITEMS // 2)[:EACH] + user % 2 for user in range(people)]
    table = {
        "user_id": np.repeat(np.arange(people), EACH),
        "item_id": np.concatenate(own),
        "rating": rng.integers(1, 6, people * EACH),
    }
    return hr.load(pa.table(table), hr.Domain(range(ITEMS), scale=(1, 5, 1), max_users=2 * people))


def tastes_of(people, explained=0.002):
    run, counts = exact("user"), ItemCounts(people.domain, "user")
    noisy = run.measure(counts.query, lambda: counts.measure(people))
    pairs = choice_pairs(people.domain).pairs
    return measure_tastes(noisy, people.n_users, people, run, pairs, explained), noisy.values


def test_items_of_one_camp_are_alike_and_those_of_two_are_not(camps):
    tastes, counts = tastes_of(camps)
    alike = tastes @ tastes.T
    even = np.arange(ITEMS) % 2 == 0
    same, cross = alike[np.ix_(even, even)], alike[np.ix_(even, ~even)]
    assert same[~np.eye(len(same), dtype=bool)].min() > 0 > cross.max()
    # Users' vectors have unit covariance: the mean of |T_i|² is what the tastes explain.
    assert counts @ np.diag(alike) / counts.sum() == pytest.approx(0.002 * 4**2, rel=0.01)
    assert tastes_of(camps, 0.004)[0] == pytest.approx(np.sqrt(2) * tastes)


def test_stars_do_not_count(camps):
    others = hr.People(camps.domain, camps.users, camps.indptr, camps.items, 4 - camps.values)
    assert np.array_equal(tastes_of(others)[0], tastes_of(camps)[0])


def test_items_beyond_the_head_have_no_tastes(camps, monkeypatch):
    monkeypatch.setattr(choices, "_MOST_ITEMS", 10)
    tastes, counts = tastes_of(camps)
    head = np.flatnonzero(tastes.any(axis=1))
    assert len(head) == 10
    assert counts[head].min() >= np.delete(counts, head).max()
