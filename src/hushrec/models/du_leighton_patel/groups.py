"""Groups of near items, which replace each other in a released data set (Guerraoui et al. 2015, §3).

All four distances follow from inner products ⟨a_i, a_j⟩ of the items' vectors, or from a covariance C_ij,
computed one block of rows at a time. Items with a zero vector (for ``pearson``, a constant one) are near no
other item.
"""

import math
from collections.abc import Callable, Iterator
from dataclasses import dataclass, field
from typing import Any, Literal, NamedTuple, Self

import numpy as np
from scipy import sparse

from hushrec.arrays import Floats, Ints, Ints32
from hushrec.data.domain import Domain
from hushrec.data.people import People
from hushrec.errors import ConfigError
from hushrec.kernels.csr import frozen
from hushrec.models.du_leighton_patel.features import ItemFeatures
from hushrec.release.artefact import Release

Distance = Literal["squared", "cosine", "pearson", "d2p"]

_CELLS = 2**21  # cells of a block; chosen by hand, does not change the groups
_ROUNDING = 1e-9
"""Relative distance at which a pair still counts as at the threshold, far above a double's rounding (1e-16).
So the order of a sum does not change groups; chosen by hand.
"""
_FILLED, _DENSE = 1 / 8, 2**27
"""Vectors above this density multiply as dense arrays, up to this many entries (1 GiB); chosen by hand."""


@dataclass(frozen=True, slots=True, eq=False)
class Groups:
    """The group of every item, without itself.

    Attributes:
        indptr: start of each item's group, and the end of the last one, shape (n_items + 1,).
        members: ascending within a group.

    Privacy: public from features, post-processing of a release, private from ratings. Hidden from ``repr``.
    """

    indptr: Ints = field(repr=False)
    members: Ints32 = field(repr=False)

    @classmethod
    def of_features(
        cls, features: ItemFeatures, domain: Domain, distance: Distance, threshold: float
    ) -> Self:
        """Group items whose features are near.

        Args:
            features: features of the items of ``domain``.
            domain: gives the catalogue.
            distance: ``squared`` (‖a − b‖²), ``cosine`` (1 − cos), ``pearson`` (1 − correlation: the cosine
                of vectors minus their means) or ``d2p`` (1/cos − 1, infinite if cos ≤ 0).
            threshold: λ; nearer items are in each other's groups.
        """
        if features.matrix.shape[0] != domain.n_items:
            raise ConfigError("the features belong to another catalogue; read them with this domain")
        return cls._of(features, distance, threshold)

    @classmethod
    def of_release(cls, release: Release, distance: Distance, threshold: float) -> Self:
        """Group items with similar ratings, by the covariance C that a release holds.

        The squared distance is C_ii + C_jj − 2C_ij, in squared stars; cosine and Pearson are the same,
        1 − C_ij/√(C_ii C_jj).

        Args:
            release: holds item factors F, for C = F Fᵀ, or a covariance of the items to be grouped.
            distance, threshold: as in ``of_features``.

        Privacy: post-processing of the release.
        """
        return cls._of(release, distance, threshold)

    @classmethod
    def of_ratings(cls, ratings: People, distance: Distance, threshold: float) -> Self:
        """Group items whose columns of raw ratings (0 where unrated) are near, as published.

        Args:
            distance, threshold: as in ``of_features``.

        Privacy: private, and nothing is charged: for reproductions, whose statement says so.
        """
        return cls._of(ratings, distance, threshold)

    @property
    def sizes(self) -> Ints:
        """Number of items in each group, shape (n_items,). Privacy: private or public, as the groups."""
        return np.diff(self.indptr)

    @property
    def summary(self) -> str:
        """The sizes of the groups in one sentence. Privacy: private or public, as the groups."""
        sizes = self.sizes
        return (
            f"{sizes.size:,} groups of {sizes.min()} to {sizes.max()} items, median {np.median(sizes):g}, "
            f"{np.count_nonzero(sizes == 0):,} of them empty"
        )

    @classmethod
    def _of(cls, source: ItemFeatures | Release | People, distance: Distance, threshold: float) -> Self:
        if not threshold > 0:
            raise ConfigError("threshold must be positive: it is the distance below which items are near")
        counts, members = [np.zeros(1, np.int64)], [np.empty(0, np.int32)]
        products = _products(source)
        for block in _blocks(products, distance, np.arange(products.squares.size)):
            near = block < threshold * (1 - _ROUNDING)
            counts.append(near.sum(axis=1))
            members.append(np.nonzero(near)[1].astype(np.int32))
        indptr = frozen(np.cumsum(np.concatenate(counts)), np.int64)
        listed = frozen(np.concatenate(members), np.int32)
        return cls(indptr, listed)


