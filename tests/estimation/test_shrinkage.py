"""Item effects from noisy sums and counts: as much trust as the noise leaves."""

import numpy as np

from hushrec.estimation.shrinkage import denoised_counts, shrink
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
