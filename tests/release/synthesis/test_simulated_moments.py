"""Synthetic people agree with the moments that a release states."""

import numpy as np
import pytest

import hushrec as hr
from hushrec.data.synthetic import interactions
from hushrec.release.synthesis import moments as module
from hushrec.release.synthesis.moments import (
    _log_factors,
    _simulate,
    calibrate,
    popularity_moments,
    user_moments,
)


@pytest.fixture(scope="module")
def moments():
    data = interactions(1500, 150, 30_000, 0)
    return user_moments(hr.baseline(data, hr.PrivateEASE(rank=8)))


def apart(moments, choices, seed=1):
    """How far the pairs of drawn people are from the released ones, relative; and their counts."""
    rng = np.random.default_rng(seed)
    shown = np.flatnonzero((moments.factors**2).sum(axis=1) > 0)
    numbers = rng.permutation(moments.lengths.quantiles(40_000))
    eye = np.eye(len(shown))
    drawn = _simulate(choices, moments, shown, eye, numbers, rng)
    stated = moments.factors[shown] @ moments.factors[shown].T
    np.fill_diagonal(stated, 0)
    pairs = np.linalg.norm(drawn.pairs - stated) / np.linalg.norm(stated)
    counts = abs(drawn.counts / 40_000 - moments.counts).sum() / moments.counts.sum()
    return pairs, counts


def test_drawn_people_have_the_released_moments(moments):
    pairs, counts = apart(moments, calibrate(moments))
    assert counts < 0.05
    assert pairs < 0.42


@pytest.mark.full
def test_without_rounds_the_moments_are_missed(moments, monkeypatch):
    """A planted fault: the closed form alone, which draws without replacement weaken."""
    close, _ = apart(moments, calibrate(moments))
    monkeypatch.setattr(module, "_ROUNDS", 1)
    monkeypatch.setattr(module, "_AVERAGED", 1)
    monkeypatch.setattr(module, "_taste_step", lambda *of: np.zeros_like(of[2]))
    far, _ = apart(moments, calibrate(moments))
    assert far > 1.3 * close


@pytest.mark.full
def test_the_same_moments_give_the_same_choices(moments):
    first, again = calibrate(moments), calibrate(moments)
    assert (first.levels == again.levels).all()
    assert (first.tastes == again.tastes).all()


def test_popularity_alone_is_kept_though_draws_are_without_replacement():
    from hushrec.release.synthesis.moments import lengths_with

    popularity = np.array([0.9] + [0.05] * 40)
    moments = popularity_moments(popularity, lengths_with(2.0, np.inf, 41))
    rows, _ = calibrate(moments).draw(np.full(20_000, 2, dtype=np.int64), np.random.default_rng(0))
    drawn = np.bincount(rows.items, minlength=41) / 20_000
    assert drawn[1:].mean() == pytest.approx(moments.counts[1:].mean(), rel=0.1)


def test_factors_of_a_logarithm_that_has_low_rank():
    """Rows of the matrix are made block by block; here it is known whole."""
    rng = np.random.default_rng(0)
    tastes, scale = rng.normal(size=(80, 2)) / 3, rng.uniform(0.5, 2, 80)
    lifts = np.exp(tastes @ tastes.T) - 1
    values, vectors = np.linalg.eigh(lifts)
    factors = _log_factors(vectors * np.sqrt(np.maximum(values, 0)), scale, 2)
    off = ~np.eye(80, dtype=bool)
    assert (factors @ factors.T)[off] == pytest.approx((tastes @ tastes.T)[off], abs=0.1)
