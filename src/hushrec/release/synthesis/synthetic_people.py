"""Synthetic people of a release: any number of rows, drawn from what the file says.

A release of ratings is a model of people: r_i = μ_i + b + f_i·p + noise with b ~ N(0, user_variance) and
p ~ N(0, I). Which items they rate is drawn by popularity alone, so these rows are for predicting ratings, and
never for lists.

Privacy: post-processing.
"""

import hashlib
import math
from collections.abc import Iterator
from typing import Any, Protocol

import numpy as np
from numpy.random import Generator, default_rng  # noqa: TID251  (a public model, no release noise)
from numpy.typing import NDArray

from hushrec.arrays import Floats, Ints
from hushrec.documents import sentences
from hushrec.errors import ReleaseError
from hushrec.progress import Progress, fraction, telling
from hushrec.release.artefact import Release
from hushrec.release.predictors.scores import LIKING, Rows
from hushrec.release.synthesis.moments import (
    SPREAD,
    Choices,
    Lengths,
    calibrate,
    lengths_with,
    popularity_moments,
    user_moments,
)
from hushrec.text import is_number, whole

_NOISE, _LEAST_NOISE = 0.06, 0.03
"""Variance of a rating around its user's level, factors included, and the least beyond factors; in squared
widths of the scale. Chosen on MovieLens 1M."""
_ROUNDS = 15
_MOST_SLOPE = 1.6
"""Largest factor by which spreads are widened where the ends of the scale narrow them."""
_MOST_STEPS = 64
"""Steps of the scale by which the effect of its ends is computed."""
_LARGEST_DENSE = 100
"""Factors that are taken of a dense covariance."""


class RatedPeople:
    """Draws people with ratings.

    Ratings are rounded and clamped to the scale, which moves means and narrows spreads. So latent means are
    solved for whose clamped ratings have the released means, and spreads are widened by the slope there.

    Args:
        release: of ratings.
        lengths: numbers of ratings of the people.
    """

    def __init__(self, release: Release, lengths: Lengths) -> None:
        self._lo, hi, self._step = release.require_scale()
        self._span, self._hi = hi - self._lo, hi
        tensors, constants = release.tensors, release.constants
        effects = tensors["item_effects"].astype(np.float64)
        popularity = tensors["item_popularity"].astype(np.float64)
        liking = np.maximum(1 + LIKING * effects / self._span, 0.1)  # of a popularity that counts likes more
        self._choices = calibrate(popularity_moments(popularity / liking, lengths))
        factors = _factors(release)
        explained = (factors**2).sum(axis=1)
        square = self._span**2
        # Rounding to the scale adds a variance of step²/12 by itself, so it is taken off.
        noise = np.maximum(_NOISE * square - explained, _LEAST_NOISE * square) - self._step**2 / 12
        level = math.sqrt(constants["user_variance"])
        deviation = np.sqrt(level**2 + explained + noise)
        self._means, slopes = self._unclamp(effects + constants["user_mean"], deviation)
        self._levels, self._factors = level * slopes, factors * slopes[:, None]
        self._noise = np.sqrt(noise)

    def draw(self, lengths: Ints, rng: Generator) -> Rows:
        """Draw a block of people, with ratings on the scale as values."""
        rows, _ = self._choices.draw(lengths, rng)
        person = np.repeat(np.arange(len(lengths)), lengths)
        level = rng.standard_normal(len(lengths))
        tastes = rng.standard_normal((len(lengths), self._factors.shape[1]))
        ratings = self._means[rows.items] + self._levels[rows.items] * level[person]
        ratings += np.einsum("ck,ck->c", self._factors[rows.items], tastes[person])
        ratings += self._noise[rows.items] * rng.standard_normal(len(person))
        steps = np.clip(np.rint((ratings - self._lo) / self._step), 0, round(self._span / self._step))
        return Rows(rows.indptr, rows.items, self._lo + self._step * steps)

    def _unclamp(self, means: Floats, deviation: Floats) -> tuple[Floats, Floats]:
        """Return latent means whose rounded, clamped ratings have these means, and 1/slope there."""
        n_steps = min(round(self._span / self._step), _MOST_STEPS)
        step = self._span / n_steps
        ends = self._lo + step * (np.arange(n_steps) + 0.5)
        latent = means.copy()
        for _ in range(_ROUNDS):
            expected = np.full_like(latent, self._lo)
            for end in ends:
                # E of a normal number, rounded and clamped: lo + step Σ P(above a boundary of two ratings).
                expected += step * _normal_cdf((latent - end) / deviation)
            # The latent mean rises by what the clamped one lacks.
            latent = np.clip(latent + means - expected, self._lo - self._span, self._hi + self._span)
        slope = np.zeros_like(latent)
        for end in ends:
            # dE/d latent: the density at each boundary.
            slope += step * np.exp(-(((latent - end) / deviation) ** 2) / 2)
        slope /= math.sqrt(2 * math.pi) * deviation
        return latent, np.clip(1 / np.maximum(slope, 1 / _MOST_SLOPE), 1, _MOST_SLOPE)


