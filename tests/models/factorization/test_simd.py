"""Each operation on tiles against NumPy, and all else in the matrix is left alone."""

import numba
import numpy as np
import pytest
from numpy.random import default_rng

from hushrec.models.factorization.kernels import simd

STRIDE = 3 * simd.TILE


@numba.njit
def multiply(target, panel, count, i, j, sign):
    simd.multiply(target, panel, STRIDE, count, i, j, sign)


@numba.njit
def multiply_diagonal(target, panel, count, i, sign, rhs, weights, at):
    simd.multiply_diagonal(target, panel, STRIDE, count, i, sign, rhs, weights, at)


@numba.njit
def copy_scaled(target, to, source, at, scale):
    simd.copy_scaled(target, to, source, at, scale)


@numba.njit
def factorise(matrix, i, least, inverse, rhs):
    simd.factorise(matrix, STRIDE, i, least, inverse, rhs)


@numba.njit
def substitute(matrix, i, j, inverse):
    simd.substitute(matrix, STRIDE, i, j, inverse)


def normals(*shape, seed=0):
    return default_rng([seed, *shape]).standard_normal(shape, np.float32)


def tile(i):
    return slice(i, i + simd.TILE)


def positive(rank):
    root = normals(rank, 2 * rank)
    return root @ root.T + np.eye(rank, dtype=np.float32)


def close(got, want):
    np.testing.assert_allclose(got, want, rtol=1e-4, atol=1e-4)


@pytest.mark.parametrize(("count", "i", "j", "sign"), [(5, 0, 16, 1.0), (16, 16, 32, -1.0), (0, 0, 0, 1.0)])
def test_multiply(count, i, j, sign):
    target, panel = normals(STRIDE, STRIDE), normals(STRIDE, STRIDE, seed=1)
    want = target.copy()
    want[tile(i), tile(j)] += sign * panel[:count, tile(i)].T @ panel[:count, tile(j)]
    multiply(target.reshape(-1), panel.reshape(-1), count, i, j, np.float32(sign))
    close(target, want)
    want[tile(i), tile(j)] = target[tile(i), tile(j)]
    np.testing.assert_array_equal(target, want)


@pytest.mark.parametrize(("count", "i", "at", "sign"), [(7, 16, 3, 1.0), (16, 32, 0, -1.0)])
def test_multiply_diagonal(count, i, at, sign):
    target, panel = normals(STRIDE, STRIDE), normals(STRIDE, STRIDE, seed=1)
    rhs, weights = normals(STRIDE), normals(STRIDE, seed=1)
    want, side = target.copy(), rhs.copy()
    want[tile(i), tile(i)] += sign * panel[:count, tile(i)].T @ panel[:count, tile(i)]
    side[tile(i)] += sign * weights[at : at + count] @ panel[:count, tile(i)]
    multiply_diagonal(target.reshape(-1), panel.reshape(-1), count, i, np.float32(sign), rhs, weights, at)
    close(target, want)
    close(rhs, side)


def test_copy_scaled():
    target, source = normals(STRIDE), normals(STRIDE, seed=1)
    want = target.copy()
    want[16:32] = np.float32(2.5) * source[7:23]
    copy_scaled(target, 16, source, 7, np.float32(2.5))
    np.testing.assert_array_equal(target, want)


def test_factorise_and_substitute():
    """Uᵀ U is the tile, and the rest of its row and the right-hand side are solved for."""
    matrix, rhs, inverse = normals(STRIDE, STRIDE), normals(STRIDE), np.zeros(STRIDE, np.float32)
    matrix[16:32, 16:32] = positive(16)
    before, side = matrix.copy(), rhs.copy()
    factorise(matrix.reshape(-1), 16, np.zeros(STRIDE, np.float32), inverse, rhs)
    substitute(matrix.reshape(-1), 16, 32, inverse)
    upper = np.triu(matrix[16:32, 16:32])
    close(upper.T @ upper, before[16:32, 16:32])
    close(upper.T @ matrix[16:32, 32:], before[16:32, 32:])
    close(upper.T @ rhs[16:32], side[16:32])
    close(inverse[16:32] * np.diag(upper), 1)
    assert not inverse[:16].any()
    assert not inverse[32:].any()
    np.testing.assert_array_equal(matrix[:16], before[:16])
    np.testing.assert_array_equal(matrix[32:], before[32:])


@pytest.mark.parametrize("pivot", [1.0, 0.0, -1.0, np.nan])
def test_a_pivot_is_raised_to_the_least(pivot):
    matrix, inverse = np.zeros((STRIDE, STRIDE), np.float32), np.zeros(STRIDE, np.float32)
    np.fill_diagonal(matrix, [pivot] + [9.0] * (STRIDE - 1))
    rhs = np.ones(STRIDE, np.float32)
    factorise(matrix.reshape(-1), 0, np.full(STRIDE, 4, np.float32), inverse, rhs)
    assert inverse[:2].tolist() == [0.5, np.float32(1 / 3)]


@pytest.mark.parametrize("size", [0, 1, 16, 1000])
def test_aligned_zeros_start_at_a_cache_line(size):
    kept = [simd.aligned(size) for _ in range(5)]
    for array in kept:
        assert (array.shape, array.dtype, array.any()) == ((size,), np.float32, False)
        assert size == 0 or array.ctypes.data % 64 == 0
