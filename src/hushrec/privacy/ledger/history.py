"""The ledger's history: an append-only hash chain of records, and the state that replaying it gives.

Each record is canonical JSON and is hashed together with the previous hash, so that altering, dropping or
reordering a record changes every later hash. The whole state of the ledger is replayed from this chain.
"""

import hashlib
import json
import secrets
from collections.abc import Iterator, Sequence
from dataclasses import dataclass, replace
from fractions import Fraction
from typing import Any, Literal

from hushrec.documents.words import Clause
from hushrec.errors import BudgetError, LedgerDamaged
from hushrec.privacy.accounting import fixed_point
from hushrec.privacy.accounting.accountant import ORDERS, Curve, Spent, price
from hushrec.privacy.accounting.budget import Budget
from hushrec.privacy.accounting.events import Event
from hushrec.privacy.ledger.routes import ROUTES, counted
from hushrec.text import whole

State = Literal["charged", "sampled", "published", "forfeited"]

_NEXT: dict[str, tuple[State, ...]] = {
    "sampled": ("charged",),
    "published": ("sampled",),
    "forfeited": ("charged", "sampled"),
}
"""The states from which a charge may enter each state."""


@dataclass(frozen=True, slots=True)
class Head:
    """The end of a ledger's history: number and hash (hex) of its last record.

    Privacy: public; every release carries one.
    """

    seq: int
    hash: str


@dataclass(frozen=True, slots=True)
class Charge:
    """One charged plan.

    Args:
        number: ``seq`` of its first entry.
        release_index: its release index.
        key: idempotency key of its plan.
        model: name of its model.
        state: charged → sampled → published | forfeited; a charge is never refunded.
        sha256: digest of the stored artefact, hex; empty before it is sampled.
        domain: digest of its public domain.
        checkpoint: commitment of the checkpoint that may resume under it, hex; empty without one.
        budget: the budget that it was planned for; None if its record has none.
        date: the day of the charge (UTC); empty if its record has none.
        series, memory: digest of its series, and commitment to what that remembers; empty without one.

    Privacy: public.
    """

    number: int
    release_index: int
    key: str
    model: str
    domain: str
    state: State = "charged"
    sha256: str = ""
    checkpoint: str = ""
    budget: Budget | None = None
    date: str = ""
    series: str = ""
    memory: str = ""

    @property
    def finished(self) -> bool:
        return self.state in ("sampled", "published")


@dataclass(frozen=True, slots=True)
class Entry:
    """One booked measurement, as the ledger shows it.

    ``sigma`` is the standard deviation of the noise; ``rate`` is the probability that each person takes part.
    Of the measurements in a ``branch``, a fit makes those of one, and those of the dearest pay.
    The three costs and the ``curve`` are in units of 1e-12, as in ``Spent``. ``state`` is the state of its
    charge. ``caveats`` say why its release claims no ε, if so: with a known seed, for example, anyone can
    subtract the noise.

    Privacy: public.
    """

    seq: int
    charge: int
    release_index: int
    key: str
    model: str
    caveats: tuple[Clause, ...]
    measurement: str
    mechanism: str
    sensitivity: float
    sigma: float
    step: float
    size: int
    rho: int
    epsilon_sum: int
    pure_rho: int
    state: State
    rate: float = 1.0
    curve: Curve = ()
    branch: str = ""

    @property
    def spent(self) -> Spent:
        return Spent(self.rho, self.epsilon_sum, self.pure_rho, self.curve)


def booking(charge: Charge, caveats: Sequence[Clause], event: Event, *, free: bool = False) -> dict[str, Any]:
    """Build the record that books one measurement of a charge; ``free`` if something else has paid for it."""
    loss = Spent() if free else price(event)
    facts: dict[str, Any] = {
        "kind": "charged",
        "charge": charge.number,
        "release_index": charge.release_index,
        "key": charge.key,
        "model": charge.model,
        "domain": charge.domain,
        "caveats": [caveat.to_json() for caveat in caveats],
        **event.facts(),
        "sigma": float(event.deviation),
        "rho": loss.rho,
        "epsilon_sum": loss.epsilon_sum,
        "pure_rho": loss.pure_rho,
    }
    if loss.curve:
        facts["curve"] = list(loss.curve)
    facts |= {name: text for name in ("checkpoint", "series", "memory") if (text := getattr(charge, name))}
    if charge.budget:
        facts["budget"] = charge.budget.model_dump()
    return facts


