"""The plain sentence of a statement: no word sounds better than its figure."""

import itertools
import math
import re

import pytest

from hushrec.release import sentence

EPSILONS = (
    0,
    1e-12,
    1e-3,
    0.1,
    0.5,
    0.51,
    1,
    1.1,
    1.11,
    2,
    2.99,
    3,
    3.01,
    4,
    8,
    8.01,
    13.5,
    13.82,
    30,
    1609.4,
    1.7e308,
)
DELTAS = (0.0, 1e-300, 3e-7, 1e-6, 0.009, 0.05, 0.9)
GRADES = {
    "learns almost the same about": 0.5,
    "learns similar things about": 1.1,
    "may learn something about": 3,
    "may learn a lot about": 8,
    "may learn almost everything about": math.inf,
}
"""What is said → the largest ε at which it is honest; the documentation lists the same."""
GRID = tuple(itertools.product(EPSILONS, DELTAS))
PAIRS = pytest.mark.parametrize(("unit", "adjacency"), sentence.ADJACENCIES)


@PAIRS
def test_no_word_sounds_better_than_its_figure(unit, adjacency):
    for epsilon, delta in GRID:
        said = sentence.promise(unit, adjacency, epsilon, delta)
        weak = epsilon > 8 or delta >= 0.01
        (grade,) = [words for words in GRADES if words in said]
        honest = next(words for words, most in GRADES.items() if most >= (math.inf if weak else epsilon))
        assert grade == honest
        assert ("too weak to promise much" in said) == weak
        assert (" is at most " in said) == (not weak)
        right = (math.exp(epsilon) + delta) / (1 + math.exp(epsilon)) if epsilon < 700 else 1
        assert ("may be right in practically all cases" in said) == (right > 0.9995)
        assert (", plus 1 in " in said) == (delta > 0)
        assert ("with a larger δ" in said) == (delta > 0 and adjacency == "add-remove")


@PAIRS
def test_figures_are_plain_and_never_below_the_true_ones(unit, adjacency):
    for epsilon, delta in GRID:
        said = sentence.promise(unit, adjacency, epsilon, delta)
        assert not re.search(
            r"\de[+-]?\d|\^|∞|inf|nan", said
        )  # neither exponents nor anything that is no number
        if factor := re.search(r"([\d.,]+) times as probable", said):
            assert float(factor[1].replace(",", "")) >= math.exp(epsilon)
        else:
            assert epsilon > math.log(1e6)
            assert re.search(r"(a billion|billions of) times", said)
        if delta:
            chance = 1 / int(re.search(r"plus 1 in ([\d,]+)", said)[1].replace(",", ""))
            assert delta * (1 - 1e-12) <= chance <= max(2 * delta, 1e-15)
        if right := re.search(r"right in at most ([\d.]+) % of cases", said):
            odds = math.exp(epsilon)
            assert 0 <= float(right[1]) / 100 - (odds + delta) / (1 + odds) <= 0.001 + 1e-12


@PAIRS
@pytest.mark.parametrize("epsilon", [0.1, 1, 2, 5, 50])
def test_every_sentence_compares_and_claims_no_more_than_its_adjacency(unit, adjacency, epsilon):
    said = sentence.promise(unit, adjacency, epsilon, 1e-6)
    other = {
        ("user", "add-remove"): "if you had never taken part",
        ("user", "replace"): "if you had given other ratings",
        ("user", "replace-items"): "if your ratings were of other items",
        ("rating", "add-remove"): "if you had never given that rating",
        ("rating", "replace"): "if you had given that rating other stars",
    }[unit, adjacency]
    assert other in said
    first, _, left = said.partition(" Not protected: ")
    assert bool(left) == ((unit, adjacency) != ("user", "add-remove"))
    assert ("you took part" in left) == (unit == "user" and adjacency != "add-remove")
    assert ("all your ratings together" in left) == (unit == "rating")  # not each by itself: no contradiction
    assert ("about you " in first) == ((unit, adjacency) == ("user", "add-remove"))
    assert ("single rating of yours" in first) == (unit == "rating")
    assert ("stars" in first) == ((unit, adjacency) == ("rating", "replace"))
    assert ("which items you rated" in left) == ((unit, adjacency) == ("rating", "replace"))
    assert not {"he", "his", "him", "hardly"} & set(said.replace(",", " ").split())
    assert said.endswith(".")


@PAIRS
def test_what_is_protected_is_said_apart_from_what_is_not(unit, adjacency):
    said = sentence.covered(unit, adjacency)
    assert bool(said) == ((unit, adjacency) != ("user", "add-remove"))
    if said:
        assert said.startswith("Protected: ")
        assert sentence.promise(unit, adjacency, 1, 0).endswith(said.partition(". ")[2])
