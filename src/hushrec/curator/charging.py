"""The one road of every charge: resolve, admit, charge, make, store.

1. *Resolve*, from public facts alone: the ledger, the model or method, the plan with its cost.
2. *Admit*: every refusal that needs the data or the machine, in the order of ``admit``; then hold room.
3. *Charge*. The ledger itself refuses what it cannot or should not pay.
4. *Make* the release under the grant, with its statement.
5. *Store* its bytes in the ledger, write its file, and record that it is published.

The verbs (``fit``, a series, ``randomize``) pass what to make. The command line takes the same ``Request``.
So whatever is refused is refused here, before the charge, for every store of ledgers and people.
"""

import functools
from abc import ABC, abstractmethod
from collections.abc import Callable, Collection, Iterator
from contextlib import ExitStack, closing, contextmanager, nullcontext
from dataclasses import KW_ONLY, dataclass
from pathlib import Path
from typing import Generic, Literal, NamedTuple, Protocol, TypeVar, cast, get_args

from hushrec.curator.checkpoints import bound, checkpoint_of, resumed_mark
from hushrec.curator.disk_space import kept_size, require_writable, reserved
from hushrec.data.dropped import Refusal
from hushrec.data.machine import machine
from hushrec.data.people import People, PublicFacts
from hushrec.errors import (
    BudgetError,
    ConfigError,
    DataError,
    LedgerError,
    MemoryExceeded,
    RecordsDropped,
    ReleaseError,
    ShareExceeded,
    UsersExceeded,
)
from hushrec.privacy.accounting.budget import Budget
from hushrec.privacy.accounting.plan import Plan, require_strong
from hushrec.privacy.checkpoint.checkpoint import Checkpoint, mark_of
from hushrec.privacy.grant import Grant
from hushrec.privacy.ledger import anchors
from hushrec.privacy.ledger.balance import folders
from hushrec.privacy.ledger.ledger import Ledger
from hushrec.privacy.ledger.stores.places import store_of
from hushrec.privacy.noise.entropy import Entropy
from hushrec.progress import Progress, telling
from hushrec.sums.footprint import Footprint, in_bytes
from hushrec.sums.spark_engine import require_ready
from hushrec.text import above, whole

Accept = Literal["dropped", "users", "rating", "share", "weak"]
"""The reasons for which a charge is refused unless you accept them.

*dropped*: more than a tenth of the records were dropped or changed when they were loaded, or there are none.
*users*: there are more than twice as many users as declared. *rating*: interactions have ratings other than
1, which are not used. *share*: later releases would have less than an equal share. *weak*: ε is above 8.
"""

_SEE = (
    "Nothing was charged. To see what was dropped or changed, and why, run hushrec check, or call "
    "hushrec.check"
)
_ACCEPT = 'If this is how it should be, accept it: accept="dropped", or --accept dropped'
_REFUSED: dict[Refusal, str] = {
    "nobody": f"no one has an item left after loading: nothing to measure. {_SEE}",
    "empty": f"there is no record, so a budget would buy noise alone. {_SEE}. {_ACCEPT}",
    "dropped": "more than a tenth of the records were dropped or changed when they were loaded, so a column, "
    f"the scale or the catalogue may be wrong. {_SEE}. {_ACCEPT}",
    "users": "there are more than twice as many users as the domain declares, so another column may stand in "
    "place of users; and δ is chosen for at most as many as are declared. Nothing was charged. To see how "
    "many there are, run hushrec check, or call hushrec.check. If all are real users, declare a larger "
    "bound from public knowledge: hushrec domain --max-users. Or accept it: "
    'accept="users", or --accept users',
    "rating": "the records have ratings other than 1, which this domain of interactions does not use, so a "
    "dislike counts as a like. Nothing was charged. If people rate, declare the scale and which ratings are "
    "likes: hushrec domain --scale LO HI STEP --likes RATING. If the ratings do not say whether a user liked "
    'an item, accept it: accept="rating", or --accept rating',
}
_THE_SAME = (
    "the prior is a baseline of these same people, without noise: no ε would cover what it tells of them. "
    "Nothing was charged. Leave it out, make the baseline of other people, whose data are public, or take a "
    "private release"
)
_ACCEPTED_BY: dict[Refusal, Accept | None] = {
    "nobody": None,
    "empty": "dropped",
    "dropped": "dropped",
    "users": "users",
    "rating": "rating",
}
_ANY = -1  # stands for release index None: the checkpoint then finds its charge by its commitment


