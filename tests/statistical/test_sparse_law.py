"""A sparse matrix under noise has the law of noise on every cell.

Each check passes on the cells that are listed, and fails on a planted fault. It gives a p-value and alarms
below 1e-10; there are under 200 of them, so right noise raises an alarm for fewer than one choice in 1e7 of
the seeds. The seeds are fixed: one that passes once always does.
"""

import functools
import math
from collections.abc import Callable
from dataclasses import dataclass

import numpy as np
import pytest
from scipy import stats

from hushrec.arrays import Ints, Ints32
from hushrec.privacy.noise import sampler
from hushrec.privacy.noise.distributions import LAPLACE
from hushrec.privacy.noise.entropy import Seeded
from hushrec.privacy.noisy import Cells

ALARM = 1e-10
SCALE, THRESHOLD, LIMIT = 4.0, 9, 14
CHANCE = math.exp(-(THRESHOLD - 0.5) / SCALE)
VALUES = (-12, -3, 2, 8)
Rows = tuple[Ints, Ints32, Ints32]


@dataclass(frozen=True)
class World:
    """A matrix with as many cells in every row, at columns of its own."""

    rows: int
    columns: int
    each: int

    @functools.cached_property
    def cells(self) -> Rows:
        generator = np.random.default_rng(1)
        order = np.argsort(generator.random((self.rows, self.columns)), axis=1)[:, : self.each]
        values = generator.choice(VALUES, order.size)
        starts = np.arange(self.rows + 1, dtype=np.int64) * self.each
        return starts, np.sort(order, axis=1).ravel().astype(np.int32), values


WORLD, SMALL = World(20_000, 50, 5), World(20, 30, 4)


def noisy(
    world: World, seed: int, fault: Callable[[Ints, Ints], Ints] | None = None, scale: float = SCALE
) -> Rows:
    """What ``Cells`` lists under Laplace noise; a fault makes other noise of it, which may read the block."""
    keys, shape = Seeded(seed), (world.rows, world.columns)

    def add(block: Ints) -> None:
        noise = np.zeros_like(block)
        sampler.add(LAPLACE, noise, scale, keys.key())
        block += fault(noise, block) if fault else noise

    return Cells(shape, *world.cells, THRESHOLD, LIMIT).noisy(add)


def outcomes(value: int) -> np.ndarray:
    """Chances that a cell is dropped, or listed as −LIMIT … −THRESHOLD, THRESHOLD … LIMIT."""
    edges = np.array([*range(-LIMIT + 1, -THRESHOLD + 2), *range(THRESHOLD, LIMIT + 1)]) - 0.5 - value
    chances = np.diff(stats.laplace(scale=SCALE).cdf(edges), prepend=0, append=1)
    middle = LIMIT - THRESHOLD + 1
    return np.concatenate([[chances[middle]], np.delete(chances, middle)])


def places(cells: Ints) -> Ints:
    """Numbers of the outcomes of listed cells."""
    return np.where(cells < 0, cells + LIMIT + 1, cells - THRESHOLD + 2 + LIMIT - THRESHOLD)


def chi_square(counts: np.ndarray, expected: np.ndarray, spread: float = 1.0, lost: int = 1) -> float:
    return float(stats.chi2.sf(np.sum((counts - expected) ** 2 / expected) / spread, counts.size - lost))


def split(world: World, listed: Rows) -> tuple[np.ndarray, np.ndarray]:
    """Noisy values of the cells that are there (0 if dropped), and a dense matrix of the others."""
    columns = world.cells[1]
    full = np.zeros((world.rows, world.columns), np.int64)
    full[np.repeat(np.arange(world.rows), np.diff(listed[0])), listed[1]] = listed[2]
    owner = np.repeat(np.arange(world.rows), world.each)
    there = full[owner, columns].copy()
    full[owner, columns] = 0
    return there, full


def checks(world: World, listed: Rows) -> dict[str, float]:
    """p-values: how many are listed, where, as what; and what becomes of the cells that are there."""
    there, others = split(world, listed)
    reached = others != 0
    columns, values = world.cells[1:]
    empty = world.columns - world.each
    total, cells = int(reached.sum()), world.rows * empty
    found = {
        "number": float(
            2 * stats.norm.sf(abs(total - cells * CHANCE) / math.sqrt(cells * CHANCE * (1 - CHANCE)))
        )
    }

    pmf = stats.binom.pmf(np.arange(empty + 1), empty, CHANCE)
    keep = pmf * world.rows > 20
    low, high = np.flatnonzero(keep)[[0, -1]]
    rows = np.bincount(np.clip(reached.sum(axis=1), low, high), minlength=high + 1)[low:]
    pmf = np.concatenate([[pmf[: low + 1].sum()], pmf[low + 1 : high], [pmf[high:].sum()]])
    found["rows"] = chi_square(rows, pmf * world.rows)

    expected = (world.rows - np.bincount(columns, minlength=world.columns)) * CHANCE
    found["columns"] = chi_square(reached.sum(axis=0), expected, spread=1 - CHANCE, lost=0)

    owner = np.repeat(np.arange(world.rows), world.each)
    vacant = np.ones_like(reached)
    vacant[owner, columns] = False
    couples = int((vacant[:, 1:] & vacant[:, :-1]).sum())
    # Pairs of neighbours: each pair shares a cell with two others, at most p³ − p⁴ of covariance each.
    deviation = math.sqrt(couples * (CHANCE**2 * (1 - CHANCE**2) + 2 * CHANCE**3 * (1 - CHANCE)))
    pairs = int((reached[:, 1:] & reached[:, :-1]).sum())
    found["neighbours"] = float(2 * stats.norm.sf(abs(pairs - couples * CHANCE**2) / deviation))

    chances = outcomes(0)
    counts = np.bincount(places(others[reached]), minlength=chances.size)[1:]
    found["values"] = chi_square(counts, chances[1:] / chances[1:].sum() * total)
    positive = int((others > 0).sum())
    found["sign"] = float(2 * stats.norm.sf(abs(2 * positive - total) / math.sqrt(total)))

    for value in VALUES:
        mine = there[values == value]
        counts = np.bincount(np.where(mine == 0, 0, places(mine)), minlength=chances.size)
        found[f"cells of {value}"] = chi_square(counts, outcomes(value) * mine.size)
    return found


