"""Sums of clamped squared errors against NumPy."""

import numpy as np
import pytest

from hushrec.models.liu_wang_smola.kernels import losses


def test_losses_are_those_of_numpy_and_do_not_fit_are_refused():
    rng = np.random.default_rng(0)
    counts = np.array([3, 0, 5, 1])
    indptr = np.concatenate([[0], np.cumsum(counts)])
    items = rng.integers(0, 6, 9).astype(np.int32)
    p, q, b_u, b_i, scales, values = (
        rng.standard_normal(shape, dtype=np.float32) for shape in ((4, 3), (6, 3), 4, 6, 4, 9)
    )
    scales, users = np.abs(scales), np.repeat(np.arange(4), counts)
    predicted = b_u[users] + b_i[items] + (p[users] * q[items]).sum(axis=1)
    for low, high in ((-0.5, 0.5), (-np.inf, np.inf)):
        expected = (scales[users] * (values - np.clip(predicted, low, high)) ** 2).sum()
        assert losses(indptr, items, values, p, q, b_u, b_i, scales, low, high) == pytest.approx(expected)
    for wrong in ((indptr[:-1], items, values), (indptr, items, values[:-1]), (indptr, items + 6, values)):
        with pytest.raises(ValueError, match=r"."):
            losses(*wrong, p, q, b_u, b_i, scales, -1.0, 1.0)
