"""Factors to start from: public, and the same however they are drawn."""

import numpy as np
import pytest

from hushrec.estimation import factor_steps
from hushrec.estimation.factor_steps import normal_factors


def test_initial_factors_are_public():
    """The same for everybody who knows their number, and others for the other side."""
    one = normal_factors(90, 4)
    np.testing.assert_array_equal(one, normal_factors(90, 4))
    assert np.linalg.norm(one, axis=1).mean() == pytest.approx(1, abs=0.1)
    assert abs(np.corrcoef(one[:50].ravel(), normal_factors(50, 4).ravel())[0, 1]) < 0.3


def test_they_are_the_same_drawn_a_part_at_a_time_and_in_any_precision(monkeypatch):
    whole = factor_steps.normal_factors(90, 4)
    monkeypatch.setattr(factor_steps, "_ROWS", 7)
    np.testing.assert_array_equal(factor_steps.normal_factors(90, 4), whole)
    single = np.empty((90, 4), np.float32)
    factor_steps.fill_normal(single, 0.3)
    np.testing.assert_array_equal(single, (0.3 * whole).astype(np.float32))
