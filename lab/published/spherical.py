"""Noise on whole rows of a matrix, as Friedman, Berkovsky & Kaafar 2016 add it to solved vectors."""

from dataclasses import dataclass
from typing import Literal

from hushrec.arrays import Floats
from hushrec.privacy.accounting.events import Event, Spherical
from hushrec.privacy.bounded import Noisy
from hushrec.privacy.grant import Grant

_STEP = 2.0**-20


@dataclass(frozen=True, slots=True)
class SphericalRows:
    """Rows with noise of density ∝ exp(−‖b‖₂/s), s = Δ′/ε for the Δ′ that the paper claims for each row.

    The plan counts in units of Δ′, so that s is 1/ε for all of them. The noise is drawn in floating point, so
    only seeded experiments may use it.

    Args:
        name: the measurement's name.
        loss: the true loss in units of the claimed one; infinite if no bound is known.
        size: number of entries.

    Privacy: public.
    """

    name: str
    loss: float
    size: int
    step: float = _STEP
    norm: Literal["l2 rows"] = "l2 rows"
    rate: float = 1.0
    is_exact: bool = False

    @property
    def sensitivity(self) -> float:
        """The true Δ in units of the claimed one."""
        return self.loss

    def event(self, epsilon: float) -> Event:
        """The event of a claimed ε."""
        return Spherical(self.name, self.loss, 1 / epsilon, self.step, self.size)

    def release(self, grant: Grant, values: tuple[Floats, Floats]) -> Noisy:
        """The rows, shape (n, d), with noise of the given scales, shape (n,).

        Privacy: charged (the event booked under ``name``), and not private, as its grant says.
        """
        return grant.release_rows(self.name, *values)

    def exact(self, values: tuple[Floats, Floats]) -> Noisy:
        """The rows without noise. Privacy: private."""
        return Noisy(self.name, values[0].copy(), 0.0, 0.0, None)
