"""The ledger's history: an append-only hash chain of records, and the state that replaying it gives.

Each record is canonical JSON and is hashed together with the previous hash, so that altering, dropping or
reordering a record changes every later hash. The whole state of the ledger is replayed from this chain.
"""

import hashlib
import json
import secrets
from collections.abc import Mapping
from dataclasses import dataclass, field, replace
from typing import Any, Literal, cast

from hushrec.documents.fact import Fact
from hushrec.documents.sentences import CAVEAT_KINDS
from hushrec.errors import BudgetError, LedgerDamaged
from hushrec.privacy.accounting.accountant import budget_of, largest_cost
from hushrec.privacy.accounting.budget import Budget
from hushrec.privacy.accounting.year import Year
from hushrec.text import whole

Standing = Literal["charged", "made", "forfeited"]


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
        number: ``seq`` of its record.
        release_index: its release index.
        key: ``Plan.key`` of its plan.
        model: name of its model.
        caveats: why its release claims no ε, or under which condition; empty if it does.
        state: charged, then made or forfeited; a charge is never refunded.
        booked: its measurements: what ``Measurement.facts`` says, and the deviation ``sigma`` of the noise.
        cost: what it costs, μ² or at δ = 0 ε, in units of 1e-12.
        sha256: digest of the stored artefact, hex; empty before it is made.
        domain: digest of its public domain.
        sums: token of the folder that keeps its sums; empty if they are kept nowhere.
        measured: SHA-256, hex, of each value that was measured under it, by name.
        branch: the branch that was taken; empty before, and without branches.
        budget: the budget that it was planned for.
        date: the day of the charge (UTC); empty if its record has none.
        year: the releases whose sums it takes over; None for a release that stands alone.
        carried: SHA-256 (hex) of what it hands to the next release of the year; empty if that is nothing.
    """

    number: int
    release_index: int
    key: str
    model: str
    domain: str
    budget: Budget
    caveats: tuple[Fact, ...] = ()
    state: Standing = "charged"
    booked: tuple[Mapping[str, Any], ...] = ()
    cost: int = 0
    sha256: str = ""
    sums: str = ""
    measured: Mapping[str, str] = field(default_factory=dict)
    branch: str = ""
    date: str = ""
    year: Year | None = None
    carried: str = ""

    def may_measure(self, name: str) -> bool:
        """Whether a measurement of this name is booked, in no branch or in the one that was taken."""
        booked = (one for one in self.booked if one["measurement"] == name)
        return any(one.get("branch", "") in ("", self.branch) for one in booked)


@dataclass(frozen=True, slots=True)
class State:
    """A ledger at one moment.

    Attributes:
        id: the population's identifier.
        total: the budget that the population may lose.
        max_releases: how many releases its owner plans.
        allowed: the largest cost within the total, in units of 1e-12: of μ², or of ε at δ = 0.
        spent: the cost of all charges, in the same units.
        charges: every charge, in order.
        declared: population, controller and contact, as the owner declared them last.
        head: the end of its history.
        proposed: the larger total that waits for a second raiser (total, max_releases, proposed_by), or None.
    """

    id: str
    total: Budget
    max_releases: int
    allowed: int
    spent: int
    charges: tuple[Charge, ...]
    declared: Mapping[str, str]
    head: Head
    proposed: Mapping[str, Any] | None = None

    @property
    def left(self) -> int:
        """The cost that the total still allows."""
        return self.allowed - self.spent

    @property
    def remaining(self) -> float:
        """ε of the largest release that the total still allows, at the ledger's δ, rounded down."""
        return budget_of(self.left, self.total).epsilon

    @property
    def indexes(self) -> set[int]:
        """The release indexes that a charge holds; a forfeited one holds none."""
        return {charge.release_index for charge in self.charges if charge.state != "forfeited"}

    @property
    def releases_left(self) -> int:
        """How many of its releases are not made, and hold no open charge."""
        return self.max_releases - len(self.indexes)

    def latest(self, release_index: int) -> Charge | None:
        """The charge that holds a release index."""
        charges = (one for one in self.charges if one.release_index == release_index)
        return next((one for one in charges if one.state != "forfeited"), None)

    def under(self, sums: str) -> Charge | None:
        """The charge whose sums are in the folder with this token; it may be forfeited."""
        return next((charge for charge in self.charges if sums and charge.sums == sums), None)

    def made(self, release_index: int) -> Charge | None:
        """The charge whose release was made under an index."""
        charge = self.latest(release_index)
        return charge if charge and charge.state == "made" else None


