"""Gradients of item factors that each person computes from their own ratings, clipped: unit ``user``."""

from collections.abc import Iterator
from dataclasses import dataclass

import numpy as np

from hushrec.arrays import Floats, Ints
from hushrec.data.anywhere import AnyPeople
from hushrec.data.domain import Domain
from hushrec.data.people import FULL, People
from hushrec.kernels.compiled import in_threads, spans
from hushrec.models.liu_wang_smola.kernels import marginal_gradients
from hushrec.privacy.accounting.measurement import Measurement
from hushrec.sums.kernels.gradients import ridge_gradients, user_residuals

_STRENGTH = 5.0  # fictitious ratings at the items' effects in a person's own bias
_STEP_BITS = 16  # below the clip, so that truncation drops little from a person with many ratings
_THREADS = 2  # chosen by hand


def residuals_of(ratings: People, item_effects: Floats) -> Floats:
    """Each rating minus its item's effect and its person's bias, computed from their own ratings.

    Args:
        item_effects: released, shape (n_items,).

    Privacy: private; a map of each person's own ratings.
    """
    lo, _, step = ratings.domain.scale
    levels = lo + step * np.arange(ratings.domain.scale.n_values)
    residuals = np.empty(len(ratings.items))
    rows = ratings.indptr, ratings.items, ratings.values, levels, item_effects, _STRENGTH, residuals
    in_threads(user_residuals, spans(ratings.indptr, _THREADS), *rows, threads=_THREADS)
    return residuals


class _Gradients:
    """The measurements of either sum, one an epoch."""

    domain: Domain
    rank: int
    epochs: int
    clip_norm: float

    @property
    def step(self) -> float:
        """Width of the grid, a power of two."""
        return float(2.0 ** (np.floor(np.log2(self.clip_norm)) - _STEP_BITS))

    def query(self, number: int) -> Measurement:
        """The measurement of epoch ``number`` from 1."""
        size = self.domain.n_items * self.rank
        return Measurement(f"items, epoch {number}", self.clip_norm, "l2", self.step, size)

    def queries(self) -> Iterator[Measurement]:
        """Descriptions of the sums, in the order in which they are measured."""
        return (self.query(number) for number in range(1, self.epochs + 1))


@dataclass(frozen=True)
class RidgeGradients(_Gradients):
    """Σ_u of each person's gradient of the item factors, at a vector fitted to their own ratings.

    Any map of one person's own ratings is free in unit ``user``; the whole contribution of a person is
    clipped to norm ``clip_norm`` and truncated to a grid, toward zero.

    Args:
        epochs: number of measurements of the gradients.
        clip: bound on a rating's error, in rating units.
        clip_norm: bound on the L2 norm of a person's whole contribution, in squared rating units.

    Privacy: public.
    """

    domain: Domain
    rank: int
    epochs: int
    clip: float
    clip_norm: float

    def measure(self, people: AnyPeople, item_effects: Floats, items: Floats, ridge: float) -> Ints:
        """The sum of one epoch, in grid steps, shape (n_items, rank).

        Args:
            people: people without weights, their ratings capped to the domain's cap.
            item_effects: released, shape (n_items,).
            items: released factors, shape (n_items, rank).
            ridge: weight of the prior in each person's own fit.

        Privacy: bounded, by the query's sensitivity.
        """

        def add(ratings: People, sums: Ints) -> None:
            rows = ratings.indptr, ratings.items, residuals_of(ratings, item_effects), items
            sums += ridge_gradients(*rows, ridge, self.clip, self.clip_norm, self.step, threads=_THREADS)

        (sums,) = people.total(add, items.shape)
        return sums


@dataclass(frozen=True)
class MarginalGradients(_Gradients):
    """Σ_u of each person's gradient of noise · ln p(ratings | item factors), their vector integrated out.

    Any map of one person's own ratings is free in unit ``user``; the whole contribution of a person is
    clipped to norm ``clip_norm`` times their weight and truncated to a grid, toward zero.

    Args:
        epochs: number of measurements of the gradients.
        noise: variance of a rating around effects and factors, in squared rating units.
        clip: bound on a rating's error, in rating units.
        clip_norm: bound on the L2 norm of a person's whole contribution.

    Privacy: public.
    """

    domain: Domain
    rank: int
    epochs: int
    noise: float
    clip: float
    clip_norm: float

    def measure(self, people: AnyPeople, item_effects: Floats, item_factors: Floats, scales: Floats) -> Ints:
        """The sum of one epoch, in grid steps, shape (n_items, rank).

        Args:
            people: the participants, their ratings capped to the domain's cap.
            item_effects: released, shape (n_items,).
            item_factors: released, shape (n_items, rank).
            scales: public factor of each item's part of a gradient, before it is clipped, shape (n_items,).

        Privacy: bounded, by the query's sensitivity times each person's weight.
        """

        def add(ratings: People, sums: Ints) -> None:
            rows = ratings.indptr, ratings.items, residuals_of(ratings, item_effects), item_factors
            clips = self.clip_norm * (ratings.weights / FULL)
            # A user of weight w is clipped to w C: their Δ is w of everybody's.
            sums += marginal_gradients(
                *rows, self.noise, self.clip, clips, scales, self.step, threads=_THREADS
            )

        (sums,) = people.total(add, item_factors.shape, weighted=True)
        return sums
