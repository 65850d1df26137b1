"""The balance of a ledger: its total, what is spent and left, its entries and stored artefacts."""

import os
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from pathlib import Path
from typing import Any

from hushrec.documents import html
from hushrec.documents.document import Document
from hushrec.errors import LedgerError, LedgerStale
from hushrec.privacy.accounting.accountant import Spent
from hushrec.privacy.accounting.budget import Budget
from hushrec.privacy.accounting.plan import Plan
from hushrec.privacy.confined import Confined
from hushrec.privacy.ledger import anchors, summary
from hushrec.privacy.ledger.booking import Remainder, commitment, finished, parts, planned_budget
from hushrec.privacy.ledger.history import Charge, Entry, Head, History
from hushrec.privacy.ledger.stores.store import Session, Store
from hushrec.privacy.noise.entropy import Entropy
from hushrec.text import shown


class Balance(Confined):
    """The state of a ledger, read from its store at every call.

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
        self.kept = store.kept
        self._folders = folders(store, releases)
        self._seen: Head | None = None
        self.id = ""
        with self._reading() as session:
            self.id = session.history.id

    def __repr__(self) -> str:
        with self._reading() as session:
            return f"{type(self).__name__}({summary.line(self.name, session.history)})"

    def document(self) -> Document:
        """Describe its total, the remainder and every release that was charged."""
        with self._reading() as session:
            return summary.document(self.name, session.history, session.proposal())

    def _repr_html_(self) -> str:
        return html.notebook(self.document())

    @property
    def total(self) -> Budget:
        """The budget that the population may lose."""
        with self._reading() as session:
            return session.history.total

    @property
    def max_releases(self) -> int:
        with self._reading() as session:
            return session.history.max_releases

    @property
    def spent(self) -> Spent:
        """The loss so far. ``holds`` names the bound that the ledger counts."""
        with self._reading() as session:
            return session.history.spent

    @property
    def remaining(self) -> float:
        """Unspent ε of the total, at the ledger's δ and by its bound, rounded down."""
        with self._reading() as session:
            return session.history.remaining

    @property
    def holds(self) -> str:
        """The releases for which the total holds, in words; empty if nothing was charged."""
        with self._reading() as session:
            return summary.bound(session.history)

    @property
    def releases_left(self) -> int:
        """How many of its releases are not made, and hold no unfinished charge."""
        with self._reading() as session:
            return Remainder.of(session.history).releases

    def share(
        self, plan: Callable[[Budget], Plan], release_index: int | None = None, checkpoint: str = ""
    ) -> Budget:
        """The budget of the next release: an equal share of what is left, as ``Remainder.share`` finds it.

        A release that was made before, or whose checkpoint resumes, keeps the budget that it was charged for.

        Args:
            plan: the plan of the release under a budget.
            release_index: the release index; None for the next free one, or the checkpoint's.
            checkpoint: commitment of a checkpoint; empty for none.
        """
        with self._reading() as session:
            history = session.history
        return planned_budget(history, release_index, checkpoint) or Remainder.of(
            history, release_index
        ).share(plan)

    @property
    def head(self) -> Head:
        with self._reading() as session:
            return session.history.head

    @property
    def declared(self) -> dict[str, str]:
        """Population, controller and contact, as the owner declared them last."""
        with self._reading() as session:
            return dict(session.history.declared)

    @property
    def proposed(self) -> dict[str, Any] | None:
        """The larger total that waits for a second raiser: total, max_releases and proposed_by."""
        with self._reading() as session:
            return session.proposal()

    def export(self) -> dict[str, Any]:
        """The whole history as JSON values, which anybody can verify.

        Each hash is SHA-256 over the hash before it (32 zero bytes at first), the number of its record as 8
        bytes, big endian, and the record's text in UTF-8.
        """
        with self._reading() as session:
            history, records = session.history, session.records()
            head = history.head
        return {"ledger": history.id, "last_seq": head.seq, "last_head": head.hash, "records": records}

    def entries(self) -> tuple[Entry, ...]:
        with self._reading() as session:
            return tuple(session.history.entries())

    def stored(self, plan: Plan, release_index: int | None, entropy: Entropy | None = None) -> bytes | None:
        """The stored artefact of this plan under this release index, byte for byte; None if there is none.

        Args:
            release_index: the release index; None for that of the checkpoint's charge.
            entropy: the checkpoint, if the noise came from one.
        """
        with self._reading() as session:
            charge = finished(session.history, plan, release_index, commitment(entropy, self.id))
            return None if charge is None else session.artefact(charge)

    @property
    def unpublished(self) -> list[Charge]:
        """The charges under which no release was published or given up, without those of a series."""
        with self._reading() as session:
            charges = session.history.charges.values()
            return [c for c in charges if c.state in ("charged", "sampled") and not c.series]

    def is_finished(self, release_index: int) -> bool:
        """Whether the release of this index is stored."""
        with self._reading() as session:
            charge = session.history.latest(release_index)
        return charge is not None and charge.finished

    def under(self, mark: str) -> Charge | None:
        """The charge of the checkpoint with this commitment; None if nothing was charged under it."""
        with self._reading() as session:
            return session.history.under(mark)

    @property
    def has_series(self) -> bool:
        """Whether releases of a series were charged; later ones cost nothing more."""
        with self._reading() as session:
            return any(charge.series for charge in session.history.charges.values())

    def parts(self, plan: Plan) -> list[Charge]:
        """The charge of each release of the plan's series, failed ones included, in order."""
        with self._reading() as session:
            return parts(session.history, plan)

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


def folders(store: Store, releases: str | os.PathLike[str] | None) -> list[Path]:
    """Where releases lie that witness a ledger: in the folder of its file, and where its owner says."""
    paths = [store.path.parent] if store.path else []
    if releases is not None:
        paths.append(Path(releases).resolve())
        if not paths[-1].exists():
            raise LedgerError(f"{shown(paths[-1].name)}: there are no releases here; correct the path")
    return paths