def opening(total: Budget, max_releases: int) -> dict[str, Any]:
    """Build the first record of a ledger."""
    max_releases = whole(max_releases, "max_releases", 1, BudgetError)
    return {
        "kind": "opened",
        "id": secrets.token_hex(16),
        "total": total.model_dump(),
        "allowed": largest_cost(total),
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
    allowed = largest_cost(total)
    return {"kind": "extended", "total": total.model_dump(), "allowed": allowed, "max_releases": max_releases}


class History:
    """A chain of records. Each is replayed when it is appended or loaded.

    Attributes:
        id, total, max_releases, allowed, spent, declared: as of ``State``.
        charges: every charge by number.

    Privacy: public.
    """

    def __init__(self) -> None:
        self.id, self.max_releases, self.allowed, self.spent = "", 0, 0, 0
        self.total: Budget
        self.charges: dict[int, Charge] = {}
        self.declared: dict[str, str] = {}
        self._hashes: list[bytes] = []

    @property
    def length(self) -> int:
        """How many records it has."""
        return len(self._hashes)

    @property
    def head(self) -> Head:
        return self.at(len(self._hashes) - 1)

    def state(self, proposed: Mapping[str, Any] | None = None) -> State:
        """The ledger as it is now."""
        return State(
            self.id,
            self.total,
            self.max_releases,
            self.allowed,
            self.spent,
            tuple(self.charges.values()),
            dict(self.declared),
            self.head,
            proposed,
        )

    def holds(self, head: Head) -> bool:
        """Whether a head is part of this history."""
        # The head comes from a file: 1.0 and True are in the range, but are not record numbers.
        in_range = type(head.seq) is int and head.seq in range(len(self._hashes))
        return in_range and self._hashes[head.seq].hex() == head.hash

    def at(self, seq: int) -> Head:
        """The end of the history when this record was the last."""
        return Head(seq, self._hashes[seq].hex())

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
            self.allowed = facts["allowed"]
            if self.allowed != largest_cost(self.total):
                raise LedgerDamaged(
                    f"the ledger's record {seq} allows another cost than its total; restore it and release "
                    "nothing until then"
                )
        elif kind == "charged":
            about = facts["release_index"], facts["key"], facts["model"], facts["domain"]
            texts = {name: facts.get(name, "") for name in ("sums", "date")}
            self.charges[seq] = Charge(
                seq,
                *about,
                caveats=tuple(Fact.from_json(one, *CAVEAT_KINDS) for one in facts["caveats"]),
                booked=tuple(facts["measurements"]),
                cost=facts["cost"],
                budget=Budget(**facts["budget"]),
                year=Year.from_json(facts["year"]) if "year" in facts else None,
                **texts,
            )
            self.spent += facts["cost"]
        elif kind != "declared":
            self.charges[facts["charge"]] = self._after(self.charges[facts["charge"]], kind, facts)

    def _after(self, charge: Charge, kind: str, facts: dict[str, Any]) -> Charge:
        """What a record makes of a charge; each of these happens once, and only while it is open."""
        again = charge.branch if kind == "taken" else kind == "measured" and facts["name"] in charge.measured
        if charge.state != "charged" or again:
            raise LedgerDamaged(
                f"the ledger's record {len(self._hashes)} has a {charge.state} charge {kind}"
                f"{' twice' * bool(again)}"
            )
        if kind == "measured" and not charge.may_measure(facts["name"]):
            raise LedgerDamaged(
                f"the ledger's record {len(self._hashes)} measures what its charge has not booked, or in a "
                "branch that was not taken"
            )
        if kind == "measured":
            return replace(charge, measured={**charge.measured, facts["name"]: facts["sha256"]})
        if kind == "taken":
            return replace(charge, branch=facts["branch"])
        digests = {name: facts.get(name, "") for name in ("sha256", "carried")}
        return replace(charge, state=cast(Standing, kind), **digests)


def _kind(budget: Budget) -> tuple[object, ...]:
    return budget.unit, budget.adjacency, budget.delta
