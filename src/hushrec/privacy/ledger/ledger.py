"""The ledger: how much privacy a population may lose, how much it has lost, and to which releases.

Each population has one ledger. Models, metrics, tuning and retraining all charge it. A charge is on disk
before the grant that adds the noise exists, so every published value was charged. A missing, damaged or
restored ledger grants nothing. The day of a charge is written down; nothing is decided by a clock.
"""

import hashlib
import os
from collections.abc import Collection, Iterable, Iterator
from contextlib import contextmanager
from pathlib import Path
from typing import Any

from hushrec.documents import html
from hushrec.documents.document import Document
from hushrec.documents.sentences import Unprotected
from hushrec.errors import BudgetError, GrantError, LedgerError, LedgerStale, SumsError
from hushrec.privacy.accounting.budget import Budget
from hushrec.privacy.accounting.plan import Plan, require_same_population
from hushrec.privacy.confined import Confined
from hushrec.privacy.failpoints import failpoint
from hushrec.privacy.grant import SEAL, Grant, sampler
from hushrec.privacy.ledger import anchors, summary
from hushrec.privacy.ledger.booking import book, ledger_reference, resume, split_budget
from hushrec.privacy.ledger.caveats import Caveats, conditional, inherited
from hushrec.privacy.ledger.history import Charge, Head, History, State, extension, opening
from hushrec.privacy.ledger.stores.places import store_of
from hushrec.privacy.ledger.stores.sqlite import SqliteStore
from hushrec.privacy.ledger.stores.store import Session, Store
from hushrec.privacy.noise.entropy import Entropy, OperatingSystem
from hushrec.privacy.sums_on_disk import ChargeSums
from hushrec.text import shown, whole

LONGEST = 200
"""Characters of what an owner declares."""


