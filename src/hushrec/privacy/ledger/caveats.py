"""Caveats: what a release does not promise, or only under a condition, because of itself or its ledger.

Each is a fact, whose kind says what it takes away: ``unprotected``, nothing is promised;
``convergence``, ε holds only for a converged Markov chain; ``groups``, no ε covers the groups that replace
items; ``author``, ε depends on code outside hushrec.
"""

from collections.abc import Iterable, Sequence

from hushrec.documents.fact import Fact
from hushrec.documents.sentences import Author, Convergence, Groups, Unprotected
from hushrec.privacy.accounting.measurement import MECHANISMS
from hushrec.privacy.accounting.plan import Plan
from hushrec.privacy.ledger.history import Charge

Caveats = tuple[Fact, ...]


def has(kind: str, caveats: Caveats) -> bool:
    """Whether one of the caveats is of this kind."""
    return any(caveat.kind == kind for caveat in caveats)


def inherited(caveats: Caveats, charges: Iterable[Charge]) -> Caveats:
    """A release's caveats, or that of its ledger if an earlier release was not private.

    Anyone with the seed can compute the exact sums of that release, so no later release can promise ε.
    """
    if not caveats and any(has("unprotected", charge.caveats) for charge in charges):
        return (Unprotected.ledger(),)
    return caveats


def conditional(caveats: Caveats, plan: Plan, charges: Sequence[Charge]) -> Caveats:
    """A release's caveats, or the conditions under which its plan's ε and its ledger's total hold."""
    if caveats:
        return caveats
    conditions = _uncovered(plan, charges) or _sampled(plan, charges), _claimed(plan, charges)
    return tuple(condition for condition in conditions if condition)


def _uncovered(plan: Plan, charges: Sequence[Charge]) -> Fact | None:
    if plan.uncovered:
        return plan.uncovered
    return Groups.ledger() if any(has("groups", charge.caveats) for charge in charges) else None


def _claimed(plan: Plan, charges: Sequence[Charge]) -> Fact | None:
    """The claim of an outside author, for this plan or for an earlier release of the ledger."""
    if plan.claim:
        return plan.claim
    return Author.ledger() if any(has("author", charge.caveats) for charge in charges) else None


def _sampled(plan: Plan, charges: Sequence[Charge]) -> Fact | None:
    sample = MECHANISMS["loss"]
    booked = (one for charge in charges for one in charge.booked if one["mechanism"] == sample)
    names = {one.name for one in plan.noisy if one.norm == "loss"} | {one["measurement"] for one in booked}
    return Convergence.sample(names=", ".join(sorted(names))) if names else None
