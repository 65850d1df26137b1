"""The one way in which commands charge a ledger: plan, load the people, charge, save, print."""

from collections.abc import Callable, Collection, Iterator
from contextlib import contextmanager
from pathlib import Path
from typing import Annotated, Any, NamedTuple

from hushrec.cli import console
from hushrec.curator import charging
from hushrec.curator.admit import parse_accept
from hushrec.curator.stopped_fits import StoppedFits, stopped_fits
from hushrec.data.anywhere import AnyPeople
from hushrec.data.domain import Domain
from hushrec.data.people import PublicFacts
from hushrec.data.reading import Reading
from hushrec.documents import sentences
from hushrec.errors import ReleaseError
from hushrec.files import refusing
from hushrec.privacy.ledger.ledger import Ledger
from hushrec.text import left

RESUMED = "Went on where a fit that was stopped stood: nothing more was charged"
NewLedger = Annotated[
    bool, "Create the ledger, with this release's budget as its total. Once per population."
]


_STORED = "it is stored in the ledger: run the same command with another file, without --new-ledger"
_LOST = (
    "it is too large for the ledger to keep, so it is lost and its charge stays spent: make room, and make "
    "another release"
)


class Charged(NamedTuple):
    """What a command made, why that model, and what it costs: lines to print."""

    result: Any
    because: str
    lines: list[str]


def facts(domain: Domain, reading: Reading, *, spark: bool = False) -> PublicFacts:
    """Return the public facts about records before they are read: people's own ε are declared."""
    return PublicFacts(domain, bool(domain.personal_epsilon) or "personal_epsilon" in reading.columns, spark)


@contextmanager
def charge(
    plan: Callable[[StoppedFits], charging.Recipe[Any]],
    load: Callable[[charging.Recipe[Any]], AnyPeople],
    name: str,
    *,
    out: Path,
    ledger: str,
    new_ledger: bool,
    sums: str | None,
    accept: Collection[str],
) -> Iterator[Charged]:
    """Plan, load the people, and charge; what public facts alone refuse reads no record.

    The block prints what was made. It is published by then: a failure in the block is reported, not raised.

    Args:
        plan: plans from public facts alone.
        load: loads the people.
        name: what their source is called.
        out: the file to write.
    """
    accept = parse_accept(accept)
    releases = out.parent if "://" in ledger else None  # a database has no folder of its own
    account = None if new_ledger else Ledger.open(ledger, releases)
    with stopped_fits(account, sums) as stopped:
        recipe = plan(stopped)
        start = charging.starting(ledger, recipe.plan, accept, releases) if new_ledger else None
        if recipe.plan.claim:
            console.tell(sentences.caveat(recipe.plan.claim))
        resumes = stopped.resumes(recipe.plan)
        with console.bars():
            people = load(recipe)
            if stopped.settle(people.digest):
                recipe = plan(stopped)
        console.print_confidential(name, people)
        with console.bars():
            save = _saving(out)
            result = charging.charged(people, recipe, stopped, accept=accept, start=start, save=save)
    with console.publication(out):
        kept = Ledger.open(ledger, releases)
        state = kept.state()
        more = f"{state.releases_left:,} more release{'s' * (state.releases_left != 1)}"
        lines = [f"Left in the ledger: ε = {left(state.remaining)}, for {more}."]
        if result.repeated:
            made = f"Release index {result.statement.ledger['release_index']} was made before"
            lines.insert(0, f"{made}: its stored bytes were returned, and nothing was charged")
        if resumes:
            lines.insert(0, RESUMED)
        if new_ledger:
            started = ledger if kept.path else kept.place
            lines.insert(0, f"Started {started}: {state.total}, for one release")
        yield Charged(result, recipe.because, lines)


def _saving(out: Path) -> Callable[[Any], None]:
    """What writes a result, and says where else it is if that fails."""

    def save(result: Any) -> None:
        with refusing(out, "written", ReleaseError, _STORED if getattr(result, "in_ledger", True) else _LOST):
            result.save(out)

    return save
