"""Noise on whole rows of a matrix, as Friedman, Berkovsky & Kaafar 2016 add it to solved vectors."""

from dataclasses import dataclass
from typing import Literal, NoReturn

from hushrec.arrays import Floats
from hushrec.errors import GrantError
from hushrec.privacy.bounded import Noisy


@dataclass(frozen=True, slots=True)
class SphericalRows:
    """Rows with noise of density ∝ exp(−‖b‖₂/s), s = Δ′/ε for the Δ′ that the paper claims for each row.

    It is counted in units of Δ′, so that s is 1/ε for all rows. Its values are the rows, shape (n, d), and
    the scale of each, shape (n,).

    Args:
        name: the measurement's name.
        loss: the true loss in units of the claimed one; infinite if no bound is known.
        size: number of entries.
    """

    name: str
    loss: float
    size: int
    step: float = 1.0
    norm: Literal["l2 rows"] = "l2 rows"
    rate: float = 1.0
    is_exact: bool = False
    branch: str = ""

    @property
    def sensitivity(self) -> float:
        """The true Δ in units of the claimed one."""
        return self.loss

    def measure(self, grant: object, values: tuple[Floats, Floats]) -> NoReturn:
        """Refuse: no grant draws this noise."""
        raise GrantError(f"{self.name}: no grant draws noise on rows; measure it on a PaperRun")

    def exact(self, values: tuple[Floats, Floats]) -> Noisy:
        """The rows without noise. Privacy: private."""
        return Noisy(self.name, values[0].copy(), 0.0, 0.0, None)
