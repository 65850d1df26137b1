"""Rows with noise by the paper: what a plan books of them, and by which door they leave."""

import dataclasses
import math

import numpy as np
import pytest

from hushrec.errors import BudgetError, GrantError
from hushrec.privacy.accounting.events import Spherical
from hushrec.privacy.grant import SEAL, Grant
from hushrec.privacy.noise.entropy import Seeded
from lab.published.spherical import SphericalRows

ROWS = SphericalRows("users, round 1", 1.25, 60)
VALUES, SCALES = np.arange(60.0).reshape(12, 5), np.linspace(0.5, 2.0, 12)


@pytest.mark.parametrize("epsilon", [0.01, 1.0, 20.0])
def test_its_event_costs_its_loss_times_what_is_claimed(epsilon):
    event = ROWS.event(epsilon)
    assert isinstance(event, Spherical)
    assert (event.name, event.size, event.step) == (ROWS.name, ROWS.size, ROWS.step)
    assert float(event.ratio) == pytest.approx(1.25 * epsilon)
    unknown = dataclasses.replace(ROWS, loss=math.inf).event(epsilon)
    assert (unknown.spent().unbounded, unknown.noise) == (1, 1 / epsilon)


def test_it_is_never_exact_and_of_no_norm_of_a_sum():
    assert not ROWS.is_exact
    assert ROWS.norm not in ("l1", "l2", "loss")
    assert ROWS.sensitivity == ROWS.loss


def test_rows_leave_by_their_own_door_each_with_its_scale():
    def grant(**facts):
        return Grant([ROWS.event(1.0)], Seeded(3), seal=SEAL, **facts)

    with pytest.raises(GrantError, match="published reproductions are seeded experiments"):
        ROWS.release(grant(), (VALUES, SCALES))
    noisy = ROWS.release(grant(caveat="not private: seeded"), (VALUES, SCALES))
    again = ROWS.release(grant(caveat="not private: seeded"), (VALUES, 2 * SCALES))
    np.testing.assert_allclose(again.values - VALUES, 2 * (noisy.values - VALUES))
    assert (noisy.values != VALUES).all()


def test_without_noise_they_are_as_they_were_and_not_the_same_array():
    found = ROWS.exact((VALUES, SCALES))
    np.testing.assert_array_equal(found.values, VALUES)
    assert (found.sigma, found.event) == (0.0, None)
    assert not np.shares_memory(found.values, VALUES)


def test_no_noise_at_all_is_no_event():
    with pytest.raises(BudgetError, match="noise must be a positive number"):
        ROWS.event(math.inf)
