"""The ledger: how much privacy a population may lose, how much it has lost, and to which releases.

Each population has one ledger. Models, metrics, tuning and retraining all charge it. A charge is on disk
before the grant that adds the noise exists, so every published value was charged. A missing, damaged or
restored ledger grants nothing. The day of a charge is written down; nothing is decided by a clock.
"""

import hashlib
import os
import warnings
from collections.abc import Collection, Iterator
from contextlib import contextmanager

from hushrec.documents.words import Clause
from hushrec.errors import BudgetError, GrantError, LedgerError, LedgerWarning
from hushrec.privacy.accounting.budget import Budget
from hushrec.privacy.accounting.plan import Plan, require_same_population
from hushrec.privacy.checkpoint.checkpoint import Checkpoint
from hushrec.privacy.failpoints import failpoint
from hushrec.privacy.grant import SEAL, Grant, sampler
from hushrec.privacy.ledger import anchors
from hushrec.privacy.ledger.balance import Balance, folders
from hushrec.privacy.ledger.booking import book, commitment, finished, ledger_reference, resume
from hushrec.privacy.ledger.caveats import Caveats, conditional, inherited
from hushrec.privacy.ledger.history import Charge, extension, opening
from hushrec.privacy.ledger.stores.places import store_of
from hushrec.privacy.ledger.stores.sqlite import SqliteStore
from hushrec.privacy.ledger.stores.store import Session
from hushrec.privacy.noise.entropy import Entropy, OperatingSystem
from hushrec.text import whole

LONGEST = 200
"""Characters of what an owner declares."""


