"""Which items synthetic people have: a log-linear model of taste with the moments that a release states.

A person is p ~ N(0, I). With c items, they have the c items of largest β_j + γ_j·p + Gumbel noise: c draws
without replacement, each item with a chance proportional to exp(β_j + γ_j·p).

How many they have is log-normal, with a spread that is assumed. Mean counts of items, and of pairs of items,
are read from linear scores.

Draws without replacement weaken every pair of items, so the closed form alone is half as strong as what was
released. Rounds of made-up people, compared with the released moments, repair that: method of simulated
moments (McFadden 1989), with the steps of stochastic approximation (Robbins & Monro 1951).

Privacy: post-processing.
"""

import math
from collections.abc import Callable, Iterator
from statistics import NormalDist
from typing import NamedTuple

import numpy as np
from numpy.random import Generator, default_rng  # noqa: TID251  (a public model, no release noise)

from hushrec.arrays import Bools, Floats, Floats32, Ints
from hushrec.progress import steps
from hushrec.release.artefact import Release
from hushrec.release.predictors.scores import Rows

_MOST_UTILITY = 60.0
"""Largest |β_j + γ_j·p|, so that its exponential is finite in single precision."""


class Choices(NamedTuple):
    """The model of people's choices.

    Attributes:
        levels: β, shape (n,).
        tastes: γ, shape (n, k).
    """

    levels: Floats
    tastes: Floats

    def draw(self, lengths: Ints, rng: Generator) -> tuple[Rows, Floats32]:
        """Draw a block of people.

        Args:
            lengths: number of items of each, shape (n_people,).
            rng: what is drawn with.

        Returns:
            Their items, ascending, each with value 1; and p, shape (n_people, k).
        """
        people = rng.standard_normal((len(lengths), self.tastes.shape[1]), dtype=np.float32)
        utilities = people @ self.tastes.T.astype(np.float32)
        utilities += self.levels.astype(np.float32)
        np.clip(utilities, -_MOST_UTILITY, _MOST_UTILITY, out=utilities)
        # The smallest of exponential variables over exp(utility), as with Gumbel noise.
        race = rng.standard_exponential(utilities.shape, dtype=np.float32)
        race *= np.exp(np.negative(utilities, out=utilities), out=utilities)
        indptr = np.concatenate([[0], np.cumsum(lengths)])
        items = np.empty(indptr[-1], dtype=np.int32)
        for person, n_items in enumerate(lengths):
            # The c that come in first; which of them is the first does not matter.
            chosen = np.argpartition(race[person], n_items - 1)[:n_items]
            chosen.sort()
            items[indptr[person] : indptr[person + 1]] = chosen
        return Rows(indptr, items, np.ones(len(items))), people


SPREAD = 1.0
"""Standard deviation of the logarithm of a person's number of items. Assumed: no release says it."""
_QUANTILES = 2000
"""By which means are computed."""
_LENGTH_HALVINGS = 60


class Lengths(NamedTuple):
    """Numbers of items: those of a log-normal distribution, at least 1, at most half the catalogue.

    Attributes:
        median: of the distribution.
        most: largest number.
    """

    median: float
    most: int

    def quantiles(self, n: int) -> Ints:
        """Return the (k + ½)/n quantiles in order, so that every n has the same distribution."""
        return np.rint(self._exact(n)).astype(np.int64)

    @property
    def mean(self) -> float:
        """The mean number of items."""
        return float(self._exact(_QUANTILES).mean())

    @property
    def root_mean(self) -> float:
        """E √c of people with c items."""
        return float(np.sqrt(self._exact(_QUANTILES)).mean())

    def _exact(self, n: int) -> Floats:
        normal = NormalDist()
        # A table of quantiles: people of a large table share its entries.
        places = (np.arange(min(n, _QUANTILES)) + 0.5) / min(n, _QUANTILES)
        table = np.exp(SPREAD * np.array([normal.inv_cdf(place) for place in places]))
        every = table if n <= _QUANTILES else np.interp((np.arange(n) + 0.5) / n, places, table)
        return np.asarray(np.clip(self.median * every, 1, self.most), dtype=np.float64)


def lengths_with(mean: float, n_items: int) -> Lengths:
    """Return lengths with a mean E c."""
    return _solve_median(lambda lengths: lengths.mean, mean, n_items)


def lengths_with_root(root_mean: float, n_items: int) -> Lengths:
    """Return lengths with a mean E √c."""
    return _solve_median(lambda lengths: lengths.root_mean, root_mean, n_items)


def lengths_with_part(part: float, n_items: int) -> Lengths:
    """Return lengths with E √c/E c, which falls where people have more items."""
    return _solve_median(lambda lengths: -lengths.root_mean / lengths.mean, -part, n_items)


