"""Matrices of symbols, dense and as the sparse rows that are answered for."""

import functools

import numpy as np

from hushrec.arrays import Ints
from hushrec.models.du_leighton_patel.rows import Rows


def rows_of(truth: Ints) -> Rows:
    """Rows of a dense matrix of symbols, −1 for nothing."""
    starts = np.concatenate([[0], np.cumsum((truth >= 0).sum(axis=1))])
    columns = np.nonzero(truth >= 0)[1].astype(np.int32)
    return Rows("answers", truth.shape[1], starts, columns, truth[truth >= 0].astype(np.uint8))


def dense(shape: tuple[int, ...], indptr: Ints, columns: Ints, marks: Ints) -> Ints:
    answers = np.full(shape, -1)
    answers[np.repeat(np.arange(shape[0]), np.diff(indptr)), columns] = marks
    return answers


@functools.cache
def truth(symbols: int, shape: tuple[int, int]) -> Ints:
    """A third of the rows empty, a third full, and the others in between."""
    generator = np.random.default_rng(1)
    filled = (generator.integers(0, 3, shape[0]) / 2)[:, None] > generator.random(shape)
    return np.where(filled, generator.integers(0, symbols - 1, shape), -1)
