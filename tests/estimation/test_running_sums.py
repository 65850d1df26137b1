"""Running sums: exact without noise, as noisy as they say, and close where a measurement is missing."""

import numpy as np
import pytest

from hushrec.estimation.running_sums import running_sum
from hushrec.privacy.accounting.ages import BITS, age_weights, joint_norm
from hushrec.privacy.bounded import Noisy


def measurements(arrivals, sigma=0.0, seed=0):
    """What a series measures of what came in before each release, shape (T, n)."""
    ages = age_weights(len(arrivals)) * 2.0**-BITS
    rng = np.random.default_rng(seed)
    return {
        part: Noisy(
            "sums",
            sum(ages[part - s] * arrivals[s] for s in range(part + 1))
            + sigma * rng.standard_normal(arrivals.shape[1]),
            sigma,
            0.5,
            None,
        )
        for part in range(len(arrivals))
    }


@pytest.fixture
def arrivals():
    return np.random.default_rng(3).normal(size=(30, 7)) * np.linspace(1, 5, 7)


@pytest.mark.parametrize("part", [0, 1, 17, 29])
def test_all_that_came_is_found_without_noise(arrivals, part):
    until = {number: noisy for number, noisy in measurements(arrivals).items() if number <= part}
    found = running_sum(until, part)
    np.testing.assert_allclose(found.values, arrivals[: part + 1].sum(axis=0), atol=1e-6)
    assert (found.name, found.step) == ("sums", 0.5)


def test_the_noise_is_as_large_as_it_says():
    nothing = np.zeros((52, 20_000))
    found = running_sum(measurements(nothing, 2.0), 51)
    assert found.sigma == pytest.approx(2.0 * joint_norm(52), 1e-6)
    assert found.values.std() == pytest.approx(found.sigma, rel=0.025)  # five standard deviations


@pytest.mark.parametrize("missing", [{0}, {3}, {27, 28}, {0, 5, 6, 7, 20}])
def test_a_missing_measurement_costs_little_where_arrivals_are_alike(missing):
    arrivals = np.outer(np.ones(30), [4.0, 9.0, 100.0])
    whole = measurements(arrivals, sigma=1.0)
    left = {part: noisy for part, noisy in whole.items() if part not in missing}
    silent = {part: noisy for part, noisy in measurements(arrivals).items() if part not in missing}
    np.testing.assert_allclose(running_sum(silent, 29).values, arrivals.sum(axis=0), rtol=0.01)
    assert running_sum(left, 29).sigma < 1.6 * running_sum(whole, 29).sigma


def test_only_the_last_measurement_is_left(arrivals):
    found = running_sum({29: measurements(arrivals, 1.0)[29]}, 29)
    assert np.isfinite(found.values).all()
    assert found.sigma < 30
