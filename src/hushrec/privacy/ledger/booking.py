"""Charging a ledger: what remains, a plan that is booked, or the charge under which a fit resumes."""

from collections.abc import Collection
from decimal import ROUND_DOWN, Context, Decimal
from secrets import token_hex
from typing import Any

from hushrec.errors import (
    BudgetError,
    BudgetExceeded,
    GrantError,
    ShareExceeded,
)
from hushrec.privacy.accounting import fixed_point
from hushrec.privacy.accounting.accountant import budget_of, epsilon_of, largest_cost
from hushrec.privacy.accounting.budget import Budget
from hushrec.privacy.accounting.plan import Plan, require_strong
from hushrec.privacy.dates import today
from hushrec.privacy.ledger.caveats import Caveats, has
from hushrec.privacy.ledger.history import Charge, State, booking
from hushrec.privacy.ledger.stores.store import Session
from hushrec.text import above, below, whole

_DIGITS = Context(prec=4, rounding=ROUND_DOWN)
"""Significant digits of the ε of a share, so that it can be read off and typed."""


def split_budget(total: Budget, releases: int, spent: int = 0) -> Budget:
    """The budget that each of so many releases may have, so that together they fit what is left of a total.

    What is left, of μ² or at δ = 0 of ε, is divided by the number of releases. ε is rounded down to four
    significant digits, so it is at most 0.1 % below the largest.

    Args:
        total: what the population may lose over all releases.
        releases: how many releases are still planned, with the next one.
        spent: the cost of what it has lost, in units of 1e-12.
    """
    releases = whole(releases, "the number of releases", 0, BudgetError)
    if not releases:
        raise BudgetError(
            "this ledger has no release left; let its owner raise max_releases (hushrec ledger extend)"
        )
    try:
        epsilon = budget_of((largest_cost(total) - spent) // releases, total).epsilon
        rounded = float(_DIGITS.create_decimal(Decimal(repr(epsilon))))
        return Budget(**total.model_dump() | {"epsilon": rounded})
    except BudgetError:
        raise BudgetError(
            f"what is left of the total is too little for {releases:,} more releases; plan fewer, or let the "
            "ledger's owner raise the total (hushrec ledger extend)"
        ) from None


def spent_after(plan: Plan, times: int, total: Budget, spent: int = 0) -> float:
    """ε of a ledger after this many releases like the planned one, rounded up."""
    return fixed_point.shown(epsilon_of(spent + plan.spent.units(total.delta) * times, total.delta))


def resume(session: Session, plan: Plan, sums: str) -> Charge | None:
    """The open charge whose sums are kept under this token; None if nothing was charged under it."""
    charge = session.history.state().under(sums)
    if charge is not None and (charge.state != "charged" or charge.key != plan.key(session.history.id)):
        raise GrantError(
            f"release {charge.release_index} is {charge.state}, or was charged for another plan; resume what "
            "is charged, with the plan that it was charged for"
        )
    return charge


def book(
    session: Session,
    plan: Plan,
    caveats: Caveats,
    sums: str,
    *,
    kept: bool,
    accept: Collection[str],
) -> Charge:
    """Book every measurement of a plan as an entry of its own, under the next free release index.

    A charge that a release may claim holds a random number, or the token of its sums. So a ledger that was
    restored and charged with the same plan on the same day has another head than the releases made before
    name.

    Args:
        caveats: why its release claims no ε; empty if it does.
        sums: token of the folder that keeps its sums; empty for none.
        kept: whether the ledger is more than one in memory, whose releases claim nothing.
        accept: as for ``Ledger.charge``.

    Privacy: charged (every measurement of the plan).
    """
    history, state = session.history, session.history.state()
    _require_left(state, plan)
    release_index = next(index for index in range(len(state.charges) + 1) if index not in state.indexes)
    if release_index >= state.max_releases:
        raise BudgetError(
            f"all {state.max_releases} releases of this ledger are made or charged; let its owner raise "
            "max_releases (hushrec ledger extend)"
        )
    if "share" not in accept:
        _require_share(state, plan)
    if "weak" not in accept:
        require_strong(plan)
    number, key = state.head.seq + 1, plan.key(state.id)
    about = release_index, key, plan.model, plan.domain_digest
    charge = Charge(number, *about, caveats, sums=sums, budget=plan.budget)
    once = {}
    if kept and not has("unprotected", caveats):  # what is seeded is the same at every time
        once = {"date": today()} | ({} if sums else {"nonce": token_hex(16)})
    for one in plan.noisy:
        free = one.branch not in ("", plan.dearest)
        session.append(**booking(charge, one, state.total.delta, free=free), **once)
        once = {}
    return history.charges[number]


def _require_share(state: State, plan: Plan) -> None:
    """Refuse a release that leaves less than it takes to any of those that are still planned."""
    total, n = state.total, state.releases_left
    if plan.spent.units(total.delta) * n <= state.left:
        return
    alone, together = plan.spent.epsilon_at(total.delta), spent_after(plan, n, total, state.spent)
    equal = split_budget(total, n, state.spent).epsilon
    raise ShareExceeded(
        f"this release costs ε = {above(alone)} per {total.unit}, more than an equal share of what the "
        f"ledger has left for {n:,} releases: {n:,} like it would bring the total to ε = {above(together)}, "
        f"and it may be {above(total.epsilon)}; spend less, or, if later releases may have less, accept it: "
        f'accept="share", or --accept share. An equal share is ε = {below(equal)}: --epsilon auto takes it'
    )


def _require_left(state: State, plan: Plan) -> None:
    """Refuse a plan that costs more than is left."""
    delta, pure = state.total.delta, plan.spent.epsilon
    requested = state.spent + plan.spent.units(delta)
    if requested <= state.allowed:
        return
    why = ""
    if delta and pure is not None:
        why = (
            f"this ledger adds up μ, by which ε = {above(fixed_point.shown(pure))} without Gaussian noise "
            f"counts as {above(plan.spent.epsilon_at(delta))}; a ledger with delta = 0 adds up pure ε"
        )
    asked = fixed_point.shown(epsilon_of(requested, delta))
    raise BudgetExceeded(asked, state.remaining, state.total.unit, why=why)


def ledger_reference(session: Session, charge: Charge, plan: Plan, file: str | None) -> dict[str, Any]:
    """Return a release's facts about its ledger: the state when the charge was booked, as JSON values.

    Args:
        charge: a charge that was booked with one record per measurement.
        file: name of the ledger's file; None for one in memory.
    """
    history = session.history
    head = history.at(charge.number + len(plan.noisy) - 1)
    optional: dict[str, Any] = {"date": charge.date} if charge.date else {}
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
        "spent_epsilon": history.spent_with(charge.number),
        **optional,
        **history.declared,
    }