def _factors(release: Release) -> Floats:
    """Return factors F of the items' covariance F Fᵀ, shape (n_items, k)."""
    if (factors := release.tensors.get("item_factors")) is not None:
        return factors.astype(np.float64)
    n = len(release.items)
    covariance = np.zeros((n, n))
    rows, columns = np.triu_indices(n)
    covariance[rows, columns] = covariance[columns, rows] = release.tensors["covariance"]
    values, vectors = np.linalg.eigh(covariance)
    kept = slice(None, -_LARGEST_DENSE - 1, -1)
    return np.asarray(vectors[:, kept] * np.sqrt(np.maximum(values[kept], 0)), dtype=np.float64)


def _normal_cdf(x: Floats) -> Floats:
    """Return the standard normal distribution function, to 1e-7 (Abramowitz & Stegun 1964, 26.2.17)."""
    t = 1 / (1 + 0.2316419 * np.abs(x))
    series = t * (0.319381530 + t * (-0.356563782 + t * (1.781477937 + t * (-1.821255978 + t * 1.330274429))))
    tail = np.exp(-(x**2) / 2) / math.sqrt(2 * math.pi) * series
    return np.asarray(np.where(x > 0, 1 - tail, tail), dtype=np.float64)


FORMAT = 1
"""Version of the facts."""
MOST_PEOPLE = 10**9
"""Largest number of people."""
_MOST_ROWS = 1 << 28
"""Largest expected number of rows that are made in memory."""
_CELLS = 1 << 22
"""People times items of a block; part of what the rows are."""
_MEAN_ITEMS = 50.0
"""Mean number of items where the release does not say it."""
_RATED = frozenset({"factors", "factors and people", "neighbours", "dense neighbours"})


class _Drawer(Protocol):
    def draw(self, lengths: Ints, rng: Generator) -> Any: ...


