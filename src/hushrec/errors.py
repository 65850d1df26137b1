"""The errors that hushrec raises on purpose. Messages name the fix and never contain a private value.

::

    HushrecError
    ├── DomainError            the public declaration is wrong
    ├── ConfigError            a model's settings are wrong
    ├── DataError              a file cannot be read as ratings (file, row, fix; never a cell)
    │   ├── RecordsDropped     too much was dropped, changed or not used to spend a budget on the rest
    │   └── UsersExceeded      more than twice as many users as declared, so δ is not chosen for them
    ├── BudgetError
    │   ├── BudgetExceeded     the ledger has less left than the plan costs
    │   ├── WeakBudget         the plan's ε is too weak to promise much
    │   ├── ChargeUnpublished  a charge was made, no release was published under it, and a new one costs more
    │   ├── ShareExceeded      the plan leaves less than equal shares for the releases that are still planned
    │   └── BudgetUnsupported  the model offers no guarantee for that unit, adjacency or noise
    ├── LedgerError
    │   ├── LedgerMissing      the ledger does not exist, or was lost
    │   ├── LedgerDamaged      unreadable, altered, of unknown schema
    │   └── LedgerStale        older than a release or charge that it paid for
    ├── SumsError              what a fit measured cannot be kept, or is gone
    ├── ExtraMissing           a bare install lacks what this needs
    ├── MemoryExceeded         this machine has too little memory for the fit
    ├── SamplerError           noise cannot be drawn exactly on this machine
    ├── GrantError             a measurement was not booked, or was already made
    └── ReleaseError           a release file cannot be trusted

``LedgerWarning`` is a warning: nothing is refused.
"""

from hushrec.text import above, below, escaped


class HushrecError(Exception):
    """Base class of all errors that hushrec raises on purpose. Prints as one line, ids and names escaped."""

    def __str__(self) -> str:
        return escaped(super().__str__())


class DomainError(HushrecError, ValueError):
    """The public declaration (catalogue, scale, cap, users) is wrong."""


class ConfigError(HushrecError, ValueError):
    """A model's settings are wrong."""


class DataError(HushrecError, ValueError):
    """A file or table cannot be read as ratings. Names file, row and fix, never a cell's value."""


class RecordsDropped(DataError):
    """More than a tenth of the records were dropped or changed, ratings are not used, or no user is left.

    Nothing is charged.
    """


class UsersExceeded(DataError):
    """There are more than twice as many users as the domain declares; nothing is charged."""


class BudgetError(HushrecError, ValueError):
    """A budget cannot be used as requested."""


class BudgetExceeded(BudgetError):
    """The ledger has less left than a plan costs.

    Attributes:
        requested: ε that the population would have spent in total after this charge, at the ledger's δ.
        remaining: ε of the largest release that is left, at the ledger's δ.
        unit: the privacy unit that the ledger protects.
        started: whether the ledger exists; if not, ``remaining`` is the budget that a new one would have.
    """

    def __init__(
        self, requested: float, remaining: float, unit: str, *, started: bool = True, why: str = ""
    ) -> None:
        total = f"this charge would bring the total to ε = {above(requested)} per {unit}, but what is left "
        total += (
            f"allows a release of ε = {below(remaining)}{' (' * bool(why)}{why}{')' * bool(why)}; lower the "
        )
        total += "plan's budget, or let the ledger's owner raise the total (hushrec ledger extend)"
        alone = f"this release costs ε = {above(requested)} per {unit}, more than the budget of "
        alone += f"ε = {below(remaining)}; choose settings that cost less, or a larger budget"
        super().__init__(total if started else alone)
        self.requested, self.remaining, self.unit = requested, remaining, unit


class ChargeUnpublished(BudgetError):
    """A charge was made under which no release was published; a new charge would cost more."""


class ShareExceeded(BudgetError):
    """A charge would leave less than equal shares for the releases that are still planned."""


class WeakBudget(BudgetError):
    """A charge would cost an ε that its own statement calls too weak to promise much; nothing is charged."""


class BudgetUnsupported(BudgetError):
    """The model offers no guarantee for that unit, adjacency or noise."""


class LedgerError(HushrecError, RuntimeError):
    """The ledger is not reliable, so nothing is released."""


class LedgerMissing(LedgerError):
    """The ledger does not exist, or a release names a ledger that is gone."""


class LedgerDamaged(LedgerError):
    """The ledger is unreadable, altered, or of an unknown schema."""


class LedgerStale(LedgerError):
    """The ledger is older than a release or charge that it paid for, as after a backup was restored."""


class LedgerWarning(UserWarning):
    """A file next to a ledger needs its owner's attention; nothing is refused."""


class SumsError(HushrecError, RuntimeError):
    """What a fit measured cannot be kept on disk, or what the ledger recorded of it is gone."""


class ExtraMissing(HushrecError, ImportError):
    """A bare install lacks the packages that this needs. The message names the extra that brings them."""


CURATOR = frozenset(
    {
        "arviz_stats",
        "cryptography",
        "duckdb",
        "numba",
        "platformdirs",
        "psutil",
        "pyarrow",
        "pydantic",
        "rich",
        "scipy",
        "typer",
    }
)
"""The packages of the extra, by the names under which they are imported."""


def require_curator(name: str, error: ModuleNotFoundError) -> None:
    """Say which install brings a package that an import did not find.

    Args:
        name: the name that needs it, such as ``hushrec.fit``.
        error: of the import.
    """
    if (error.name or "").partition(".")[0] in CURATOR:
        raise ExtraMissing(f"{name} needs what makes releases: pip install 'hushrec[curator]'") from None


class MemoryExceeded(HushrecError, MemoryError):
    """This machine has too little memory for a fit. Raised before the charge unless a note says otherwise."""


class SamplerError(HushrecError, RuntimeError):
    """The requested noise cannot be drawn exactly on this machine, so nothing is released."""


class GrantError(HushrecError, RuntimeError):
    """A measurement was not booked, exceeds what was booked, or was already made."""


class ReleaseError(HushrecError, ValueError):
    """A release file is malformed, altered, or cannot be trusted for another reason."""
