"""Item factors that public features let expect, before the pairs of items are looked at.

The pairs are whitened, with noise of variance 1 off the diagonal. Their mean is Σ_g c_g G̃_g G̃_gᵀ over the
groups g of features, with one coefficient c_g ≥ 0 each. G̃_g is the table of the group's values, weighted as
the users' vectors are, and centred as they are: without its part along the direction of the average user.
The coefficients are estimated by least squares, and each direction of the mean is then moved towards what
the pairs say of it, as far as these directions are seen to vary (empirical Bayes, Efron & Morris 1975).

Privacy: post-processing of the released pairs; features are public.
"""

import math
from collections.abc import Sequence
from typing import Any, NamedTuple, Self

import numpy as np
from scipy import sparse
from scipy.optimize import nnls

from hushrec.arrays import Floats, Floats32, Ints
from hushrec.item_prior import ItemPrior

__all__ = ["ExpectedFactors", "feature_factors", "tables_of"]

_DIRECTIONS, _OVERSAMPLED, _POWERS = 200, 20, 4
"""The most directions of the mean, columns beyond them, and power iterations (Halko, Martinsson & Tropp
2011): chosen by hand."""
_FAINTEST = 1e-6
"""Smallest variance of a direction, over the largest: chosen by hand."""
_LEAST = 1e-12
"""Smallest t, so that nothing is divided by zero."""
_UPDATES = 3  # of the mean's own diagonal, which the pairs lack; chosen by hand
_SPREADS = (0.0, *np.geomspace(1e-4, 30, 40).tolist())
"""Values of ν that are tried: chosen by hand."""


class _Centred(NamedTuple):
    """The matrix G − v₁ wᵀ, which is never formed.

    Attributes:
        table: G, sparse or dense, shape (n, n_values).
        along: v₁, shape (n,).
        part: w = Gᵀ v₂, shape (n_values,).
    """

    table: Any
    along: Floats
    part: Floats

    @classmethod
    def of(cls, table: Any, along: Floats, across: Floats) -> Self:
        """Return (I − v₁ v₂ᵀ) G."""
        return cls(table, along, np.asarray(table.T @ across))

    def times(self, block: Floats) -> Floats:
        return np.asarray(self.table @ block - np.outer(self.along, self.part @ block))

    def transposed(self, block: Floats) -> Floats:
        return np.asarray(self.table.T @ block - np.outer(self.part, self.along @ block))

    def row_squares(self) -> Floats:
        """Return the diagonal of G̃ G̃ᵀ, shape (n,)."""
        squares = self.table.multiply(self.table).sum(axis=1)
        cross = self.along * np.asarray(self.table @ self.part)
        return np.asarray(squares - 2 * cross + self.along**2 * (self.part @ self.part))

    def alike(self, other: Self) -> float:
        """Return ‖G̃ᵀ H̃‖², from the sparse GᵀH: G̃ᵀ H̃ = GᵀH − a wᵀ − u (b − |v₁|² w)ᵀ."""
        shared = self.table.T @ other.table
        mine, theirs = self.table.T @ self.along, other.table.T @ other.along
        theirs = theirs - (self.along @ self.along) * other.part
        first, second = mine @ (shared @ other.part), self.part @ (shared @ theirs)
        total = shared.multiply(shared).sum() - 2 * (first + second)
        total += (mine @ mine) * (other.part @ other.part) + (self.part @ self.part) * (theirs @ theirs)
        return float(total + 2 * (mine @ self.part) * (other.part @ theirs))

    def seen_in(self, pairs: Floats32) -> float:
        """Return tr(G̃ᵀ Z G̃) of symmetric pairs Z."""
        across = pairs @ self.along.astype(np.float32)
        values = sparse.csr_array(self.table.T)
        total = values.multiply(values.astype(np.float32) @ pairs).sum()
        cross = np.asarray(self.table.T @ across) @ self.part
        return float(total - 2 * cross + (self.along @ across) * (self.part @ self.part))


def tables_of(prior: ItemPrior, weights: Floats, variance: Floats, items: Ints) -> list[Any]:
    """Return all that is publicly known of how some items go together, one sparse matrix for each kind.

    Args:
        prior: features, and factors of others' interactions, which get the weights of these.
        weights: d of each item of the catalogue, shape (n_items,).
        variance: t of each, shape (n_items,).
        items: the items, shape (n,).
    """
    tables = [table[items] for table in prior.tables]
    if prior.pairs.size:
        scale = weights[items] / np.sqrt(np.maximum(variance[items], _LEAST))
        tables.append(sparse.csr_array(scale[:, None] * prior.pairs[items]))
    return tables


class ExpectedFactors(NamedTuple):
    """Whitened factors that features let expect, and the space of all that features can explain.

    Attributes:
        factors: N, columns in the order of their size, shape (n, any); none if the pairs do not show the
            features.
        basis: Q, orthonormal: the leading directions of the features' mean, shape (n, n_directions).
        loads: Q = G̃ loads with G̃ of all groups, shape (n_values, n_directions).
    """

    factors: Floats
    basis: Floats
    loads: Floats

    def by_value(self, rows: Floats) -> Floats:
        """Return B of the values: G̃ B is the part of the rows of items that features explain.

        Args:
            rows: whitened, shape (n, any).

        Returns:
            Shape (n_values, any).
        """
        return np.asarray(self.loads @ (self.basis.T @ rows), dtype=np.float64)


