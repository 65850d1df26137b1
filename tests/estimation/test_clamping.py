"""What clamping takes from effects, undone by a released slope."""

import numpy as np
import pytest

from hushrec.estimation.shrinkage import clamped_slope, clamped_variance
from hushrec.privacy.noisy import Noisy


def one(value, sigma=0.0):
    return Noisy("one", np.array([value]), sigma, 1.0, None)


@pytest.mark.parametrize("spread", [0.12, 0.2, 0.3])
@pytest.mark.parametrize("clip", [0.1, 0.2, 0.5])
def test_sums_of_clamped_values_over_the_slope_are_sums_of_effects(clip, spread):
    """Whatever the ratings' deviation, which nobody declares; clamped sums themselves are too small."""
    rng = np.random.default_rng(0)
    effects = 0.1 * rng.standard_normal(200)
    values = effects[:, None] + np.sqrt(spread**2 - 0.1**2) * rng.standard_normal((200, 2000))
    clamped = np.clip(values, -clip, clip)
    slope = clamped_slope(one((np.abs(values) < clip).mean() * 1e4), one(1e4), clip)
    found = clamped.mean(axis=1)
    scale = float(effects @ effects)
    assert effects @ found / slope == pytest.approx(scale, rel=0.12)
    if clip <= spread:
        assert effects @ found < 0.75 * scale, "not undone, effects are too small"
    if clip < 0.5 and spread > 0.15:
        within = float(clamped.var(axis=1).mean()) / slope**2
        assert clamped_variance(clip, slope) == pytest.approx(within, rel=0.4)


def test_a_slope_that_noise_hides_is_the_usual_one():
    usual = clamped_slope(one(0.0, 1e9), one(1e3), 0.25)
    assert usual == pytest.approx(0.683, abs=1e-3), "normal ratings, one deviation"
    assert clamped_slope(one(900.0, 1e-3), one(1e3), 0.25) == pytest.approx(0.9, abs=1e-3)
    between = clamped_slope(one(900.0, 100.0), one(1e3), 0.25)
    assert usual < between < 0.9


@pytest.mark.parametrize("total", [-1e12, 0.0, 1e12])
def test_no_noise_makes_a_slope_beyond_what_is_possible(total):
    assert 0 < clamped_slope(one(total, 1.0), one(-5.0, 1.0), 0.2) <= 1
