"""Every error that hushrec raises on purpose. Messages name the fix and never hold a private value.

::

    HushrecError
    ├── DomainError            the public declaration is wrong
    ├── ConfigError            a model's settings are wrong
    ├── DataError              a file cannot be read as ratings (file, row, fix; never a cell)
    ├── DownloadError          a data set could not be had, or is not the one that was asked for
    ├── BudgetError
    │   ├── BudgetExceeded     the ledger has less left than was asked for
    │   └── BudgetUnsupported  this model offers no guarantee in that unit, adjacency or noise
    ├── LedgerError
    │   ├── LedgerMissing      there is no such ledger, or one that existed is gone
    │   ├── LedgerDamaged      unreadable, altered, of unknown schema
    │   └── LedgerStale        older than a release that names it
    ├── CheckpointError        a fit that cannot go on where it was stopped
    ├── MemoryExceeded         a fit that this machine has too little memory for
    ├── SamplerError           noise that cannot be drawn exactly here
    ├── GrantError             a measurement that was not booked, or was booked and is used again
    └── ReleaseError           an artefact that cannot be trusted

``LedgerWarning`` is a warning: it refuses nothing.
"""

from hushrec.escapes import escaped
from hushrec.figures import above, below


class HushrecError(Exception):
    """Root of all errors that hushrec raises on purpose. Shown as one line, whatever ids and names hold."""

    def __str__(self) -> str:
        return escaped(super().__str__())


class DomainError(HushrecError, ValueError):
    """The public declaration (catalogue, scale, cap, users) is wrong."""


class ConfigError(HushrecError, ValueError):
    """A model's settings are wrong."""


class DataError(HushrecError, ValueError):
    """A file or table cannot be read as ratings. Names file, row and fix; never a cell's value."""


class DownloadError(HushrecError, OSError):
    """A data set could not be fetched, or its SHA-256 is not the published one."""


class BudgetError(HushrecError, ValueError):
    """A budget cannot be used as asked."""


class BudgetExceeded(BudgetError):
    """The ledger has less left than a plan asks for.

    Attributes:
        requested: ε that the population would have spent after this charge, at the ledger's δ.
        remaining: ε that is still unspent, at the ledger's δ.
        unit: the privacy unit that the ledger protects.
        started: whether there is a ledger, and not only the budget that a new one would have.
    """

    def __init__(self, requested: float, remaining: float, unit: str, *, started: bool = True) -> None:
        total = f"this charge would bring the total to ε = {above(requested)} per {unit}, but only "
        total += (
            f"ε = {below(remaining)} of the ledger's total is unspent; lower the plan's budget, or let the "
        )
        total += "ledger's owner decide on a larger total (hushrec ledger extend)"
        alone = f"this release costs ε = {above(requested)} per {unit}, more than the budget of "
        alone += (
            f"ε = {below(remaining)}; choose settings that cost less, or a larger budget (for a published "
        )
        alone += "analysis, start a ledger that can pay its true cost: hushrec ledger create)"
        super().__init__(total if started else alone)
        self.requested, self.remaining, self.unit = requested, remaining, unit


class BudgetUnsupported(BudgetError):
    """The model states no guarantee in that unit, adjacency or noise."""


class LedgerError(HushrecError, RuntimeError):
    """The ledger cannot be relied on, so nothing is released."""


class LedgerMissing(LedgerError):
    """There is no ledger of this name, or one that a release names no longer exists."""


class LedgerDamaged(LedgerError):
    """The ledger is unreadable, altered, or of an unknown schema."""


class LedgerStale(LedgerError):
    """The ledger is older than a release that names it: a backup was restored, say."""


class LedgerWarning(UserWarning):
    """Something beside a ledger that its owner should look at; nothing is refused."""


class CheckpointError(HushrecError, RuntimeError):
    """A checkpoint is in use, damaged, or belongs to another fit, so nothing goes on from it."""


class MemoryExceeded(HushrecError, MemoryError):
    """This machine has too little memory for a fit: before its charge or, where a note says so, after it."""


class SamplerError(HushrecError, RuntimeError):
    """The noise that was asked for cannot be drawn exactly on this machine, so nothing is released."""


class GrantError(HushrecError, RuntimeError):
    """A measurement was not booked, exceeds what was booked, or was already made."""


class ReleaseError(HushrecError, ValueError):
    """A release file is malformed, altered, or otherwise not to be trusted."""
