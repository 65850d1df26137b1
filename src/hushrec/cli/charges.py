"""The ledger that a command charges, and the one way in which commands charge it."""

import sys
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from dataclasses import dataclass
from pathlib import Path
from typing import TYPE_CHECKING, Annotated, Any, NamedTuple, TypeVar

import typer

from hushrec.cli import console
from hushrec.cli.options import Group
from hushrec.errors import ReleaseError, ShareExceeded, WeakBudget

if TYPE_CHECKING:
    from hushrec.curator.charging import Recipe
    from hushrec.curator.stopped_fits import StoppedFits
    from hushrec.data.anywhere import AnyPeople
    from hushrec.data.domain import Domain
    from hushrec.data.people import PublicFacts
    from hushrec.data.reading import Columns

Result = TypeVar("Result")

RESUMED = "Went on where a fit that was stopped stood: nothing more was charged"


LedgerArgument = Annotated[
    str,
    typer.Argument(
        metavar="LEDGER",
        help="The ledger: its file, or postgresql://host/database[?ledger=NAME].",
    ),
]


@dataclass(frozen=True, kw_only=True)
class Charge(Group):
    """How a release is charged, with the words of ``hushrec.fit``, to a ledger that is there or a new one."""

    accept: Annotated[
        list[str] | None,
        typer.Option(
            metavar="dropped|users|rating|changed|share|weak",
            help="Charge although: dropped, more than a tenth of the records were dropped or changed "
            "(hushrec check); users, there are more than twice as many as declared; rating, interactions "
            "have ratings other than 1, which are not used; changed, a stopped fit goes on with other rows; "
            "share, later releases would have less than an equal share; weak, ε is above 8. May be repeated.",
        ),
    ] = None
    sums: Path | None = None
    ledger: Annotated[
        str | None,
        typer.Option(
            metavar="LEDGER",
            help="The population's ledger: its file, or postgresql://host/database[?ledger=NAME].",
        ),
    ] = None
    new_ledger: Annotated[
        bool,
        typer.Option(
            "--new-ledger",
            help="Create the ledger, with this release's budget as its total. Once per population.",
        ),
    ] = False


def facts(domain: "Domain", columns: "Columns | None", spark: bool = False) -> "PublicFacts":
    """Return the public facts about records before they are read: people's own ε are declared."""
    from hushrec.data.people import PublicFacts

    return PublicFacts(domain, bool(domain.personal_epsilon) or "personal_epsilon" in (columns or {}), spark)


class Charged(NamedTuple):
    """What a command made, why that model, and what it costs: lines to print."""

    result: Any
    because: str
    lines: list[str]


@contextmanager
def charged(
    charge: Charge,
    out: Path,
    plan: "Callable[[StoppedFits], Recipe[Any]]",
    load: "Callable[[Recipe[Any]], AnyPeople]",
    name: str,
) -> Iterator[Charged]:
    """Plan, load the people, and charge; what is refused beforehand reads no record.

    The block prints what was made. It is published by then: a failure in the block is reported, not raised.

    Args:
        charge: the command's options; they name a ledger.
        out: the file to write.
        plan: plans from public facts alone.
        load: loads the people.
        name: what their source is called.
    """
    from hushrec.curator import charging
    from hushrec.curator.stopped_fits import stopped_fits
    from hushrec.documents import sentences
    from hushrec.privacy.ledger.ledger import Ledger
    from hushrec.text import left

    place, accept = str(charge.ledger), set(charge.accept or ())
    releases = out.parent if "://" in place else None  # a database has no folder of its own
    account = None if charge.new_ledger else Ledger.open(place, releases)
    with stopped_fits(account, charge.sums) as stopped:
        recipe = plan(stopped)
        start = (
            confirmed(accept, lambda: charging.starting(place, recipe.plan, accept, releases))
            if charge.new_ledger
            else None
        )
        if recipe.plan.claim:
            console.tell(sentences.caveat(recipe.plan.claim))
        resumes = stopped.resumes(recipe.plan)
        with console.bars():
            people = load(recipe)
            if stopped.settle(people.digest):
                recipe = plan(stopped)
        console.print_confidential(name, people)

        def make() -> Any:
            with console.bars():
                return charging.charged(people, recipe, stopped, accept=accept, start=start, save=saving(out))

        result = confirmed(accept, make)
    ledger = Ledger.open(place, releases)
    with console.publication(out):
        if resumes:
            console.say(RESUMED)
        if charge.new_ledger:
            total = ledger.state().total
            console.say(f"Started {place if ledger.path else ledger.place}: {total}, for one release")
    with console.publication(out):  # of its own: what is lost above leaves this to be tried
        state = ledger.state()
        more = f"{state.releases_left:,} more release{'s' * (state.releases_left != 1)}"
        lines = [f"Left in the ledger: ε = {left(state.remaining)}, for {more}."]
        if result.repeated:
            index = result.statement.ledger["release_index"]
            lines.insert(
                0,
                f"Release index {index} was made before: its stored bytes were returned, and nothing was "
                "charged",
            )
        yield Charged(result, recipe.because, lines)


def saving(out: Path) -> "Callable[[Any], None]":
    """What writes a result, and says where else it is if that fails."""

    def save(result: "Any") -> None:
        try:
            result.save(out)
        except OSError as error:
            where = (
                "It is stored in the ledger: run the same command with another file, without --new-ledger"
                if getattr(result, "in_ledger", True)
                else "It is too large for the ledger to keep, so it is lost and its charge stays spent: make "
                "room, and make another release"
            )
            raise ReleaseError(f"{out} cannot be written: {error.strerror}. {where}") from None

    return save


def confirmed(accept: set[str], step: Callable[[], Result]) -> Result:
    """The result of a step; beyond its share or at a weak ε, refuse it or ask at the terminal.

    Args:
        accept: what is accepted; what the answer accepts is added to it.
    """
    while True:
        try:
            return step()
        except (ShareExceeded, WeakBudget) as error:
            if not (sys.stdin.isatty() and sys.stderr.isatty()):
                raise
            console.tell(str(error))
            if not typer.confirm("Charge it all the same?", err=True):
                raise
            accept.add("share" if isinstance(error, ShareExceeded) else "weak")
