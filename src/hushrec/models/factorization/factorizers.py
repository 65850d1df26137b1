"""Factorisers that add no noise: for baselines, and for ratings that are already noisy."""

from dataclasses import dataclass
from typing import NamedTuple, Self

import numpy as np

from hushrec.arrays import Floats, Floats32, Ints, Ints32
from hushrec.estimation.factor_steps import normal_factors
from hushrec.kernels.csr import CSR
from hushrec.kernels.transpose import transpose
from hushrec.models.factorization import descent
from hushrec.models.factorization.kernels.least_squares import solve_rows
from hushrec.models.factorization.kernels.visits import descend
from hushrec.progress import steps

THREADS = 2
"""The default of all kernels; results do not depend on it."""


@dataclass(frozen=True, slots=True, eq=False, repr=False)
class Sparse:
    """Ratings in compressed rows, as input of a factoriser.

    Attributes:
        indptr: where each row starts, shape (n_rows + 1,).
        columns: column of each rating.
        values: value of each rating, in rating units.
        weights: weight of each rating; None for equal weights.

    Privacy: private, or post-processing if the ratings are already noisy; not shown in repr.
    """

    indptr: Ints
    columns: Ints32
    values: Floats32
    n_columns: int
    weights: Floats32 | None = None

    @classmethod
    def of(cls, entries: CSR, n_items: int, step: float) -> Self:
        """Convert residuals from grid steps to rating units. Privacy: as the residuals."""
        return cls(entries.indptr, entries.columns, (entries.values * step).astype(np.float32), n_items)

    @property
    def counts(self) -> Ints:
        """Number of ratings in each row."""
        return np.diff(self.indptr)

    def with_values(self, values: Floats | Floats32) -> "Sparse":
        return Sparse(
            self.indptr, self.columns, values.astype(np.float32, copy=False), self.n_columns, self.weights
        )

    def less(self, column_effects: Floats32) -> "Sparse":
        """Subtract the column effects."""
        return self.with_values(self.values - column_effects[self.columns])

    def transposed(self) -> "Sparse":
        indptr, rows, order = transpose(self.indptr, self.columns, self.n_columns, threads=THREADS)
        weights = None if self.weights is None else self.weights[order]
        return Sparse(indptr, rows, self.values[order], len(self.indptr) - 1, weights)

    def descend(
        self, rows: Floats, columns: Floats, rate: float, reg: float, limit: float
    ) -> tuple[Floats, Floats]:
        """Make one pass of stochastic gradient descent with errors clamped to ±limit; return new factors."""
        changed = rows.astype(np.float32), columns.astype(np.float32)
        row_reg, column_reg = (np.full(len(side), reg, dtype=np.float32) for side in changed)
        order = np.arange(len(rows), dtype=np.int32)
        ratings = self.indptr, self.columns, self.values
        descend(*ratings, order, *changed, None, None, row_reg, column_reg, rate, limit)
        return changed[0].astype(np.float64), changed[1].astype(np.float64)

    def solve(self, others: Floats, reg: Floats) -> Floats:
        """Solve each row's ridge regression on the others' factors, shape (n_rows, rank)."""
        out = np.zeros((len(self.indptr) - 1, others.shape[1]), dtype=np.float32)
        ratings = self.indptr, self.columns, self.values
        solve_rows(*ratings, others.astype(np.float32), reg, out, weights=self.weights, threads=THREADS)
        return out.astype(np.float64)


class Factors(NamedTuple):
    """The result of a factoriser: a rating is row effect + column effect + row factors · column factors.

    Attributes:
        rows, columns: factors, shapes (n_rows, rank) and (n_columns, rank).
        row_effects, column_effects: shapes (n_rows,) and (n_columns,).

    Privacy: private, or post-processing if the ratings are already noisy.
    """

    rows: Floats
    columns: Floats
    row_effects: Floats
    column_effects: Floats

    @classmethod
    def of(cls, factored: descent.Factored) -> Self:
        """Convert to double precision, with effects of 0 if there are none."""
        effects = factored.person_effects, factored.item_effects
        sides = zip((factored.people, factored.items), effects, strict=True)
        biases = (effect if len(effect) else np.zeros(len(side)) for side, effect in sides)
        parts = (factored.people, factored.items, *biases)
        return cls(*(part.astype(np.float64) for part in parts))

    def times(self, star: float) -> "Factors":
        """Scale the factors to ratings ``star`` times as large."""
        return Factors(self.rows * star, self.columns, self.row_effects * star, self.column_effects * star)


