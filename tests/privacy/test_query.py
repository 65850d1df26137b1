"""Queries as plan and fit know them: values leave by the grant, once, and exactly where no noise is due."""

import numpy as np
import pytest

from hushrec.kernels.csr import CSR
from hushrec.privacy.bounded import Noisy
from hushrec.privacy.query import CellSum, Draw, Sum
from support.matrices import matrix

SUMS = Sum("sums", 3.0, "l2", 0.25, 4)
PUBLIC = Sum("counts", 0.0, "l2", 0.25, 4)
STEPS = np.array([4, -8, 0, 1])


class Door:
    """Stands where the grant stands, and sees what comes to it."""

    def __init__(self, kept=None):
        self.kept, self.came = kept, []

    def already_released(self, name):
        return self.kept

    def measure(self, bounded, *, given_away=False):
        self.came.append(bounded)
        self.given_away = given_away
        return Noisy(bounded.name, np.full(4, 7.0), 1.0, bounded.step, None)

    def measure_matrix(self, bounded, *, threshold, limit):
        self.came.append((bounded, threshold, limit))
        return "noisy cells"

    def sample_key(self, name):
        self.came.append(name)
        return b"secret"


@pytest.mark.parametrize("values", [STEPS, STEPS.copy], ids=["made", "to be made"])
def test_a_sum_goes_through_the_grant_with_its_own_bound(values):
    door = Door()
    assert SUMS.measure(door, values).values.tolist() == [7.0] * 4
    (bounded,) = door.came
    assert (bounded.name, bounded.sensitivity, bounded.norm, bounded.step) == ("sums", 3.0, "l2", 0.25)
    np.testing.assert_array_equal(bounded.values, STEPS)
    assert door.given_away == callable(values), "no one else has what was made for the door"


def test_only_a_sum_that_nobody_moves_is_exact():
    assert PUBLIC.is_exact
    assert not Sum("sums", 1e-300, "l2", 0.25, 4).is_exact
    assert not Draw("sample", 1.0, 1.0, 4).is_exact
    assert not CellSum("cells", 1.0, 0.25, (2, 3), 1, 2).is_exact


@pytest.mark.parametrize("values", [STEPS, STEPS.copy], ids=["made", "to be made"])
def test_without_noise_a_sum_is_in_its_own_units(values):
    found = SUMS.exact(values)
    assert (found.values.tolist(), found.sigma, found.event) == ([1.0, -2.0, 0.0, 0.25], 0.0, None)
    found.values[0] = 9.0
    assert STEPS[0] == 4, "the private sum is not what was published"


def test_what_was_released_before_is_not_summed_again():
    """From a checkpoint: a second draw would be a second release under one charge."""
    kept = Noisy("sums", np.zeros(4), 1.0, 0.25, None)
    door = Door(kept)
    assert SUMS.measure(door, lambda: pytest.fail("it was summed")) is kept
    assert not door.came


def test_cells_go_through_the_grant_with_shape_threshold_and_limit():
    bounded = matrix()
    cells = CellSum("cells", 1.5, bounded.step, bounded.shape, 3, 12)
    values, door = CSR(bounded.indptr, bounded.columns, bounded.values), Door()
    assert cells.measure(door, values) == "noisy cells"
    ((found, threshold, limit),) = door.came
    assert (found.name, found.shape, found.sensitivity, found.norm) == ("cells", bounded.shape, 1.5, "l1")
    assert (threshold, limit, cells.size) == (3, 12, bounded.shape[0] * bounded.shape[1])
    np.testing.assert_array_equal(found.values, bounded.values)


def test_without_noise_all_stored_cells_are_listed_and_clamped():
    bounded = matrix()
    cells = CellSum("cells", 1.0, bounded.step, bounded.shape, 9, 12)
    found = cells.exact(CSR(bounded.indptr, bounded.columns, bounded.values))
    np.testing.assert_array_equal(found.values, np.clip(bounded.values, -12, 12))
    np.testing.assert_array_equal(found.columns, bounded.columns)
    assert (found.sigma, found.event, found.values.dtype) == (0.0, None, np.int32)
    assert np.abs(bounded.values).max() > 12, "something was clamped"


def test_a_draw_is_made_from_the_grants_key_and_without_noise_from_a_public_one():
    draw, door = Draw("sample", 2.0, 1.0, 4), Door()
    assert draw.measure(door, lambda key: key) == b"secret"
    assert door.came == ["sample"]
    assert draw.exact(lambda key: key) == bytes(32)
