"""A private sum as both a plan and a fit know it: its name, its grid, how far a neighbour moves it."""

from dataclasses import dataclass

import numpy as np

from hushrec.arrays import Ints
from hushrec.privacy.bounded import Bounded, Noisy
from hushrec.privacy.mechanisms import Grant
from hushrec.statistics.sensitivity import Norm


@dataclass(frozen=True, slots=True)
class Query:
    """A sum of bounded contributions, described without looking at any.

    Args:
        name: the measurement's name.
        sensitivity: Δ in the quantity's own units; 0 where neighbouring data agree on the sum, which is then
            published as it is.
        norm: ``l2`` for Gaussian, ``l1`` for Laplace noise.
        step: width of the grid.
        size: number of entries.
        claimed: Δ as a paper prints it, where that differs.
        spherical: whether a paper adds noise ∝ exp(−‖b‖₂/s) to rows, each s calibrated so that its claim is
            the query's share of ε; ``sensitivity`` is then the true loss in units of the claimed one,
            infinite where no bound is known.

    Privacy: public.
    """

    name: str
    sensitivity: float
    norm: Norm
    step: float
    size: int
    claimed: float | None = None
    spherical: bool = False

    @property
    def printed(self) -> float:
        """Δ as the published analysis has it."""
        return self.sensitivity if self.claimed is None else self.claimed

    @property
    def agreed(self) -> bool:
        """Whether all neighbouring data agree on the sum, so that it is public under this adjacency."""
        return self.sensitivity == 0

    def bounded(self, values: Ints) -> Bounded:
        """The measured sum under this description.

        Privacy: bounded (``norm`` ≤ ``sensitivity``).
        """
        return Bounded(self.name, values, self.sensitivity, self.norm, self.step)

    def release(self, grant: Grant, values: Ints) -> Noisy:
        """Publish a measured sum: through the grant, or as it is where neighbouring data agree on it.

        Privacy: charged (the event booked under ``name``); public where ``agreed``.
        """
        if self.agreed:
            return Noisy(self.name, values.astype(np.float64) * self.step, 0.0, self.step, None)
        return grant.release(self.bounded(values))
