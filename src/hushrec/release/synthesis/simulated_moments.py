"""Choices whose people have the moments that a release states, found by simulation.

Draws without replacement weaken every pair of items, so the closed form alone is half as strong as what was
released. Rounds of made-up people, compared with the released moments, repair that: method of simulated
moments (McFadden 1989), with the steps of stochastic approximation (Robbins & Monro 1951).

Privacy: post-processing.
"""

from collections.abc import Iterator
from typing import NamedTuple

import numpy as np
from numpy.random import Generator, default_rng  # noqa: TID251  (draws from a public model, no release noise)

from hushrec.arrays import Floats, Floats32, Ints
from hushrec.progress import steps
from hushrec.release.predictors.block_scores import Rows
from hushrec.release.synthesis.choices import Choices
from hushrec.release.synthesis.user_moments import UserMoments

# The constants were chosen on one draw of people of MovieLens 1M.
_ROUNDS, _AVERAGED = 20, 10
"""Rounds of simulation, and how many of the last ones are averaged."""
_PEOPLE = 4000
"""People of a round; fewer in large catalogues, so that a round costs about as much."""
_CELLS = 1 << 22
"""People times items that are in memory at once."""
_ROUND_CELLS, _FEWEST_PEOPLE = 1 << 27, 200
_MOST_POPULAR = 0.97
"""Largest chance of an item to start with."""
_LIFTS = 0.15, 200.0
"""Smallest and largest P(i and j)/(P(i) P(j)) to start with."""
_FURTHER = 2
"""Directions of taste beyond those of the release, for what its logarithm bends."""
_LONGEST_START, _LONGEST = 3.0, 4.0
"""Of |γ_j|."""
_RIDGE = 0.01
_STARTING_STEPS = 9


