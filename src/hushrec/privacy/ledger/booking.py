"""Charging a ledger: what remains, a plan that is booked, or the charge under which a fit resumes."""

import hashlib
import json
from collections.abc import Callable, Collection
from dataclasses import dataclass, field
from decimal import Decimal
from secrets import token_hex
from typing import Any

from hushrec.errors import (
    BudgetError,
    BudgetExceeded,
    BudgetUnsupported,
    ChargeUnpublished,
    CheckpointError,
    GrantError,
    ShareExceeded,
)
from hushrec.privacy.accounting import fixed_point
from hushrec.privacy.accounting.accountant import Spent
from hushrec.privacy.accounting.budget import Budget
from hushrec.privacy.accounting.plan import Plan, require_strong
from hushrec.privacy.checkpoint.checkpoint import Checkpoint
from hushrec.privacy.dates import today
from hushrec.privacy.ledger.caveats import Caveats, has
from hushrec.privacy.ledger.history import Charge, History, booking
from hushrec.privacy.ledger.routes import chosen, counted
from hushrec.privacy.ledger.stores.store import Session
from hushrec.privacy.noise.entropy import Entropy
from hushrec.text import above, whole

_DIGITS = 4
"""Significant digits of the ε of a share, so that it can be read off and typed."""
_PER_DECADE = 9 * 10 ** (_DIGITS - 1)  # numbers with these digits between two powers of ten
_SMALLEST = Decimal("1e-12")


@dataclass(frozen=True, slots=True)
class Remainder:
    """The loss that a ledger still allows, and for how many releases.

    Args:
        total: what the population may lose over all releases.
        releases: how many releases are still planned, with the next one.
        spent: what it has lost.
        route: how the ledger counts; empty before the first charge, which settles it.
    """

    total: Budget
    releases: int
    spent: Spent = field(default_factory=Spent)
    route: str = ""

    @classmethod
    def of(cls, history: History, release_index: int | None = None) -> "Remainder":
        """Return the remainder of a ledger with this history, if this release index is charged next.

        Args:
            release_index: the release index, whose unfinished charge is then forfeited; None for a free one.
        """
        releases = history.max_releases - len(history.taken - {release_index})
        return cls(history.total, releases, history.spent, history.route)

    def after(self, cost: Spent, times: int) -> int:
        """Return ε of the ledger after this many releases of equal cost, in units of 1e-12, rounded up."""
        route = self.route or chosen(cost, self.total)
        return counted(self.spent + cost * times, route, self.total.delta)

    def covers(self, cost: Spent) -> bool:
        """Whether every planned release may cost this much."""
        return self.after(cost, self.releases) <= self.total.epsilon_units

    def require_share(self, plan: Plan) -> None:
        """Refuse a release that leaves less than it takes to any of those that are still planned."""
        if plan.part or self.covers(plan.spent):  # a series is all that was planned
            return
        alone = above(plan.spent.epsilon(self.total.delta))
        together = above(fixed_point.shown(self.after(plan.spent, self.releases)))
        raise ShareExceeded(
            f"this release costs ε = {alone} per {self.total.unit}, more than an equal share of what the "
            f"ledger has left for {self.releases:,} releases: {self.releases:,} like it would bring the "
            f"total to ε = {together}, and it may be {above(self.total.epsilon)}; spend less, or, if later "
            'releases may have less, accept it: accept="share", or --accept share'
        )

    def share(self, plan: Callable[[Budget], Plan]) -> Budget:
        """The largest budget that each planned release may have, so that together they fit.

        Found by bisection on plans, whose costs are integers. ε is rounded down to four significant digits,
        so it is at most 0.1 % below the largest.

        Args:
            plan: the plan of one release under a budget.
        """
        if self.releases < 1:
            raise BudgetError(
                "this ledger has no release left; let its owner raise max_releases (hushrec ledger extend)"
            )
        plan(self.total)  # what is refused whatever ε is, is refused here

        def fits(place: int) -> bool:
            try:
                planned = plan(self._budget(place))
            except BudgetUnsupported:
                raise
            except BudgetError:  # ε is too small to be planned; so is any smaller one
                return True
            return self.covers(planned.spent)

        low, high = _place(_SMALLEST), _place(Decimal(repr(self.total.epsilon))) + 1
        while high - low > 1:
            middle = (low + high) // 2
            low, high = (middle, high) if fits(middle) else (low, middle)
        budget, why = self._budget(low), ""
        try:
            if self.covers(plan(budget).spent):
                return budget
        except BudgetError as error:
            why = f" ({error})"
        raise BudgetError(
            f"what is left of the total is too little for {self.releases:,} more releases of this model{why}"
            "; plan fewer, or let the ledger's owner raise the total (hushrec ledger extend)"
        )

    def _budget(self, place: int) -> Budget:
        return self.total.model_copy(update={"epsilon": _epsilon(place)})


