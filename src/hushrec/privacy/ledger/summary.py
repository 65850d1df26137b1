"""The summary of a ledger: its total, the remainder, and every release that was charged."""

from collections.abc import Iterator, Mapping
from itertools import groupby
from typing import Any

from hushrec.documents import words
from hushrec.documents.document import Block, Document, Facts, Paragraph, Section, Table
from hushrec.documents.measured import Odds
from hushrec.documents.promise import Guarantee
from hushrec.privacy.ledger.booking import Remainder
from hushrec.privacy.ledger.caveats import has
from hushrec.privacy.ledger.history import History
from hushrec.privacy.ledger.routes import holds
from hushrec.text import above, escaped, left

_HEADS = "release", "model", "state", "measurements", "alone"


def line(name: str, history: History) -> str:
    """Name, total, what is left, and how many releases were charged."""
    return (
        f"{_name(name)}: {history.total}; ε = {left(history.remaining)} left, "
        f"{len(history.charges)} of {history.max_releases} releases"
    )


def bound(history: History) -> str:
    """The releases for which the total holds, in words; empty if nothing was charged."""
    clause = holds(history.spent, history.route)
    if clause is None:
        return ""
    text = words.clause(clause)
    claimed = any(has("author", entry.caveats) for entry in history.entries())
    return words.say("ledger.claimed", holds=text) if claimed else text


def document(name: str, history: History, proposed: Mapping[str, Any] | None = None) -> Document:
    """Describe a ledger's total, its owner's declaration, and the remainder.

    Args:
        proposed: the larger total that waits for a second raiser.
    """
    total, remaining = history.total, left(history.remaining)
    odds = Odds.of(total.epsilon, total.delta)
    all_of_them = Guarantee(total.unit, total.adjacency, odds, files=history.max_releases)
    loss, charged = all_of_them.loss(), len(history.charges)
    more = Remainder.of(history).releases
    lines = [words.say("ledger.charged", n=charged, most=history.max_releases), all_of_them.grade()]
    if more and any(charge.series for charge in history.charges.values()):
        lines.append(words.say("ledger.series"))
    elif more and remaining != "0":
        lines.append(words.say("ledger.share", n=more, left=remaining))
    if bound_text := bound(history):
        lines.append(words.join([bound_text]))
    if proposed:
        figures = {"by": proposed["proposed_by"], "epsilon": above(proposed["total"]["epsilon"], 15)}
        lines.append(words.say("ledger.proposed", n=proposed["max_releases"], **figures))
    headline = words.say("ledger.total", ledger=_name(name), loss=loss, left=remaining)
    blocks: list[Block] = [Paragraph(headline, "strong"), *map(Paragraph, lines)]
    if history.declared:
        blocks.append(
            Facts([(words.say(f"charged.{role}"), text) for role, text in history.declared.items()])
        )
    if rows := [_row(release) for release in releases(history)]:
        heads = [words.say(f"ledger.{head}") for head in _HEADS]
        title = words.say("ledger.releases")
        blocks.append(Section(title, [Table(title, heads, rows, left=3)], folded=True))
    return Document(
        "ledger", words.say("ledger.title", ledger=_name(name)), blocks, facts=facts(history, proposed)
    )


def facts(history: History, proposed: Mapping[str, Any] | None = None) -> dict[str, Any]:
    """A ledger and its releases as JSON values."""
    head, bounded = history.head, holds(history.spent, history.route)
    return {
        "ledger": history.id,
        **history.total.model_dump(),
        "max_releases": history.max_releases,
        "remaining": history.remaining,
        "holds": bounded and bounded.to_json(),
        "seq": head.seq,
        "head": head.hash,
        **history.declared,
        **({"proposed": dict(proposed)} if proposed else {}),
        "releases": [*releases(history)],
    }


def releases(history: History) -> Iterator[dict[str, Any]]:
    """Every charge as JSON values, with its ε alone at the ledger's δ."""
    for _, entries in groupby(history.entries(), key=lambda entry: entry.charge):
        first, *others = entries
        cost = sum((entry.spent for entry in others), first.spent)
        yield {
            "release_index": first.release_index,
            "model": first.model,
            "state": first.state,
            "caveats": [caveat.to_json() for caveat in first.caveats],
            "measurements": 1 + len(others),
            "epsilon": cost.epsilon(history.total.delta),
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
    )


def _name(name: str) -> str:
    return escaped(name) or words.say("ledger.memory")