class Saved(Protocol):
    """A result that can be saved: a release or a data set."""

    def save(self, path: Path, /) -> object: ...


Made = TypeVar("Made", bound=Saved)


class Work(ABC, Generic[Made]):
    """The work of a verb under a charge, resolved from public facts.

    Attributes:
        plan: what is charged.
        footprint: memory that it needs in addition to the people's rows; None for next to nothing.
        because: why what is made was suggested; empty if it was named.
        awaited: whether others see that it was refused. A device's report is awaited, so whether it comes
            must not depend on what its user rated.
        resumes: whether it goes on under the open charge of a fit that was stopped.
        private_size: whether the size of what is made follows from the records.
        public_people: digests of people whose data it takes for public facts.
        suffixes: of its file.

    Privacy: public until it is prepared; ``make`` is charged.
    """

    plan: Plan
    footprint: Footprint | None = None
    because: str = ""
    awaited: bool = False
    resumes: bool = False
    private_size: bool = False
    public_people: tuple[str, ...] = ()
    suffixes: tuple[str, ...] = (".safetensors",)

    @abstractmethod
    def plan_at(self, budget: Budget) -> Plan:
        """The plan under another budget, to name an equal share."""

    @abstractmethod
    def largest(self, people: People, suffix: str = "") -> int:
        """The most bytes that it takes, in a file of this suffix or, without one, in the ledger."""

    def keeps_in(self, checkpoint: Path | None) -> Path | None:
        """Where every measured value is kept until the release is made; None for nowhere.

        Args:
            checkpoint: the folder of the checkpoint, if there is one.
        """
        return checkpoint

    def prepare(self, people: People) -> None:
        """Do what may still fail, as the last step before the charge."""

    @abstractmethod
    def make(self, people: People, grant: Grant) -> Made:
        """Measure through the grant, and make the release with its statement.

        Privacy: charged (every event of the plan).
        """

    @abstractmethod
    def content(self, result: Made) -> bytes:
        """The bytes that the ledger stores."""

    @abstractmethod
    def read(self, content: bytes) -> Made:
        """Return the earlier result, from the bytes that the ledger stored."""

    def require_out(self, out: Path) -> None:
        """Refuse an output file that could not be written afterwards."""
        require_writable(out, *self.suffixes)

    def lost(self, result: Made, release_index: int) -> str:
        """Return the advice for a file that cannot be written."""
        return (
            f". It is stored in the ledger: run the same command with --release-index {release_index} and "
            "another file, without --new-ledger"
        )

    def close(self) -> None:
        """Let go of what the work holds."""


class _Rooms(NamedTuple):
    """The calls that free the room held on disk: for measured values, for the ledger, and for the file."""

    kept: Callable[[], None]
    stored: Callable[[], None]
    written: Callable[[], None]


_NONE = _Rooms(*(lambda: None,) * 3)

Resolve = Callable[[PublicFacts, Ledger | None, int | None, str], Work[Made]]
"""Makes the work from public facts, the ledger (None for a new one, or none), the release index, and the
commitment of the checkpoint that resumes (empty for none)."""


