"""The ledger: how much privacy a population may lose, how much it has lost, and to what.

One ledger a population. Models, metrics, tuning and retraining all charge it. A charge is on disk before the
grant exists that adds the noise, so whatever was published was charged. A missing, damaged or restored ledger
grants nothing. Nothing here reads a clock.
"""

import hashlib
import os
import warnings
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path

from hushrec.errors import BudgetError, GrantError, LedgerStale, LedgerWarning
from hushrec.privacy.accounting.accountant import Spent
from hushrec.privacy.accounting.budget import Budget
from hushrec.privacy.accounting.plan import Plan, require_releasable, require_same_population
from hushrec.privacy.checkpoint.checkpoint import Checkpoint
from hushrec.privacy.failpoints import failpoint
from hushrec.privacy.grant import SEAL, Grant, sampler
from hushrec.privacy.ledger import surroundings, witnesses
from hushrec.privacy.ledger.caveats import conditional, inherited
from hushrec.privacy.ledger.charging import commitment, entered, finished, resumed, stamp
from hushrec.privacy.ledger.history import Charge, Entry, Head, History, opening
from hushrec.privacy.ledger.routes import spelled
from hushrec.privacy.ledger.sqlite import Session, Store
from hushrec.privacy.noise.entropy import Entropy, OperatingSystem


