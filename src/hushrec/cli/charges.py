"""The ledger that a command charges, and the one way in which commands charge it."""

import sys
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from dataclasses import dataclass, replace
from pathlib import Path
from typing import TYPE_CHECKING, Annotated, Any, TypeVar

import typer

from hushrec.cli import console
from hushrec.cli.options import Group
from hushrec.errors import ConfigError, ShareExceeded, WeakBudget

if TYPE_CHECKING:
    from hushrec.curator.charging import Request, Work
    from hushrec.data.domain import Domain
    from hushrec.data.people import People, PublicFacts
    from hushrec.data.reading import Columns
    from hushrec.privacy.accounting.plan import Plan
    from hushrec.privacy.ledger.ledger import Ledger

Made = TypeVar("Made", bound=Any)
Result = TypeVar("Result")


RESUMED = "Went on from the checkpoint of a fit that was stopped: nothing more was charged"


LedgerArgument = Annotated[
    str,
    typer.Argument(
        metavar="LEDGER",
        help="The ledger: its file, or postgresql://host/database[?ledger=NAME].",
    ),
]
LedgerOption = Annotated[
    str | None,
    typer.Option(
        metavar="LEDGER",
        help="The population's ledger: its file, or postgresql://host/database[?ledger=NAME].",
    ),
]


@dataclass(frozen=True, kw_only=True)
class Charge(Group):
    """How a release is charged, with the words of ``hushrec.fit``."""

    accept: Annotated[
        list[str] | None,
        typer.Option(
            metavar="dropped|users|rating|share|weak",
            help="Charge although: dropped, more than a tenth of the records were dropped or changed "
            "(hushrec check); users, there are more than twice as many as declared; rating, interactions "
            "have ratings other than 1, which are not used; share, later releases would have less than an "
            "equal share; weak, ε is above 8. May be repeated.",
        ),
    ] = None
    release_index: Annotated[
        int | None,
        typer.Option(
            help="Release index. Of one that was released before, the same is given again, free of charge."
        ),
    ] = None
    checkpoint: Annotated[
        Path | None,
        typer.Option(
            help="The folder from which the same command resumes at no cost if it is stopped; as private as "
            "the ratings, and deleted at the end. By default it is LEDGER.checkpoints, next to the ledger."
        ),
    ] = None
    no_checkpoint: Annotated[
        bool,
        typer.Option(
            "--no-checkpoint", help="Keep nothing to resume from: what is stopped then loses its charge."
        ),
    ] = False

    def terms(self) -> dict[str, Any]:
        """The same, as the library takes it."""
        if self.checkpoint is not None and self.no_checkpoint:
            raise ConfigError(
                "--checkpoint names a folder and --no-checkpoint wants none: leave out one of them"
            )
        return {
            "accept": self.accept or (),
            "release_index": self.release_index,
            "checkpoint": self.checkpoint or not self.no_checkpoint,
        }


@dataclass(frozen=True, kw_only=True)
class ChargeOfAny(Charge):
    """The same, for a ledger that is there or a new one."""

    ledger: LedgerOption = None
    new_ledger: Annotated[
        bool,
        typer.Option(
            "--new-ledger",
            help="Create the ledger, with this release's budget as its total. Once per population.",
        ),
    ] = False

    def terms(self) -> dict[str, Any]:
        """The same, as the library takes it."""
        return {**super().terms(), "ledger": self.ledger, "new_ledger": self.new_ledger}


def facts(domain: "Domain", columns: "Columns | None", spark: bool = False) -> "PublicFacts":
    """Return the public facts about records before they are read: people's own ε are declared."""
    from hushrec.data.people import PublicFacts

    return PublicFacts(domain, bool(domain.personal_epsilon) or "personal_epsilon" in (columns or {}), spark)


@contextmanager
def charged(
    request: "Request[Made]", facts: "PublicFacts", load: "Callable[[Work[Made]], People]", name: str
) -> "Iterator[tuple[Work[Made], Made]]":
    """Resolve a request, load the people, and charge; what is refused beforehand reads no record.

    The block prints what was made. It is published by then: a failure in the block is reported, not raised.

    Args:
        load: loads the people for the work.
        name: what their source is called.

    Yields:
        The work as it was resolved, and what was made.
    """
    work, request = confirmed(request, lambda request: request.resolved(facts))
    work.close()
    warn_of_claim(work.plan)
    with console.bars():
        people = load(work)
    console.print_confidential(name, people)

    def make(request: "Request[Made]") -> Made:
        with console.bars():
            return request.make(people)

    result, request = confirmed(request, make)
    with console.publication(request.out):
        if work.resumes:
            console.out().print(RESUMED)
        if request.new_ledger:
            ledger = opened(request)
            console.out().print(
                f"Started {request.ledger if ledger.path else ledger.place}: {ledger.total}, for one release",
                soft_wrap=True,
            )
    with console.publication(request.out):
        yield work, result


def warn_of_claim(plan: "Plan") -> None:
    """Say on standard error that an ε rests on code outside hushrec."""
    from hushrec.documents import words

    if plan.claim:
        claim = f"{words.say('caveat.author')}: {words.clause(plan.claim)}"
        console.err().print(claim, soft_wrap=True)


def confirmed(
    request: "Request[Made]", step: "Callable[[Request[Made]], Result]"
) -> "tuple[Result, Request[Made]]":
    """Return the result of a step; beyond its share or at a weak ε, refuse it or ask at the terminal."""
    while True:
        try:
            return step(request), request
        except (ShareExceeded, WeakBudget) as error:
            if not (sys.stdin.isatty() and sys.stderr.isatty()):
                raise
            console.err().print(str(error), soft_wrap=True)
            if not typer.confirm("Charge it all the same?", err=True):
                raise
            reason = "share" if isinstance(error, ShareExceeded) else "weak"
            request = replace(request, accept={*request.accept, reason})  # type: ignore[arg-type]


def opened(request: "Request[Made]") -> "Ledger":
    """The ledger of a request, as it is now."""
    from hushrec.privacy.ledger.ledger import Ledger

    place = str(request.ledger)
    return Ledger.open(place, request.out.parent if request.out and "://" in place else None)


def left(ledger: "Ledger") -> str:
    """Say in one line how much a ledger has left."""
    from hushrec.documents import words
    from hushrec.text import left

    return words.say("ledger.left", n=ledger.releases_left, left=left(ledger.remaining))


def repeated(release_index: int) -> str:
    """Say that nothing was charged, because the release was made before."""
    return (
        f"Release index {release_index} was made before: its stored bytes were returned, and nothing was "
        "charged"
    )
