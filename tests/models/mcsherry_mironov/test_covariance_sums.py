"""The same ratings give the same bits, whatever the order of rows, the number of threads or of chunks."""

import numpy as np
import polars as pl
import pytest

from hushrec.data.domain import Domain
from hushrec.data.load import load
from hushrec.data.synthetic import netflix_like
from hushrec.estimation.head import Head
from hushrec.kernels.csr import unpack
from hushrec.models.mcsherry_mironov.sums import CovarianceSums
from hushrec.sums.item_sums import EffectSums
from support.sums import summed

SMALL = netflix_like(300, 60, 6000, seed=1).capped(60)


def all_sums(ratings, unit, threads=1, shift=0.0, head=None):
    domain = ratings.domain
    effects = EffectSums(
        domain,
        unit,
        "add-remove",
        "l2",
        clip=1.25,
        contribution_cap=10.0,
        reg=2,
        origin=3.0,
    )
    covariance = CovarianceSums(
        domain, unit, "add-remove", "l2", 2.0, 0.65, 300, contribution_cap=20.0, offset=5.0, threads=threads
    )
    released = np.linspace(2, 4.5, domain.n_items) + shift, 0.05
    people = ratings
    found = [*effects.measure(people), *covariance.measure(people, *released, head)]
    return {query.name: values for query, values in summed(found)}


@pytest.mark.parametrize("unit", ["record", "user"])
def test_sums_do_not_depend_on_the_order_of_rows(unit):
    ratings = netflix_like(300, 60, 6000, seed=1).capped(60)
    table = pl.from_arrow(ratings.table())
    once = all_sums(ratings, unit)
    for seed in range(3):
        again = all_sums(load(table.sample(fraction=1.0, shuffle=True, seed=seed), ratings.domain), unit)
        for name, values in once.items():
            np.testing.assert_array_equal(values, again[name], err_msg=name)
    other = all_sums(ratings, unit, shift=0.01)
    assert (other["covariance"] != once["covariance"]).any(), "the test would see a difference"


def test_sums_do_not_depend_on_chunks():
    """The sums of two halves of the users add to those of all, but for the last cut to the grid."""
    ratings = netflix_like(400, 50, 6000, seed=3)
    half = ratings.user_index() < 200
    whole = all_sums(ratings, "record")
    parts = [all_sums(ratings.select(mask), "record") for mask in (half, ~half)]
    for name, values in whole.items():
        difference = np.abs(values - parts[0][name] - parts[1][name]).max()
        assert difference <= (1 if name == "covariance" else 0), name


def test_an_empty_population_is_measured_like_any_other():
    domain = Domain(items=range(5), scale=(1, 5, 1), max_users=100)
    empty = load(
        pl.DataFrame(
            {"user_id": [], "item_id": [], "rating": []},
            schema=dict.fromkeys(["user_id", "item_id", "rating"], pl.String),
        ),
        domain,
    )
    for unit in ("record", "user"):
        assert all(not values.any() for values in all_sums(empty, unit).values())


@pytest.mark.parametrize("unit", ["record", "user"])
def test_the_order_of_the_head_is_that_of_the_matrices(unit):
    """The same cells, wherever they stand."""
    ratings = netflix_like(300, 60, 6000, seed=4).capped(60)
    order = np.random.default_rng(0).permutation(60)
    once, again = all_sums(ratings, unit), all_sums(ratings, unit, head=Head(60, order))
    for name in ("covariance", "co-rating weights"):
        square = unpack(once[name], 60, np.int64)
        np.testing.assert_array_equal(unpack(again[name], 60, np.int64), square[np.ix_(order, order)])
        assert (once[name] != again[name]).any(), "the test would see another order"


def test_nothing_is_summed_before_it_is_asked_for_and_both_matrices_are_summed_at_once(monkeypatch):
    """As the second part of a fit that was killed after the first needs."""
    calls = []
    add = CovarianceSums._add
    monkeypatch.setattr(CovarianceSums, "_add", lambda *given: calls.append(1) or add(*given))
    sums = CovarianceSums(SMALL.domain, "user", "add-remove", "l2", 2.0, 0.65, 300, 20.0, 5.0)
    first, second = sums.measure(SMALL, np.full(60, 3.0), 0.0)
    assert not calls
    together = [first[1](), second[1]()]
    assert len(calls) == 1
    _, alone = sums.measure(SMALL, np.full(60, 3.0), 0.0)
    assert np.array_equal(alone[1](), together[1])
