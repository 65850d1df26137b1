"""Synthetic people of a release of ratings."""

import numpy as np
import pytest

import hushrec as hr
from hushrec.data.synthetic import netflix_like
from hushrec.release.synthesis import synthetic_people
from hushrec.release.synthesis.moments import lengths_with
from hushrec.release.synthesis.synthetic_people import RatedPeople, _normal_cdf
from support.releases import release


def drawn(made, n=20_000, each=20.0):
    lengths = lengths_with(each, np.inf, len(made.items))
    rng = np.random.default_rng(0)
    return RatedPeople(made, lengths).draw(rng.permutation(lengths.quantiles(n)), rng)


@pytest.fixture(scope="module")
def fitted():
    return hr.baseline(netflix_like(800, 60, 20_000, 0), hr.CovarianceSVD(rank=4))


@pytest.mark.parametrize("planted", [False, True])
@pytest.mark.full
def test_items_have_the_released_means(fitted, planted, monkeypatch):
    """A planted fault: ratings are clamped, and their means are not solved for."""
    if planted:
        monkeypatch.setattr(synthetic_people, "_ROUNDS", 0)
    rows = drawn(fitted)
    n = np.bincount(rows.items, minlength=60)
    means = np.bincount(rows.items, rows.values, 60) / n
    stated = np.clip(fitted.tensors["item_effects"] + fitted.constants["user_mean"], 1, 5)
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


@pytest.mark.parametrize("kind", ["factors", "factors and people", "neighbours", "dense neighbours"])
@pytest.mark.full
def test_every_kind_that_predicts_by_covariance_has_people(kind):
    rows = drawn(release(kind, n=12), 50, 4.0)
    assert np.isfinite(rows.values).all()


def test_the_normal_distribution_function():
    from scipy.special import ndtr

    x = np.linspace(-8, 8, 1001)
    assert _normal_cdf(x) == pytest.approx(ndtr(x), abs=1e-7)
