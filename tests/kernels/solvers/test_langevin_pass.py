"""A pass of Langevin dynamics: its times, its key and what it refuses."""

import numpy as np
import pytest

from hushrec.kernels.solvers.langevin_pass import LangevinPass

KEY = bytes(range(32))


def test_an_epoch_does_not_show_its_key():
    assert str(KEY) not in repr(LangevinPass(KEY, 0, 1, 1))
    assert "paid" not in repr(LangevinPass(KEY, 0, 1, 1))


@pytest.mark.parametrize(
    "spoil",
    [
        {"key": bytes(31)},
        {"number": -1},
        {"number": 2**32},
        {"noise_intervals": 0},
        {"noise_intervals": 2**17},
        {"visits": -1},
    ],
)
def test_refuses_an_epoch(spoil):
    with pytest.raises(ValueError, match=r"use|must"):
        LangevinPass(**({"key": KEY, "number": 0, "visits": 1, "n_items": 1} | spoil))


def test_visits_are_spread_evenly_over_the_quanta():
    epoch = LangevinPass(KEY, 0, visits=10, n_items=3, noise_intervals=5)
    order = np.zeros(10, np.int32)
    times = [1, 1, 3, 3, 5, 5, 7, 7, 9, 9]
    assert epoch.times(order).tolist() == times
    assert epoch.end == 10
    epoch.visited = 6  # by calls before: the next ones go on from there
    assert epoch.times(order[:4]).tolist() == times[6:]
    assert LangevinPass(KEY, 0, visits=0, n_items=3).times(order[:0]).tolist() == []


def test_a_pass_begins_with_nobody_visited_and_nothing_paid():
    epoch = LangevinPass(KEY, 0, visits=10, n_items=3)
    assert (epoch.visited, epoch.paid.tolist(), epoch.paid.dtype) == (0, [0, 0, 0], np.int32)


def test_the_key_is_given_as_little_endian_words():
    words = LangevinPass(KEY, 0, 1, 1).words
    assert (words[0], words[7], words.shape) == (0x03020100, 0x1F1E1D1C, (8,))
    assert not words.flags.writeable
