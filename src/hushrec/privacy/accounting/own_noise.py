"""The event of noise that its author draws as they like: nobody knows what it costs."""

from dataclasses import dataclass
from typing import ClassVar

from hushrec.errors import BudgetError
from hushrec.privacy.accounting.accountant import Spent
from hushrec.privacy.accounting.events import Calibrated


@dataclass(frozen=True, slots=True)
class Unpriced(Calibrated):
    """Noise of a researcher's own, for seeded experiments. It has no ε, so no ledger that is kept accepts it.

    ``sensitivity`` is infinite, and ``noise`` the standard deviation that its author declares.
    """

    mechanism: ClassVar[str] = "own noise"
    norm: ClassVar[str] = "own"
    symbol: ClassVar[str] = "σ"
    doors: ClassVar[tuple[str, ...]] = ("sample_key",)
    only_seeded: ClassVar[str] = (
        "no ε is known for noise of one's own; use a Sum of hushrec.privacy.query, whose noise is priced"
    )

    def __post_init__(self) -> None:
        self._check_numbers(1.0)

    def spent(self) -> Spent:
        """No finite ε is known."""
        return Spent(unbounded=1)

    def scaled(self, weight: object) -> "Unpriced":
        """As personal weights ask."""
        raise BudgetError(f"{self.name}: noise of one's own has no ε that users could choose; drop epsilon")
