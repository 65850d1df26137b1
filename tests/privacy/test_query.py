"""A sum as plan and fit know it: through the grant where it costs something, and only once."""

import numpy as np
import pytest

from hushrec.privacy.bounded import Noisy
from hushrec.statistics.query import Query

SUMS = Query("sums", 3.0, "l2", 0.25, 4)
PUBLIC = Query("counts", 0.0, "l2", 0.25, 4)
STEPS = np.array([4, -8, 0, 1])


class Door:
    """Stands where the grant stands, and sees what comes to it."""

    def __init__(self, kept=None):
        self.kept, self.came = kept, []

    def already_released(self, name):
        return self.kept

    def release(self, bounded):
        self.came.append(bounded)
        return Noisy(bounded.name, np.full(4, 7.0), 1.0, bounded.step, None)


@pytest.mark.parametrize("values", [STEPS, lambda: STEPS], ids=["made", "to be made"])
def test_a_sum_goes_through_the_grant_with_its_own_bound(values):
    door = Door()
    assert SUMS.release(door, values).values.tolist() == [7.0] * 4
    (bounded,) = door.came
    assert (bounded.name, bounded.sensitivity, bounded.norm, bounded.step) == ("sums", 3.0, "l2", 0.25)
    np.testing.assert_array_equal(bounded.values, STEPS)


def test_what_neighbours_agree_on_is_published_as_it_is_and_nothing_else():
    door = Door()
    found = PUBLIC.release(door, STEPS)
    assert (found.values.tolist(), found.sigma) == ([1.0, -2.0, 0.0, 0.25], 0.0)
    assert not door.came
    assert PUBLIC.is_exact
    assert not Query("sums", 1e-300, "l2", 0.25, 4).is_exact


def test_what_was_released_before_is_not_summed_again():
    """From a checkpoint: a second draw would be a second release under one charge."""
    kept = Noisy("sums", np.zeros(4), 1.0, 0.25, None)
    door = Door(kept)
    assert SUMS.release(door, lambda: pytest.fail("it was summed")) is kept
    assert not door.came


def test_a_claim_stands_beside_the_true_bound():
    claimed = Query("sums", 5.0, "l1", 0.25, 4, claimed=4.0)
    assert (claimed.printed, claimed.bounded(STEPS).sensitivity) == (4.0, 5.0)
    assert SUMS.printed == 3.0