def least_squares(
    ratings: Sparse,
    rank: int,
    epochs: int,
    *,
    reg: float,
    power: float,
    row_scale: float = 0.0,
    column_scale: float = 0.0,
) -> Factors:
    """Run alternating least squares with weighted-λ-regularisation (Zhou et al. 2008, §3), and effects.

    Minimises Σ (v − a_r − b_c − p_r·q_c)² + Σ_r λ n_r^γ (‖p_r‖² + a_r²/s_r²) + the same for columns. An
    effect is the coefficient of one further factor whose value is the constant s.

    Args:
        rank: number of factors in addition to the effects.
        epochs: number of times that each side is solved.
        reg: λ.
        power: γ, the power of the number of ratings.
        row_scale, column_scale: s; a larger s penalises effects less; 0 for no effects.

    Privacy: private in, private out; post-processing if the ratings are already noisy.
    """
    by_row, by_column = ratings, ratings.transposed()
    columns = normal_factors(ratings.n_columns, rank) * 0.3
    row_effects, column_effects = np.zeros(len(by_row.counts)), np.zeros(ratings.n_columns)
    rows = np.zeros((len(row_effects), rank))
    # With a power of 1, λ n of eqs. 12 and 13 in Friedman, Berkovsky & Kaafar 2016, which _side solves.
    row_reg, column_reg = (reg * np.maximum(side.counts, 1.0) ** power for side in (by_row, by_column))
    for _ in steps("solving", range(epochs)):
        rows, row_effects = _side(by_row, columns, column_effects, row_reg, row_scale)
        columns, column_effects = _side(by_column, rows, row_effects, column_reg, column_scale)
    return Factors(rows, columns, row_effects, column_effects)


def _side(
    ratings: Sparse, others: Floats, other_effects: Floats, reg: Floats, scale: float
) -> tuple[Floats, Floats]:
    residuals = ratings.less(other_effects.astype(np.float32))
    constant = np.full((len(others), 1 if scale else 0), scale)
    solution = residuals.solve(np.hstack([others, constant]), reg)
    rank = others.shape[1]
    effects = solution[:, rank] * scale if scale else np.zeros(len(solution))
    return solution[:, :rank], effects


def gradient_descent(
    ratings: Sparse,
    rank: int,
    epochs: int,
    *,
    rate: float,
    reg: float,
    power: float = 0.0,
    effects: bool = False,
    decay: float = 1.0,
) -> Factors:
    """Run stochastic gradient descent (Koren, Bell & Volinsky 2009, eq. 4), row by row.

    Args:
        epochs: passes over the ratings.
        rate: γ, the learning rate of the first pass.
        reg: λ, the penalty weight in every update.
        power: scales the penalty to λ n^power/mean of n^power over the ratings.
        effects: whether rows and columns have effects.
        decay: factor of the learning rate from one pass to the next.

    Privacy: private in, private out; post-processing if the ratings are already noisy.
    """
    all_rows = slice(0, len(ratings.counts))
    batch = all_rows, CSR(ratings.indptr, ratings.columns, ratings.values)
    counts = np.bincount(ratings.columns, minlength=ratings.n_columns)
    factored = descent.gradient_descent(
        descent.DescentData(lambda: iter([batch]), ratings.counts, counts),
        rank,
        rates=descent.epoch_values(rate, decay, epochs),
        regs=[reg] * epochs,
        power=power,
        effects=effects,
    )
    return Factors.of(factored)