def opening(total: Budget, max_releases: int) -> dict[str, Any]:
    """Build the first record of a ledger."""
    max_releases = whole(max_releases, "max_releases", 1, BudgetError)
    return {
        "kind": "opened",
        "id": secrets.token_hex(16),
        "total": total.model_dump(),
        "max_releases": max_releases,
    }


def extension(history: "History", total: Budget, max_releases: int | None) -> dict[str, Any]:
    """Build the record of the owner's decision to raise the total or ``max_releases``."""
    max_releases = whole(
        history.max_releases if max_releases is None else max_releases, "max_releases", 1, BudgetError
    )
    if _kind(total) != _kind(history.total):
        raise BudgetError("a ledger keeps unit, adjacency and δ; only ε and max_releases may grow")
    if total.epsilon_units < history.total.epsilon_units or max_releases < history.max_releases:
        raise BudgetError("a ledger's ε and max_releases may grow, not shrink")
    return {"kind": "extended", "total": total.model_dump(), "max_releases": max_releases}


class History:
    """A chain of records. Each is replayed when it is appended or loaded.

    Attributes:
        id: the population's identifier; empty before the first record.
        total: the owner's budget.
        max_releases: number of release indexes.
        spent: sum of all charges.
        route: how the total is counted, fixed by the first charge; empty before it.
        charges: every charge by number.
        declared: population, controller and contact, as the owner declared them last.
    """

    def __init__(self) -> None:
        self.id, self.max_releases, self.spent, self.route = "", 0, Spent(), ""
        self.total: Budget
        self.charges: dict[int, Charge] = {}
        self.declared: dict[str, str] = {}
        self._measurements: list[tuple[int, dict[str, Any]]] = []
        self._hashes: list[bytes] = []

    @property
    def head(self) -> Head:
        return Head(len(self._hashes) - 1, self._hashes[-1].hex())

    @property
    def spent_epsilon(self) -> int:
        """ε spent at the ledger's δ, in units of 1e-12, rounded up."""
        return counted(self.spent, self.route, self.total.delta)

    def spent_at(self, seq: int) -> float:
        """ε that was spent when this record was the last, rounded up."""
        losses = sum((_spent(facts) for at, facts in self._measurements if at <= seq), Spent())
        return fixed_point.shown(counted(losses, self.route, self.total.delta))

    @property
    def remaining(self) -> float:
        """Unspent ε of the total, at the ledger's δ, rounded down."""
        return fixed_point.float_below(
            Fraction(self.total.epsilon_units - self.spent_epsilon, fixed_point.PER_ONE)
        )

    def holds(self, head: Head) -> bool:
        """Whether a head is part of this history."""
        # The head comes from a file: 1.0 and True are in the range, but are not record numbers.
        in_range = type(head.seq) is int and head.seq in range(len(self._hashes))
        return in_range and self._hashes[head.seq].hex() == head.hash

    def covers(self, domain: str) -> bool:
        """Whether anything was charged for the domain with this digest."""
        return any(charge.domain == domain for charge in self.charges.values())

    def at(self, seq: int) -> Head:
        """The end of the history when this record was the last."""
        return Head(seq, self._hashes[seq].hex())

    def under(self, checkpoint: str) -> Charge | None:
        """The charge under which a checkpoint resumes, by its commitment; it may be forfeited."""
        return next((c for c in self.charges.values() if checkpoint and c.checkpoint == checkpoint), None)

    def latest(self, release_index: int) -> Charge | None:
        """The last charge of a release index, ignoring forfeited ones."""
        charges = (c for c in reversed(self.charges.values()) if c.release_index == release_index)
        return next((c for c in charges if c.state != "forfeited"), None)

    @property
    def taken(self) -> set[int]:
        """The release indexes that a charge holds; a forfeited one holds none."""
        return {charge.release_index for charge in self.charges.values() if charge.state != "forfeited"}

    def free_index(self) -> int:
        """The first release index that no charge holds."""
        taken = self.taken
        return next(release_index for release_index in range(len(taken) + 1) if release_index not in taken)

    def entries(self) -> Iterator[Entry]:
        for seq, facts in self._measurements:
            charge = self.charges[facts["charge"]]
            shown = {name: value for name, value in facts.items() if name in Entry.__dataclass_fields__}
            shown |= {"seq": seq, "state": charge.state, "curve": tuple(facts.get("curve", ()))}
            shown["caveats"] = tuple(map(Clause.from_json, facts["caveats"]))
            yield Entry(**shown)

    def append(self, facts: dict[str, Any]) -> tuple[int, bytes, bytes]:
        """Add a record and replay it."""
        body = json.dumps(facts, sort_keys=True, separators=(",", ":"), allow_nan=False).encode()
        seq = len(self._hashes)
        self._replay(facts)
        self._hashes.append(self._link(seq, body))
        return seq, body, self._hashes[-1]

    def load(self, seq: object, body: object, digest: object) -> None:
        """Replay a stored record."""
        place = len(self._hashes)
        if seq != place or not isinstance(body, bytes) or self._link(place, body) != digest:
            raise LedgerDamaged(
                f"the ledger's record {place} was altered; restore it and release nothing until then"
            )
        self._replay(json.loads(body))
        self._hashes.append(digest)

    def _link(self, seq: int, body: bytes) -> bytes:
        before = self._hashes[-1] if self._hashes else bytes(32)
        return hashlib.sha256(before + seq.to_bytes(8, "big") + body).digest()

    def _replay(self, facts: dict[str, Any]) -> None:
        kind, seq = facts["kind"], len(self._hashes)
        self.declared |= facts.get("declared", {})
        if kind in ("opened", "extended"):
            self.id = facts.get("id", self.id)
            self.total, self.max_releases = Budget(**facts["total"]), facts["max_releases"]
        elif kind == "charged":
            number = facts["charge"]
            if not self.charges:
                self.route = _route(facts)
            if number == seq:
                about = facts["release_index"], facts["key"], facts["model"], facts["domain"]
                budget = Budget(**facts["budget"]) if "budget" in facts else None
                texts = {name: facts.get(name, "") for name in ("checkpoint", "date", "series", "memory")}
                self.charges[number] = Charge(number, *about, budget=budget, **texts)
            self.spent += _spent(facts)
            self._measurements.append((seq, facts))
        elif kind != "declared":
            charge = self.charges[facts["charge"]]
            if charge.state not in _NEXT[kind]:
                raise LedgerDamaged(f"the ledger's record {seq} makes a {charge.state} charge {kind}")
            self.charges[charge.number] = replace(
                charge, state=kind, sha256=facts.get("sha256", charge.sha256)
            )


def _kind(budget: Budget) -> tuple[object, ...]:
    return budget.unit, budget.adjacency, budget.delta


def _route(facts: dict[str, Any]) -> str:
    route = str(facts.get("route"))
    if route not in ROUTES:
        raise LedgerDamaged(
            "the ledger counts its total in a way that this version does not know; upgrade hushrec"
        )
    return route


def _spent(facts: dict[str, Any]) -> Spent:
    curve = tuple(facts.get("curve", ()))
    if len(curve) not in (0, len(ORDERS)):
        raise LedgerDamaged(
            "the ledger holds divergences at orders that this version does not know; upgrade hushrec"
        )
    return Spent(facts["rho"], facts["epsilon_sum"], facts["pure_rho"], curve)
