"""The summary of a ledger: its total, the remainder, and every release that was charged.

Privacy: public.
"""

from collections.abc import Iterator, Mapping
from contextlib import suppress
from typing import Any

from hushrec.documents import words
from hushrec.documents.document import Block, Document, Facts, Paragraph, Section, Table
from hushrec.documents.measured import Odds
from hushrec.documents.promise import Guarantee
from hushrec.errors import BudgetError
from hushrec.privacy.accounting import fixed_point
from hushrec.privacy.accounting.accountant import epsilon_of, largest_cost
from hushrec.privacy.ledger.booking import split_budget
from hushrec.privacy.ledger.caveats import has
from hushrec.privacy.ledger.history import State
from hushrec.text import above, below, escaped, left, ranges

_HEADS = "release", "model", "state", "measurements", "alone", "holds"


def line(name: str, state: State) -> str:
    """Name, total, what is left, and how many releases were charged."""
    return (
        f"{_name(name)}: {state.total}; ε = {left(state.remaining)} left, "
        f"{len(state.charges)} of {state.max_releases} releases"
    )


def document(name: str, state: State) -> Document:
    """Describe a ledger's total, its owner's declaration, and the remainder."""
    total, remaining = state.total, left(state.remaining)
    odds = Odds.of(total.epsilon, total.delta)
    all_of_them = Guarantee(total.unit, total.adjacency, odds, files=state.max_releases)
    loss, charged = all_of_them.loss(), len(state.charges)
    more, proposed = state.releases_left, state.proposed
    lines = [words.say("ledger.charged", n=charged, most=state.max_releases), all_of_them.grade()]
    with suppress(BudgetError):  # what is left is too little for one
        shares = [split_budget(total, more, state.spent, first=first) for first in (False, True)]
        half = state.spent + largest_cost(shares[1])
        shares.append(split_budget(total, more - 1, half) if more > 1 else shares[0])
        figures = dict(zip(("each", "half", "later"), (below(one.epsilon) for one in shares), strict=True))
        lines.append(words.say("ledger.share", n=more, **figures))
    if any(has("author", charge.caveats) for charge in state.charges):
        lines.append(words.say("ledger.claimed"))
    if proposed:
        figures = {"by": proposed["proposed_by"], "epsilon": above(proposed["total"]["epsilon"], 15)}
        lines.append(words.say("ledger.proposed", n=proposed["max_releases"], **figures))
    headline = words.say("ledger.total", ledger=_name(name), loss=loss, left=remaining)
    blocks: list[Block] = [Paragraph(headline, "strong"), *map(Paragraph, lines)]
    if state.declared:
        blocks.append(Facts([(words.say(f"charged.{role}"), text) for role, text in state.declared.items()]))
    if rows := [_row(release) for release in releases(state)]:
        heads = [words.say(f"ledger.{head}") for head in _HEADS]
        title = words.say("ledger.releases")
        blocks.append(Section(title, [Table(title, heads, rows, left=3)], folded=True))
    return Document("ledger", words.say("ledger.title", ledger=_name(name)), blocks, facts=facts(state))


def facts(state: State) -> dict[str, Any]:
    """A ledger and its releases as JSON values."""
    head = state.head
    return {
        "ledger": state.id,
        **state.total.model_dump(),
        "max_releases": state.max_releases,
        "remaining": state.remaining,
        "seq": head.seq,
        "head": head.hash,
        **state.declared,
        **({"proposed": dict(state.proposed)} if state.proposed else {}),
        "releases": [*releases(state)],
    }


def releases(state: State) -> Iterator[dict[str, Any]]:
    """Every charge as JSON values, with its ε alone at the ledger's δ, and whose sums it holds."""
    for charge in state.charges:
        yield {
            "release_index": charge.release_index,
            "model": charge.model,
            "state": charge.state,
            "caveats": [caveat.to_json() for caveat in charge.caveats],
            "measurements": len(charge.booked),
            "holds": list(charge.year.releases) if charge.year else [],
            "epsilon": fixed_point.shown(epsilon_of(charge.cost, state.total.delta)),
        }


def _row(release: Mapping[str, Any]) -> tuple[str, ...]:
    kinds = ", ".join(words.say(f"caveat.{one['name'].partition('.')[0]}") for one in release["caveats"])
    state = f"{release['state']} ({kinds})" if kinds else release["state"]
    return (
        str(release["release_index"]),
        release["model"],
        state,
        str(release["measurements"]),
        above(release["epsilon"]),
        ranges(release["holds"]),
    )


def _name(name: str) -> str:
    return escaped(name) or words.say("ledger.memory")
