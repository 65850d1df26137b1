"""The ledger that a command charges: an existing one, or a new one with ``--new-ledger``."""

import sys
from collections.abc import Callable, Mapping
from functools import partial
from glob import escape
from pathlib import Path
from typing import TYPE_CHECKING, Annotated, TypeVar

import typer

from hushrec.cli import console
from hushrec.errors import BudgetError, ConfigError, ShareExceeded, WeakBudget

if TYPE_CHECKING:
    from hushrec.curator.choices.recommended import Choice
    from hushrec.data.domain import Domain
    from hushrec.models.base import Model
    from hushrec.privacy.accounting.budget import Budget
    from hushrec.privacy.accounting.plan import Plan
    from hushrec.privacy.ledger.ledger import Ledger


def complete_ledger(typed: str) -> list[str]:
    """The files that a shell offers; a URL is typed."""
    return [] if ":" in typed else sorted(map(str, Path().glob(f"{escape(typed)}*")))


LedgerArgument = Annotated[
    str,
    typer.Argument(
        metavar="LEDGER",
        autocompletion=complete_ledger,
        help="The ledger: its file, or postgresql://host/database[?ledger=NAME].",
    ),
]
LedgerOption = Annotated[
    str | None,
    typer.Option(
        metavar="LEDGER",
        autocompletion=complete_ledger,
        help="The population's ledger: its file, or postgresql://host/database[?ledger=NAME].",
    ),
]
LedgerOfMany = Annotated[
    str,
    typer.Option(
        "--ledger",
        metavar="LEDGER",
        autocompletion=complete_ledger,
        help="The population's ledger, created with --max-releases: its file, or postgresql://….",
    ),
]
NewLedger = Annotated[
    bool,
    typer.Option(
        "--new-ledger",
        help="Create the ledger, with this release's budget as its total. Once per population.",
    ),
]


BeyondShare = Annotated[
    bool,
    typer.Option(
        "--beyond-share",
        help="Charge more than an equal share of what the ledger has left for the releases still planned.",
    ),
]
AcceptWeak = Annotated[
    bool,
    typer.Option(
        "--accept-weak",
        help="Charge although ε is above 8, which the statement will call too weak to promise much.",
    ),
]
Made = TypeVar("Made")


def require(ledger: str, planned: "Plan", new: bool, out: Path, weak: bool) -> bool:
    """Refuse before the ratings are read what would be refused afterwards.

    Args:
        ledger: path or URL.
        new: whether it is to be created.
        out: the release to write: the releases in its folder are witnesses of a ledger that has no folder.
        weak: whether ε may be too weak to promise much.

    Returns:
        Whether it may: a new ledger, which would take the whole of such a budget, asks at the terminal.
    """
    from hushrec.curator.accounts import require_startable
    from hushrec.privacy.ledger.ledger import Ledger

    if not new:
        Ledger.open(ledger, _witnesses(ledger, out))
        return weak
    try:
        require_startable(ledger, planned, _witnesses(ledger, out), accept_weak=weak)
    except WeakBudget as error:
        _confirm(error)
        require_startable(ledger, planned, _witnesses(ledger, out), accept_weak=True)
        return True
    return weak


def opened(ledger: str, planned: "Plan", new: bool, out: Path, weak: bool) -> "Ledger":
    """The ledger; a new one is created first, and one line says so."""
    from hushrec.curator.accounts import start
    from hushrec.privacy.ledger.ledger import Ledger

    if not new:
        return Ledger.open(ledger, _witnesses(ledger, out))
    made = start(ledger, planned, _witnesses(ledger, out), accept_weak=weak)
    console.out().print(
        f"Started {made.place if made.path is None else ledger}: {made.total}, for one release",
        soft_wrap=True,
    )
    return made


def _witnesses(ledger: str, out: Path) -> Path | None:
    return out.parent if "://" in ledger else None


def share(
    ledger: str,
    config: "Model",
    domain: "Domain",
    release_index: int | None,
    checkpoint: Path | bool,
    named: Mapping[str, object],
    out: Path,
) -> "Budget":
    """The budget that ``--epsilon auto`` takes from a ledger.

    Raises:
        ConfigError: A given δ, unit or adjacency is not the ledger's.
        BudgetError: Nothing is left for the planned releases.
    """
    from hushrec.curator.checkpoints import resumed_mark
    from hushrec.curator.shares import next_share
    from hushrec.privacy.ledger.ledger import Ledger

    opened = Ledger.open(ledger, _witnesses(ledger, out))
    budget = next_share(
        opened, config, domain, release_index, resumed_mark(opened, checkpoint, domain.digest)
    )
    for name, value in named.items():
        if value not in (None, getattr(budget, name)):
            raise ConfigError(
                f"--{name} {value} is not the ledger's, which is {getattr(budget, name)}; leave it out, as "
                "--epsilon auto takes δ, unit and adjacency from the ledger"
            )
    return budget


def choice(
    ledger: str,
    domain: "Domain",
    release_index: int | None,
    checkpoint: Path | bool,
    out: Path,
    *,
    personal: bool,
) -> "Choice":
    """The model that is recommended for the budget that ``--epsilon auto`` takes."""
    from hushrec.curator.checkpoints import resumed_mark
    from hushrec.curator.choices.recommended import choice_of_share
    from hushrec.curator.shares import next_share
    from hushrec.privacy.ledger.ledger import Ledger

    opened = Ledger.open(ledger, _witnesses(ledger, out))
    mark = resumed_mark(opened, checkpoint, domain.digest)
    each = partial(next_share, opened, domain=domain, release_index=release_index, mark=mark)
    return choice_of_share(each, domain, opened.total, personal=personal)


def confirmed(charge: Callable[[bool, bool], Made], beyond: bool, weak: bool) -> Made:
    """What a charge makes. Beyond its share, or at a weak ε, it is refused, or confirmed at the terminal.

    Args:
        charge: charges and makes a release, within its share or beyond it, at a strong ε or at any.
        beyond: whether it may be beyond.
        weak: whether ε may be too weak to promise much.
    """
    while True:
        try:
            return charge(beyond, weak)
        except ShareExceeded as error:
            _confirm(error)
            beyond = True
        except WeakBudget as error:
            _confirm(error)
            weak = True


def _confirm(error: BudgetError) -> None:
    """Ask whether a refused charge goes on all the same; raise the refusal unless somebody says so."""
    if not (sys.stdin.isatty() and sys.stderr.isatty()):
        raise error
    console.err().print(str(error), soft_wrap=True)
    if not typer.confirm("Charge it all the same?", err=True):
        raise error


def again(release_index: int, *, new: bool = False) -> str:
    """What to do where a file cannot be written of which the ledger has the bytes.

    Args:
        release_index: what it was charged as.
        new: whether the command created the ledger.
    """
    without = " (without --new-ledger)" if new else ""
    return (
        ". It is stored in the ledger: run the same command with "
        f"--release-index {release_index} and another file{without}"
    )


def print_charge(
    ledger: "Ledger", budget: "Budget", release_index: int, *, repeated: bool, auto: bool
) -> None:
    """Say which share was taken, or that nothing was charged because the release was made before."""
    from hushrec.figures import above

    if repeated:
        line = (
            f"Release index {release_index} was made before: its stored bytes were returned, and nothing was "
            "charged"
        )
    elif auto:
        left = ledger.releases_left + 1
        line = (
            f"Charged ε = {above(budget.epsilon)} per {budget.unit}: an equal share of what the ledger had "
            f"left for {left:,} {'releases' if left > 1 else 'release'}"
        )
    else:
        return
    console.out().print(line, soft_wrap=True)
    console.out().print()
