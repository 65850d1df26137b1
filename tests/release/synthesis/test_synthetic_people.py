"""Synthetic people: reproducible, of every kind of release that has them, and what is said of them."""

import json
from contextlib import suppress

import numpy as np
import pandas as pd
import pytest

import hushrec as hr
from hushrec.data.synthetic import interactions, netflix_like
from hushrec.errors import ReleaseError
from hushrec.release.synthesis import synthetic_people
from hushrec.release.synthesis.moments import lengths_with
from hushrec.release.synthesis.synthetic_people import RatedPeople, _normal_cdf
from support.releases import ranker, release


@pytest.fixture(scope="module")
def fitted():
    return hr.baseline(interactions(600, 80, 9000, 0), hr.PrivateEASE(rank=4))


@pytest.mark.full
def test_the_same_seed_gives_the_same_rows(fitted):
    first, again, other = (pd.DataFrame(fitted.synthesize(300, seed=s).columns()) for s in (1, 1, 2))
    assert first.equals(again)
    assert not first.equals(other)
    assert first["user_id"].nunique() == 300
    assert not first.duplicated().any()
    assert [*first.columns] == ["user_id", "item_id"]


def test_another_seed_draws_other_items_also_where_everybody_has_as_many(fitted, monkeypatch):
    """The lengths of the rows follow from the seed too, so that rows of other lengths would hide it."""
    people = [fitted.synthesize(50, seed=seed) for seed in (1, 2)]
    monkeypatch.setattr(type(people[0].lengths), "quantiles", lambda _, n: np.full(n, 12))
    first, other = (pd.DataFrame(one.columns()) for one in people)
    assert not first["item_id"].equals(other["item_id"])


@pytest.mark.full
def test_lists_of_a_model_that_is_trained_on_rows_are_near_the_release(fitted):
    """The rows carry taste: a model of theirs ranks as the release does, and popularity does not."""
    table = fitted.synthesize(4000, seed=3).columns()
    domain = hr.Domain(fitted.items, max_users=8000, max_per_user=80)
    retrained = hr.baseline(hr.load(pd.DataFrame(table), domain), hr.PrivateEASE(rank=4))
    near, popular = [], []
    every = np.arange(len(fitted.items))
    by = [hr.Client(r)._predictor for r in (fitted, retrained)]
    for seed in range(30):
        own = np.sort(np.random.default_rng(seed).choice(80, 8, replace=False))
        first, second = (np.argsort(-one.rank(own, np.ones(8), every))[:20] for one in by)
        best = np.argsort(-fitted.tensors["item_scores"])[:20]
        near.append(len(set(first) & set(second)))
        popular.append(len(set(first) & set(best)))
    assert np.mean(near) > np.mean(popular) + 1.5


def test_counts_alone_give_draws_by_popularity_and_say_so():
    made = ranker([f"i{k}" for k in range(40)], np.linspace(40, 1, 40))
    people = made.synthesize(3000)
    assert any("independently" in sentence for sentence in people.sayings())
    counts = pd.Series(people.columns()["item_id"]).value_counts()
    assert counts["i0"] > 5 * counts["i39"]


@pytest.mark.parametrize("kind", ["factors", "factors and people", "neighbours", "dense neighbours"])
@pytest.mark.full
def test_releases_of_ratings_give_ratings(kind):
    columns = release(kind, n=20).synthesize(30).columns()
    assert [*columns] == ["user_id", "item_id", "rating"]


def test_a_release_of_rows_is_refused_with_what_to_do(rows_release):
    with pytest.raises(ReleaseError, match="use that data set as it is"):
        rows_release.synthesize(10)


@pytest.fixture
def rows_release():
    from hushrec.data.synthetic import netflix_like

    return hr.baseline(netflix_like(30, 20, 300, 0), hr.ItemKNN())


@pytest.mark.parametrize(
    ("asked", "says"),
    [
        ({"n_users": 0}, "a whole number, 1 or more"),
        ({"n_users": 10**12}, "from 1 to"),
        ({"n_users": 5, "seed": -1}, "a whole number, 0 or more"),
        ({"n_users": 5, "mean_items": 0.5}, "mean_items"),
        ({"n_users": 5, "mean_items": 1e9}, "mean_items"),
    ],
)
def test_what_cannot_be_drawn_is_refused(fitted, asked, says):
    with pytest.raises(ReleaseError, match=says):
        fitted.synthesize(**asked)


