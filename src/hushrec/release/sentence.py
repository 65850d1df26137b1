"""The plain sentence of a statement: what ε and δ mean to a person, compared with not having given that.

Differential privacy compares two worlds: what readers conclude from the release, and what they would conclude
had the privacy unit been absent or other. It does not bound what readers learn about a person from facts that
hold for everybody, so every sentence makes the comparison.
"""

import math
from typing import NamedTuple

from hushrec.figures import WEAK, one_in, times

_GRADES = (
    (0.5, "learns almost the same about {about} as if {other}"),
    (1.1, "learns similar things about {about} as if {other}"),
    (3.0, "may learn something about {about} that they would not learn if {other}"),
    (WEAK, "may learn a lot about {about} that they would not learn if {other}"),
    (math.inf, "may learn almost everything about {about} that they would not learn if {other}"),
)
"""The largest ε of a grade, and what it says. The factors e^ε are at most 1.65, 3.01, 20.1, 2,990 and ∞."""
_LARGEST = 1e6
"""The ε above which its digits say nothing."""
_FLAW = 0.01
"""The δ from which nothing better than the last grade is said, whatever ε is."""


class _Words(NamedTuple):
    """How a pair of unit and adjacency is spoken of.

    Attributes:
        about: what is protected, never more than that.
        it: a word for it.
        other: the other world of the comparison.
        guessed: which of the two worlds it is, as a guess.
        known: what may be known, with which the same bound holds for the rest at twice ε; empty where the two
            worlds differ in content alone.
        unprotected: what is not protected; empty if nothing is left.
    """

    about: str
    it: str
    other: str
    guessed: str
    known: str = ""
    unprotected: str = ""


_WORDS = {
    ("user", "add-remove"): _Words(
        "you",
        "you",
        "you had never taken part",
        "whether you took part",
        "that you took part, the bound on what you gave",
    ),
    ("user", "replace"): _Words(
        "your ratings",
        "them",
        "you had given other ratings",
        "which of two lists of ratings is yours",
        unprotected="that you took part",
    ),
    ("user", "replace-items"): _Words(
        "which items your ratings are of",
        "this",
        "your ratings were of other items",
        "which of two lists of items your ratings are of",
        unprotected="how many ratings you gave, their stars, and that you took part",
    ),
    ("rating", "add-remove"): _Words(
        "any single rating of yours",
        "it",
        "you had never given that rating",
        "whether you gave it",
        "that you gave it, the bound on its content",
        "all your ratings together, about which readers may learn far more",
    ),
    ("rating", "replace"): _Words(
        "the stars of any single rating of yours",
        "them",
        "you had given that rating other stars",
        "which of two numbers of stars it was",
        unprotected="which items you rated, and the stars of all your ratings together, about which readers "
        "may learn far more",
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
    if weak:
        bound = f"δ = {one_in(delta)}" if delta >= _FLAW else f"ε = {_plain(epsilon)}"
        text = (
            f"The bound {bound} is too weak to promise much: only what the noise does in practice protects "
            f"{words.about}. {text}"
        )
    plus = f", plus {one_in(delta)}" if delta else ""
    much = f"{'may be' if weak else 'is at most'} {times(epsilon)} as probable as it would be then{plus}"
    text += (
        f" Any conclusion about {words.it} {much}, and the other way round. A guess {words.guessed}, between "
        f"two equally likely answers, {_right(epsilon, delta)}."
    )
    if words.known:
        larger = ", with a larger δ" if delta else ""
        text += f" If it is known {words.known} is twice this ε{larger}."
    return f"{text} {_unprotected(words)}".rstrip()


def covered(unit: str, adjacency: str) -> str:
    """What an adjacency protects, and what it does not; empty if it protects everything."""
    words = _WORDS[unit, adjacency]
    return words.unprotected and f"Protected: {words.about}. {_unprotected(words)}"


def _unprotected(words: _Words) -> str:
    return words.unprotected and f"Not protected: {words.unprotected}."


def _plain(epsilon: float) -> str:
    """An ε above 1, rounded up to one decimal, without an exponent."""
    if epsilon > _LARGEST:
        return f"more than {_LARGEST:,.0f}"
    return f"{math.ceil(10 * epsilon) / 10:,.1f}".removesuffix(".0")


def _right(epsilon: float, delta: float) -> str:
    """How often a guess between two equally likely worlds is right: (e^ε + δ)/(1 + e^ε), rounded up.

    The largest advantage of a test is (e^ε − 1 + 2δ)/(e^ε + 1) (Kairouz, Oh & Viswanath 2015, Theorem 2.4).
    """
    odds = math.exp(-epsilon)
    share = min((1 + delta * odds) / (1 + odds), 1.0)
    percent = math.ceil(1000 * share * (1 - 1e-15)) / 10
    if percent < 99.95:
        return f"is right in at most {percent:g} % of cases"
    return "may be right in practically all cases, as far as this bound tells"
