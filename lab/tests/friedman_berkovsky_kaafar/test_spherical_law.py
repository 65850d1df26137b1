"""Noise of density ∝ exp(−‖b‖/s) on rows: norm ~ Gamma(d, s), direction uniform and independent of it.

A check gives a p-value and alarms below 1e-9; there are under 100 of them, so right noise raises an alarm for
fewer than one choice in 1e7 of the seeds.
"""

import numpy as np
import pytest
from scipy import stats

from hushrec.arrays import Floats
from hushrec.privacy.noise.entropy import Seeded
from lab.paper import unit_rows

ALARM = 1e-9
SIZE = 30_000


def rows(d: int, seed: int = 0) -> Floats:
    keys = Seeded(seed)
    return unit_rows((SIZE, d), keys.key(), keys.key())


def checks(noise: Floats) -> dict[str, float]:
    n, d = noise.shape
    norms = np.sqrt((noise**2).sum(axis=1))
    directions = noise / norms[:, None]
    found = {
        "norm": float(stats.kstest(norms, stats.gamma(d).cdf).pvalue),
        # Entries of a uniform direction: mean 0 and variance 1/d, and no two of them correlated.
        "mean": float(stats.chi2.sf(n * d * (directions.mean(axis=0) ** 2).sum(), d)),
        "sign": float(stats.binomtest(int((noise[:, 0] > 0).sum()), n).pvalue),
        # E ‖b‖² = d (d + 1), of variance d (d + 1) (4 d + 6): width by itself.
        "square": float(
            2 * stats.norm.sf(abs((norms**2).mean() - d * (d + 1)) / np.sqrt(d * (d + 1) * (4 * d + 6) / n))
        ),
    }
    if d > 1:
        # The square of an entry of a uniform direction is Beta(1/2, (d − 1)/2), whatever the axis.
        axis = np.ones(d) / np.sqrt(d)
        for name, along in (("entry", directions[:, 0]), ("diagonal", directions @ axis)):
            found[name] = float(stats.kstest(along**2, stats.beta(0.5, (d - 1) / 2).cdf).pvalue)
        found["independence"] = float(stats.spearmanr(norms, np.abs(directions[:, 0])).pvalue)
    return found


def alarms(p_values: dict[str, float]) -> set[str]:
    return {name for name, p in p_values.items() if p < ALARM}


@pytest.mark.parametrize("d", [1, 2, 5, 20])
@pytest.mark.parametrize("seed", [0, 1])
def test_rows_have_the_law(d: int, seed: int) -> None:
    assert not alarms(checks(rows(d, seed)))


def test_rows_of_one_entry_are_laplace() -> None:
    assert stats.kstest(rows(1)[:, 0], stats.laplace.cdf).pvalue > ALARM


@pytest.mark.parametrize("d", [1, 2, 5])
def test_the_ratio_bounds_the_loss_of_spherical_noise_and_is_reached(d: int) -> None:
    generator = np.random.default_rng(d)
    noise, shift = generator.normal(size=(1000, d)) * 5, generator.normal(size=d)
    shift /= np.linalg.norm(shift)
    loss = np.abs(np.linalg.norm(noise + shift, axis=1) - np.linalg.norm(noise, axis=1))
    assert loss.max() <= 1 + 1e-12
    along = np.linalg.norm(3 * shift + shift) - np.linalg.norm(3 * shift)
    assert along == pytest.approx(1)  # Δ/s for Δ = s = 1: none less would do