def quantile_threshold(source: ItemFeatures | Release | People, distance: Distance, fraction: float) -> float:
    """Find the smallest threshold below which at least this fraction of all pairs of items lies.

    For experiments.

    Uses all pairs of a small catalogue; of a large one, the pairs of evenly spaced items with all others.

    Args:
        source: the source of the distances.
        distance: as in ``Groups.of_features``.
        fraction: fraction of the pairs, in (0, 1).

    Privacy: as the source: from ratings it is private, and no statement covers it.
    """
    products = _products(source)
    n = products.squares.size
    items = np.unique(np.linspace(0, n - 1, max(1, min(n, 4 * _CELLS // n))).astype(np.int64))
    distances = np.concatenate([block.ravel() for block in _blocks(products, distance, items)])
    # Every item has n − 1 others; its distance to itself is infinite, and sorts last.
    last = min(max(math.ceil(fraction * items.size * (n - 1)) - 1, 0), distances.size - 1)
    return max(float(np.partition(distances, last)[last]) * (1 + 2 * _ROUNDING), _ROUNDING)


class _Products(NamedTuple):
    """Inner products of the items' vectors; private if the vectors are."""

    squares: Floats
    """⟨a_i, a_i⟩, shape (n,)."""
    rows: Callable[[Ints], Floats]
    """⟨a_i, a_j⟩ of some items i and all j."""
    sums: Floats
    """Sums of the vectors' entries, shape (n,); zeros if there is no mean to subtract."""
    length: int
    """Length of the vectors."""


def _products(source: ItemFeatures | Release | People) -> _Products:
    if isinstance(source, Release):
        return _of_covariance(source)
    vectors: Any
    if isinstance(source, ItemFeatures):
        vectors = source.matrix
    else:
        shape = source.n_users, source.domain.n_items
        people: Any = sparse.csr_array((source.numbers(), source.items, source.indptr), shape=shape)
        vectors = people.T.tocsr()
    squares, sums = vectors.multiply(vectors).sum(axis=1), vectors.sum(axis=1)
    n, length = vectors.shape
    if _FILLED * n * length < vectors.nnz and n * length < _DENSE:
        vectors = vectors.toarray()
        return _Products(squares, lambda items: vectors[items] @ vectors.T, sums, length)
    transposed = vectors.T.tocsr()
    return _Products(squares, lambda items: (vectors[items] @ transposed).toarray(), sums, length)


def _of_covariance(release: Release) -> _Products:
    n = len(release.items)
    packed = release.tensors.get("covariance")
    if packed is None and "item_factors" not in release.tensors:
        raise ConfigError(
            f"a release of {release.model} holds no covariance of items; use one of CovarianceSVD or "
            "CovarianceKNN"
        )
    if packed is None:
        factors = release.tensors["item_factors"].astype(np.float64)
        squares = np.einsum("ik,ik->i", factors, factors)
        return _Products(squares, lambda items: factors[items] @ factors.T, np.zeros(n), 1)

    def rows(items: Ints) -> Floats:
        low, high = np.minimum(items[:, None], np.arange(n)), np.maximum(items[:, None], np.arange(n))
        # Row ``low`` starts at low · n − low (low − 1)/2, with column ``low``.
        return np.asarray(packed[low * (2 * n - 1 - low) // 2 + high], dtype=np.float64)

    every = np.arange(n)
    squares = packed[every * (2 * n - 1 - every) // 2 + every].astype(np.float64)
    return _Products(squares, rows, np.zeros(n), 1)


def _blocks(products: _Products, distance: Distance, items: Ints) -> Iterator[Floats]:
    """Yield the distances of some items from all, a block of rows at a time."""
    tall = max(1, _CELLS // products.squares.size)
    for start in range(0, items.size, tall):
        yield _distances(products, distance, items[start : start + tall])


def _distances(products: _Products, distance: Distance, items: Ints) -> Floats:
    """Return the distances of some items from all; infinite to themselves and where undefined."""
    dots, squares = products.rows(items), products.squares
    defined = squares > 0
    if distance == "pearson":
        length = max(products.length, 1)
        # ⟨a − ā, b − b̄⟩ = ⟨a, b⟩ − Σ a Σ b/length.
        dots -= products.sums[items, None] * (products.sums / length)
        squares = squares - products.sums**2 / length
        defined &= squares > 1e-12 * products.squares  # else the vector is constant up to rounding
    if distance == "squared":
        # ‖a − b‖² = ⟨a, a⟩ + ⟨b, b⟩ − 2 ⟨a, b⟩.
        distances = squares[items, None] + squares - 2 * dots
    else:
        norms = np.sqrt(np.where(defined, squares, 1.0))
        cosines = np.clip(dots / norms / norms[items, None], -1.0, 1.0)
        distances = 1 - cosines
        if distance == "d2p":
            near = cosines > 0
            np.divide(distances, cosines, out=distances, where=near)  # 1/cos − 1
            distances[~near] = np.inf
    distances[~defined[items]] = np.inf
    distances[:, ~defined] = np.inf
    distances[np.arange(items.size), items] = np.inf
    return distances
