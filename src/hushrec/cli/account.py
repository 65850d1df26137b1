"""The ledger that a command charges: an existing one, or a new one with ``--new-ledger``."""

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
        help="Create the ledger, with this release's budget as its total. Once per population.",
    ),
]


def require(ledger: Path, planned: "Plan", new: bool) -> None:
    """Refuse before the ratings are read what would be refused afterwards.

    Raises:
        LedgerError: The ledger does not exist or cannot be trusted, or a new one cannot be created there.
        BudgetError: A new ledger could not pay for the plan.
    """
    from hushrec.curator.accounts import require_startable
    from hushrec.privacy.ledger.ledger import Ledger

    if new:
        require_startable(ledger, planned)
    else:
        Ledger.open(ledger)


def opened(ledger: Path, planned: "Plan", new: bool) -> "Ledger":
    """The ledger; a new one is created first, and one line says so."""
    from hushrec.curator.accounts import start
    from hushrec.privacy.ledger.ledger import Ledger

    if not new:
        return Ledger.open(ledger)
    made = start(ledger, planned)
    console.out().print(f"Started {ledger}: {made.total}, for one release", soft_wrap=True)
    return made