@dataclass(frozen=True, slots=True)
class Request(Generic[Made]):
    """A charge that is asked for: what to make, and on which account.

    Attributes:
        resolve: the first step of the verb.
        ledger: the population's ledger, its path or its URL; None only for seeded experiments.
        release_index, checkpoint, accept: as for ``fit``.
        entropy: the operating system's by default; ``hushrec.testing`` seeds it.
        new_ledger: whether to create the ledger, with the plan's budget as its total.
        out: the file to write; None to write none.

    Privacy: public; ``made`` is charged.
    """

    resolve: Resolve[Made]
    _: KW_ONLY
    ledger: Ledger | str | Path | None
    release_index: int | None = None
    checkpoint: str | Path | bool = True
    accept: Accept | Collection[Accept] = ()
    entropy: Entropy | None = None
    new_ledger: bool = False
    out: Path | None = None

    def __post_init__(self) -> None:
        accepted = frozenset({self.accept} if isinstance(self.accept, str) else self.accept)
        if unknown := accepted - {*get_args(Accept)}:
            raise ConfigError(
                f"accept: {sorted(unknown)[0]!r} is nothing that a charge is refused for; choose among "
                f"{', '.join(get_args(Accept))}"
            )
        object.__setattr__(self, "accept", accepted)
        if self.release_index is not None:
            object.__setattr__(
                self, "release_index", whole(self.release_index, "release_index", 0, BudgetError)
            )

    def resolved(self, facts: PublicFacts) -> Work[Made]:
        """Take the first step alone, before any record is read. Close the work when you are done with it."""
        account = self._opened()
        mark = "" if account is None else resumed_mark(account, self.checkpoint, facts.domain.digest)
        return self._resolved(facts, account, mark)

    def make(self, people: People, progress: Progress | None = None) -> Made:
        """Walk the whole road.

        Privacy: charged (every event of the plan).
        """
        require_loaded(people)
        digest, account = functools.cache(people.digest), self._opened()
        folder = self._checkpoint(account, digest)
        facts = people.facts
        work = self._resolved(facts, account, "" if folder is None else mark_of(folder))
        with closing(work), telling(progress):
            index = self.release_index
            paid = account and index is not None and account.stored(work.plan, index) is not None
            if not paid:
                admit(people, facts, work, self._accepted(account, work), digest if folder else None)
                work.prepare(people)
            with nullcontext(_NONE) if paid else self._rooms(work, people, account, folder) as rooms:
                if account is None:
                    account = self._started(work.plan)
                    folder = self._checkpoint(account, digest)
                settings = work.plan.key(account.id, _ANY if index is None else index)
                with bound(folder, digest() if folder else "", settings, account) as kept:
                    return self._charged(work, people, account, kept, rooms)

    def _opened(self) -> Ledger | None:
        """The ledger; None for one that is started later.

        A missing ledger is not created, because a typo would then give a fresh budget.
        """
        if isinstance(self.ledger, Ledger):
            return self.ledger
        if self.ledger is not None:
            return None if self.new_ledger else Ledger.open(self.ledger, self._releases())
        if self.entropy is None or self.entropy.private:
            raise LedgerError(
                'a private release is charged to a ledger: pass ledger="ledger.db"; to create it, once, call '
                "hushrec.Ledger.create(path, total)"
            )
        return None

    def _resolved(self, facts: PublicFacts, account: Ledger | None, mark: str) -> Work[Made]:
        work = self.resolve(facts, account, self.release_index, mark)
        charge = account.under(mark) if account and mark else None
        work.resumes = charge is not None and charge.state == "charged"
        if self.out:
            work.require_out(self.out)
        if self.new_ledger:
            store = store_of(cast(str, self.ledger))
            around = anchors.among(*folders(store, self._releases()))
            anchors.require_startable(store, work.plan.budget, work.plan.domain_digest, around)
            if "weak" not in self.accept:  # last: whoever is asked about it is refused nothing else
                require_strong(work.plan)
        return work

    def _releases(self) -> Path | None:
        """The folder of releases that know of a ledger in a database, which has no folder of its own."""
        return self.out.parent if self.out and "://" in str(self.ledger) else None

    def _checkpoint(self, account: Ledger | None, digest: Callable[[], str]) -> Path | None:
        """The folder of the checkpoint; None where nothing is kept, or the release was made before."""
        repeats = account and self.release_index is not None and account.is_finished(self.release_index)
        if account is None or not account.kept or self.entropy is not None or repeats:
            return None if isinstance(self.checkpoint, bool) else Path(self.checkpoint)
        return checkpoint_of(account, self.checkpoint, digest)

    def _accepted(self, account: Ledger | None, work: Work[Made]) -> Collection[str] | None:
        """Accepted flaws of the records; None if no budget is spent, or others see a refusal."""
        seeded = self.entropy is not None and not self.entropy.private
        spends = (account.kept if account else self.new_ledger) and not seeded
        return self.accept if spends and not work.awaited else None

    @contextmanager
    def _rooms(
        self, work: Work[Made], people: People, account: Ledger | None, checkpoint: Path | None
    ) -> Iterator[_Rooms]:
        """Hold room on every disk that is written to, from before the charge on."""
        path = account.path if account else store_of(cast(str, self.ledger)).path if self.ledger else None
        if self.new_ledger and self.checkpoint is True:
            checkpoint = (path or Path()).absolute().parent
        with ExitStack() as stack:

            def hold(place: Path | None, size: int, private: bool = False) -> Callable[[], None]:
                return stack.enter_context(reserved(place, size, private=private))

            written = work.largest(people, self.out.suffix) if self.out else 0
            yield _Rooms(
                hold(work.keeps_in(checkpoint), kept_size(work.plan)),
                hold(path, 2 * work.largest(people), work.private_size),  # a ledger's log holds it too
                hold(self.out, written, work.private_size),
            )

    def _started(self, plan: Plan) -> Ledger:
        """The new ledger, or one in memory for a seeded experiment, with the plan's budget as its total."""
        if self.ledger is None:
            return Ledger.ephemeral(plan.budget)
        place = cast(str, self.ledger)
        return Ledger.create(place, plan.budget, domain=plan.domain_digest, releases=self._releases())

    def _charged(
        self, work: Work[Made], people: People, account: Ledger, kept: Checkpoint | None, rooms: _Rooms
    ) -> Made:
        """Charge, make and store; or return what was stored before the run was stopped."""
        if (stored := account.stored(work.plan, self.release_index, kept)) is not None:
            return self._again(work, account, kept, stored)
        with naming_share(account, self.release_index, work.plan_at):
            grant = account.charge(work.plan, self.release_index, kept or self.entropy, accept=self.accept)
        rooms.kept()
        with spending(account, grant, work.plan):
            if kept:
                kept.mark_charged()  # before any noise: a ledger that was restored is then not believed
            result = work.make(people, grant)
            content = work.content(result)
            rooms.stored()
            account.sampled(grant, content)
        rooms.written()
        self._save(work, result, grant.ledger["release_index"])
        account.published(grant)
        return result

    def _again(self, work: Work[Made], account: Ledger, kept: Checkpoint | None, stored: bytes) -> Made:
        """Return the earlier result: the same bytes, at no cost."""
        result, index = work.read(stored), self.release_index
        if index is None and kept and (charge := account.under(kept.commitment)):
            index = charge.release_index
        self._save(work, result, index or 0)
        account.handed_out(work.plan, self.release_index, kept)
        return result

    def _save(self, work: Work[Made], result: Made, release_index: int) -> None:
        if self.out is None:
            return
        try:
            result.save(self.out)
        except OSError as error:
            fix = work.lost(result, release_index)
            raise ReleaseError(f"{self.out} cannot be written: {error.strerror}{fix}") from None


