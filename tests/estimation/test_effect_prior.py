"""The prior of item effects: features and public ratings carry what they know, and do no harm else."""

import numpy as np
import pytest

from hushrec.arrays import Floats
from hushrec.estimation.priors import effect_prior
from hushrec.item_prior import NOTHING_KNOWN, ItemPrior

_N, _SIGMA, _SPAN = 1500, 40.0, 4.0


class _World:
    """Items whose effects follow features and popularity, and noisy sums of their ratings."""

    def __init__(self, seed: int, *, carried: float = 0.4, columns: int = 40) -> None:
        rng = np.random.default_rng(seed)
        self.n = np.exp(rng.normal(4, 1, _N))
        self.design = (rng.random((_N, columns)) < 0.15).astype(np.float64)
        self.design -= self.design.mean(axis=0)
        told = self.design @ rng.standard_normal(columns)
        told *= carried / max(float(told.std()), 1e-9)
        self.effects = 0.2 + 0.1 * (np.log1p(self.n) - 4) + told + 0.3 * rng.standard_normal(_N)
        self.noise = np.full(_N, _SIGMA**2) + 0.05 * _SPAN**2 * self.n
        self.sums = self.n * self.effects + np.sqrt(self.noise) * rng.standard_normal(_N)
        self.rng = rng

    def features(self, design: Floats | None = None) -> ItemPrior:
        design = self.design if design is None else design
        return ItemPrior(design=design, groups=np.zeros(design.shape[1], dtype=np.int64))

    def error(self, prior: ItemPrior) -> float:
        """Mean squared error of the prior means, over items."""
        found = effect_prior(self.sums, self.n, self.noise, _SPAN, prior, origin=3.0)
        return float(np.mean((found.mean - self.effects) ** 2))


def test_features_that_carry_the_effects_are_learned():
    """Most of the variance that features explain (0.16) is gone from the error; 0.09 is nobody's."""
    world = _World(0)
    without, with_features = world.error(NOTHING_KNOWN), world.error(world.features())
    assert without > 0.22
    assert with_features < 0.125


@pytest.mark.parametrize("columns", [40, 300])
def test_features_that_say_nothing_do_no_harm(columns):
    """Also with far more columns than the noise allows to fit: at most 2 % of the error."""
    for seed in range(3):
        world = _World(seed, carried=0.0)
        noise = world.rng.standard_normal((_N, columns))
        assert world.error(world.features(noise)) < 1.02 * world.error(NOTHING_KNOWN)


def test_public_ratings_are_trusted_as_far_as_these_people_agree():
    """Shifted by a level they still help; those of nobody, and those without any relation, do no harm."""
    world = _World(2)
    variance = world.rng.uniform(0.01, 0.3, _N)
    public = 3.0 + 0.5 + world.effects + np.sqrt(variance) * world.rng.standard_normal(_N)
    public[::5] = np.nan
    error = world.error(ItemPrior(effects=public, effect_variance=variance))
    assert error < 0.65 * world.error(NOTHING_KNOWN)
    unrelated = 3.0 + world.rng.standard_normal(_N)
    assert world.error(ItemPrior(effects=unrelated, effect_variance=np.full(_N, 0.05))) < 1.02 * world.error(
        NOTHING_KNOWN
    )


def test_the_stated_variance_is_that_of_the_effects():
    world = _World(3)
    for prior in (NOTHING_KNOWN, world.features()):
        found = effect_prior(world.sums, world.n, world.noise, _SPAN, prior, origin=3.0)
        apart = np.mean((found.mean - world.effects) ** 2 / (found.variance + found.doubt))
        assert 0.8 < apart < 1.2


@pytest.mark.parametrize("size", [0.0, 1e6, 1e10, 1e14])
def test_there_is_a_prior_at_any_noise(size):
    """Sums may be of any size. Of two columns that are equal, no sum tells one from the other."""
    for seed in range(5):
        rng = np.random.default_rng(seed)
        n = rng.integers(1, 20, 33).astype(np.float64)
        design = (rng.random((33, 8)) < 0.3).astype(np.float64)
        known = ItemPrior(design=np.hstack([design, design[:, :1]]), groups=np.zeros(9, dtype=np.int64))
        found = effect_prior(np.full(33, size), n, 0.8 * n, _SPAN, known, origin=3.0)
        assert np.isfinite(found.mean).all()
        assert (found.doubt >= -1e-6 * _SPAN**2).all()