class Ledger(Confined):
    """An append-only, durable account of one population's privacy budget.

    Call ``create`` once, and ``open`` from then on. Several threads and processes may use it at once. It is
    read from its store at every call.

    Attributes:
        path: its file; None for one in memory or in a database.
        name: its public name: the file's, or the ledger's in a database; empty for one in memory.
        place: where it is, for people, without user and password; empty for one in memory.
        kept: whether it outlives this process: in a file or a database, not in memory.
        id: the population's identifier.

    Privacy: public.
    """

    def __init__(self, store: Store, releases: str | os.PathLike[str] | None = None) -> None:
        self.path, self.name, self.place, self._store = store.path, store.name, store.place, store
        self.kept = bool(store.name)
        self._folders = folders(store, releases)
        self._seen: Head | None = None
        self.id = ""
        self.id = self.state().id

    @classmethod
    def create(
        cls,
        path: str | os.PathLike[str],
        total: Budget,
        max_releases: int = 1,
        *,
        population: str = "",
        controller: str = "",
        contact: str = "",
        releases: str | os.PathLike[str] | None = None,
    ) -> "Ledger":
        """Create a population's ledger. Do this once; nothing else creates one.

        Args:
            path: a file that does not exist, on a local disk, in a folder without another ledger; only its
                owner may read it (0600). Or the URL of a PostgreSQL database, as text:
                ``postgresql://host/database[?ledger=NAME]``.
            total: what the population may lose over all releases.
            max_releases: largest number of releases.
            population: whose data they are; this and the next two stand in every statement.
            controller: who answers for the data.
            contact: whom to ask.
            releases: where releases lie that may be of the same people, in addition to the folder of a file.

        Raises:
            LedgerError: It exists already, or its folder holds another ledger, or a release of one.
            LedgerMissing: A release in the folder names a ledger of this file name, which was lost.
        """
        store = store_of(path)
        declared = _declared(population=population, controller=controller, contact=contact)
        first = opening(total, max_releases) | ({"declared": declared} if declared else {})
        anchors.require_new(store, anchors.among(*folders(store, releases)))
        store.create(first)
        return cls.open(path, releases)

    @classmethod
    def open(cls, path: str | os.PathLike[str], releases: str | os.PathLike[str] | None = None) -> "Ledger":
        """Open a ledger and verify all of it.

        Args:
            path: its file, or its URL, as for ``create``.
            releases: a folder of its releases, or one release, which must know no later state than the
                ledger. The folder of a ledger's file is looked at in any case.

        Raises:
            LedgerMissing: It does not exist (none is created), or a release names another ledger of its
                name.
            LedgerDamaged: It is unreadable, altered, or of an unknown schema.
            LedgerStale: A release names a later state: a backup was restored.
            LedgerError: The database cannot be reached, or does not keep what it is given.
        """
        store = store_of(path)
        if not store.exists():
            anchors.require_not_lost(store, anchors.among(*folders(store, releases)))
            raise anchors.missing(store)
        store.inspect()
        return cls(store, releases)

    @classmethod
    def of(cls, ledger: "Ledger | str | os.PathLike[str]") -> "Ledger":
        """The ledger itself, or the one of a path or URL, opened.

        A missing one is not created, because a typo would then give a fresh budget.
        """
        return ledger if isinstance(ledger, Ledger) else cls.open(ledger)

    @classmethod
    def ephemeral(cls, total: Budget, max_releases: int = 1_000_000) -> "Ledger":
        """A ledger in memory, for experiments. It is not kept, so its releases claim nothing."""
        store = SqliteStore(None)
        store.create(opening(total, max_releases))
        return cls(store)

    def state(self) -> State:
        """Total, what is spent, and every charge, as they are now."""
        with self._reading() as session:
            return session.history.state(session.proposal())

    def require_known(self, marks: Iterable[tuple[int, str]]) -> None:
        """Refuse the ledger if it does not know a mark that a charge left next to its sums.

        Args:
            marks: number and hash (hex) of records.
        """
        with self._reading() as session:
            _require_marks(session.history, marks)

    def share(self, *, first: bool = False) -> Budget:
        """The budget of the next release: an equal share of what is left for those still planned.

        Args:
            first: whether they will take over its sums; it then gets half of what is left.
        """
        state = self.state()
        return split_budget(state.total, state.releases_left, state.spent, first=first)

    def charge(
        self,
        plan: Plan,
        *,
        sums: ChargeSums | None = None,
        entropy: Entropy | None = None,
        accept: Collection[str] = (),
    ) -> Grant:
        """Charge a plan durably, and return the right to make its measurements.

        The charge is that of the next free release index; or the open charge of the folder ``sums``, at no
        further cost. Its grant returns what was measured before, and measures the rest.

        Args:
            plan: what will be measured.
            sums: the folder that keeps what is measured; without one, a stopped fit loses its charge.
            entropy: source of the noise; by default the operating system.
            accept: *share*, to leave less than equal shares for the releases that are still planned; *weak*,
                to charge an ε that the statement will call too weak to promise much. No question is asked
                where releases claim nothing (seeded noise, a ledger in memory), nor of a fit that resumes.

        Raises:
            BudgetExceeded: The ledger has less left than the plan costs.
            ShareExceeded: The plan costs more than its equal share.
            WeakBudget: The plan's ε is too weak to promise much.
            BudgetError: Unit, adjacency or δ does not fit this ledger, no release is left, or the plan is
                only for seeded experiments.
            GrantError: The folder is of a charge that is no longer open, or of another plan; or one is given
                for a seeded experiment, whose values a private release could then go on from.
            LedgerError: The ledger is not reliable, or could not be written; or another ledger of its
                database was charged for the same people.
            LedgerStale: The folder knows a later state of the ledger: a backup was restored.
            SumsError: A value that the ledger has recorded is not in the folder.

            In each case nothing is granted, and nothing was charged, unless a ``SumsError`` came after the
            charge: a note says so, and the charge stays open for a fit that goes on.

        Privacy: charged (every measurement of the plan).
        """
        entropy = entropy or OperatingSystem()
        caveats = self._caveats(entropy)
        accept = ("share", "weak") if caveats else accept
        token = sums.token if sums else ""
        if sums and type(entropy) is not OperatingSystem:
            raise GrantError("a seeded experiment keeps no sums; leave sums= out, or entropy=")
        sampler()
        failpoint("before-charge")
        # One transaction: what is left is read under the lock under which it is spent, so no two charges
        # take the same rest. It ends on disk, or nothing was charged; the grant exists only after it.
        with self._writing() as session:
            history = session.history
            require_same_population(plan, history.total)
            _require_marks(history, sums.folder.marks() if sums else ())
            charges = [*history.charges.values()]
            caveats = conditional(inherited(caveats, charges), plan, charges)
            charge = resume(session, plan, token) or book(
                session, plan, caveats, token, kept=self.kept, accept=accept
            )
            about = ledger_reference(session, charge, self.name or None)
            failpoint("inside-charge")
        failpoint("after-charge")
        if sums:
            try:
                sums.settle(charge.measured)
                sums.mark(about["seq"], about["head"])  # before any noise
            except SumsError as error:
                error.add_note("Its charge is made and stays open; nothing more was drawn.")
                raise
            failpoint("after-mark")
        return Grant(
            plan,
            entropy,
            caveats=caveats,
            ledger=about,
            charge=charge.number,
            taken=charge.branch,
            sums=sums,
            record=self._record,
            seal=SEAL,
        )

    def _record(self, grant: Grant, **facts: str) -> None:
        """Record that a value was measured, or a branch taken, under an open charge; each once."""
        with self._writing() as session:
            charge = self._of(grant, session)
            if facts.get("name") in charge.measured or (facts["kind"] == "taken" and charge.branch):
                raise GrantError(
                    "another process goes on with a copy of these sums, and was faster; end one of them"
                )
            session.append(charge=charge.number, **facts)
            failpoint("inside-record")

    def finish(self, grant: Grant, artefact: bytes, carried: str = "") -> None:
        """Store the artefact made with a grant: its release is made, and ``artefact`` returns these bytes.

        Args:
            artefact: what is stored.
            carried: SHA-256 (hex) of what it hands to the next release of the year; empty for nothing.

        Raises:
            GrantError: The grant is not this ledger's, or was forfeited or finished before.
            LedgerError: The ledger could not be written.
        """
        grant.close()
        with self._writing() as session:
            charge = self._of(grant, session)
            session.save_artefact(charge.number, artefact)
            digest = hashlib.sha256(artefact).hexdigest()
            handed = {"carried": carried} if carried else {}
            session.append(kind="made", charge=charge.number, sha256=digest, size=len(artefact), **handed)
            failpoint("inside-finish")
        failpoint("after-finish")

    def forfeit(self, charge: Grant | int) -> None:
        """Give up an open charge, after a crash for example.

        Its ε stays spent, nothing resumes under it, and the next release takes its index.

        Args:
            charge: the grant, or the release index as the ledger lists it.

        Raises:
            GrantError: The grant is not this ledger's, the index holds no charge, or its release is made.
            LedgerError: The ledger could not be written.
        """
        if isinstance(charge, Grant):
            charge.close()
        with self._writing() as session:
            if isinstance(charge, Grant):
                number = self._of(charge, session).number
            else:
                index = whole(charge, "release_index", 0, BudgetError)
                held = session.history.state().latest(index)
                if held is None or held.state == "made":
                    was = "is made" if held else "holds no charge"
                    raise GrantError(
                        f"release {index} {was}, so there is nothing to forfeit; hushrec ledger show lists "
                        "the state of each release"
                    )
                number = held.number
            session.append(kind="forfeited", charge=number)

    def artefact(self, release_index: int) -> bytes:
        """The release that was made under an index, byte for byte.

        Args:
            release_index: as the ledger lists it.

        Raises:
            GrantError: No release of this index was made.
        """
        with self._reading() as session:
            charge = session.history.state().made(release_index)
            if charge is None:
                raise GrantError(
                    f"no release {release_index} was made; hushrec ledger show lists the state of each"
                )
            return session.artefact(charge)

    def export(self) -> dict[str, Any]:
        """The whole history as JSON values, which anybody can verify.

        Each hash is SHA-256 over the hash before it (32 zero bytes at first), the number of its record as 8
        bytes, big endian, and the record's text in UTF-8.
        """
        with self._reading() as session:
            history, records = session.history, session.records()
            head = history.head
        return {"ledger": history.id, "last_seq": head.seq, "last_head": head.hash, "records": records}

    def extend(self, total: Budget, max_releases: int | None = None) -> None:
        """Record the owner's decision to raise the total or ``max_releases``.

        In a database this proposes it, and takes effect when another raiser calls ``confirm``.

        Raises:
            BudgetError: Unit, adjacency or δ differs, or the total or ``max_releases`` would shrink.
            LedgerError: The ledger could not be written.
        """
        with self._writing() as session:
            session.extend(extension(session.history, total, max_releases))

    def confirm(self, total: Budget, max_releases: int | None = None) -> None:
        """Confirm what another raiser proposed with ``extend``, by saying the same.

        Raises:
            BudgetError: As for ``extend``.
            LedgerError: Nothing is proposed, or something else, or this user proposed it; or one person
                extends this ledger alone.
        """
        with self._writing() as session:
            session.confirm(extension(session.history, total, max_releases))

    def declare(self, *, population: str = "", controller: str = "", contact: str = "") -> None:
        """Record what the owner declares, for later statements; what is empty stays as it was.

        Args:
            population: whose data they are.
            controller: who answers for the data.
            contact: whom to ask.

        Raises:
            LedgerError: Nothing is declared, a text is not printable or longer than 200 characters, or the
                ledger could not be written.
        """
        declared = _declared(population=population, controller=controller, contact=contact)
        if not declared:
            raise LedgerError("nothing to declare: give population, controller or contact")
        with self._writing() as session:
            session.append(kind="declared", declared=declared)

    def document(self) -> Document:
        """Describe its total, the remainder and every release that was charged."""
        return summary.document(self.name, self.state())

    def __repr__(self) -> str:
        return f"{type(self).__name__}({summary.line(self.name, self.state())})"

    def _repr_html_(self) -> str:
        return html.notebook(self.document())

    def _of(self, grant: Grant, session: Session) -> Charge:
        charge = session.history.charges.get(grant.charge)
        if grant.ledger.get("id") != self.id or charge is None:
            raise GrantError("this grant was charged to another ledger; use that one")
        if charge.state != "charged":
            raise GrantError(f"this grant's charge is {charge.state}; its release needs a charge of its own")
        return charge

    def _caveats(self, entropy: Entropy) -> Caveats:
        if type(entropy) is not OperatingSystem:  # no other source can prove that it is secret
            return (Unprotected.seeded(),)
        return () if self.kept else (Unprotected.not_kept(),)

    @contextmanager
    def _reading(self) -> Iterator[Session]:
        beside = self._anchors()
        with self._store.reading() as session:
            self._compare(session.history, beside)
            yield session
        self._seen = session.history.head

    def _anchors(self) -> list[anchors.ReleaseAnchor]:
        # Read before the history: a release that appears in between names a record that will be there.
        return anchors.among(*self._folders)

    def _compare(self, history: History, beside: list[anchors.ReleaseAnchor]) -> None:
        """Refuse a history that lacks a record that a release, or this process, has seen."""
        anchors.require_known(beside, self.name, history)
        if self._seen and not history.holds(self._seen):
            raise LedgerStale(
                "the ledger was restored to an earlier state while it was open; put the latest copy back"
            )

    @contextmanager
    def _writing(self) -> Iterator[Session]:
        beside = self._anchors()
        with self._store.writing() as session:
            self._compare(session.history, beside)
            yield session
        self._seen = session.history.head


def _declared(**texts: str) -> dict[str, str]:
    declared = {name: text for name, text in texts.items() if text}
    for name, text in declared.items():
        if not text.isprintable() or len(text) > LONGEST:
            raise LedgerError(f"{name} must be one line of at most {LONGEST} printable characters")
    return declared


def _require_marks(history: History, marks: Iterable[tuple[int, str]]) -> None:
    if not all(history.holds(Head(seq, digest)) for seq, digest in marks):
        raise LedgerStale(
            "the ledger does not know a charge whose sums were kept here: a backup was restored; put the "
            "latest copy back"
        )


def folders(store: Store, releases: str | os.PathLike[str] | None) -> list[Path]:
    """Where releases lie that witness a ledger: in the folder of its file, and where its owner says."""
    paths = [store.path.parent] if store.path else []
    if releases is not None:
        paths.append(Path(releases).resolve())
        if not paths[-1].exists():
            raise LedgerError(f"{shown(paths[-1].name)}: there are no releases here; correct the path")
    return paths