def require_loaded(people: object) -> None:
    """Refuse what was not loaded under a domain."""
    if not hasattr(type(people), "facts"):  # a table may have a column of this name
        raise DataError(
            f"this takes what was loaded under a domain, not {type(people).__module__.partition('.')[0]}'s "
            f"{type(people).__name__}; load it first with hushrec.load"
        )


def require_rows(facts: PublicFacts, what: str) -> None:
    """Refuse people whose rows stay in a cluster, for what needs all of them here.

    Args:
        what: what needs them.
    """
    if facts.sums_only:
        raise DataError(
            f"{what} needs all rows in the memory of one machine, but they are in a Spark cluster; load them "
            "here with hushrec.load"
        )


def require_classes(facts: PublicFacts) -> None:
    """Refuse data that does not say which of the domain's privacy classes each user is in."""
    if facts.domain.personal_epsilon and not facts.has_personal_epsilon:
        raise DataError(
            "the domain declares privacy classes, but the data have no column personal_epsilon that says who "
            "is in which; name the column with Reading(columns=…) or --column, or declare a domain without "
            "privacy classes"
        )


def admit(
    people: People,
    facts: PublicFacts,
    work: Work[Made],
    accept: Collection[str] | None,
    digest: Callable[[], str] | None = None,
) -> None:
    """Refuse, before the charge, what would waste it. This is the list of all such refusals, in their order.

    Args:
        people: what is to be charged for.
        facts: what is public of them.
        work: what will be made.
        accept: what the curator accepts; None if the records may be anything.
        digest: of the people's rows, if it is computed in any case.

    Privacy: private: some refusals depend on the records. The curator sees them, readers of releases do not
    (``docs/check.md`` says what they can tell).
    """
    require_classes(facts)
    digest = digest or (people.digest if work.public_people else None)
    if digest is None:
        people.verify()  # a damaged block would waste the charge
    elif digest() in work.public_people:
        raise ConfigError(_THE_SAME)
    if facts.sums_only:
        require_ready(people)
    if accept is not None:
        for reason in people.dropped.refused(facts.domain, people.n_users):
            if _ACCEPTED_BY[reason] not in accept:  # messages show no number: it is private
                raise (UsersExceeded if reason == "users" else RecordsDropped)(_REFUSED[reason])
    if work.footprint is not None:
        require_memory(work.plan.model, work.footprint, people)


