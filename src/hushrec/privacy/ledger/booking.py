"""Charging a ledger: what remains, a plan that is booked, or the charge under which a fit resumes."""

from collections.abc import Collection
from decimal import ROUND_DOWN, Context, Decimal
from secrets import token_hex
from typing import Any

from hushrec.errors import BudgetError, BudgetExceeded, GrantError, ShareExceeded
from hushrec.privacy.accounting import fixed_point
from hushrec.privacy.accounting.accountant import budget_of, epsilon_of, largest_cost
from hushrec.privacy.accounting.budget import Budget
from hushrec.privacy.accounting.plan import Plan, require_strong
from hushrec.privacy.accounting.year import Year
from hushrec.privacy.dates import today
from hushrec.privacy.ledger.caveats import Caveats, has
from hushrec.privacy.ledger.history import Charge, State
from hushrec.privacy.ledger.stores.store import Session
from hushrec.text import above, below, whole

_DIGITS = Context(prec=4, rounding=ROUND_DOWN)
"""Significant digits of the ε of a share, so that it can be read off and typed."""


def split_budget(total: Budget, releases: int, spent: int = 0, *, first: bool = False) -> Budget:
    """The budget of the next of so many releases, so that together they fit what is left of a total.

    What is left, of μ² or at δ = 0 of ε, is divided by the number of releases; the first of those that take
    over each other's sums gets half of it. ε is rounded down to four significant digits, so it is at most
    0.1 % below the largest.

    Args:
        total: what the population may lose over all releases.
        releases: how many releases are still planned, with the next one.
        spent: the cost of what it has lost, in units of 1e-12.
        first: whether the others will take over the sums of the next one.
    """
    releases = whole(releases, "the number of releases", 0, BudgetError)
    if not releases:
        raise BudgetError(
            "this ledger has no release left; let its owner raise max_releases (hushrec ledger extend)"
        )
    try:
        epsilon = budget_of((largest_cost(total) - spent) // parts(releases, first), total).epsilon
        rounded = float(_DIGITS.create_decimal(Decimal(repr(epsilon))))
        return Budget(**total.model_dump() | {"epsilon": rounded})
    except BudgetError:
        raise BudgetError(
            f"what is left of the total is too little for {releases:,} more releases; plan fewer, or let the "
            "ledger's owner raise the total (hushrec ledger extend)"
        ) from None


def parts(releases: int, first: bool) -> int:
    """Into how many parts what is left is divided for the next of so many releases."""
    return min(releases, 2) if first else releases


def whole_year(state: State, budget: Budget | None) -> Budget | None:
    """What all releases may cost that take over each other's sums from the next one on.

    Args:
        budget: what the next one may cost; None for its share of what is left.

    Returns:
        None if the ledger has nothing left, or its losses do not add up with those of the budget.

    Privacy: public.
    """
    cost = state.left
    if budget is not None:
        one = largest_cost(budget)
        if budget.delta != state.total.delta or one > cost:
            return None
        cost = min(cost, one * max(state.releases_left, 1))
    try:
        return budget_of(cost, state.total)
    except BudgetError:
        return None


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
    """Book a plan with all its measurements in one record, under the next free release index.

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
    if plan.year:
        _require_year(state, plan, plan.year, claims=kept and not caveats)
    if "share" not in accept:
        _require_share(state, plan)
    if "weak" not in accept:
        require_strong(plan)
    facts: dict[str, Any] = {
        "kind": "charged",
        "release_index": release_index,
        "key": plan.key(state.id),
        "model": plan.model,
        "domain": plan.domain_digest,
        "caveats": [caveat.to_json() for caveat in caveats],
        "budget": plan.budget.model_dump(),
        "measurements": [one.facts() | {"sigma": float(one.deviation)} for one in plan.noisy],
        "cost": plan.spent.units(state.total.delta),  # of branches the dearest
    }
    if sums:
        facts["sums"] = sums
    if kept and not has("unprotected", caveats):  # what is seeded is the same at every time
        facts |= {"date": today()} | ({} if sums else {"nonce": token_hex(16)})
    if plan.year:
        facts["year"] = plan.year.to_json()
    return history.charges[session.append(**facts)]


def _require_share(state: State, plan: Plan) -> None:
    """Refuse a release that takes more than its share of what is left for those that are still planned."""
    total, n = state.total, state.releases_left
    first = plan.year is not None and not plan.year.releases
    if plan.spent.units(total.delta) * parts(n, first) <= state.left:
        return
    alone, share = (
        plan.spent.epsilon_at(total.delta),
        split_budget(total, n, state.spent, first=first).epsilon,
    )
    if first:
        raise ShareExceeded(
            f"this release costs ε = {above(alone)} per {total.unit}, more than half of what the ledger has "
            f"left, which is the share of the first of {n:,} releases that take over each other's sums; "
            f'spend less, or accept it: accept="share", or --accept share. Its share is ε = {below(share)}: '
            "--epsilon auto takes it"
        )
    together = spent_after(plan, n, total, state.spent)
    raise ShareExceeded(
        f"this release costs ε = {above(alone)} per {total.unit}, more than an equal share of what the "
        f"ledger has left for {n:,} releases: {n:,} like it would bring the total to ε = {above(together)}, "
        f"and it may be {above(total.epsilon)}; spend less, or, if later releases may have less, accept it: "
        f'accept="share", or --accept share. An equal share is ε = {below(share)}: --epsilon auto takes it'
    )


def _require_year(state: State, plan: Plan, year: Year, *, claims: bool) -> None:
    """Refuse to take over sums of what was not made, was not equal, or costs something else.

    ε at δ = 0 and μ² do not add up, so plan and ledger count the same.

    Args:
        claims: whether the release may claim its ε; then those before must, too.
    """
    before = [state.made(index) for index in year.releases]
    held = [charge for charge in before if charge and charge.year and charge.year.sums == year.sums]
    flawed = claims and any(charge.caveats or not charge.carried for charge in held)
    last = held[-1] if held else None
    inside = (*last.year.releases, last.release_index) if last and last.year else ()
    flawed = flawed or (plan.budget.delta > 0) != (state.total.delta > 0)
    if inside != year.releases or flawed or sum(charge.cost for charge in held) != year.spent:
        raise GrantError(
            "this release would take over sums that the ledger does not know, or that were formed otherwise; "
            "plan it anew"
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


def ledger_reference(session: Session, charge: Charge, file: str | None) -> dict[str, Any]:
    """Return a release's facts about its ledger: the state when the charge was booked, as JSON values.

    Args:
        charge: a charge that was booked.
        file: name of the ledger's file; None for one in memory.
    """
    history = session.history
    head = history.at(charge.number)
    spent = sum(one.cost for one in history.charges.values() if one.number <= charge.number)
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
        "spent_epsilon": fixed_point.shown(epsilon_of(spent, history.total.delta)),
        **optional,
        **history.declared,
    }