def alarms(p_values: dict[str, float]) -> set[str]:
    return {name for name, p in p_values.items() if p < ALARM}


def test_the_chances_are_those_of_the_noise() -> None:
    for value in VALUES:
        assert outcomes(value).sum() == pytest.approx(1)
    assert outcomes(0)[1:].sum() == pytest.approx(CHANCE)


@pytest.mark.parametrize("seed", [0, 1])
def test_listed_cells_have_the_law_of_noise_on_every_cell(seed: int) -> None:
    assert not alarms(checks(WORLD, noisy(WORLD, seed)))


def favoured(noise: Ints, _: Ints) -> Ints:
    """One sign in twenty made positive."""
    return np.where(np.arange(noise.size).reshape(noise.shape) % 20 == 0, np.abs(noise), noise)


def cut(noise: Ints, _: Ints) -> Ints:
    """The largest sizes lost."""
    return np.clip(noise, -LIMIT + 1, LIMIT - 1)


def shared(noise: Ints, _: Ints) -> Ints:
    """Every third cell has its neighbour's noise."""
    noise[:, 1::3] = noise[:, :-1:3][:, : noise[:, 1::3].shape[1]]
    return noise


def of_empty_cells_alone(noise: Ints, block: Ints) -> Ints:
    """Cells that are there get a tenth less of it."""
    return np.where(block != 0, np.rint(0.9 * noise).astype(np.int64), noise)


FAULTS = [
    ("sign", favoured),
    ("values", cut),
    ("neighbours", shared),
    ("cells of 8", of_empty_cells_alone),
]


@pytest.mark.parametrize(("check", "fault"), FAULTS)
def test_planted_noise_raises_its_alarm(check: str, fault: Callable[[Ints, Ints], Ints]) -> None:
    assert check in alarms(checks(WORLD, noisy(WORLD, 0, fault)))


@pytest.mark.parametrize("factor", [0.97, 1.03])
def test_a_scale_off_by_three_percent_raises_its_alarm(factor: float) -> None:
    assert "number" in alarms(checks(WORLD, noisy(WORLD, 0, scale=factor * SCALE)))


def test_columns_that_lean_to_the_left_raise_their_alarm() -> None:
    starts, columns, cells = noisy(WORLD, 0)
    leaning = columns.copy()
    leaning[::25] //= 2
    assert "columns" in alarms(checks(WORLD, (starts, leaning, cells)))


def totals(seeds: range) -> Ints:
    """How many empty cells of the small matrix are listed, for each seed."""
    return np.array([(split(SMALL, noisy(SMALL, seed))[1] != 0).sum() for seed in seeds])


def number_of_survivors(found: Ints) -> dict[str, float]:
    cells = SMALL.rows * (SMALL.columns - SMALL.each)
    n, distribution = found.size, stats.binom(cells, CHANCE)
    mean, variance = cells * CHANCE, cells * CHANCE * (1 - CHANCE)
    distance = np.abs(
        np.searchsorted(np.sort(found), np.arange(cells), side="right") / n - distribution.cdf(range(cells))
    )
    return {
        "mean": float(2 * stats.norm.sf(abs(found.mean() - mean) / math.sqrt(variance / n))),
        "variance": 2
        * min(
            float(stats.chi2.cdf(n * found.var() / variance, n - 1)),
            float(stats.chi2.sf(n * found.var() / variance, n - 1)),
        ),
        "Kolmogorov-Smirnov": min(1.0, float(2 * np.exp(-2 * n * distance.max() ** 2))),
    }


@pytest.mark.full
def test_over_many_seeds_the_number_of_listed_cells_is_binomial() -> None:
    found = totals(range(400))
    assert not alarms(number_of_survivors(found))
    assert "mean" in alarms(number_of_survivors(found + 4))
    assert "variance" in alarms(number_of_survivors(np.repeat(found[::2], 2) * 2 - int(found.mean())))
    assert "Kolmogorov-Smirnov" in alarms(number_of_survivors(found + 6))
