"""Public knowledge about items before any private rating is read.

Privacy: public. Features come from the items' publishers, effects and factors from other people's public
ratings, or from a release that was charged already.
"""

import hashlib
import json
from dataclasses import dataclass, field
from typing import Any, NamedTuple

import numpy as np
from numpy.typing import NDArray

from hushrec.arrays import Floats, Ints
from hushrec.documents.fact import Fact


class FeatureGroup(NamedTuple):
    """One kind of feature, such as genres: which items have which of its values.

    Attributes:
        name: of the feature, or the part of the title that it was made from.
        labels: its values; each is of two items or more, but not of nearly all.
        shown: the value that reasons name: of a thirtieth of the numbers, the tenth around it.
        table: which items have them, a ``scipy.sparse.csr_array`` of float64, shape (n_items, n_labels). The
            row of an item with k values holds 1/√k for each, so its length is 1.
    """

    name: str
    labels: tuple[str, ...]
    shown: tuple[str, ...]
    table: Any


def _none() -> Floats:
    return np.zeros(0)


def _nothing() -> Floats:
    return np.zeros((0, 0))


@dataclass(frozen=True, eq=False)
class ItemPrior:
    """Means of item effects and factors before the private ratings, for a catalogue.

    Args:
        design: features of each item, shape (n_items, n_features); zeros for an item without known
            features. No rows and columns if there are no features.
        groups: the kind of feature of each column, from 0, shape (n_features,): genres, words of
            the title. Columns of one group are equally important before the ratings.
        features: the same features with all of their values, for models of interactions.
        effects: mean rating of each item by a user of average level, from public ratings; NaN where there are
            none; shape (n_items,), or (0,).
        effect_variance: variance of each, in squared rating units, shape of ``effects``.
        factors: item factors from public ratings, in rating units; zeros where there are none; shape
            (n_items, rank), or (0, 0).
        pairs: factors of how the items go together, from public interactions, relative to the items' weights:
            zeros where there are none; shape (n_items, rank), or (0, 0).
        says: what these facts are and where they come from, in words, for statements.
    """

    design: Floats = field(default_factory=_nothing)
    groups: Ints = field(default_factory=lambda: np.zeros(0, dtype=np.int64))
    features: tuple[FeatureGroup, ...] = ()
    effects: Floats = field(default_factory=_none)
    effect_variance: Floats = field(default_factory=_none)
    factors: Floats = field(default_factory=_nothing)
    pairs: Floats = field(default_factory=_nothing)
    says: tuple[Fact, ...] = ()

    def factors_of(self, n_items: int) -> Floats:
        """Return the factors, or a matrix without columns; shape (n_items, any)."""
        return self.factors if self.factors.size else np.zeros((n_items, 0))

    @property
    def tables(self) -> list[Any]:
        """Return which items have which values, one sparse matrix for each kind of feature."""
        return [group.table for group in self.features]

    @property
    def digest(self) -> str:
        """SHA-256, in hex, of all facts; empty if nothing is known."""
        arrays: tuple[NDArray[Any], ...] = (
            self.design,
            self.groups,
            self.effects,
            self.effect_variance,
            self.factors,
            self.pairs,
        )
        if not self.features and not any(array.size for array in arrays):
            return ""
        names = [[group.name, *group.labels] for group in self.features]
        sha256 = hashlib.sha256(f"{json.dumps([[str(one) for one in self.says], names])}".encode())
        arrays += tuple(part for of in self.features for part in (of.table.indptr, of.table.indices))
        for array in arrays:
            sha256.update(f"{array.shape}".encode())
            sha256.update(np.ascontiguousarray(array).tobytes())
        return sha256.hexdigest()


NOTHING_KNOWN = ItemPrior()
"""The prior that adds nothing to the catalogue."""