def require_memory(model: str, footprint: Footprint, people: People) -> None:
    """Refuse what needs more memory than this machine has, before it costs anything.

    Privacy: public, except for the refusal, which reveals as much as running out of memory would.
    """
    whole, free = machine()
    if footprint.bytes_held(*people.rows_held(footprint.gathered)) <= free:
        return
    lower = f"a smaller {footprint.lowered_by}" if footprint.lowered_by else "a smaller catalogue or rank"
    raise MemoryExceeded(
        f"{model} needs {footprint.room}; this machine has {in_bytes(whole)}, and too little is free. "
        f"Nothing was charged. Choose {lower}, another model (hushrec plan shows what each needs), "
        "or a machine with more memory"
    )


@contextmanager
def naming_share(
    account: Ledger, release_index: int | None, plan: Callable[[Budget], Plan]
) -> Iterator[None]:
    """Context of a charge. If it is refused because it exceeds its share, the error names the share.

    Args:
        release_index: the release index of the charge.
        plan: the plan of the release under a budget.
    """
    try:
        yield
    except ShareExceeded as error:
        try:
            equal = account.share(plan, release_index)
        except BudgetError:  # settings decide the cost, or nothing smaller can be planned
            raise error from None
        raise error.naming(equal.epsilon) from None


@contextmanager
def spending(account: Ledger, grant: Grant, plan: Plan) -> Iterator[None]:
    """Context of the work under a charge. On failure the charge is forfeit, or stays open for its checkpoint.

    Privacy: public.
    """
    try:
        yield
    except BaseException as error:
        note = "The charge stays open: the same call resumes it, at no further cost."
        if not grant.checkpoint:
            account.forfeit(grant)
            note = "The charge stays spent: noise is never drawn twice under one charge."
        if isinstance(error, MemoryError):
            error = MemoryExceeded("there is too little memory for this release; free some memory")
            if not grant.checkpoint:
                note += f" It was ε = {above(plan.epsilon)} at δ = {above(plan.budget.delta)}. "
                note += "A fit with a checkpoint folder could resume under its charge."
            error.add_note(note)
            raise error from None
        error.add_note(note)
        raise
