"""Caveats: what a release does not promise, or only under a condition, because of itself or its ledger."""

from collections.abc import Iterable, Sequence

from hushrec.privacy.accounting.events import PosteriorSample
from hushrec.privacy.accounting.plan import Plan
from hushrec.privacy.ledger.history import Entry

UNPROTECTED = "not private"
"""Start of a caveat if nothing is promised."""
CONDITIONAL = "conditional on convergence"
"""Start of a caveat if ε holds only for a converged Markov chain."""
UNCOVERED = "groups not covered"
"""Start of a caveat if no ε covers the groups that replace items."""
CLAIMED = "author's claim"
"""Start of a caveat, or second part after one of the last two, if ε depends on code outside hushrec."""


def inherited(caveat: str, entries: Iterable[Entry]) -> str:
    """A release's caveat, or that of its ledger if an earlier release was not private.

    Anyone with the seed can compute the exact sums of that release, so no later release can promise ε.
    """
    if not caveat and any(entry.caveat.startswith(UNPROTECTED) for entry in entries):
        return f"{UNPROTECTED}: this ledger holds a seeded release"
    return caveat


def conditional(caveat: str, plan: Plan, entries: Sequence[Entry]) -> str:
    """A release's caveat, or the condition under which its plan's ε and its ledger's total hold."""
    if caveat:
        return caveat
    return "; ".join(
        filter(None, (_uncovered(plan, entries) or _sampled(plan, entries), _claimed(plan, entries)))
    )


def _uncovered(plan: Plan, entries: Sequence[Entry]) -> str:
    if plan.uncovered:
        return f"{UNCOVERED}: {plan.uncovered}"
    if any(entry.caveat.startswith(UNCOVERED) for entry in entries):
        return f"{UNCOVERED}: this ledger holds a release whose groups of items no ε covers"
    return ""


def _claimed(plan: Plan, entries: Sequence[Entry]) -> str:
    """The claim of an outside author, for this plan or for an earlier release of the ledger."""
    if plan.foreign:
        return f"{CLAIMED}: {plan.claim}"
    if any(CLAIMED in entry.caveat for entry in entries):
        return (
            f"{CLAIMED}: this ledger holds a release by code that is not part of hushrec; what the ledger "
            "counts for it is its author's claim, and with it the total"
        )
    return ""


def _sampled(plan: Plan, entries: Sequence[Entry]) -> str:
    own = {event.name for event in plan.events if event.mechanism == PosteriorSample.mechanism}
    names = own | {e.measurement for e in entries if e.mechanism == PosteriorSample.mechanism}
    if not names:
        return ""
    return (
        f"{CONDITIONAL}: a posterior sample ({', '.join(sorted(names))}) keeps its ε only if the chain had "
        "converged; its diagnostics (R̂, effective sample size) were computed from the ratings and are "
        "covered by no ε"
    )
