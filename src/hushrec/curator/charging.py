"""The one road of every charge, for a model or a method: admit, charge, measure, state, store.

A verb plans a *recipe* from public facts alone, and ``charged`` does the rest. So whatever is refused is
refused here or by the ledger, before the charge, for every verb, and every store of ledgers and people.
"""

from collections.abc import Callable, Collection, Iterator
from contextlib import contextmanager, suppress
from dataclasses import dataclass
from functools import cache, partial
from pathlib import Path
from typing import Generic, TypeVar

from hushrec.curator.admit import admit, parse_accept
from hushrec.curator.stopped_fits import StoppedFits, drop_uncharged
from hushrec.data.anywhere import AnyPeople
from hushrec.errors import (
    ChargeUnpublished,
    HushrecError,
    LedgerError,
    MemoryExceeded,
    ReleaseError,
)
from hushrec.privacy.accounting.plan import Plan, require_strong
from hushrec.privacy.grant import Grant
from hushrec.privacy.ledger import anchors
from hushrec.privacy.ledger.history import Charge
from hushrec.privacy.ledger.ledger import Ledger, folders
from hushrec.privacy.ledger.stores.places import store_of
from hushrec.privacy.noise.entropy import Entropy
from hushrec.privacy.sums_on_disk import ChargeSums
from hushrec.sums.footprint import Footprint
from hushrec.text import above

Made = TypeVar("Made")


@dataclass(frozen=True, slots=True, kw_only=True)
class Recipe(Generic[Made]):
    """What is made under a charge, planned from public facts alone.

    Args:
        plan: what is charged.
        prepare: does what may still fail before the charge, and returns what measures through the grant and
            makes the result.
        content: the bytes of the result that the ledger stores.
        read: reads them again.
        footprint: memory that it needs in addition to the people's rows; None for next to nothing.
        because: why it was suggested; empty if it was named.
        public_people: digests of people whose data it takes for public facts.
        is_device_report: whether it is one user's report, which others wait for: so whether it comes must not
            depend on what its user rated.

    Privacy: public; what ``prepare`` returns is charged (every measurement of the plan).
    """

    plan: Plan
    prepare: Callable[[AnyPeople], Callable[[Grant], Made]]
    content: Callable[[Made], bytes]
    read: Callable[[bytes], Made]
    footprint: Footprint | None = None
    because: str = ""
    public_people: tuple[str, ...] = ()
    is_device_report: bool = False


def charged(
    people: AnyPeople,
    recipe: Recipe[Made],
    stopped: StoppedFits,
    *,
    accept: str | Collection[str] = (),
    entropy: Entropy | None = None,
    start: Callable[[], Ledger] | None = None,
    save: Callable[[Made], object] | None = None,
) -> Made:
    """Walk the whole road, or go on where a stopped fit of the same plan stood.

    Args:
        stopped: the ledger, and the fits that can go on.
        accept: as for ``fit``.
        entropy: of a seeded experiment; the operating system's by default.
        start: creates the ledger, if there is none.
        save: writes the result's file.

    Privacy: charged (every measurement of the plan).
    """
    ledger, plan, seeded = stopped.ledger, recipe.plan, entropy is not None
    # The digest reads every row, so it is computed once, and only if somebody asks.
    accept, digest = parse_accept(accept), cache(people.digest)
    found = None if seeded or ledger is None else stopped.under(plan.key(ledger.id), digest)
    if ledger is not None and found and found[0].state == "made":
        return _read_stored(ledger, *found, recipe, save)

    # Whatever may be refused, or fail, does so here, before the charge.
    claims = not seeded and (ledger.kept if ledger else True)
    # A device must not refuse by what its user rated: a report that stays away would tell it.
    flaws = accept if claims and not recipe.is_device_report else None
    verified = digest if claims or recipe.public_people else None
    admit(people, plan, recipe.footprint, flaws, public_people=recipe.public_people, digest=verified)
    measure = recipe.prepare(people)
    if ledger is None:
        if start is None:
            raise LedgerError(_NO_LEDGER)
        ledger = start()
    kept = found[1] if found else stopped.new(ledger) if claims else None
    if kept and not found:
        # The folder says whose rows it is for before the charge: a fit that stops next can be gone on with.
        kept.set_people(digest())
    elif kept and not kept.is_of(digest()) and "changed" not in accept:
        raise ChargeUnpublished(_CHANGED)

    # The charge is on disk, or is that of the stopped fit, when the grant is here.
    try:
        grant = ledger.charge(plan, sums=kept, entropy=entropy, accept=accept)
    except BaseException:
        if kept:
            drop_uncharged(ledger, kept)
        raise

    # Measured, and stated, through the grant alone; then the ledger keeps what was made.
    with _tell_loss(grant, plan, ledger):
        result = measure(grant)
        # On disk before the ledger knows its digest: after a crash between the two, the charge is still open.
        carried = kept.hand_over(grant.later) if kept and grant.later else ""
        ledger.finish(grant, recipe.content(result), carried)
    # The ledger has the bytes by now, unless they were too many: the same call writes a file that is missing.
    if save:
        save(result)
    if kept:
        kept.remove()
    return result


def _read_stored(
    ledger: Ledger,
    charge: Charge,
    sums: ChargeSums,
    recipe: Recipe[Made],
    save: Callable[[Made], object] | None,
) -> Made:
    """Read the bytes that the ledger keeps of a charge whose file was perhaps never written, at no cost."""
    try:
        result = recipe.read(ledger.artefact(charge.release_index))
    except ReleaseError as error:  # of a data set this large the ledger keeps the facts alone
        sums.remove()
        error.add_note("If no file was saved, its charge is spent, and the same call makes another.")
        raise
    if save:
        save(result)
    sums.remove()
    return result


@contextmanager
def _tell_loss(grant: Grant, plan: Plan, ledger: Ledger) -> Iterator[None]:
    """Say of an error inside what it costs: nothing where the sums are kept, else the charge."""
    try:
        yield
    except BaseException as error:
        told: BaseException = error
        if isinstance(error, MemoryError):
            told = MemoryExceeded("there is too little memory for this release; free some memory")
        if grant.kept:
            told.add_note("The charge stays open: the same call goes on, at no further cost.")
        else:
            with suppress(HushrecError):  # what failed comes first
                ledger.forfeit(grant)
            told.add_note(
                f"The charge stays spent, ε = {above(plan.epsilon)} at δ = {above(plan.budget.delta)}: noise "
                "is never drawn twice under one charge."
            )
        if told is error:
            raise
        raise told from None


def starting(
    place: str, plan: Plan, accept: Collection[str], releases: Path | None = None
) -> Callable[[], Ledger]:
    """What creates a ledger with the plan's budget as its total; refuses at once what it would refuse.

    Args:
        place: its path or URL.
        releases: the folder of releases that know of a ledger in a database, which has no folder of its own.
    """
    store = store_of(place)
    anchors.require_new(store, anchors.among(*folders(store, releases)))
    if "weak" not in accept:  # last: whoever is asked about it is refused nothing else
        require_strong(plan)
    return partial(Ledger.create, place, plan.budget, releases=releases)


_CHANGED = (
    "the fit of this plan was stopped after its charge, and its rows were others than these: what it has "
    "measured and what it would measure now do not belong together. Nothing more was charged. Repeat it with "
    "the rows that it was charged for, or give it up (hushrec ledger forfeit); its ε holds either way, so to "
    'go on with these rows, accept it: accept="changed", or --accept changed'
)

_NO_LEDGER = (
    'a private release is charged to a ledger: pass ledger="ledger.db"; to create it, once, call '
    "hushrec.Ledger.create(path, total)"
)