def _solve_median(rising: Callable[[Lengths], float], value: float, n_items: int) -> Lengths:
    """Return the lengths at which a function that rises with the median has a value, by halving."""
    most = max(n_items // 2, 1)
    low, high = math.log(1e-3), math.log(max(most, 2))
    for _ in range(_LENGTH_HALVINGS):
        middle = (low + high) / 2
        if rising(Lengths(math.exp(middle), most)) < value:
            low = middle
        else:
            high = middle
    return Lengths(math.exp(high), most)


RIDGE = 0.5
"""Of the mean of the diagonal, as ``hushrec.models.lists.estimate.pair_factors`` adds it."""
FLOOR = 0.05
"""Smallest part of an item's own variance that factors leave, as there."""
MOST_ITEMS = 1 << 15
"""Most items with tastes: a release of ours has as many at most, and the start takes their square."""
_LEAST = 1e-12
"""Smallest divisor, so that nothing is divided by zero."""
_HALVINGS = 200
"""Steps in which the total is searched."""


class UserMoments(NamedTuple):
    """Moments of users' vectors y = d ∘ x, with z = y − ⟨v, y⟩ v, of a user who gave the items x.

    Attributes:
        unit: of the release: vectors count as z zᵀ/‖z‖² (``user``), or as z zᵀ/‖z‖ (``record``).
        counts: s/n̂, the mean weight with which a user counts for each item, shape (n,): 1/√c of one with c
            items (``user``), or 1 (``record``).
        weights: d, shape (n,).
        direction: v, of length 1, shape (n,).
        factors: L: off the diagonal, L Lᵀ is the mean of z zᵀ/‖z‖², or Σ z zᵀ/‖z‖ over Σ ‖y‖; shape (n, k).
        popular_part: how much of the squared vectors lies along v.
        lengths: numbers of items of the users.
    """

    unit: str
    counts: Floats
    weights: Floats
    direction: Floats
    factors: Floats
    popular_part: float
    lengths: Lengths


def user_moments(release: Release) -> UserMoments:
    """Invert the closed form of EASE (``pair_factors.ease``): from released weights to the covariance.

    The inverse of the covariance W Wᵀ + A is 1/A − g gᵀ, with 1/A_j = 1/(a_j b_j) + |g_j|². So
    W = A g (I − gᵀ A g)^(−1/2), and of W Wᵀ the part along v is ℓ v vᵀ.

    Args:
        release: of linear scores.
    """
    names = "item_factors", "input_weights", "output_weights", "item_scores"
    factors, inputs, outputs, scores = (release.tensors[name].astype(np.float64) for name in names)
    inputs, scores = np.maximum(inputs, _LEAST), np.maximum(scores, _LEAST)
    diagonal = 1 / (1 / np.maximum(inputs * outputs, _LEAST) + (factors**2).sum(axis=1))
    inner = np.eye(factors.shape[1]) - factors.T @ (diagonal[:, None] * factors)
    values, vectors = np.linalg.eigh((inner + inner.T) / 2)
    loaded = diagonal[:, None] * factors @ (vectors / np.sqrt(np.maximum(values, _LEAST)))
    direction = scores * inputs
    variance = direction * inputs
    direction /= np.linalg.norm(direction)
    total = _total(diagonal.sum(), variance / variance.sum(), (loaded**2).sum(axis=1))
    along = loaded.T @ direction
    # ℓ/T, with ℓ = vᵀ W Wᵀ v.
    popular = min(float(along @ along) / total, 1 - FLOOR)
    # Of W, what is along v is taken out; the rest is (1 − ℓ) T times the mean of z zᵀ/‖z‖².
    taste = (loaded - np.outer(direction, along)) / math.sqrt(total * (1 - popular))
    taste[~_items_with_pairs(factors, variance)] = 0
    unit = release.statement.unit
    if unit == "user":
        n_users = total
        lengths = lengths_with_root(scores.sum() / n_users, len(scores))
    else:
        square = (scores @ inputs**2) / scores.sum()  # of one item of a vector, on average
        lengths = lengths_with_part(total / (scores.sum() * math.sqrt(square)), len(scores))
        n_users = scores.sum() / lengths.mean
    return UserMoments(unit, scores / n_users, inputs, direction, _trim(taste), popular, lengths)


def _items_with_pairs(factors: Floats, variance: Floats) -> Bools:
    """Return which items had their pairs measured, shape (n,): those with factors, at most ``MOST_ITEMS``."""
    measured = (factors != 0).any(axis=1)
    if measured.sum() > MOST_ITEMS:
        measured[np.argsort(-np.where(measured, variance, -1), kind="stable")[MOST_ITEMS:]] = False
    return np.asarray(measured, dtype=np.bool_)


def popularity_moments(popularity: Floats, lengths: Lengths) -> UserMoments:
    """Return the moments of people who choose by popularity alone.

    Args:
        popularity: of each item, in any unit, shape (n,).
        lengths: their numbers of items.
    """
    n = len(popularity)
    positive = np.maximum(popularity.astype(np.float64), _LEAST)
    counts = lengths.mean * positive / positive.sum()
    nothing = np.zeros((n, 0))
    return UserMoments("record", counts, np.ones(n), np.zeros(n), nothing, 0.0, lengths)


def _total(diagonal: float, variance: Floats, explained: Floats) -> float:
    """Return T with Σ A = Σ_j max(T t_j − |W_j|², T t_j/20) + T/2, by halving."""
    low, high = 0.0, diagonal / RIDGE
    for _ in range(_HALVINGS):
        middle = (low + high) / 2
        each = middle * variance
        # Each item's own variance that factors leave, and the ridge of T/2n for each of n items.
        if np.maximum(each - explained, FLOOR * each).sum() + RIDGE * middle < diagonal:
            low = middle
        else:
            high = middle
    return max(high, 1.0)


def _trim(factors: Floats) -> Floats:
    """Turn factors to their axes, and leave out those without length."""
    squares, axes = np.linalg.eigh(factors.T @ factors)
    long = squares > 1e-9 * max(float(squares.max(initial=0.0)), _LEAST)
    return np.asarray(factors @ axes[:, long], dtype=np.float64)


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


def calibrate(moments: UserMoments) -> Choices:
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
    # E exp(γ·p) = exp(|γ|²/2): taken off, or tastes would raise the items' mean.
    levels[shown] -= (tastes**2).sum(axis=1) / 2
    rng = default_rng(0)
    n_people = int(np.clip(_ROUND_CELLS // len(counts), _FEWEST_PEOPLE, _PEOPLE))
    every = lengths.quantiles(n_people)
    levels_sum, tastes_sum = np.zeros_like(levels), np.zeros_like(tastes)
    ridge = _RIDGE * float(np.median(scale**2)) if len(scale) else 1.0
    for number in steps("calibrating synthetic people", range(_ROUNDS)):
        # a, which falls as Robbins & Monro 1951 require: its sum is infinite, that of its squares is not.
        step = 1 / (1 + number / 12)
        choices = Choices(levels, _spread(tastes, shown, len(levels)))
        directions = scale[:, None] * tastes
        simulated = _simulate(choices, moments, shown, directions, rng.permutation(every), rng)
        # β_j += a log((N s_j/n̂ + 1)/(Σ_u weight + 1)): the ones keep items that nobody drew finite.
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
            # P(i and j)/(P(i) P(j)) of a log-linear model is exp(γ_i·γ_j), so its logarithm has factors Γ.
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


def _simulate(
    choices: Choices, moments: UserMoments, shown: Ints, directions: Floats, lengths: Ints, rng: Generator
) -> _Simulated:
    """Draw people and measure them as the release's people were measured."""
    n = len(moments.counts)
    counts, pairs, squares = np.zeros(n), np.zeros_like(directions), np.zeros(len(shown))
    total = 0.0
    for rows in _blocks(choices, lengths, rng):
        each = np.diff(rows.indptr)
        counting = np.sqrt(1 / np.maximum(each, 1)) if moments.unit == "user" else np.ones(len(each))
        counts += np.bincount(rows.items, np.repeat(counting, each), n)
        vectors, lengths_of = _vectors(rows, moments, shown)
        total += float(lengths_of.sum())
        across = vectors @ directions.astype(np.float32)
        pairs += vectors.T @ across
        squares += np.einsum("ui,ui->i", vectors, vectors)
    # Zᵀ Z Q without the diagonal of Zᵀ Z, as the released pairs have none.
    pairs -= squares[:, None] * directions
    return _Simulated(counts, pairs / max(total, 1e-30))


def _blocks(choices: Choices, lengths: Ints, rng: Generator) -> Iterator[Rows]:
    size = max(_CELLS // len(choices.levels), 1)
    for start in range(0, len(lengths), size):
        yield choices.draw(lengths[start : start + size], rng)[0]


def _vectors(rows: Rows, moments: UserMoments, shown: Ints) -> tuple[Floats32, Floats]:
    """Return z/‖z‖ of people (unit ``record``: z/√‖z‖) on the items with factors, and what to divide by."""
    n_people = rows.n_users
    person = np.repeat(np.arange(n_people), np.diff(rows.indptr))
    weights = moments.weights[rows.items]
    square = np.bincount(person, weights**2, n_people)
    along = np.bincount(person, weights * moments.direction[rows.items], n_people)
    # ‖z‖² = ‖y‖² − ⟨v, y⟩², for v of length 1.
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
    # E = L Lᵀ − Σ z zᵀ/‖z‖² off the diagonal, times Q = D Γ: never a matrix of all pairs.
    released = factors @ (factors.T @ directions) - (factors**2).sum(axis=1)[:, None] * directions
    lacking = scale[:, None] * (released - simulated)
    values, axes = np.linalg.eigh(directions.T @ directions)
    # γ_j += a (D_j² QᵀQ + r I)⁻¹ D_j (E Q)_j, with one eigendecomposition of QᵀQ for all items.
    moved = lacking @ axes
    moved /= scale[:, None] ** 2 * np.maximum(values, 0) + ridge * max(float(values[-1]), 1e-30)
    moved = step * moved @ axes.T
    moved *= np.minimum(1, 1 / np.maximum(np.linalg.norm(moved, axis=1), 1e-30))[:, None]
    return np.asarray(moved, dtype=np.float64)


def _spread(rows: Floats, places: Ints, n: int) -> Floats:
    spread = np.zeros((n, rows.shape[1]))
    spread[places] = rows
    return spread
