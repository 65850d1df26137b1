"""Items of synthetic people: draws without replacement from a log-linear model of taste.

A person is p ~ N(0, I). With c items, they have the c items of largest β_j + γ_j·p + Gumbel noise: c draws
without replacement, each item with a chance proportional to exp(β_j + γ_j·p).

Privacy: post-processing.
"""

from typing import NamedTuple

import numpy as np
from numpy.random import Generator  # noqa: TID251  (draws from a public model, no release noise)

from hushrec.arrays import Floats, Floats32, Ints
from hushrec.release.predictors.block_scores import Rows

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

    def drawn(self, lengths: Ints, rng: Generator) -> tuple[Rows, Floats32]:
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
            chosen = np.argpartition(race[person], n_items - 1)[:n_items]
            chosen.sort()
            items[indptr[person] : indptr[person + 1]] = chosen
        return Rows(indptr, items, np.ones(len(items))), people
