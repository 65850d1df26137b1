"""The exact transition under a prior and noise: its law by hand, and the loop over items against NumPy."""

import math

import numpy as np
import pytest
from numpy.random import default_rng

from hushrec.kernels.csr import frozen
from hushrec.kernels.noise.gaussian import reference_draw
from hushrec.kernels.solvers.prior_transition import settle, table, transition

RATE, TEMPERATURE = 0.5, 3.0
PRECISION = np.array([0.2, 1.0, 2.0, 40.0])
KEY = frozen(np.arange(8), np.int64).astype(np.uint32)
KEY.flags.writeable = False


def test_the_transition_by_hand():
    decay, spread = transition(np.array([2.0]), RATE, TEMPERATURE, 1.0)
    assert decay[0] == pytest.approx(math.exp(-1), rel=1e-15)
    assert spread[0] == pytest.approx(math.sqrt(3 * (1 - math.exp(-2)) / 2), rel=1e-15)


@pytest.mark.parametrize("elapsed", [0.01, 0.5, 30.0])
def test_the_prior_stays_and_two_times_are_their_sum(elapsed):
    decay, spread = transition(PRECISION, RATE, TEMPERATURE, elapsed)
    np.testing.assert_allclose(decay**2 * TEMPERATURE / PRECISION + spread**2, TEMPERATURE / PRECISION)
    again, more = transition(PRECISION, RATE, TEMPERATURE, 0.3)
    whole, noise = transition(PRECISION, RATE, TEMPERATURE, elapsed + 0.3)
    np.testing.assert_allclose(decay * again, whole)
    np.testing.assert_allclose((again * spread) ** 2 + more**2, noise**2)


def test_a_short_time_loses_no_digits():
    _, spread = transition(PRECISION, RATE, TEMPERATURE, 1e-20)
    np.testing.assert_allclose(spread, math.sqrt(2 * RATE * TEMPERATURE * 1e-20), rtol=1e-12)


def test_a_table_lists_the_times_from_nothing_to_one():
    found = table(PRECISION, RATE, TEMPERATURE, 5)
    assert (found.shape, found.dtype) == ((2, 6, 4), np.float32)
    assert found[:, 0].tolist() == [[1.0] * 4, [0.0] * 4]
    for part in range(1, 6):
        want = transition(PRECISION, RATE, TEMPERATURE, part / 5)
        np.testing.assert_allclose(found[:, part], want, rtol=1e-6)


@pytest.mark.parametrize("biased", [True, False])
def test_items_are_settled_up_to_a_time_and_once(biased):
    """Those that are paid already, those of another share and the padding are left alone."""
    rng, n_items, rank, width, end, number = default_rng(0), 6, 3, 16, 10, 7
    rows = rng.standard_normal((n_items, width), np.float32)
    effects = rng.standard_normal(n_items, np.float32) if biased else np.zeros(0, np.float32)
    paid = np.array([0, 3, 10, 9, 0, 10], np.int32)
    moves = table(PRECISION, RATE, TEMPERATURE, end)
    want, shifted = rows.copy(), effects.copy()
    for item in range(1, 4):
        if paid[item] < end:
            z = reference_draw(rank + 1, KEY, (item, end, number))
            decay, spread = moves[:, end - paid[item]]
            want[item, :rank] = decay[:-1] * rows[item, :rank] + spread[:-1] * z[:-1]
            if biased:
                shifted[item] = decay[-1] * effects[item] + spread[-1] * z[-1]
    arguments = 1, 4, end, rows.reshape(-1), width, effects, paid, moves, KEY, np.uint32(number)
    for _ in range(2):
        settle(*arguments)
        np.testing.assert_allclose(rows, want, atol=1e-6)
        np.testing.assert_allclose(effects, shifted, atol=1e-6)
        assert paid.tolist() == [0, 10, 10, 10, 0, 10]
    np.testing.assert_array_equal(rows[[0, 2, 4, 5]], want[[0, 2, 4, 5]])
