"""A pass of stochastic gradient descent against a few lines of NumPy."""

import numpy as np
import pytest
from numpy.random import default_rng

from hushrec.models.factorization.kernels.visits import (
    LARGEST_RANK,
    descend,
    reference_descend,
)

RANKS = [1, 3, 15, 16, 17, 32, 40, 64, 70, 200, 1024, 2048]
COMPILED = [
    rank if rank in (1, 17) else pytest.param(rank, marks=pytest.mark.full) for rank in RANKS
]  # each takes a second or two to compile
FACTORS = "user_factors", "item_factors", "user_effects", "item_effects"


def random_case(rank, *, effects, n_users=40, n_items=30, limit=1.5):
    """Some users rate nothing or one item; regularisation differs from row to row; errors pass the limit."""
    rng = default_rng([rank, effects])
    mask = rng.random((n_users, n_items)) < rng.random((n_users, 1))
    mask[3:5] = False
    mask[4, 7] = True
    case = {
        "indptr": np.concatenate([[0], np.cumsum(mask.sum(axis=1))]).astype(np.int64),
        "items": np.nonzero(mask)[1].astype(np.int32),
        "values": 2 * rng.standard_normal(mask.sum()).astype(np.float32),
        "order": rng.permutation(n_users).astype(np.int32),
        "user_factors": rng.standard_normal((n_users, rank), np.float32) / np.float32(rank**0.5),
        "item_factors": rng.standard_normal((n_items, rank), np.float32) / np.float32(rank**0.5),
        "user_effects": rng.standard_normal(n_users, np.float32) if effects else None,
        "item_effects": rng.standard_normal(n_items, np.float32) if effects else None,
        "user_reg": rng.random(n_users, np.float32),
        "item_reg": rng.random(n_items, np.float32),
    }
    return case | {"rate": 0.05, "limit": limit}


def after(work, case, **changes):
    """What factors and effects become; the case itself stays as it is."""
    case = {name: value.copy() if isinstance(value, np.ndarray) else value for name, value in case.items()}
    work(**(case | changes))
    return [case[name] for name in FACTORS if case[name] is not None]


def differ(left, right):
    return max(float(np.abs(a - b).max()) for a, b in zip(left, right, strict=True))


@pytest.mark.parametrize("effects", [False, True])
@pytest.mark.parametrize("rank", COMPILED)
def test_equals_numpy(rank, effects):
    case = random_case(rank, effects=effects)
    got = after(descend, case)
    assert differ(got, after(reference_descend, case)) < 1e-5
    for planted in (
        {"limit": np.inf},
        {"rate": 0.0501},
        {"user_reg": np.flip(case["user_reg"])},
        {"item_reg": np.full_like(case["item_reg"], 0.5)},
        {"order": np.arange(len(case["order"]), dtype=np.int32)},
        {"order": case["order"][:-5]},
        {"items": np.flip(case["items"])},
    ):
        assert differ(got, after(reference_descend, case, **planted)) > 1e-5


@pytest.mark.parametrize(
    "spoil",
    [
        {"limit": -1.0},
        {"order": np.array([0, 0], np.int32)},
        {"order": np.array([-1], np.int32)},
        {"indptr": np.array([0, 1])},
        {"item_effects": np.zeros(31, np.float32)},
        {"user_reg": np.zeros(39, np.float32)},
        {"item_factors": np.zeros((29, 4), np.float32)},
        {"user_factors": np.zeros((40, LARGEST_RANK + 1), np.float32)},
    ],
)
def test_refuses_what_does_not_fit(spoil):
    case = random_case(4, effects=True)
    case["items"][0] = 29
    with pytest.raises(ValueError, match=r"must|use|give"):
        descend(**(case | spoil))
