"""Weights by age: the factorization is one, and no factorization is much better."""

import numpy as np
import pytest

from hushrec.errors import BudgetError
from hushrec.privacy.accounting.ages import BITS, MOST, age_weights, joint_norm


def triangle(releases):
    ages = age_weights(releases) * 2.0**-BITS
    steps = np.subtract.outer(np.arange(releases), np.arange(releases))
    return np.where(steps >= 0, ages[np.maximum(steps, 0)], 0.0)


@pytest.mark.parametrize("releases", [1, 2, 7, 52, 365])
def test_the_triangle_is_the_square_root_of_prefix_sums(releases):
    root = triangle(releases)
    np.testing.assert_allclose(root @ root, np.tri(releases), atol=releases * 2.0**-28)


@pytest.mark.parametrize("releases", [1, 2, 52, 400])
def test_the_norm_is_that_of_a_column_and_never_below_it(releases):
    exact = float(np.linalg.norm(triangle(releases)[:, 0]))
    assert exact <= joint_norm(releases) <= exact * (1 + 1e-8)


def test_few_first_weights_by_hand():
    assert [float(step) / 2**BITS for step in age_weights(4)] == pytest.approx(
        [1, 1 / 2, 3 / 8, 5 / 16], 1e-8
    )
    assert age_weights(1).tolist() == [1 << BITS]


@pytest.mark.parametrize("releases", [2, 12, 52, 200])
def test_no_factorization_of_prefix_sums_has_much_less_noise(releases):
    """The largest standard deviation is ‖B‖₂→∞ ‖C‖₁→₂ = ‖c‖² here, and at least ‖A‖_*/T for any B C = A."""
    least = np.linalg.svd(np.tri(releases), compute_uv=False).sum() / releases
    assert least <= joint_norm(releases) ** 2 <= 1.2 * least
    assert joint_norm(releases) ** 2 < np.sqrt(releases) or releases < 12  # independent noise


def tree(releases):
    """The sums of a binary tree over releases that are complete by the last: which releases each has."""
    widths = [2**level for level in range(releases.bit_length())]
    nodes = [(start, start + width) for width in widths for start in range(0, releases - width + 1, width)]
    all_of = np.arange(releases)
    return np.array([(all_of >= start) & (all_of < end) for start, end in nodes], dtype=float)


def test_a_binary_tree_has_nearly_twice_the_noise():
    """The best estimate of each running sum from the nodes complete by then (Honaker 2015)."""
    nodes = tree(52)
    known = [nodes[nodes[:, part + 1 :].sum(axis=1) == 0][:, : part + 1] for part in range(52)]
    noise = np.array([np.linalg.norm(np.ones(part + 1) @ np.linalg.pinv(known[part])) for part in range(52)])
    noise *= np.linalg.norm(nodes, axis=0).max()
    ours = joint_norm(52) * np.sqrt(np.cumsum(np.float64(age_weights(52)) ** 2)) * 2.0**-BITS
    assert noise.max() / ours.max() == pytest.approx(1.91, abs=0.005)
    assert np.sqrt((noise**2).mean() / (ours**2).mean()) == pytest.approx(1.5, abs=0.005)


@pytest.mark.parametrize("releases", [0, -1, MOST + 1])
def test_a_series_has_a_number_of_releases(releases):
    with pytest.raises(BudgetError, match=r"from 1 to 10,000 releases"):
        age_weights(releases)
