"""Factors to start from: public, and the same however they are drawn."""

import numpy as np
import pytest

from hushrec.solvers.initial import normal_factors


def test_initial_factors_are_public():
    """The same for everybody who knows their number, and others for the other side."""
    one = normal_factors(90, 4)
    np.testing.assert_array_equal(one, normal_factors(90, 4))
    assert np.linalg.norm(one, axis=1).mean() == pytest.approx(1, abs=0.1)
    assert abs(np.corrcoef(one[:50].ravel(), normal_factors(50, 4).ravel())[0, 1]) < 0.3
