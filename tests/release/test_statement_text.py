"""Words of a statement: no promise sounds better than its figure."""

import math

import pytest

from hushrec.release import statement_text

EPSILONS = (1e-12, 1e-3, 0.1, 0.5, 1, 1.09, 1.1, 1.25, 2, 2.99, 3, 4, 8, 13.8, 13.82, 30, 1609.4)


@pytest.mark.parametrize("epsilon", EPSILONS)
@pytest.mark.parametrize("delta", [0.0, 1e-6])
@pytest.mark.parametrize(("unit", "adjacency"), statement_text.ADJACENCIES)
def test_no_promise_sounds_better_than_its_figure(unit, adjacency, epsilon, delta):
    said = statement_text.promise(unit, adjacency, epsilon, delta)
    factor = math.exp(min(epsilon, 700))
    assert ("can hardly tell" in said) == (factor < 3)
    assert ("may learn something about" in said) == (3 <= factor < 20)
    assert ("may learn a lot about" in said) == (20 <= factor <= 1e6)
    assert said.startswith("Next to nothing is promised") == (factor > 1e6)
    if factor <= 1e6:
        shown = said.partition("at most ")[2].partition(" times")[0]
        assert float(shown.replace(",", "")) >= factor
        assert (f"Even odds may become {shown} to 1." in said) == (factor >= 3)
        assert ("an event of probability 1e-06" in said) == (delta > 0)
    assert not {"he", "his", "him"} & set(said.replace(",", " ").split())
    assert said.endswith(".")


@pytest.mark.parametrize("epsilon", EPSILONS)
@pytest.mark.parametrize(("unit", "adjacency"), statement_text.ADJACENCIES)
def test_nothing_is_hidden_that_the_adjacency_leaves_open(unit, adjacency, epsilon):
    said = statement_text.promise(unit, adjacency, epsilon, 0.0)
    first = said.partition(". ")[0]
    assert ("used" in first) == (adjacency == "add-remove")  # that they were used is public elsewhere
    assert ("may be known" in said) == (adjacency != "add-remove")
    assert ("one particular rating of yours" in said or "one rating of yours" in said) == (unit == "rating")
    assert ("stars" in first) == ((unit, adjacency) == ("rating", "replace"))
    everything = (unit, adjacency) == ("user", "add-remove") and not said.startswith("Next to nothing")
    assert ("conclude about you " in first) == everything
    if epsilon < 13:
        assert said.endswith(statement_text.covered(unit, adjacency))
        assert ("it may tell far more about all your ratings together" in said) == (unit == "rating")
