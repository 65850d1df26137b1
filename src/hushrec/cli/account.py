"""The ledger that a command charges: one that is there, or with ``--new-ledger`` one that is started."""

from pathlib import Path
from typing import TYPE_CHECKING, Annotated

import typer

from hushrec.cli import console

if TYPE_CHECKING:
    from hushrec.privacy.accounting.plan import Plan
    from hushrec.privacy.ledger.ledger import Ledger

NewLedger = Annotated[
    bool,
    typer.Option(
        "--new-ledger",
        help="Start the ledger, with this release's budget as its whole total. Once for a population.",
    ),
]


def require(ledger: Path, planned: "Plan", new: bool) -> None:
    """Refuse before the ratings are read what would be refused after.

    Raises:
        LedgerError: There is no such ledger, or it cannot be relied on; or one cannot be started there.
        BudgetError: A new ledger could not pay for the plan.
    """
    from hushrec.curator.accounts import require_startable
    from hushrec.privacy.ledger.ledger import Ledger

    if new:
        require_startable(ledger, planned)
    else:
        Ledger.open(ledger)


def opened(ledger: Path, planned: "Plan", new: bool) -> "Ledger":
    """The ledger, started first if that was asked for; then one line says so."""
    from hushrec.curator.accounts import start
    from hushrec.privacy.ledger.ledger import Ledger

    if not new:
        return Ledger.open(ledger)
    made = start(ledger, planned)
    console.out().print(f"Started {ledger}: {made.total}, for one release", soft_wrap=True)
    return made
