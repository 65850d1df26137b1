"""Batched ridge regressions against NumPy in double precision."""

import numpy as np
import pytest
from numpy.random import default_rng

from hushrec.models.factorization.kernels import least_squares
from hushrec.models.factorization.kernels.least_squares import LARGEST_RANK, reference_solve_rows, solve_rows

RANKS = [1, 3, 5, 16, 20, 64, 128]


def rows_of(counts, n_columns, rng):
    """Rows of so many ratings, of distinct columns in any order."""
    indptr = np.concatenate([[0], np.cumsum(counts)]).astype(np.int64)
    columns = [rng.permutation(n_columns)[:count] for count in counts]
    return indptr, np.concatenate(columns).astype(np.int32)


def random_case(rng, rank, n_columns=300):
    """Empty rows, rows of one rating, about the rank of them, about a block of them, and all."""
    counts = [0, 1, 2, rank, 127, 128, 129, 0, 255, 257, *rng.integers(1, n_columns, 20), n_columns, 0]
    indptr, columns = rows_of(np.minimum(counts, n_columns), n_columns, rng)
    values = rng.standard_normal(len(columns)).astype(np.float32)
    factors = (0.5 + rng.standard_normal((n_columns, rank))).astype(np.float32)
    reg = 0.5 + 0.05 * np.diff(indptr)
    return indptr, columns, values, factors, reg


def solved(indptr, columns, values, factors, reg, **options):
    out = np.full((len(indptr) - 1, factors.shape[1]), np.nan, np.float32)
    solve_rows(indptr, columns, values, factors, reg, out, **options)
    return out


def differs(got, want):
    """Largest error of a row in terms of the largest solution's norm."""
    return np.linalg.norm(got - want, axis=1).max() / np.linalg.norm(want, axis=1).max()


@pytest.mark.parametrize("rank", RANKS)
def test_equals_numpy(rank):
    rng = default_rng(rank)
    case = random_case(rng, rank)
    got, want = solved(*case), reference_solve_rows(*case)
    assert differs(got, want) < 1e-4
    assert (got[np.diff(case[0]) == 0] == 0).all()
    indptr, columns, values, factors, reg = case
    for planted in (
        (indptr, columns, values, factors, 1.002 * reg),
        (indptr, columns, values, factors, np.full(len(reg), reg.mean())),
        (indptr, columns, np.where(np.arange(len(values)) == len(values) - 1, 0, values), factors, reg),
        (indptr, np.roll(columns, 1), values, factors, reg),
    ):
        assert differs(got, reference_solve_rows(*planted)) > 1e-4


@pytest.mark.parametrize("rank", [5, 64])
def test_weights(rank):
    rng = default_rng(rank)
    case = random_case(rng, rank)
    weights = rng.choice([0.0, 0.25, 1.0, 3.0], len(case[1])).astype(np.float32)
    got = solved(*case, weights=weights)
    assert differs(got, reference_solve_rows(*case, weights)) < 1e-4
    assert differs(got, reference_solve_rows(*case)) > 1e-2
    assert np.array_equal(solved(*case, weights=np.ones_like(weights)), solved(*case))


@pytest.mark.parametrize("rank", [3, 64])
def test_threads_change_no_bit(rank, monkeypatch):
    case = random_case(default_rng(0), rank)
    want = solved(*case, threads=1)
    for threads, tasks in ((1, 1), (2, 32), (3, 7), (2, 1000)):
        monkeypatch.setattr(least_squares, "_TASKS", tasks)
        assert np.array_equal(solved(*case, threads=threads), want)


@pytest.mark.parametrize("rank", RANKS)
@pytest.mark.parametrize("scale", [1e-6, 1.0, 1e6])
def test_singular_systems(rank, scale):
    """Fewer ratings than factors, equal ones, opposite ones, zeros, no penalty: ratings are still met."""
    rng = default_rng(rank)
    factors = (scale * rng.standard_normal((40, rank))).astype(np.float32)
    factors[10] = factors[11]
    factors[12] = -factors[11]
    factors[13:20, : rank // 2] = 0
    factors[20] = 0
    wanted = [[5], [10, 11], [11, 12], [20], [13, 14], [20, 20], list(range(13, 20)), [1, 1, 1]]
    indptr = np.concatenate([[0], np.cumsum([len(row) for row in wanted])]).astype(np.int64)
    columns = np.concatenate(wanted).astype(np.int32)
    truth = rng.standard_normal(rank).astype(np.float32) / scale
    values = factors[columns] @ truth
    for reg in (0.0, 1e-30):
        out = solved(indptr, columns, values, factors, np.full(len(wanted), reg))
        assert np.isfinite(out).all()
        assert (out[3] == 0).all()
        assert (out[5] == 0).all()
        met = np.einsum("rf,rf->r", factors[columns], np.repeat(out, np.diff(indptr), axis=0))
        assert np.abs(met - values).max() < 0.02 * max(1.0, float(np.abs(values).max()))


@pytest.mark.parametrize(
    "spoil",
    [
        {"reg": np.array([1.0, -1.0])},
        {"indptr": np.array([0, 3, 2])},
        {"columns": np.array([0, 4], np.int32)},
        {"columns": np.array([-1, 0], np.int32)},
        {"weights": np.array([1, -1], np.float32)},
        {"factors": np.ones((4, LARGEST_RANK + 1), np.float32)},
        {"out": np.ones((2, 4), np.float32)},
    ],
)
def test_refuses_what_does_not_fit(spoil):
    case = {
        "indptr": np.array([0, 1, 2]),
        "columns": np.array([0, 3], np.int32),
        "values": np.ones(2, np.float32),
        "factors": np.ones((4, 3), np.float32),
        "reg": np.ones(2),
        "out": np.empty((2, 3), np.float32),
    }
    solve_rows(**case)
    with pytest.raises(ValueError, match=r"must|use"):
        solve_rows(**(case | spoil))
