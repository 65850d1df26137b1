"""The same ratings give the same bits, whatever the order of rows, the number of threads or of chunks."""

import numpy as np
import polars as pl
import pytest

from hushrec.data.domain import Domain
from hushrec.data.load import load
from hushrec.data.synthetic import netflix_like
from hushrec.statistics import covariance_sums
from hushrec.statistics.covariance_sums import CovarianceSums
from hushrec.statistics.item_sums import EffectSums
from hushrec.statistics.population import Population


def all_sums(ratings, unit, threads=1, shift=0.0, counts=None):
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
    people = Population(ratings)
    found = [*effects.measure(people), *covariance.measure(people, *released, counts=counts)]
    return {query.name: values for query, values in found}


@pytest.mark.parametrize("unit", ["record", "user"])
def test_sums_do_not_depend_on_the_order_of_rows(unit):
    ratings = netflix_like(300, 60, 6000, seed=1).capped(60)
    table = ratings.to_polars()
    once = all_sums(ratings, unit)
    for seed in range(3):
        again = all_sums(load(table.sample(fraction=1.0, shuffle=True, seed=seed), ratings.domain), unit)
        for name, values in once.items():
            np.testing.assert_array_equal(values, again[name], err_msg=name)
    other = all_sums(ratings, unit, shift=0.01)
    assert (other["covariance"] != once["covariance"]).any(), "the test would see a difference"


def test_sums_do_not_depend_on_threads():
    ratings = netflix_like(500, 120, 12_000, seed=2)
    once = all_sums(ratings, "record", threads=1)
    for threads in (2, 3):
        again = all_sums(ratings, "record", threads=threads)
        assert all((values == again[name]).all() for name, values in once.items())


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
def test_sums_do_not_depend_on_the_order_in_which_items_are_summed(unit, monkeypatch):
    """Counts of any kind, wrong and negative ones too; and a triangle in their order would be noticed."""
    ratings = netflix_like(300, 60, 6000, seed=4).capped(60)
    once = all_sums(ratings, unit)
    for counts in (np.bincount(ratings.items, minlength=60) * 1.0, np.linspace(-3, 5, 60), np.zeros(60)):
        again = all_sums(ratings, unit, counts=counts)
        assert all((values == again[name]).all() for name, values in once.items())
    monkeypatch.setattr(covariance_sums, "renumbered", lambda packed, **_: packed)
    assert (all_sums(ratings, unit, counts=np.linspace(-3, 5, 60))["covariance"] != once["covariance"]).any()
