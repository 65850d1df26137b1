"""Caveats: what a release does not promise, or only under a condition, because of itself or its ledger.

Each is a ``Clause``, whose kind says what it takes away: ``unprotected``, nothing is promised;
``convergence``, ε holds only for a converged Markov chain; ``groups``, no ε covers the groups that replace
items; ``author``, ε depends on code outside hushrec.
"""

from collections.abc import Iterable, Sequence

from hushrec.documents.words import Clause
from hushrec.privacy.accounting.events import PosteriorSample
from hushrec.privacy.accounting.plan import Plan
from hushrec.privacy.ledger.history import Entry

Caveats = tuple[Clause, ...]


def has(kind: str, caveats: Caveats) -> bool:
    """Whether one of the caveats is of this kind."""
    return any(caveat.kind == kind for caveat in caveats)


def inherited(caveats: Caveats, entries: Iterable[Entry]) -> Caveats:
    """A release's caveats, or that of its ledger if an earlier release was not private.

    Anyone with the seed can compute the exact sums of that release, so no later release can promise ε.
    """
    if not caveats and any(has("unprotected", entry.caveats) for entry in entries):
        return (Clause("unprotected.ledger"),)
    return caveats


def conditional(caveats: Caveats, plan: Plan, entries: Sequence[Entry]) -> Caveats:
    """A release's caveats, or the conditions under which its plan's ε and its ledger's total hold."""
    if caveats:
        return caveats
    clauses = _uncovered(plan, entries) or _sampled(plan, entries), _claimed(plan, entries)
    return tuple(clause for clause in clauses if clause)


def _uncovered(plan: Plan, entries: Sequence[Entry]) -> Clause | None:
    if plan.uncovered:
        return plan.uncovered
    if any(has("groups", entry.caveats) for entry in entries):
        return Clause("groups.ledger")
    return None


def _claimed(plan: Plan, entries: Sequence[Entry]) -> Clause | None:
    """The claim of an outside author, for this plan or for an earlier release of the ledger."""
    if plan.claim:
        return plan.claim
    if any(has("author", entry.caveats) for entry in entries):
        return Clause("author.ledger")
    return None


def _sampled(plan: Plan, entries: Sequence[Entry]) -> Clause | None:
    sampled = {event.name for event in plan.events if event.mechanism == PosteriorSample.mechanism}
    names = sampled | {e.measurement for e in entries if e.mechanism == PosteriorSample.mechanism}
    return Clause("convergence.sample", {"names": ", ".join(sorted(names))}) if names else None