class SyntheticPeople:
    """People who never existed, drawn from a release. The same seed gives the same people.

    More people tell no more about anybody: whatever is drawn follows from the release and the seed.

    Args:
        release: any but those of people's randomized rows.
        n_users: number of people. Models that are trained on them fit sampling noise unless it is several
            times the number of real people.
        seed: of the draws.
        mean_items: mean number of items of a person; by default what the release says, or 50.

    Attributes:
        lengths: the distribution of a person's number of items.

    Raises:
        ReleaseError: The release holds no model of people, its numbers are unusable, or there are fewer
            than 1 or more than 10⁹ people.

    Privacy: post-processing of a release.
    """

    def __init__(
        self, release: Release, n_users: int, *, seed: int = 0, mean_items: float | None = None
    ) -> None:
        n_users, seed = whole(n_users, "n_users", 1, ReleaseError), whole(seed, "seed", 0, ReleaseError)
        if n_users > MOST_PEOPLE:
            raise ReleaseError(f"synthesize from 1 to {MOST_PEOPLE:,} people: n_users is {n_users:,}")
        most = max(len(release.items) / 2, 1)
        if mean_items is not None and not (is_number(mean_items) and 1 <= mean_items <= most):
            raise ReleaseError("mean_items must be 1 or more, and at most half the number of items")
        self.release, self.n_users, self.seed = release, n_users, seed
        try:
            with np.errstate(all="ignore"):
                self._drawer, self.lengths = _drawer(release, mean_items)
        except (np.linalg.LinAlgError, ArithmeticError):
            raise ReleaseError("the release's numbers are unusable; fetch it again") from None

    @property
    def n_rows(self) -> int:
        """About how many rows there are."""
        return round(self.n_users * self.lengths.mean)

    def blocks(self) -> Iterator[Rows]:
        """Draw all people, block by block, in order.

        Yields:
            Positions of each one's items in ``release.items``, ascending, and their ratings, or 1.
        """
        size = max(_CELLS // max(len(self.release.items), 1), 1)
        lengths = default_rng([self.seed, 0]).permutation(self.lengths.quantiles(self.n_users))
        with fraction("drawing synthetic people") as reached:
            for number, start in enumerate(range(0, self.n_users, size), 1):
                drawn = self._drawer.draw(lengths[start : start + size], default_rng([self.seed, number]))
                yield drawn[0] if isinstance(self._drawer, Choices) else drawn
                reached.reach(min(start + size, self.n_users), self.n_users)

    def columns(self, *, progress: Progress | None = None) -> dict[str, NDArray[Any]]:
        """Return the table as columns for pandas or polars: ``user_id``, ``item_id``, and ``rating``, if any.

        Raises:
            ReleaseError: The table is too large for memory.
        """
        if self.n_rows > _MOST_ROWS:
            raise ReleaseError(
                f"about {self.n_rows:,} rows are too many for memory; write them to a file "
                "(hushrec synthesize)"
            )
        with telling(progress):
            blocks = list(self.blocks())
        counts = np.concatenate([np.diff(block.indptr) for block in blocks])
        width = len(str(self.n_users))
        ids = np.array([f"{number:0{width}d}" for number in range(1, self.n_users + 1)], dtype=object)
        items = np.array(self.release.items, dtype=object)
        columns = {
            "user_id": np.repeat(ids, counts),
            "item_id": items[np.concatenate([block.items for block in blocks])],
        }
        if self.release.feedback == "ratings":
            columns["rating"] = np.concatenate([block.values for block in blocks])
        return columns

    def sayings(self) -> list[str]:
        """Say what the rows are, what they are good for and what not."""
        of = self.release.feedback if self.release.kind != "item scores" else "popularity"
        protected = not self.release.statement.unprotected
        return sentences.synthetic_people(of, self.release.dimensions, self.lengths.mean, protected=protected)

    def facts(self) -> dict[str, Any]:
        """Everything about the rows, as JSON values: what they are, and the release with its statement."""
        return {
            "format": FORMAT,
            "kind": "synthetic people",
            "says": self.sayings(),
            "n_users": self.n_users,
            "seed": self.seed,
            "mean_items": round(self.lengths.mean, 2),
            "spread_of_log_items": SPREAD,
            "model": self.release.model,
            "dimensions": self.release.dimensions,
            "sha256": hashlib.sha256(self.release.to_bytes()).hexdigest(),
            "statement": self.release.statement.to_json(),
        }


def _drawer(release: Release, mean_items: float | None) -> tuple[_Drawer, Lengths]:
    """Return what draws the people of a kind of release, and their numbers of items."""
    n_items = len(release.items)
    declared = lengths_with(min(mean_items or _MEAN_ITEMS, n_items / 2), n_items)
    if release.kind in _RATED:
        return RatedPeople(release, declared), declared
    if release.kind == "linear items":
        moments = user_moments(release)
        if mean_items is not None:
            moments = moments._replace(lengths=declared)
    elif release.kind == "item scores":
        moments = popularity_moments(release.tensors["item_scores"], declared)
    else:
        raise ReleaseError(
            f"a release of {release.model} holds rows of a released data set, not a model of people; use "
            "that data set as it is"
        )
    return calibrate(moments), moments.lengths
