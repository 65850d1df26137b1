"""The words and tables in which a statement of privacy explains its figures.

Privacy: public.
"""

import math
from collections.abc import Mapping, Sequence
from typing import Any

from hushrec.figures import above, aligned, below, odds
from hushrec.release.statement_lines import Local, Measured, Promised

_HARDLY, _SOMETHING = 3, 20
"""The factors e^ε below which a reader can hardly tell, and below which they may learn something."""
_LARGEST_ODDS = 1e6
"""Above these odds a bound protects nobody, and no sentence may sound as if it did."""
_HIDDEN = {
    ("user", "add-remove"): "whether your ratings were used at all",
    ("user", "replace"): "what your ratings were",
    ("user", "replace-items"): "which items your ratings are of",
    ("rating", "add-remove"): "whether one particular rating of yours was used",
    ("rating", "replace"): "how many stars one particular rating of yours had",
}
ADJACENCIES = tuple(_HIDDEN)
"""Every valid pair of unit and adjacency."""
_SUBJECT = {
    ("user", "add-remove"): "you",
    ("user", "replace"): "your ratings",
    ("user", "replace-items"): "those items",
    ("rating", "add-remove"): "that rating",
    ("rating", "replace"): "those stars",
}
"""What the factor applies to: never more than what is protected."""
_PROTECTED = {
    ("user", "replace"): ("what your ratings were", "it may be known that you took part"),
    ("user", "replace-items"): (
        "which items your ratings are of",
        "it may be known how many they are, their stars, and that you took part",
    ),
    ("rating", "replace"): ("how many stars one rating had", "it may be known which items you rated"),
}
"""What an adjacency protects, and what it does not."""
_CONCLUDED = {
    ("user", "add-remove"): "whether your ratings were used, and what they were",
    ("user", "replace"): "what your ratings were",
    ("user", "replace-items"): "which items your ratings are of",
    ("rating", "add-remove"): "whether one particular rating of yours was used, and what it was",
    ("rating", "replace"): "how many stars one rating of yours had",
}


def promise(unit: str, adjacency: str, epsilon: float, delta: float) -> str:
    """What ε and δ mean to a user, in plain words."""
    sort = unit, adjacency
    if epsilon > math.log(_LARGEST_ODDS):
        return (
            f"Next to nothing is promised: an ε of {above(epsilon)} does not keep a reader of this file from "
            f"being practically certain {_CONCLUDED[sort]}.{_anyhow(sort)}"
        )
    about = _SUBJECT[sort]
    more = " (it may tell far more about all your ratings together)" if unit == "rating" else ""
    factor = odds(epsilon)
    text = (
        f"Anyone who reads this file, whatever else they know, {_learns(epsilon)} {_HIDDEN[sort]}: it makes "
        f"anything they may conclude about {about} at most {factor} times as likely or as unlikely{more}"
    )
    if delta:
        text += f", except for an event of probability {above(delta)}"
    if math.exp(epsilon) >= _HARDLY:
        text += f". Even odds may become {factor} to 1"
    return f"{text}. {covered(*sort)}".rstrip()


def _learns(epsilon: float) -> str:
    """How much a reader learns at most about what is hidden."""
    if math.exp(epsilon) < _HARDLY:
        return "can hardly tell"
    much = "something" if math.exp(epsilon) < _SOMETHING else "a lot"
    return f"may learn {much} about"


def covered(unit: str, adjacency: str) -> str:
    """What an adjacency protects, and what it does not; empty if it protects everything."""
    what, left = _PROTECTED.get((unit, adjacency), ("", ""))
    return what and f"This protects {what}; {left}."


def _anyhow(sort: tuple[str, str]) -> str:
    """What is not protected at any ε."""
    left = _PROTECTED.get(sort, ("", ""))[1]
    return left and f" Whatever ε is, {left}."


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


_CHANGED = {
    "cell": "An answered cell differs from the truth with probability {chance}.",
    "slot": "A slot's item is drawn at random with probability {chance}; the draw may return the same item.",
}
_CLAIMS = {"cell": "the paper claims", "slot": "as D2P counts, (ε, λ)"}


def local(answer: Local, epsilon: float, claimed: float | None) -> list[str]:
    """What one answer reveals, and what all answers of one user reveal.

    Args:
        answer: figures of one cell or slot.
        epsilon: ε of one user.
        claimed: what the paper claims for one user.
    """
    claims = answer.claimed, claimed
    mean = {"cell": "expected loss", "slot": "expected loss, at most"}[answer.what]
    rows = [
        ["", "exact ε", mean, _CLAIMS[answer.what]],
        [f"one {answer.what}", above(answer.epsilon), above(answer.expected)],
        [
            f"one user, {answer.count:,} {answer.what}{'s' if answer.count > 1 else ''}",
            above(epsilon),
            above(answer.expected_together),
        ],
    ]
    for row, claim in zip(rows[1:], claims, strict=True):
        row.append("" if claim is None else above(claim))
    if claims == (None, None):
        rows = [row[:-1] for row in rows]
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


def claim(claimed: float | None, epsilon: float, *, sampled: bool) -> str:
    """What a published analysis claims, and what is wrong with it.

    Args:
        claimed: the paper's ε.
        epsilon: the true one.
        sampled: whether a posterior sample was measured.
    """
    claimed = claimed or math.inf
    text = f"Not a valid guarantee: the published analysis claims ε = {above(claimed)}, "
    kept = epsilon <= claimed * (1 + 1e-9)
    if kept and sampled:
        text += (
            "which assumes that the chain had converged, and even then fails under some settings as printed "
        )
    elif kept:
        text += "which holds for the noise here, but as printed does not hold under every setting "
    else:
        text += "but its proof does not hold as printed "
    text += "(see the model's page in the documentation). "
    if math.isinf(epsilon):
        return f"{text}No finite ε is known for this noise."
    true = "true cost if the chain had converged" if sampled else "true cost of the noise"
    return f"{text}The ε below is the {true}."


def measurements(listed: Sequence[Measured]) -> list[str]:
    """All measurements, as a table."""
    heads = "measurement", "mechanism", "Δ", "noise", "entries", "share", "cost"
    return aligned([heads, *(m.cells() for m in listed)])


def charged(ledger: Mapping[str, Any]) -> list[str]:
    """Which ledger was charged, and which of its releases this is."""
    file = ledger.get("file") or "a ledger in memory"
    return [
        f"Charged to {file}: release {ledger.get('release_index', 0) + 1} of at most "
        f"{ledger.get('max_releases', 1)}, entry {ledger.get('seq')}",
        f"  ledger {ledger.get('id')}",
        f"  head   {ledger.get('head')}",
    ]