def calibrated(moments: UserMoments) -> Choices:
    """Return choices whose people agree with the released moments.

    A round draws people and moves β_j by the logarithm of the released count over theirs, and γ_j by a ridge
    regression of what their moments lack, E = L Lᵀ − Σ z zᵀ w off the diagonal, on the others' γ.

    The draws are seeded: the same release gives the same choices.
    """
    lengths, counts = moments.lengths, moments.counts
    chances = _chances(moments)
    shown = np.flatnonzero((moments.factors**2).sum(axis=1) > 0)
    scale, tastes = _start(moments, chances, shown)
    levels = np.log(chances / (1 - chances))
    levels[shown] -= (tastes**2).sum(axis=1) / 2
    rng = default_rng(0)
    n_people = int(np.clip(_ROUND_CELLS // len(counts), _FEWEST_PEOPLE, _PEOPLE))
    every = lengths.quantiles(n_people)
    levels_sum, tastes_sum = np.zeros_like(levels), np.zeros_like(tastes)
    ridge = _RIDGE * float(np.median(scale**2)) if len(scale) else 1.0
    for number in steps("calibrating synthetic people", range(_ROUNDS)):
        step = 1 / (1 + number / 12)
        choices = Choices(levels, _spread(tastes, shown, len(levels)))
        directions = scale[:, None] * tastes
        simulated = _simulated(choices, moments, shown, directions, rng.permutation(every), rng)
        more = (n_people * counts + 1) / (simulated.counts + 1)
        levels = levels + np.clip(step * np.log(more), -1, 1)
        tastes = tastes + _taste_step(moments.factors[shown], scale, directions, simulated.pairs, ridge, step)
        tastes *= np.minimum(1, _LONGEST / np.maximum(np.linalg.norm(tastes, axis=1), 1e-30))[:, None]
        if number >= _ROUNDS - _AVERAGED:
            levels_sum += levels / _AVERAGED
            tastes_sum += tastes / _AVERAGED
    if not (np.isfinite(levels_sum).all() and np.isfinite(tastes_sum).all()):
        raise np.linalg.LinAlgError("the moments have no solution")
    return Choices(levels_sum, _spread(tastes_sum, shown, len(levels)))


def _chances(moments: UserMoments) -> Floats:
    """Return the chance that a person has each item, as the released counts say it, shape (n,)."""
    mean = moments.lengths.mean
    chances = moments.counts * mean / moments.counts.sum()
    return np.asarray(np.clip(chances, 1e-9, _MOST_POPULAR), dtype=np.float64)


def _start(moments: UserMoments, chances: Floats, shown: Ints) -> tuple[Floats, Floats]:
    """Return D = d ∘ P/√κ and γ from the logarithm of the released pairs' lift, of the items with factors.

    With κ = Σ d² P, the expected z zᵀ/‖z‖² of items i and j is about d_i d_j (P_ij − P_i P_j)/((1 − ℓ) κ).
    """
    square = float(moments.weights**2 @ chances)
    scale = moments.weights[shown] * chances[shown]
    if not len(shown):
        return scale, np.zeros((0, 0))
    scale = np.maximum(scale, 1e-3 * float(np.median(scale)))
    pairs = moments.factors[shown] * np.sqrt((1 - moments.popular_part) * square)
    pairs /= scale[:, None]
    tastes = _log_factors(pairs, scale, min(pairs.shape[1] + _FURTHER, len(shown)))
    length = np.linalg.norm(tastes, axis=1)
    tastes *= np.minimum(1, _LONGEST_START / np.maximum(length, 1e-30))[:, None]
    return scale / np.sqrt(square), tastes


def _log_factors(pairs: Floats, scale: Floats, rank: int) -> Floats:
    """Return Γ with Γ Γᵀ ≈ log(1 + F Fᵀ) off the diagonal, where errors of ij weigh D_i D_j.

    Subspace iteration, with rows of the matrix made as they are needed. The diagonal is what Γ says.

    Args:
        pairs: F, shape (n, k).
        scale: D, shape (n,).
        rank: columns of Γ.
    """
    n = len(pairs)
    pairs32, scale32 = pairs.astype(np.float32), scale.astype(np.float32)
    basis = np.linalg.qr(np.hstack([scale[:, None] * pairs, default_rng(0).normal(size=(n, rank))])[:, :n])[0]
    factors = np.zeros((n, rank))
    for _ in range(_STARTING_STEPS):
        image = np.empty_like(basis)
        narrow = basis.astype(np.float32)
        for start in range(0, n, rows := max(_CELLS // n, 1)):
            part = slice(start, start + rows)
            lifts = np.log(np.clip(1 + pairs32[part] @ pairs32.T, *_LIFTS, dtype=np.float32))
            lifts *= scale32[part, None]
            lifts *= scale32
            places = np.arange(start, min(start + rows, n))
            lifts[np.arange(len(places)), places] = (factors[places] ** 2).sum(axis=1)
            image[part] = lifts @ narrow
        values, vectors = np.linalg.eigh(basis.T @ image)
        factors = basis @ vectors[:, : -rank - 1 : -1] * np.sqrt(np.maximum(values[: -rank - 1 : -1], 0))
        basis = np.linalg.qr(image)[0]
    return np.asarray(factors / scale[:, None], dtype=np.float64)


class _Simulated(NamedTuple):
    """Sums over made-up people.

    Attributes:
        counts: how much they count for each item, shape (n,).
        pairs: the mean z zᵀ/‖z‖² off the diagonal, times Q, shape (n_shown, k).
    """

    counts: Floats
    pairs: Floats


def _simulated(
    choices: Choices, moments: UserMoments, shown: Ints, directions: Floats, lengths: Ints, rng: Generator
) -> _Simulated:
    """Draw people and measure them as the release's people were measured."""
    n = len(moments.counts)
    counts, pairs, squares = np.zeros(n), np.zeros_like(directions), np.zeros(len(shown))
    total = 0.0
    for rows in _blocks(choices, lengths, rng):
        each = np.diff(rows.indptr)
        counting = np.minimum(1, np.sqrt(moments.contribution_cap / np.maximum(each, 1)))
        counts += np.bincount(rows.items, np.repeat(counting, each), n)
        vectors, lengths_of = _vectors(rows, moments, shown)
        total += float(lengths_of.sum())
        across = vectors @ directions.astype(np.float32)
        pairs += vectors.T @ across
        squares += np.einsum("ui,ui->i", vectors, vectors)
    pairs -= squares[:, None] * directions
    return _Simulated(counts, pairs / max(total, 1e-30))


def _blocks(choices: Choices, lengths: Ints, rng: Generator) -> Iterator[Rows]:
    size = max(_CELLS // len(choices.levels), 1)
    for start in range(0, len(lengths), size):
        yield choices.drawn(lengths[start : start + size], rng)[0]


def _vectors(rows: Rows, moments: UserMoments, shown: Ints) -> tuple[Floats32, Floats]:
    """Return z/‖z‖ of people (unit ``record``: z/√‖z‖) on the items with factors, and what to divide by."""
    n_people = rows.n_users
    person = np.repeat(np.arange(n_people), np.diff(rows.indptr))
    weights = moments.weights[rows.items]
    square = np.bincount(person, weights**2, n_people)
    along = np.bincount(person, weights * moments.direction[rows.items], n_people)
    rest = np.maximum(square - along**2, 1e-9 * square + 1e-30)
    places = np.full(len(moments.weights), -1)
    places[shown] = np.arange(len(shown))
    vectors: Floats32 = np.outer(-along, moments.direction[shown]).astype(np.float32)
    at = places[rows.items]
    vectors[person[at >= 0], at[at >= 0]] += weights[at >= 0].astype(np.float32)
    by_user = moments.unit == "user"
    vectors /= (np.sqrt(rest) if by_user else rest**0.25)[:, None].astype(np.float32)
    lengths = np.ones(n_people) if by_user else np.sqrt(square)
    return vectors, np.asarray(lengths, dtype=np.float64)


def _taste_step(
    factors: Floats, scale: Floats, directions: Floats, simulated: Floats, ridge: float, step: float
) -> Floats:
    """Return a (D_j² QᵀQ + r I)⁻¹ D_j (E Q)_j of every item, of length 1 at most, shape (n_shown, k)."""
    if not directions.size:
        return directions
    released = factors @ (factors.T @ directions) - (factors**2).sum(axis=1)[:, None] * directions
    lacking = scale[:, None] * (released - simulated)
    values, axes = np.linalg.eigh(directions.T @ directions)
    moved = lacking @ axes
    moved /= scale[:, None] ** 2 * np.maximum(values, 0) + ridge * max(float(values[-1]), 1e-30)
    moved = step * moved @ axes.T
    moved *= np.minimum(1, 1 / np.maximum(np.linalg.norm(moved, axis=1), 1e-30))[:, None]
    return np.asarray(moved, dtype=np.float64)


def _spread(rows: Floats, places: Ints, n: int) -> Floats:
    spread = np.zeros((n, rows.shape[1]))
    spread[places] = rows
    return spread
