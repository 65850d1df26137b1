"""Varied lists: maximal marginal relevance, step by step."""

import numpy as np
import pytest

from hushrec.release.lists import cosines, diversify


def chosen_slowly(scores, similarity, n, diversity):
    """The docstring's formula, one candidate at a time."""
    least, most = min(scores), max(scores)
    left, chosen = list(range(len(scores))), []
    while left and len(chosen) < n:

        def gain(i):
            relevance = (scores[i] - least) / (most - least) if most > least else 0
            near = [similarity[i, j] / np.sqrt(similarity[i, i] * similarity[j, j]) for j in chosen]
            return (1 - diversity) * relevance - diversity * max([0, *near])

        best = 0 if not chosen else max(left, key=gain)
        left.remove(best)
        chosen.append(best)
    return chosen


def candidates(seed, count=12):
    rng = np.random.default_rng(seed)
    factors = rng.normal(size=(count, 3))
    return np.sort(rng.normal(size=count))[::-1], factors @ factors.T


@pytest.mark.parametrize("diversity", [0, 0.1, 0.5, 0.9, 1])
@pytest.mark.parametrize("seed", range(5))
def test_each_next_one_has_the_largest_marginal_relevance(diversity, seed):
    scores, similarity = candidates(seed)
    for n in (0, 1, 5, 12, 20):
        found = diversify(scores, similarity, n, diversity)
        assert found.tolist() == chosen_slowly(scores, similarity, n, diversity)


def test_twins_come_last():
    similarity = np.eye(4)
    similarity[0, 1] = similarity[1, 0] = 1
    assert diversify(np.array([4.0, 3.9, 3.5, 3.0]), similarity, 4, 0.6).tolist() == [0, 2, 3, 1]


def test_the_units_of_scores_and_similarities_do_not_matter():
    scores, similarity = candidates(1)
    found = diversify(scores, similarity, 6, 0.4).tolist()
    assert diversify(1000 * scores - 7, 50 * similarity, 6, 0.4).tolist() == found


def test_what_is_unlike_is_as_good_as_what_is_unrelated():
    similarity = np.array([[1, 0, -1], [0, 1, 0], [-1, 0, 1]], dtype=float)
    assert diversify(np.array([3.0, 2.0, 2.0]), similarity, 3, 1).tolist() == [0, 1, 2]


@pytest.mark.parametrize("scores", [[], [1.0], [2.0, 2.0, 2.0]])
def test_ties_and_items_without_similarity_keep_their_order(scores):
    count = len(scores)
    found = diversify(np.array(scores), np.zeros((count, count)), 3, 0.5)
    assert found.tolist() == list(range(count))


def test_cosines_stay_between_minus_one_and_one():
    products = np.array([[2.0, -9.0, 1.0], [3.0, 5.0, 0.0]])
    found = cosines(products, np.array([2.0, 0.0]), np.array([2.0, 1.0, 0.0]))
    assert found.tolist() == [[0.5, -1, 0], [0, 0, 0]]