def test_a_table_that_no_memory_holds_is_refused(fitted):
    with pytest.raises(ReleaseError, match="write them to a file"):
        fitted.synthesize(10**9).columns()


@pytest.mark.parametrize("size", [1e30, 1e-30, 0.0])
@pytest.mark.parametrize("name", ["item_factors", "input_weights", "output_weights", "item_scores"])
@pytest.mark.full
def test_a_hostile_release_is_drawn_from_or_refused(fitted, name, size):
    tensors = {k: v.copy() for k, v in fitted.tensors.items()}
    tensors[name][::2] = size
    made = ranker(
        fitted.items,
        kind="linear items",
        tensors=tensors,
        settings=fitted.settings,
        statement=fitted.statement,
    )
    with suppress(ReleaseError):
        rows = next(made.synthesize(20).blocks())
        assert (np.diff(rows.indptr) >= 1).all()


def test_what_the_rows_are_is_said_with_the_statement():
    made = ranker(["a", "b", "c", "d", "e", "f"], np.arange(6.0))
    people = made.synthesize(5)
    facts = json.loads(json.dumps(people.facts(), allow_nan=False))
    assert facts["statement"] == made.statement.to_json()
    assert facts["says"][0].startswith("These rows describe no one")
    assert "protected by its guarantee" in facts["says"][1]


def test_a_release_without_a_guarantee_gives_rows_without_one(fitted):
    assert "promise nothing" in fitted.synthesize(5).sayings()[1]


def test_numbers_from_which_nobody_can_be_drawn_are_refused():
    for hi in (1e200, 1e308):
        with pytest.raises(ReleaseError, match="numbers are unusable"):
            release(scale=(0.0, hi, 1.0)).synthesize(3)


# -- synthetic people of a release of ratings -------------------------------------------------------------


def drawn(made, n=20_000, each=20.0):
    lengths = lengths_with(each, len(made.items))
    rng = np.random.default_rng(0)
    return RatedPeople(made, lengths).draw(rng.permutation(lengths.quantiles(n)), rng)


@pytest.fixture(scope="module")
def rated():
    return hr.baseline(netflix_like(800, 60, 20_000, 0), hr.CovarianceSVD(rank=4))


@pytest.mark.parametrize("planted", [False, True])
@pytest.mark.full
def test_items_have_the_released_means(rated, planted, monkeypatch):
    """A planted fault: ratings are clamped, and their means are not solved for."""
    if planted:
        monkeypatch.setattr(synthetic_people, "_ROUNDS", 0)
    rows = drawn(rated)
    n = np.bincount(rows.items, minlength=60)
    means = np.bincount(rows.items, rows.values, 60) / n
    stated = np.clip(rated.tensors["item_effects"] + rated.constants["user_mean"], 1, 5)
    worst = abs(means - stated)[n > 500].max()
    assert (worst < 0.08) is not planted


def test_ratings_are_on_the_scale():
    made = release(n=30, scale=(1.0, 5.0, 0.5))
    values = drawn(made, 500, 10.0).values
    assert set(np.unique(values)) <= set(np.arange(1, 5.5, 0.5))


def test_tastes_show_in_the_residuals():
    """Ratings of two items with opposite factors fall as the other's rise."""
    made = release(n=6, rank=1, scale=(1.0, 5.0, 1.0))
    made.tensors["item_factors"][:, 0] = [0.9, -0.9, 0, 0, 0, 0]
    made.tensors["item_effects"][:] = 3
    made.constants["user_variance"] = 1e-6
    rows = drawn(made, 4000, 3.0)
    table = np.full((4000, 6), np.nan)
    person = np.repeat(np.arange(4000), np.diff(rows.indptr))
    table[person, rows.items] = rows.values
    both = np.isfinite(table[:, :2]).all(axis=1)
    assert np.corrcoef(table[both, 0], table[both, 1])[0, 1] < -0.3


def test_the_normal_distribution_function():
    from scipy.special import ndtr

    x = np.linspace(-8, 8, 1001)
    assert _normal_cdf(x) == pytest.approx(ndtr(x), abs=1e-7)
