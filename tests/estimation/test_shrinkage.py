"""Item effects from noisy sums and counts: as much trust as the noise leaves."""

import numpy as np

from hushrec.estimation.shrinkage import damped, denoised_counts, shrink
from hushrec.privacy.bounded import Noisy


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
    found = damped(sums, counts, global_mean=3.0, strength=4.0)
    np.testing.assert_allclose(found.mean, [20 / 6, 9 / 4, 17 / 4])
    assert found.counts.tolist() == [2, 0, 0]
    assert not found.variance.any()


def test_exact_counts_stay_what_they_are():
    counts = denoised_counts(Noisy("item counts", np.array([0.0, 1.0, 700.0]), 0.0, 1.0, None))
    assert counts.tolist() == [1e-3, 1.0, 700.0]
