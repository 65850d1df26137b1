"""The tables and notes in which a statement of privacy explains its figures."""

from collections.abc import Mapping, Sequence
from typing import Any

from hushrec.figures import above, aligned, below
from hushrec.release.statement_lines import Local, Measured, Promised


def beyond(beside: str) -> str:
    """The note on another release that a file reveals."""
    return (
        f"The groups of items were made from {beside}, and can be inferred from this file. The figures below "
        "bound what this file tells beyond that release, which has its own ε."
    )


def uncovered(answer: Local | None) -> str:
    """What an ε means if the published data show groups of items that no ε covers."""
    what = f"ε per {answer.what}" if answer else "ε"
    return (
        f"The {what} below holds only against readers who learn nothing from the groups; against anybody "
        "else nothing is promised. The groups can be seen in what was published, and no ε covers them. How "
        "many ratings a person gave, and their stars, are published as they are."
    )


DECLARED = "population", "controller", "contact"
"""What the owner of a ledger declares about it."""
_CHANGED = {
    "cell": "An answered cell differs from the truth with probability {chance}.",
    "slot": "A slot's item is drawn at random with probability {chance}; the draw may return the same item.",
}


def local(answer: Local, epsilon: float) -> list[str]:
    """What one answer reveals, and what all answers of one user reveal.

    Args:
        answer: figures of one cell or slot.
        epsilon: ε of one user.
    """
    mean = {"cell": "expected loss", "slot": "expected loss, at most"}[answer.what]
    rows = [
        ["", "exact ε", mean],
        [f"one {answer.what}", above(answer.epsilon), above(answer.expected)],
        [
            f"one user, {answer.count:,} {answer.what}{'s' if answer.count > 1 else ''}",
            above(epsilon),
            above(answer.expected_together),
        ],
    ]
    if answer.claimed is not None:
        for row, cell in zip(rows, ("as D2P counts, (ε, λ)", above(answer.claimed), ""), strict=True):
            row.append(cell)
    return [*aligned(rows), _CHANGED[answer.what].format(chance=below(answer.changed)), ""]


def personal(promises: Sequence[Promised], *, sure: bool) -> list[str]:
    """What is promised to users who asked for their own ε."""
    lines = []
    if promises:
        heads = "class", "asks for", "is promised" if sure else "would be promised", "weight"
        lines += [*aligned([heads, *(promise.cells() for promise in promises)]), ""]
    if not sure:
        return lines
    return [
        *lines,
        "Each person loses at most the ε that they asked for, at the same δ, and never more than the ε "
        "above, from this release; several releases add up. People who asked for 0 left no trace.",
        "",
    ]


def measurements(listed: Sequence[Measured]) -> list[str]:
    """All measurements, as a table."""
    heads = "measurement", "mechanism", "Δ", "noise", "entries", "share", "cost"
    return aligned([heads, *(m.cells() for m in listed)])


def charged(ledger: Mapping[str, Any]) -> list[str]:
    """Which ledger was charged, and which of its releases this is."""
    file = ledger.get("file") or "a ledger in memory"
    day = f" on {ledger['date']}" if ledger.get("date") else ""
    lines = [
        f"Charged to {file}{day}: release {ledger.get('release_index', 0) + 1} of at most "
        f"{ledger.get('max_releases', 1)}, entry {ledger.get('seq')}"
    ]
    if "parts" in ledger:
        lines.append(
            f"  release {ledger['part'] + 1} of a series of {ledger['parts']}: the ε above is that of all of "
            "them together"
        )
    if "total_epsilon" in ledger:
        lines.append(
            f"  spent with this release: ε = {above(ledger.get('spent_epsilon'))} of a total of "
            f"{below(ledger['total_epsilon'])}"
        )
    named = [("ledger", "id"), ("head", "head"), *((name, name) for name in DECLARED)]
    lines += [f"  {word:<11}{ledger[name]}" for word, name in named if ledger.get(name)]
    return lines
