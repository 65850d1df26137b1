"""Item effects from noisy sums and counts: as much trust as the noise leaves."""

import math

import numpy as np
import pytest

from hushrec.estimation import shrinkage as module
from hushrec.estimation.shrinkage import (
    combine,
    damped_means,
    denoised_counts,
    known_popularity,
    mean_ratio,
    popularity,
    shrink,
)
from hushrec.privacy.noisy import Noisy


def test_shrinkage_trusts_what_the_noise_leaves():
    """Posterior means beat the raw ratio under noise, and equal it where there is next to none."""
    rng = np.random.default_rng(0)
    n = np.round(np.exp(rng.normal(4, 1.5, 2000)))
    effects = rng.normal(0.2, 0.5, 2000)
    for sigma in (40.0, 1e-3):
        sums = Noisy("item sums", n * effects + sigma * rng.standard_normal(2000), sigma, 1.0, None)
        counts = Noisy("item counts", n + sigma / 2 * rng.standard_normal(2000), sigma / 2, 1.0, None)
        raw = sums.values / np.maximum(counts.values, 1)
        found = shrink(sums, counts, span=4.0)
        error = np.mean((found.mean - effects) ** 2)
        if sigma > 1:
            assert error < 0.5 * np.mean((np.clip(raw, -2, 2) - effects) ** 2)
            assert 0.3 < np.mean((found.mean - effects) ** 2 / found.variance) < 2, "variance is honest"
        else:
            assert error < 0.05
        better = np.abs(denoised_counts(counts) - n).mean() <= np.abs(counts.values - n).mean() + 1e-6
        assert better


def test_damped_means_are_the_printed_formula():
    """(S + β G)/(N + β); a count below zero, which only noise makes, counts as zero."""
    sums = Noisy("item sums", np.array([8.0, -3.0, 5.0]), 1.0, 1.0, None)
    counts = Noisy("item counts", np.array([2.0, -4.0, 0.0]), 1.0, 1.0, None)
    found = damped_means(sums, counts, global_mean=3.0, reg=4.0)
    np.testing.assert_allclose(found.mean, [20 / 6, 9 / 4, 17 / 4])
    assert found.counts.tolist() == [2, 0, 0]
    assert not found.variance.any()


def test_popularity_counts_the_lowest_rating_as_nothing_and_the_highest_twice():
    """On 1 to 5 with origin 3; what was only disliked is not chosen at all."""
    sums = Noisy("item sums", np.array([10.0, 0.0, -10.0, 3.0]), 0.0, 1.0, None)
    counts = Noisy("item counts", np.array([5.0, 5.0, 5.0, 6.0]), 0.0, 1.0, None)
    assert popularity(sums, counts, span=4.0).tolist() == [10, 5, 1e-3, 7.5]
    effects = sums.values / counts.values
    np.testing.assert_allclose(known_popularity(counts.values, effects, 4.0), [10, 5, 1e-3, 7.5])


def hidden_counts(seed):
    """A long tail of counts below the noise, better liked where popular: effects, counts and noisy sums."""
    rng = np.random.default_rng(seed)
    n = np.round(np.exp(rng.normal(2.5, 1.8, 3000)))
    effects = 0.15 * np.log1p(n) - 0.4 + 0.3 * rng.standard_normal(3000)
    sums = n * effects + np.sqrt(40.0**2 + 0.8 * n) * rng.standard_normal(3000)
    counts = n + 100 * rng.standard_normal(3000)
    noisy = (
        Noisy("item sums", sums, 40.0, 1.0, None),
        Noisy("item counts", counts, 100.0, 1.0, None),
    )
    return effects, n, noisy


@pytest.mark.parametrize("seed", range(3))
def test_a_count_that_noise_hides_is_integrated_over(seed, monkeypatch):
    """Over all ratings, that errs less than one estimate of the count, or than weighing all counts alike."""
    effects, n, noisy = hidden_counts(seed)

    def error(found):
        return float(np.average((found.mean - effects) ** 2, weights=n))

    found = shrink(*noisy, span=4.0)
    stated = np.average((found.mean - effects) ** 2 / found.variance, weights=n)
    assert 0.3 < stated < 2, "the variance is that over ratings"
    monkeypatch.setattr(module, "_integrate", lambda *_: None)
    assert error(found) < 0.9 * error(shrink(*noisy, span=4.0))
    # The best constant, which even knows the true counts.
    assert error(found) < 0.9 * float(np.average((effects - np.average(effects, weights=n)) ** 2, weights=n))


def test_two_measurements_are_averaged_by_their_variances():
    one, other = (
        Noisy("n", np.array(values), sigma, 1.0, None) for values, sigma in (([4.0, 0], 2.0), ([9.0, 5], 1.0))
    )
    both = combine(one, other)
    assert both.values.tolist() == pytest.approx([8.0, 4.0])
    assert both.sigma == pytest.approx(1 / math.sqrt(1 / 4 + 1))
    exact = Noisy("n", np.array([4.0]), 0.0, 1.0, None)
    assert combine(exact, exact) is exact


def one(value, sigma=0.0):
    return Noisy("one", np.array([value]), sigma, 1.0, None)


def test_a_ratio_that_noise_hides_is_the_usual_one():
    assert mean_ratio(one(0.0, 1e9), one(1e3)) == pytest.approx(1, abs=1e-3)
    assert mean_ratio(one(1_500.0, 1e-3), one(1e3)) == pytest.approx(1.5, abs=1e-3)
    assert 1 < mean_ratio(one(1_500.0, 300.0), one(1e3)) < 1.4
    for total in (-1e12, 0.0, 1e12):
        assert 0.25 <= mean_ratio(one(total, 1.0), one(-5.0, 1.0)) <= 2