class Ledger:
    """An append-only, durable account of one population's privacy budget.

    Start one with ``create``, once; ``open`` it from then on. It may be used from several threads and
    processes at once.

    Attributes:
        path: its file; None for one in memory.
        id: the population's identifier.

    Privacy: public.
    """

    def __init__(self, store: Store) -> None:
        self.path, self._store = store.path, store
        self._seen: Head | None = None
        self.id = ""
        with self._reading() as session:
            self.id = session.history.id

    @classmethod
    def create(
        cls, path: str | os.PathLike[str], total: Budget, horizon: int = 1, *, domain: str | None = None
    ) -> "Ledger":
        """Start a population's ledger: once, and on purpose, for nothing else does.

        Args:
            path: a file that does not exist, on a local disk. Only its owner may read it (0600).
            total: what the population may lose over all releases.
            horizon: how many releases the owner means to make.
            domain: ``Domain.digest`` of what will be charged. Without it nobody can tell whose the ledgers
                and releases in the same folder are: they are named in a ``LedgerWarning``, and the first
                charge is refused if they are of the same people.

        Raises:
            LedgerError: There is a ledger already, or a ledger or release of the same people beside it.
            LedgerMissing: A release beside it names a ledger of this file name: it was lost, not never made.
        """
        where = Path(path).resolve()
        first = opening(total, horizon)
        surroundings.require_startable(where, total, domain)
        if domain is None and (beside := surroundings.beside(where)):
            warnings.warn(
                f"a new ledger {where.name} is started beside {beside}. One population has one ledger: if "
                "these are of the same people, charge that of theirs, and delete the new one",
                LedgerWarning,
                stacklevel=2,
            )
        Store.create(where, first)
        return cls.open(where)

    @classmethod
    def open(cls, path: str | os.PathLike[str]) -> "Ledger":
        """Open a ledger and verify all of it.

        Raises:
            LedgerMissing: There is no file, and none is started; or a release beside it names a ledger that
                this is not.
            LedgerDamaged: It is unreadable, altered, or of an unknown schema.
            LedgerStale: A release beside it names a later state: a backup was restored.
        """
        where = Path(path).resolve()
        if not where.exists():
            witnesses.require_new(where)
            raise surroundings.missing(where)
        store = Store(where)
        store.inspect()
        return cls(store)

    @classmethod
    def ephemeral(cls, total: Budget, horizon: int = 1_000_000) -> "Ledger":
        """A ledger in memory, for experiments. It is forgotten, so its releases claim nothing."""
        store = Store(None)
        store.fill(opening(total, horizon))
        return cls(store)

    @property
    def total(self) -> Budget:
        """What the population may lose."""
        with self._reading() as session:
            return session.history.total

    @property
    def horizon(self) -> int:
        """How many release slots there are."""
        with self._reading() as session:
            return session.history.horizon

    @property
    def spent(self) -> Spent:
        """What it has lost so far. Of its bounds the ledger counts the one that ``holds`` names."""
        with self._reading() as session:
            return session.history.spent

    @property
    def remaining(self) -> float:
        """ε of the total that is unspent, at the ledger's δ and as it counts, rounded down."""
        with self._reading() as session:
            return session.history.remaining

    @property
    def holds(self) -> str:
        """For which releases the total holds, in words; empty where nothing was charged."""
        with self._reading() as session:
            return spelled(session.history.spent, session.history.route)

    @property
    def head(self) -> Head:
        """Number and hash of the last record."""
        with self._reading() as session:
            return session.history.head

    def entries(self) -> tuple[Entry, ...]:
        """Every measurement that was booked, in order."""
        with self._reading() as session:
            return tuple(session.history.entries())

    def stored(self, plan: Plan, slot: int | None, entropy: Entropy | None = None) -> bytes | None:
        """The artefact that this plan was charged for in this slot, byte for byte; None if there is none.

        Args:
            plan: what was measured.
            slot: the release slot; None for the one that a checkpoint was charged in.
            entropy: the checkpoint, if that is where the noise came from.

        Raises:
            LedgerDamaged: The bytes are not those that were stored.
        """
        with self._reading() as session:
            charge = finished(session.history, plan, slot, commitment(entropy, self.id))
            return None if charge is None else session.kept(charge)

    def handed_out(self, plan: Plan, slot: int | None, entropy: Entropy | None = None) -> None:
        """Record that what ``stored`` answered has left the building, if that is not recorded yet.

        A fit that was killed after its artefact was stored has not told the ledger what became of it.

        Args:
            plan: what was measured.
            slot: as for ``stored``.
            entropy: as for ``stored``.

        Raises:
            LedgerError: It could not be written.
        """
        mark = commitment(entropy, self.id)
        with self._reading() as session:
            charge = finished(session.history, plan, slot, mark)
        if charge is None or charge.state == "published":
            return
        with self._writing() as session:
            charge = finished(session.history, plan, slot, mark)
            if charge is not None and charge.state == "sampled":
                session.append(kind="published", charge=charge.number)

    def charge(self, plan: Plan, slot: int | None = None, entropy: Entropy | None = None) -> Grant:
        """Pay for a plan, durably, and get the right to make its measurements.

        A slot whose charge was never finished (a crash, say) is burnt and paid for again: noise is never
        drawn twice under one charge. A checkpoint draws the same noise again, so its own unfinished charge is
        granted again and costs nothing more.

        Args:
            plan: what will be measured.
            slot: the release slot, 0 ≤ slot < horizon; None for the next free one, or the checkpoint's.
            entropy: where the noise comes from; the operating system unless told otherwise. A checkpoint is
                bound to its fit and to this ledger before.

        Returns:
            The grant, once the charge is on disk.

        Raises:
            BudgetExceeded: The ledger has less left; nothing was charged.
            BudgetError: Unit, adjacency, δ or slot do not fit this ledger, or the plan's noise is for seeded
                experiments alone; nothing was charged.
            GrantError: The slot holds a finished release; nothing was charged.
            LedgerError: This would be the ledger's first charge for a domain for which another ledger, or a
                release of another ledger, in its folder was charged; nothing was charged. Seeded charges,
                which claim nothing, are not refused.
            CheckpointError: The checkpoint's charge was given up, or it is bound to another ledger; nothing
                was charged.
            LedgerError: The ledger cannot be relied on, or could not be written; nothing is granted.

        Privacy: charged (every event of the plan).
        """
        entropy = entropy or OperatingSystem()
        mark = commitment(entropy, self.id)
        caveat = self._caveat(entropy)
        sampler()
        failpoint("before-charge")
        with self._writing() as session:
            history = session.history
            require_same_population(plan, history.total)
            caveat = inherited(caveat, history.entries())
            require_releasable(plan, caveat)
            if self.path and not caveat and not history.covers(plan.domain_digest):
                surroundings.require_alone(self.path, plan.domain_digest, history.total)
            caveat = conditional(caveat, plan, [*history.entries()])
            charge = resumed(session, plan, slot, mark) or entered(
                session, plan, slot, caveat, mark, bounded=not self.path
            )
            about = stamp(session, charge, self.path.name if self.path else None, len(plan.events))
            failpoint("inside-charge")
        failpoint("after-charge")
        return Grant(
            plan.events,
            entropy,
            caveat=caveat,
            ledger=about,
            charge=charge.number,
            key=charge.key,
            seal=SEAL,
        )

    def sampled(self, grant: Grant, artefact: bytes) -> None:
        """Store what a grant was used for; from now on its slot answers with these bytes.

        Raises:
            GrantError: The grant is not this ledger's, or was burnt or stored before.
            LedgerError: It could not be written.
        """
        grant.close()
        with self._writing() as session:
            charge = self._of(grant, session, "charged")
            session.keep(charge.number, artefact)
            digest = hashlib.sha256(artefact).hexdigest()
            session.append(kind="sampled", charge=charge.number, sha256=digest, size=len(artefact))
            failpoint("inside-store")
        failpoint("after-store")

    def published(self, grant: Grant) -> None:
        """Record that the stored artefact has left the building.

        Raises:
            GrantError: The grant is not this ledger's, or its artefact was never stored.
            LedgerError: It could not be written.
        """
        with self._writing() as session:
            session.append(kind="published", charge=self._of(grant, session, "sampled").number)
        failpoint("after-publish")

    def burn(self, grant: Grant) -> None:
        """Give a charge up: it stays spent, and its slot may be charged anew.

        Raises:
            GrantError: The grant is not this ledger's, or was published or burnt before.
            LedgerError: It could not be written.
        """
        grant.close()
        with self._writing() as session:
            session.append(kind="burnt", charge=self._of(grant, session, "charged", "sampled").number)

    def extend(self, total: Budget, horizon: int | None = None) -> None:
        """The owner's decision to allow more, recorded like everything else.

        Raises:
            BudgetError: Unit, adjacency or δ differ, or the total or the horizon would shrink.
            LedgerError: It could not be written.
        """
        with self._writing() as session:
            history = session.history
            horizon = history.horizon if horizon is None else horizon
            if _kind(total) != _kind(history.total):
                raise BudgetError("a ledger keeps its unit, adjacency and δ; only ε and the horizon may grow")
            if total.epsilon_units < history.total.epsilon_units or horizon < history.horizon:
                raise BudgetError("a ledger's ε and horizon may grow, not shrink")
            session.append(kind="extended", total=total.model_dump(), horizon=horizon)

    def _of(self, grant: Grant, session: Session, *states: str) -> Charge:
        charge = session.history.charges.get(grant.charge)
        if grant.ledger.get("id") != self.id or charge is None:
            raise GrantError("this grant was charged to another ledger")
        if charge.state not in states:
            raise GrantError(f"this grant's charge is {charge.state}, and not {' or '.join(states)}")
        return charge

    def _caveat(self, entropy: Entropy) -> str:
        if type(entropy) not in (OperatingSystem, Checkpoint):  # no other source can vouch for itself
            return "not private: seeded"
        return "" if self.path else "not private: the ledger was not kept"

    @contextmanager
    def _reading(self) -> Iterator[Session]:
        beside = self._anchors()
        with self._store.reading() as session:
            self._compare(session.history, beside)
            yield session
        self._seen = session.history.head

    @contextmanager
    def _writing(self) -> Iterator[Session]:
        beside = self._anchors()
        with self._store.writing() as session:
            self._compare(session.history, beside)
            yield session
        self._seen = session.history.head

    def _anchors(self) -> list[witnesses.Anchor]:
        # Read before the history is: a release that appears in between names a record that will be there.
        return witnesses.beside(self.path) if self.path else []

    def _compare(self, history: History, beside: list[witnesses.Anchor]) -> None:
        """Refuse a history that has forgotten what a release, or this process, has seen."""
        witnesses.require_known(beside, self.path, history)
        if self._seen and not history.holds(self._seen):
            raise LedgerStale(
                "the ledger was put back to an earlier state while it was open; put the latest copy back"
            )


def _kind(budget: Budget) -> tuple[object, ...]:
    return budget.unit, budget.adjacency, budget.delta