class Ledger(Balance):
    """An append-only, durable account of one population's privacy budget.

    Call ``create`` once, and ``open`` from then on. Several threads and processes may use it at once.

    Privacy: public.
    """

    @classmethod
    def create(
        cls,
        path: str | os.PathLike[str],
        total: Budget,
        max_releases: int = 1,
        *,
        domain: str | None = None,
        population: str = "",
        controller: str = "",
        contact: str = "",
        releases: str | os.PathLike[str] | None = None,
    ) -> "Ledger":
        """Create a population's ledger. Do this once; nothing else creates one.

        Args:
            path: a file that does not exist, on a local disk; only its owner may read it (0600). Or the URL
                of a PostgreSQL database, as text: ``postgresql://host/database[?ledger=NAME]``.
            total: what the population may lose over all releases.
            max_releases: largest number of releases.
            domain: ``Domain.digest`` of what will be charged, so that a ledger or release of the same people
                in the same folder is refused at once. Without it, the first charge is refused. People whose
                domain differs cannot be recognized, so a ``LedgerWarning`` names what is in the folder.
            population: whose data they are; this and the next two stand in every statement.
            controller: who answers for the data.
            contact: whom to ask.
            releases: where releases lie that may be of the same people, in addition to the folder of a file.

        Raises:
            LedgerError: It exists already, or a ledger or release in its folder is of the same people.
            LedgerMissing: A release in the folder names a ledger of this file name, which was lost.
        """
        store = store_of(path)
        declared = _declared(population=population, controller=controller, contact=contact)
        first = opening(total, max_releases) | ({"declared": declared} if declared else {})
        told_of = anchors.among(*folders(store, releases))
        anchors.require_startable(store, total, domain, told_of)
        beside = anchors.beside(store, told_of)
        store.create(first)
        if beside:
            warnings.warn(
                f"a new ledger {store.name} is started next to {beside}. One population has one ledger: if "
                "these are of the same people, also with a catalogue that grew, charge their ledger and "
                f"{'delete the new one' if store.path else 'never charge the new one'}",
                LedgerWarning,
                stacklevel=2,
            )
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
            anchors.require_new(anchors.among(*folders(store, releases)), store)
            raise anchors.missing(store)
        store.inspect()
        return cls(store, releases)

    @classmethod
    def ephemeral(cls, total: Budget, max_releases: int = 1_000_000) -> "Ledger":
        """A ledger in memory, for experiments. It is not kept, so its releases claim nothing."""
        store = SqliteStore(None)
        store.create(opening(total, max_releases))
        return cls(store)

    def handed_out(self, plan: Plan, release_index: int | None, entropy: Entropy | None = None) -> None:
        """Record that the artefact that ``stored`` returned was published, unless this is recorded already.

        A fit that was killed after storing its artefact has not recorded this.

        Args:
            plan: what was measured.
            release_index: as for ``stored``.
            entropy: as for ``stored``.

        Raises:
            LedgerError: The ledger could not be written.
        """
        mark = commitment(entropy, self.id)
        with self._reading() as session:
            charge = finished(session.history, plan, release_index, mark)
        if charge is None or charge.state == "published":
            return
        with self._writing() as session:
            charge = finished(session.history, plan, release_index, mark)
            if charge is not None and charge.state == "sampled":
                session.append(kind="published", charge=charge.number)

    def charge(
        self,
        plan: Plan,
        release_index: int | None = None,
        entropy: Entropy | None = None,
        *,
        accept: Collection[str] = (),
    ) -> Grant:
        """Charge a plan durably, and return the right to make its measurements.

        Noise is never drawn twice under one charge. A checkpoint draws the same noise again, so its own
        unfinished charge, for example after a crash, is granted again at no extra cost. Any other unfinished
        charge keeps its release index until its owner gives it up with ``forfeit_index``.

        Args:
            plan: what will be measured.
            release_index: from 0 to below ``max_releases``; None for the next free one, or the checkpoint's.
            entropy: source of the noise; by default the operating system. A checkpoint must already be bound
                to its fit and to this ledger.
            accept: *share*, to leave less than equal shares for the releases that are still planned; *weak*,
                to charge an ε that the statement will call too weak to promise much. No question is asked
                where releases claim nothing (seeded noise, a ledger in memory), nor when a checkpoint
                resumes.

        Raises:
            BudgetExceeded: The ledger has less left than the plan costs; nothing was charged.
            GrantError: The plan is a release of a series, and not its next one; nothing was charged.
            ShareExceeded: The plan costs more than its equal share; nothing was charged.
            WeakBudget: The plan's ε is too weak to promise much; nothing was charged.
            BudgetError: Unit, adjacency, δ or release index does not fit this ledger, or the plan is only for
                seeded experiments; nothing was charged.
            GrantError: The release index holds a finished release; nothing was charged.
            ChargeUnpublished: The release index was charged before, and no release was published under it;
                nothing was charged.
            LedgerError: This would be the ledger's first charge for a domain that another ledger in the
                folder, or a release of another ledger, was charged for; nothing was charged. Seeded charges
                claim nothing and are not refused.
            CheckpointError: The checkpoint's charge is forfeited, or it is bound to another ledger; nothing
                was charged.
            LedgerError: The ledger is not reliable, or could not be written; nothing is granted.

        Privacy: charged (every event of the plan).
        """
        entropy = entropy or OperatingSystem()
        mark = commitment(entropy, self.id)
        caveats = self._caveats(entropy)
        accept = ("share", "weak") if caveats else accept
        sampler()
        failpoint("before-charge")
        with self._writing() as session:
            history = session.history
            require_same_population(plan, history.total)
            caveats = inherited(caveats, history.entries())
            if self.name and not caveats and not history.covers(plan.domain_digest):
                around = self._anchors()
                anchors.require_alone(self._store, plan.domain_digest, history.total, around)
            caveats = conditional(caveats, plan, [*history.entries()])
            charge = resume(session, plan, release_index, mark) or book(
                session,
                plan,
                release_index,
                caveats,
                mark,
                kept=bool(self.name),
                accept=accept,
            )
            about = ledger_reference(session, charge, plan, self.name or None)
            failpoint("inside-charge")
        failpoint("after-charge")
        return Grant(
            plan.events,
            entropy,
            caveats=caveats,
            ledger=about,
            charge=charge.number,
            key=charge.key,
            seal=SEAL,
        )

    def sampled(self, grant: Grant, artefact: bytes) -> None:
        """Store the artefact made with a grant; from now on its release index returns these bytes.

        Raises:
            GrantError: The grant is not this ledger's, or was forfeited or stored before.
            LedgerError: The ledger could not be written.
        """
        grant.close()
        with self._writing() as session:
            charge = self._of(grant, session, "charged")
            session.save_artefact(charge.number, artefact)
            digest = hashlib.sha256(artefact).hexdigest()
            session.append(kind="sampled", charge=charge.number, sha256=digest, size=len(artefact))
            failpoint("inside-store")
        failpoint("after-store")

    def published(self, grant: Grant) -> None:
        """Record that the stored artefact was published.

        Raises:
            GrantError: The grant is not this ledger's, or its artefact was never stored.
            LedgerError: The ledger could not be written.
        """
        with self._writing() as session:
            session.append(kind="published", charge=self._of(grant, session, "sampled").number)
        failpoint("after-publish")

    def forfeit(self, grant: Grant) -> None:
        """Forfeit a charge: it stays spent, and its release index may be charged again.

        Raises:
            GrantError: The grant is not this ledger's, or was published or forfeited before.
            LedgerError: The ledger could not be written.
        """
        grant.close()
        with self._writing() as session:
            session.append(kind="forfeited", charge=self._of(grant, session, "charged", "sampled").number)

    def forfeit_index(self, release_index: int) -> None:
        """Give up the charge of a release index under which nothing was published, for example after a crash.

        It stays spent, nothing resumes under it, and the next release takes its index.

        Raises:
            GrantError: The index holds no charge, or its release was published.
            LedgerError: The ledger could not be written.
        """
        release_index = whole(release_index, "release_index", 0, BudgetError)
        with self._writing() as session:
            charge = session.history.latest(release_index)
            if charge is None or charge.state == "published":
                was = "was published" if charge else "holds no charge"
                raise GrantError(
                    f"release {release_index} {was}, so there is nothing to forfeit; hushrec ledger show "
                    "lists the state of each release"
                )
            session.append(kind="forfeited", charge=charge.number)

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

        Raises:
            LedgerError: Nothing is declared, a text is not printable or longer than 200 characters, or the
                ledger could not be written.
        """
        declared = _declared(population=population, controller=controller, contact=contact)
        if not declared:
            raise LedgerError("nothing to declare: give population, controller or contact")
        with self._writing() as session:
            session.append(kind="declared", declared=declared)

    def _of(self, grant: Grant, session: Session, *states: str) -> Charge:
        charge = session.history.charges.get(grant.charge)
        if grant.ledger.get("id") != self.id or charge is None:
            raise GrantError("this grant was charged to another ledger; use that one")
        if charge.state not in states:
            raise GrantError(f"this grant's charge is {charge.state}, not {' or '.join(states)}")
        return charge

    def _caveats(self, entropy: Entropy) -> Caveats:
        if type(entropy) not in (OperatingSystem, Checkpoint):  # no other source can prove that it is secret
            return (Clause("unprotected.seeded"),)
        return () if self.name else (Clause("unprotected.not_kept"),)

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
