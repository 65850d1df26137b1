"""The measurements before any noise: a few types of query.

A query is described without looking at data. Calibration turns its part of a budget into an event
(``allocation``); ``measure`` sends its values through the grant that was charged for that event.
"""

from collections.abc import Callable
from dataclasses import dataclass
from typing import Any, Generic, Literal, Protocol, TypeVar

import numpy as np

from hushrec.arrays import Ints
from hushrec.kernels.csr import CSR
from hushrec.privacy.bounded import Bounded, BoundedMatrix, Noisy, NoisyMatrix, Norm, in_own_units
from hushrec.privacy.grant import Grant

Values = TypeVar("Values", contravariant=True)
Released = TypeVar("Released", covariant=True)
Drawn = TypeVar("Drawn")


class Query(Protocol[Values, Released]):
    """A plan's knowledge of a measurement, and the method of a grant that measures it.

    Attributes:
        name: the measurement's name, unique in its plan.
        sensitivity: Δ, in the quantity's own units.
        norm: ``l2`` for Gaussian, ``l1`` for Laplace noise; ``loss`` for a draw that costs its own ε.
        step: width of the grid.
        size: number of entries.
        is_exact: whether all neighbouring data have the same values, which are then public.
        branch: the branch of the plan that it belongs to; empty if it is always made.

    Privacy: public.
    """

    @property
    def name(self) -> str: ...
    @property
    def sensitivity(self) -> float: ...
    @property
    def norm(self) -> str: ...
    @property
    def step(self) -> float: ...
    @property
    def size(self) -> int: ...
    @property
    def rate(self) -> float: ...
    @property
    def is_exact(self) -> bool: ...
    @property
    def branch(self) -> str: ...

    def measure(self, grant: Grant, values: Values) -> Released:
        """Publish the values through the grant. Privacy: charged (the event booked under ``name``)."""
        ...

    def exact(self, values: Values) -> Released:
        """The same without noise. Privacy: private, unless ``is_exact``."""
        ...


@dataclass(frozen=True, slots=True)
class Sum:
    """A sum of bounded contributions, on an integer grid.

    Args:
        name: the measurement's name.
        sensitivity: Δ in the quantity's own units; 0 if neighbouring data always have the same sum, which is
            then published without noise.
        norm: ``l2`` for Gaussian, ``l1`` for Laplace noise.
        step: width of the grid.
        size: number of entries.
        rate: probability that a person is in the sample that is summed over; 1 if everyone is.
            ``sensitivity`` then bounds the contribution of one sampled person.
        branch: the branch of the plan that it belongs to; empty if it is always made.

    Privacy: public.
    """

    name: str
    sensitivity: float
    norm: Norm
    step: float
    size: int
    rate: float = 1.0
    branch: str = ""

    @property
    def is_exact(self) -> bool:
        """Whether all neighbouring data have the same sum, so that it is public under this adjacency."""
        return self.sensitivity == 0

    def bounded(self, values: Ints) -> Bounded:
        """The sum with this description. Privacy: bounded (``norm`` ≤ ``sensitivity``)."""
        return Bounded(self.name, values, self.sensitivity, self.norm, self.step)

    def measure(self, grant: Grant, values: Ints | Callable[[], Ints]) -> Noisy:
        """The sum plus the booked noise.

        Args:
            grant: the charged grant.
            values: the sum in grid steps, or a function that computes it and keeps nothing of it; not called
                if the grant's checkpoint has the released value already.

        Privacy: charged (the event booked under ``name``).
        """
        if (kept := grant.already_released(self.name)) is not None:
            return kept
        if callable(values):
            return grant.measure(self.bounded(values()), given_away=True)
        return grant.measure(self.bounded(values))

    def exact(self, values: Ints | Callable[[], Ints]) -> Noisy:
        """The sum in its own units. Privacy: private, unless ``is_exact``."""
        steps = values() if callable(values) else np.array(values, order="C")
        return Noisy(self.name, in_own_units(steps, self.step), 0.0, self.step, None)


@dataclass(frozen=True, slots=True)
class CellSum:
    """Every cell of a sparse matrix with its own Laplace noise; cells below a threshold are dropped.

    Args:
        name: the measurement's name.
        sensitivity: Δ₁ over all cells, in the cells' units.
        step: width of the grid.
        shape: rows and columns.
        threshold: smallest absolute value of a noisy cell that is kept, in steps, at least 1.
        limit: bound to which noisy cells are clamped, in steps, at least ``threshold``.

    Privacy: public.
    """

    name: str
    sensitivity: float
    step: float
    shape: tuple[int, int]
    threshold: int
    limit: int
    norm: Literal["l1"] = "l1"
    rate: float = 1.0
    is_exact: bool = False
    branch: str = ""

    @property
    def size(self) -> int:
        """Number of cells, including zeros."""
        return self.shape[0] * self.shape[1]

    def measure(self, grant: Grant, values: CSR) -> NoisyMatrix:
        """The noisy cells that reach the threshold. Privacy: charged (the event booked under ``name``)."""
        bounded = BoundedMatrix(self.name, self.shape, *values, self.sensitivity, "l1", self.step)
        return grant.measure_matrix(bounded, threshold=self.threshold, limit=self.limit)

    def exact(self, values: CSR) -> NoisyMatrix:
        """The stored cells, clamped, even if they are below the threshold. Privacy: private."""
        cells = np.clip(values.values, -self.limit, self.limit).astype(np.int32)
        rows = values.indptr.copy(), values.columns.copy(), cells
        return NoisyMatrix(self.name, self.shape, *rows, 0.0, self.step, None)


@dataclass(frozen=True, slots=True)
class Draw(Generic[Drawn]):
    """One draw from exp(−loss/T) times a public density, made from a key by the caller.

    Args:
        name: the measurement's name.
        sensitivity: the largest change of the log-density times T, see ``events.PosteriorSample``.
        step: width of the grid that the draw is published on.
        size: number of entries.

    Privacy: public.
    """

    name: str
    sensitivity: float
    step: float
    size: int
    norm: Literal["loss"] = "loss"
    rate: float = 1.0
    is_exact: bool = False
    branch: str = ""

    def measure(self, grant: Grant, values: Callable[[bytes], Drawn]) -> Drawn:
        """The draw, from a secret key. Privacy: charged (the event booked under ``name``)."""
        return values(grant.sample_key(self.name))

    def exact(self, values: Callable[[bytes], Drawn]) -> Drawn:
        """The draw, from a fixed, public key. Privacy: private."""
        return values(bytes(32))


AnyQuery = Query[Any, Any]
"""A query whose values are not read, as in a plan."""
