"""Noise on every cell of a sparse matrix: whatever the threads and the shape, and on cells that are known."""

import functools
import math

import numpy as np
import pytest

from hushrec.arrays import Ints
from hushrec.privacy.noise import geometric, sampler
from hushrec.privacy.noise import threshold as threshold_noise
from hushrec.privacy.noise.entropy import Seeded


def everything(threads: int, rows: int = 2000, columns: int = 900) -> list[Ints]:
    draw = functools.partial(sampler.count_draws, Seeded(3).key())
    empty = np.zeros(rows + 1, np.int64), np.zeros(0, np.int32), np.zeros(0, np.int64)
    facts = {"threshold": 30, "limit": 60, "scale": 10.0, "draw": draw, "threads": threads}
    return list(threshold_noise.reaching((rows, columns), *empty, **facts))  # type: ignore[arg-type]


def test_threads_change_nothing() -> None:
    for one, three in zip(everything(1), everything(3), strict=True):
        np.testing.assert_array_equal(one, three)


def test_matrices_wider_than_a_run_and_narrow_ones_are_whole() -> None:
    chance = math.exp(-29.5 / 10)
    for shape in ((3, 700_000), (700_000, 3)):
        _, columns, _ = everything(2, *shape)
        # Within 7 standard deviations: a false alarm in 4e11. A run that is lost is 1e3 of them.
        assert abs(columns.size - 2.1e6 * chance) < 7 * math.sqrt(2.1e6 * chance)


@pytest.mark.parametrize("threads", [1, 3])
def test_cells_that_reach_the_threshold_are_listed_and_clamped(
    threads: int, monkeypatch: pytest.MonkeyPatch
) -> None:
    """With noise so narrow that no empty cell reaches it, over many runs of rows."""
    monkeypatch.setattr(threshold_noise, "_RUN", 40)
    generator = np.random.default_rng(0)
    truth = np.where(generator.random((50, 17)) < 0.4, generator.integers(-12, 13, (50, 17)), 0)
    indptr = np.concatenate([[0], np.cumsum((truth != 0).sum(axis=1))])
    columns = np.nonzero(truth)[1].astype(np.int32)
    draw = functools.partial(sampler.count_draws, Seeded(3).key())
    facts = {"threshold": 5, "limit": 9, "scale": 0.1, "draw": draw, "threads": threads}
    starts, places, values = threshold_noise.reaching(
        (50, 17),
        indptr,
        columns,
        truth[truth != 0],
        **facts,  # type: ignore[arg-type]
    )
    found = np.zeros((50, 17), np.int64)
    found[np.repeat(np.arange(50), np.diff(starts)), places] = values
    np.testing.assert_array_equal(found, np.where(np.abs(truth) >= 5, np.clip(truth, -9, 9), 0))
    assert (starts.dtype, places.dtype, values.dtype) == (np.int64, np.int32, np.int32)


def test_every_run_draws_words_of_its_own(monkeypatch: pytest.MonkeyPatch) -> None:
    """Its gaps and its excesses, too: the same words twice would be the same cells."""
    monkeypatch.setattr(threshold_noise, "_RUN", 900)
    asked = []

    def draw(distribution: geometric.Count, sequence: tuple[int, int], start: int, size: int) -> Ints:
        asked.append((*sequence, start))
        return np.asarray(sampler.count_draws(Seeded(3).key(), distribution, sequence, start, size))

    empty = np.zeros(11, np.int64), np.zeros(0, np.int32), np.zeros(0, np.int64)
    threshold_noise.reaching((10, 900), *empty, threshold=30, limit=60, scale=10.0, draw=draw)
    assert len(set(asked)) == len(asked) == 20
    assert {number for _, number, _ in asked} == set(range(10))
