"""The plain sentence of a statement: what ε and δ mean to a person, compared with not having given that.

Differential privacy compares two worlds: what readers conclude from the release, and what they would conclude
had the privacy unit been absent or other. It does not bound what readers learn about a person from facts that
hold for everybody, so every sentence makes the comparison.

Privacy: public.
"""

import math
from typing import NamedTuple

from hushrec.figures import one_in, times

WEAK = 8.0
"""The ε above which a bound promises so little that no sentence may rest on it."""
_GRADES = (
    (0.5, "learns almost the same about {about} as if {other}"),
    (1.1, "learns similar things about {about} as if {other}"),
    (3.0, "may learn something about {about} that they would not learn if {other}"),
    (WEAK, "may learn a lot about {about} that they would not learn if {other}"),
    (math.inf, "may learn almost everything about {about} that they would not learn if {other}"),
)
"""The largest ε of a grade, and what it says. The factors e^ε are at most 1.65, 3.01, 20.1, 2,990 and ∞."""
_FLAW = 0.01
"""The δ from which nothing better than the last grade is said, whatever ε is."""


class _Words(NamedTuple):
    """How a pair of unit and adjacency is spoken of.

    Attributes:
        about: what is protected, never more than that.
        it: a word for it.
        other: the other world of the comparison.
        unprotected: what is not protected; empty if nothing is left.
    """

    about: str
    it: str
    other: str
    unprotected: str = ""


_WORDS = {
    ("user", "add-remove"): _Words("you", "you", "you had never taken part"),
    ("user", "replace"): _Words("your ratings", "them", "you had given other ratings", "that you took part"),
    ("user", "replace-items"): _Words(
        "which items your ratings are of",
        "this",
        "your ratings were of other items",
        "how many ratings you gave, their stars, and that you took part",
    ),
    ("rating", "add-remove"): _Words(
        "any single rating of yours",
        "it",
        "you had never given that rating",
        "all your ratings together, about which readers may learn far more",
    ),
    ("rating", "replace"): _Words(
        "the stars of any single rating of yours",
        "them",
        "you had given that rating other stars",
        "which items you rated, and the stars of all your ratings together, about which readers may learn "
        "far more",
    ),
}
ADJACENCIES = tuple(_WORDS)
"""Every valid pair of unit and adjacency."""


def promise(unit: str, adjacency: str, epsilon: float, delta: float) -> str:
    """What ε and δ mean to a person, in plain words and without exponents.

    Args:
        unit: ``user`` or ``rating``.
        adjacency: one that ``ADJACENCIES`` has for the unit.
        epsilon: true ε of the release; finite.
        delta: δ, below 1.
    """
    words = _WORDS[unit, adjacency]
    weak = epsilon > WEAK or delta >= _FLAW
    learns = next(said for most, said in _GRADES if most >= (math.inf if weak else epsilon))
    learns = learns.format(about=words.about, other=words.other)
    text = f"Anyone who reads this file, whatever else they know, {learns}."
    likely = f"{times(epsilon)} as likely, or as unlikely, as it would be then"
    if weak:
        bound = f"δ = {one_in(delta)}" if delta >= _FLAW else f"ε = {_plain(epsilon)}"
        text = (
            f"The bound {bound} is too weak to promise much: only what the noise does in practice protects "
            f"{words.about}. {text} A conclusion about {words.it} may become {likely}"
        )
    else:
        text += f" No conclusion about {words.it} becomes more than {likely}"
    if delta:
        text += f", except with a probability of {one_in(delta)}"
    return (
        f"{text}. A reader who was undecided between two answers may become {_sure(epsilon)} of one of them. "
        f"{_unprotected(words)}"
    ).rstrip()


def covered(unit: str, adjacency: str) -> str:
    """What an adjacency protects, and what it does not; empty if it protects everything."""
    words = _WORDS[unit, adjacency]
    return words.unprotected and f"Protected: {words.about}. {_unprotected(words)}"


def _unprotected(words: _Words) -> str:
    return words.unprotected and f"Not protected: {words.unprotected}."


def _plain(epsilon: float) -> str:
    """An ε above 1, rounded up to one decimal, without an exponent."""
    return f"{math.ceil(10 * epsilon) / 10:,.1f}".removesuffix(".0")


def _sure(epsilon: float) -> str:
    """How sure of one of two equally likely answers somebody may become: e^ε/(1 + e^ε), rounded up."""
    percent = math.ceil(1000 / (1 + math.exp(-epsilon))) / 10
    return f"up to {percent:g} % sure" if percent < 99.95 else "practically certain"