def _place(epsilon: Decimal) -> int:
    """The place of ε among all numbers of four significant digits; between two, that of the smaller."""
    exponent = epsilon.adjusted()
    digits = int(epsilon.scaleb(_DIGITS - 1 - exponent))  # rounds down
    return int(exponent * _PER_DECADE + digits - _PER_DECADE // 9)


def _epsilon(place: int) -> float:
    exponent, digits = divmod(place, _PER_DECADE)
    return float(f"{digits + _PER_DECADE // 9}e{exponent - _DIGITS + 1}")


def commitment(entropy: Entropy | None, ledger: str) -> str:
    """The commitment that a ledger records for a checkpoint; empty for any other source of noise.

    Args:
        entropy: where the noise comes from.
        ledger: id of the ledger.

    Privacy: public.
    """
    return entropy.commitment_to(ledger) if isinstance(entropy, Checkpoint) else ""


def finished(history: History, plan: Plan, release_index: int | None, checkpoint: str) -> Charge | None:
    """The finished charge of a plan, whose artefact is stored; None if there is none.

    Args:
        release_index: the release index; None for that of the checkpoint's charge.
        checkpoint: the commitment; empty for none.
    """
    charge = history.under(checkpoint) if release_index is None else history.latest(release_index)
    answers = charge and charge.finished and charge.key == plan.key(history.id, charge.release_index)
    return charge if answers else None


def planned_budget(history: History, release_index: int | None, checkpoint: str) -> Budget | None:
    """The budget under which a fit is repeated, or resumes; None if it is a fit of its own.

    Args:
        release_index: the release index; None for any.
        checkpoint: the commitment; empty for none.
    """
    charge = history.under(checkpoint)
    if charge is None and release_index is not None:
        latest = history.latest(release_index)
        charge = latest if latest and latest.finished else None
    return None if charge is None else charge.budget


def resume(session: Session, plan: Plan, release_index: int | None, checkpoint: str) -> Charge | None:
    """The open charge of a checkpoint. It may be used until its artefact is stored.

    Args:
        release_index: the release index; None for any.
        checkpoint: the commitment; empty for none.

    Returns:
        The charge, or None if nothing was charged under this checkpoint.
    """
    charge = session.history.under(checkpoint)
    if charge is None:
        return None
    if charge.finished:
        raise _finished(charge.release_index)
    if charge.state == "forfeited":
        raise CheckpointError(
            "the charge of this checkpoint is forfeited; delete the checkpoint's folder, and fit again"
        )
    if release_index not in (None, charge.release_index) or charge.key != plan.key(
        session.history.id, charge.release_index
    ):
        raise CheckpointError("this checkpoint is for another plan or release index; resume with those")
    return charge


def book(
    session: Session,
    plan: Plan,
    release_index: int | None,
    caveats: Caveats,
    checkpoint: str,
    *,
    kept: bool,
    accept: Collection[str],
) -> Charge:
    """Book every measurement of a plan as an entry of its own.

    A charge that a release may claim holds a random number, or its checkpoint's commitment. So a ledger that
    was restored and charged with the same plan on the same day has another head than the releases made
    before name.

    Args:
        release_index: the release index; None for the next free one.
        caveats: why its release claims no ε; empty if it does.
        checkpoint: commitment of the checkpoint that may resume under this charge; empty for none.
        kept: whether the ledger is more than one in memory, whose releases claim nothing.
        accept: as for ``Ledger.charge``.

    Privacy: charged (every event of the plan).
    """
    history = session.history
    paid = _paid(history, plan, caveats)
    if release_index is not None:
        release_index = whole(release_index, "release_index", 0, BudgetError)
    if release_index is None:
        release_index = history.free_index()
    elif latest := history.latest(release_index):
        raise _finished(release_index) if latest.finished else _unpublished(latest, plan, history)
    elif given_up := next((c for c in history.charges.values() if c.release_index == release_index), None):
        raise _unpublished(given_up, plan, history)
    spent = history.spent if paid else history.spent + plan.spent
    route = history.route if history.charges else chosen(plan.spent, history.total)
    requested = counted(spent, route, history.total.delta)
    if requested > history.total.epsilon_units:
        raise BudgetExceeded(fixed_point.shown(requested), history.remaining, history.total.unit)
    if not 0 <= release_index < history.max_releases:
        raise BudgetError(
            f"release index {release_index} is not below this ledger's {history.max_releases} releases; name "
            "an unfinished one to charge it again, or let the ledger's owner raise max_releases"
        )
    if not ("share" in accept or paid):
        Remainder.of(history).require_share(plan)
    if not ("weak" in accept or paid):
        require_strong(plan)
    number, key = history.head.seq + 1, plan.key(history.id, release_index)
    charge = Charge(
        number,
        release_index,
        key,
        plan.model,
        plan.domain_digest,
        checkpoint=checkpoint,
        budget=plan.budget,
        series=series_of(plan, history.id),
        memory=plan.part.memory if plan.part else "",
    )
    real = kept and not has("unprotected", caveats)  # what is seeded is the same at every time
    once = {"date": today()} if real else {}
    if real and not checkpoint:
        once |= {"nonce": token_hex(16)}
    unpaid = plan.unpaid
    for event in plan.events:
        first = {} if history.charges else {"route": route}
        free = paid or event in unpaid
        session.append(**booking(charge, caveats, event, free=free), **first, **once)
        once = {}
    return history.charges[number]


def series_of(plan: Plan, ledger: str) -> str:
    """The identity of a series, as a digest in hex; empty without a series.

    The catalogue is not in it, because it may grow from one release to the next, and neither is the version
    of hushrec.

    Args:
        plan: the plan of any of its releases.
        ledger: id of the ledger.
    """
    if plan.part is None:
        return ""
    noise = [{**event.facts(), "size": 0} for event in plan.events]
    facts: dict[str, Any] = {"ledger": ledger, "model": plan.model, "settings": plan.settings}
    facts |= {"series": plan.part.series, "releases": plan.part.of}
    facts |= {"max_users": plan.max_users, "budget": plan.budget.model_dump(), "measurements": noise}
    return hashlib.sha256(json.dumps(facts, sort_keys=True, allow_nan=False).encode()).hexdigest()


def parts(history: History, plan: Plan) -> list[Charge]:
    """The charges of the plan's series, forfeited ones included, in order; empty without a series."""
    series = series_of(plan, history.id)
    return [charge for charge in history.charges.values() if series and charge.series == series]


def _paid(history: History, plan: Plan, caveats: Caveats) -> bool:
    """Whether an earlier release of the plan's series paid for all of them."""
    if plan.part is None:
        return False
    charges = parts(history, plan)
    if len(charges) != plan.part.number or len(charges) >= plan.part.of:
        raise GrantError(
            f"the ledger has {len(charges)} of the {plan.part.of} releases of this series, and this one is "
            f"number {plan.part.number + 1}: each is measured once; go on with the series' own folder"
        )
    numbers = {charge.number for charge in charges}
    unprotected = (has("unprotected", e.caveats) for e in history.entries() if e.charge in numbers)
    if any(seeded != has("unprotected", caveats) for seeded in unprotected):
        raise GrantError("a series is seeded in all of its releases or in none; start another series")
    return bool(charges)


def ledger_reference(session: Session, charge: Charge, plan: Plan, file: str | None) -> dict[str, Any]:
    """Return a release's facts about its ledger: the state when the charge was booked, as JSON values.

    Args:
        charge: a charge that was booked with one record per measurement.
        file: name of the ledger's file; None for one in memory.
    """
    history = session.history
    head = history.at(charge.number + len(plan.events) - 1)
    optional: dict[str, Any] = {"date": charge.date} if charge.date else {}
    if plan.part:
        optional |= {"part": plan.part.number, "parts": plan.part.of}
    return {
        "id": history.id,
        "file": file,
        "seq": head.seq,
        "head": head.hash,
        "release_index": charge.release_index,
        "max_releases": history.max_releases,
        "domain": charge.domain,
        "total_epsilon": history.total.epsilon,
        "total_delta": history.total.delta,
        "spent_epsilon": history.spent_at(head.seq),
        **optional,
        **history.declared,
    }


def _unpublished(charge: Charge, plan: Plan, history: History) -> ChargeUnpublished:
    """Why a release index that was charged before is not charged again, and what that would cost."""
    index, cost = charge.release_index, above(plan.spent.epsilon(history.total.delta))
    if charge.state == "charged":
        return ChargeUnpublished(
            f"release {index} was charged, and no release was published under it: a new charge would cost "
            f"ε = {cost} more. Nothing was charged. To resume it at no cost, repeat its fit with the same "
            "data and settings and without a release index, where its checkpoint is; to give it up, so that "
            f"its ε stays spent, run hushrec ledger forfeit LEDGER {index}"
        )
    return ChargeUnpublished(
        f"release {index} was charged and forfeited, so there are no bytes to return: a new charge would "
        f"cost ε = {cost} more. Nothing was charged. To make a new release, leave out the release index"
    )


def _finished(release_index: int) -> GrantError:
    return GrantError(
        f"release {release_index} is finished; get its bytes with stored(plan, {release_index}), or use the "
        "next release index for a new one"
    )
