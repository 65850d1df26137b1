"""A private sum as plans and fits see it: its name, its grid, and its sensitivity."""

from collections.abc import Callable
from dataclasses import dataclass

import numpy as np

from hushrec.arrays import Ints
from hushrec.privacy.bounded import Bounded, Noisy
from hushrec.privacy.grant import Grant
from hushrec.statistics.sensitivity import Norm


@dataclass(frozen=True, slots=True)
class Query:
    """A sum of bounded contributions, described without looking at data.

    Args:
        name: the measurement's name.
        sensitivity: Δ in the quantity's own units; 0 if neighbouring data always have the same sum, which is
            then published without noise.
        norm: ``l2`` for Gaussian, ``l1`` for Laplace noise.
        step: width of the grid.
        size: number of entries.
        claimed: Δ as a paper prints it, if different.
        spherical: whether a paper adds noise ∝ exp(−‖b‖₂/s) to rows, each s calibrated so that its claim is
            the query's share of ε; ``sensitivity`` is then the true loss in units of the claimed one,
            infinite if no bound is known.
        rate: probability that a person is in the sample that is summed over, drawn by ``grant.sample``;
            1 if everyone is. ``sensitivity`` then bounds the contribution of one sampled person.
        posterior: whether this is not a sum but a draw from exp(−loss/T); ``sensitivity`` is then the largest
            change of the log-density times T, see ``PosteriorSample``, and ``grant.sample_key`` its release.

    Privacy: public.
    """

    name: str
    sensitivity: float
    norm: Norm
    step: float
    size: int
    claimed: float | None = None
    spherical: bool = False
    rate: float = 1.0
    posterior: bool = False

    @property
    def printed(self) -> float:
        """Δ according to the published analysis."""
        return self.sensitivity if self.claimed is None else self.claimed

    @property
    def is_exact(self) -> bool:
        """Whether all neighbouring data have the same sum, so that it is public under this adjacency."""
        return self.sensitivity == 0

    def bounded(self, values: Ints) -> Bounded:
        """The measured sum with this description.

        Privacy: bounded (``norm`` ≤ ``sensitivity``).
        """
        return Bounded(self.name, values, self.sensitivity, self.norm, self.step)

    def release(self, grant: Grant, values: Ints | Callable[[], Ints]) -> Noisy:
        """Publish a measured sum: through the grant, or without noise if neighbouring data have the same sum.

        Args:
            grant: the charged grant.
            values: the sum in grid steps, or a function that computes it; not called if the grant's
                checkpoint has the released value already.

        Privacy: charged (the event booked under ``name``); public where ``is_exact``.
        """
        if not self.is_exact and (kept := grant.already_released(self.name)) is not None:
            return kept
        sums = values() if callable(values) else values
        if self.is_exact:
            return Noisy(self.name, sums.astype(np.float64) * self.step, 0.0, self.step, None)
        return grant.release(self.bounded(sums))
