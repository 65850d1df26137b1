"""The run of a published form: the exact run, to whose values the paper's noise is added, seeded.

Noise is drawn by hushrec's sampler, from the keys of a seed. Whoever knows the seed can subtract it, so
nothing that is made here is private. This is the one module of the laboratory that draws.
"""

import functools
import math
from collections.abc import Callable, Mapping
from dataclasses import dataclass, replace
from fractions import Fraction
from typing import Any, Self, cast

import numpy as np

from hushrec.arrays import Bytes, Floats, Ints, Ints32
from hushrec.data.domain import Domain
from hushrec.kernels.csr import diagonal_positions
from hushrec.privacy.accounting import fixed_point
from hushrec.privacy.accounting.budget import Budget
from hushrec.privacy.accounting.events import Event, Gaussian
from hushrec.privacy.bounded import Noisy, NoisyMatrix, in_own_units
from hushrec.privacy.local.response import ResponseRandomizer
from hushrec.privacy.local.rows import Rows
from hushrec.privacy.local.substitution import SubstitutionRandomizer
from hushrec.privacy.noise import sampler
from hushrec.privacy.noise.entropy import Seeded
from hushrec.privacy.noise.threshold import reaching
from hushrec.privacy.query import AnyQuery, CellSum, Draw, Query
from hushrec.privacy.run import MEASURING, ExactRun, Released, Values
from hushrec.progress import advance
from lab.published.paper import Noise, PublishedModel
from lab.published.spherical import SphericalRows
from lab.published.square_sums import SquareSum

_FINE = 2.0**40
"""Width of the rounded noise from which real noise is made."""


@dataclass(frozen=True, kw_only=True)
class PaperRun(ExactRun):
    """The exact run with the noise of a paper.

    Args:
        printed: the noise of every query, by name.
        keys: of the noise, one after another.
    """

    printed: Mapping[str, Noise]
    keys: Seeded

    @classmethod
    def of(cls, form: PublishedModel, domain: Domain, budget: Budget, seed: int) -> Self:
        """The run of a form under a budget.

        Raises:
            BudgetUnsupported: The paper does not have this unit, adjacency or noise.
        """
        return cls(terms=budget, printed=form.printed(domain, budget), keys=Seeded(seed))

    def measure(self, query: Query[Values, Released], values: Values) -> Released:
        """The exact values with the paper's noise; those of an exact query as they are."""
        asked, given = cast(Any, query), cast(Any, values)
        return cast(Released, self._draw(given) if isinstance(asked, Draw) else self._noisy(asked, given))

    def noise(self, query: AnyQuery) -> float:
        """The paper's parameter."""
        return self.printed[query.name].noise

    def _draw(self, chains: Callable[[bytes], object]) -> object:
        drawn = chains(self.keys.key())
        advance(MEASURING)
        return drawn

    def _noisy(self, query: AnyQuery, values: Any) -> Noisy | NoisyMatrix:
        exact = super().measure(query, values)
        if query.is_exact:
            return cast(Noisy, exact)
        if isinstance(query, SphericalRows):
            return self._on_rows(exact, values[1])
        event = cast(Event, self.printed[query.name])
        if isinstance(query, CellSum):
            return self._on_cells(exact, query, event)
        if isinstance(query, SquareSum):
            return self._on_square(exact, event)
        return self._on(exact, event)

    def _on(self, exact: Noisy, event: Event) -> Noisy:
        steps = np.rint(exact.values / event.step).astype(np.int64, order="C")
        self._add(steps, event)
        return replace(exact, values=in_own_units(steps, event.step), sigma=event.deviation, event=event)

    def _on_square(self, exact: Noisy, event: Event) -> Noisy:
        """Noise on (i, j) and on (j, i), and then their mean; ``sigma`` is that of the mean."""
        upper, lower = self._on(exact, event), self._on(exact, event)
        mean = (upper.values + lower.values) / 2
        diagonal = diagonal_positions(math.isqrt(2 * mean.size))
        mean[diagonal] = upper.values[diagonal]
        return replace(upper, values=mean, sigma=event.deviation / math.sqrt(2))

    def _on_cells(self, exact: NoisyMatrix, query: CellSum, event: Event) -> NoisyMatrix:
        """Noise on every cell, of which those are listed that reach the threshold."""
        steps = exact.values.astype(np.int64)
        self._add(steps, event)
        indptr, columns, values = reaching(
            exact.shape,
            exact.indptr,
            exact.columns,
            steps,
            threshold=query.threshold,
            limit=query.limit,
            scale=_width(event),
            draw=functools.partial(sampler.count_draws, self.keys.key()),
        )
        return NoisyMatrix(
            query.name, exact.shape, indptr, columns, values, event.deviation, exact.step, event
        )

    def _on_rows(self, exact: Noisy, scales: Floats) -> Noisy:
        """Noise of density ∝ exp(−‖b‖₂/s); ``sigma`` is the root mean square of √(d + 1) · s."""
        rows = exact.values
        noise = scales[:, None] * unit_rows(rows.shape, self.keys.key(), self.keys.key())
        deviation = math.sqrt((rows.shape[1] + 1) * float(np.mean(scales**2)))
        return replace(exact, values=rows + noise, sigma=deviation)

    def _add(self, steps: Ints, event: Event) -> None:
        add = sampler.add_gaussian if isinstance(event, Gaussian) else sampler.add_laplace
        add(steps, _width(event), self.keys.key())


def unit_rows(shape: tuple[int, ...], direction: bytes, length: bytes) -> Floats:
    """Rows of density ∝ exp(−‖b‖₂): a uniform direction, and a norm of Gamma(d, 1); in floating point.

    Args:
        shape: (n, d).
        direction, length: keys of 32 bytes.
    """
    size = math.prod(shape)
    rows = sampler.rounded_gaussian(size, _FINE, direction).reshape(shape).astype(np.float64)
    norms = np.abs(sampler.rounded_laplace(size, _FINE, length)).reshape(shape).sum(axis=1) / _FINE
    rows *= (norms / np.maximum(np.sqrt((rows * rows).sum(axis=1)), 1.0))[:, None]
    return rows


def order(n_people: int, keys: Seeded) -> Ints:
    """A random permutation, in which rows are released."""
    return np.asarray(sampler.permutation(n_people, keys.key()))


def answers(
    rows: Rows, law: ResponseRandomizer | SubstitutionRandomizer, keys: Seeded
) -> tuple[Ints, Ints32, Bytes]:
    """Every row as its law answers it: indptr, columns and marks."""
    return law.draw(rows, lambda purpose: keys.key(), sampler.count_draws)


def _width(event: Event) -> float:
    """The noise in steps of the grid, as a grant has it."""
    return fixed_point.float_above(Fraction(event.noise) / Fraction(event.step))
