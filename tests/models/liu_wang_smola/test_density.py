"""The law of a posterior sample, and the ratings that it is given: what one person can cost at most."""

import numpy as np
import pytest

from hushrec.models.liu_wang_smola.chain import ChainData, Posterior
from hushrec.models.liu_wang_smola.kernels import losses
from support.chains import made
from support.packed import packed


def test_weights_bound_everybodys_loss(crowd):
    """Σ_i of the largest losses, times the weight, is B at most, and B for who has too many ratings."""
    ratings, target = made(crowd, 12), Posterior(scale=1.0, bound=100, rank=1)
    most = target.weights(ratings) * ratings.counts * 25
    assert most.max() == pytest.approx(100)
    assert (target.weights(ratings)[ratings.counts <= 4] == 1).all()
    assert target.weights(ratings, np.full(150, 0.5)) == pytest.approx(target.weights(ratings) / 2)


def test_parts_are_everybody_once_in_units_of_the_scale(crowd, tmp_path):
    """Whoever has no weight is not there."""
    ratings, target = made(crowd, 12), Posterior(scale=2.0, bound=100, rank=1)
    blocks = packed(ratings, tmp_path / "blocks", 100)
    absent = np.isin(ratings.users.to_pylist(), ["u000", "u017", "u149"])
    here = ratings.select(np.repeat(~absent, ratings.counts))

    def weigh(block):
        return np.where(np.isin(block.users.to_pylist(), ["u000", "u017", "u149"]), 0.0, 1.0)

    source = ChainData(blocks, target, weigh)
    assert source.n_users == 147
    parts = [*source.parts()]
    assert len(parts) > 3
    assert [part.first for part in parts[1:]] == [part.people.stop for part in parts[:-1]]
    np.testing.assert_array_equal(np.concatenate([part.rows.columns for part in parts]), here.items)
    values = np.concatenate([part.rows.values for part in parts])
    np.testing.assert_array_equal(values, here.numbers() - 3)  # a unit of this scale is one star
    assert values.dtype == np.float32
    scales = np.concatenate([part.scales for part in parts])
    np.testing.assert_allclose(scales, 2 * target.weights(here), rtol=1e-6)


# -- sums of clamped squared errors against NumPy ---------------------------------------------------------


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