def feature_factors(
    pairs: Floats32, tables: Sequence[Any], variance: Floats, scale: Floats, direction: Floats
) -> ExpectedFactors:
    """Find factors N of the items with N Nᵀ the expected pairs, given what the pairs say.

    Args:
        pairs: whitened, with a zero diagonal, shape (n, n).
        tables: which items have which values, one sparse matrix for each group, shape (n, any).
        variance: t of each item, shape (n,).
        scale: r, by whose roots the rows and columns of the pairs were divided, shape (n,).
        direction: v, of length 1, shape (n,).
    """
    n_values = sum(table.shape[1] for table in tables)
    nothing = ExpectedFactors(*(np.zeros((size, 0)) for size in (len(variance), len(variance), n_values)))
    if not tables:
        return nothing
    root = np.sqrt(scale)
    weights = sparse.diags_array(np.sqrt(variance) / root)
    along, across = direction / root, direction * root
    groups = [_Centred.of(sparse.csr_array(weights @ table), along, across) for table in tables]
    coefficients = _coefficients(groups, pairs)
    if not coefficients.any():
        return nothing
    shown = [group.table * math.sqrt(c) for group, c in zip(groups, coefficients, strict=True) if c > 0]
    mean = _Centred.of(sparse.csr_array(sparse.hstack(shown)), along, across)
    basis, values, axes = _directions(mean)
    sizes = np.repeat(np.sqrt(coefficients), [group.table.shape[1] for group in groups])
    loads = np.zeros((n_values, len(values)))
    loads[sizes > 0] = sizes[sizes > 0, None] * axes / np.sqrt(values)
    return ExpectedFactors(_moved(pairs, basis, values), basis, loads)


def _coefficients(groups: Sequence[_Centred], pairs: Floats32) -> Floats:
    """Fit c ≥ 0 to the pairs off the diagonal; each shrinks by its variance, so that noise alone gives 0."""
    diagonals = [group.row_squares() for group in groups]
    normal = np.array([[one.alike(other) for other in groups] for one in groups])
    normal -= np.array([[one @ other for other in diagonals] for one in diagonals])
    moment = np.array([group.seen_in(pairs) for group in groups])
    normal += 1e-9 * max(np.trace(normal), 1e-30) * np.eye(len(groups))
    root = np.linalg.cholesky(normal).T
    fitted, _ = nnls(root, np.linalg.solve(root.T, moment))
    active = fitted > 0
    if active.any():
        variances = 2 * np.diag(np.linalg.inv(normal[np.ix_(active, active)]))
        fitted[active] *= np.maximum(0, 1 - variances / fitted[active] ** 2)
    return np.asarray(fitted, dtype=np.float64)


def _directions(mean: _Centred) -> tuple[Floats, Floats, Floats]:
    """Return Q, S² and V of the leading part Q S Vᵀ of G̃, shapes (n, k), (k,) and (n_values, k)."""
    n, n_values = mean.table.shape
    most = min(_DIRECTIONS, n - 1, n_values)
    width = min(most + _OVERSAMPLED, n_values)
    block = np.cos(np.outer(np.arange(n_values), np.arange(1, width + 1)) * 0.7390851332151607)
    for _ in range(_POWERS):
        block, _ = np.linalg.qr(mean.times(block))
        block, _ = np.linalg.qr(mean.transposed(block))
    basis, _ = np.linalg.qr(mean.times(block))
    turned, sizes, axes = np.linalg.svd(mean.transposed(basis).T, full_matrices=False)
    values = sizes[:most] ** 2
    kept = values > _FAINTEST * max(values.max(initial=0.0), 1e-30)
    return np.asarray(basis @ turned[:, :most])[:, kept], values[kept], axes[:most][kept].T


def _moved(pairs: Floats32, basis: Floats, values: Floats) -> Floats:
    """Move the mean Q κ Qᵀ towards the pairs, direction by direction.

    Qᵀ (Z + its missing diagonal) Q − diag κ has entries N(0, ν κ_j κ_k + 1), twice as much on the diagonal. ν
    is the most likely one; the rest is a posterior mean.
    """
    seen = basis.T @ (pairs @ basis.astype(np.float32)).astype(np.float64)
    products, double = np.outer(values, values), 1 + np.eye(len(values))
    above = np.triu_indices(len(values))
    factors = basis * np.sqrt(values)
    for _ in range(_UPDATES):
        diagonal = (factors**2).sum(axis=1)
        deviation = seen + (basis * diagonal[:, None]).T @ basis - np.diag(values)

        def surprise(spread: float, squares: Floats = deviation**2) -> float:
            variance = (spread * products + 1) * double
            return float((np.log(variance) + squares / variance)[above].sum())

        spread = min(_SPREADS, key=surprise)
        moved = np.diag(values) + deviation * spread * products / (spread * products + 1)
        sizes, turned = np.linalg.eigh((moved + moved.T) / 2)
        positive = sizes > 0
        factors = (basis @ (turned[:, positive] * np.sqrt(sizes[positive])))[:, ::-1]
    return np.asarray(factors, dtype=np.float64)
