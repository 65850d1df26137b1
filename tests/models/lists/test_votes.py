"""Votes: nobody moves their sum by more than Δ, somebody by all of it, and it is that of the definition."""

import numpy as np
import pytest

from hushrec.models.lists.estimate.pair_factors import LinearWeights
from hushrec.models.lists.kernels import reference_list_gains
from hushrec.models.lists.sums import LARGEST_VOTE, MARGIN, Votes
from support.interactions import people_of

N = 240
POPULARITY = np.arange(N, 0, -1.0)


def people(*rows):
    return people_of(N, [sorted(row) for row in rows])


def linear(seed=0):
    rng = np.random.default_rng(seed)
    return LinearWeights(
        rng.standard_normal((N, 3)), rng.uniform(0.1, 1, N), rng.uniform(0.5, 2, N), rng.standard_normal(3)
    )


def pointing(sign):
    """Scores of which those of the last items are the largest, or the smallest, whatever is given."""
    factors = np.ones((N, 1))
    return LinearWeights(factors, np.ones(N), sign * np.arange(1.0, N + 1), np.ones(1))


def voted(votes, weights, *rows, part=1.0):
    return votes.measure(people(*rows), weights, POPULARITY, part)


def rows_of(n, seed=1):
    rng = np.random.default_rng(seed)
    return [rng.choice(N, rng.integers(1, 40), replace=False).tolist() for _ in range(n)]


def test_the_sum_is_that_of_the_definition():
    rows = rows_of(60)
    given = people(*rows)
    (block,) = given.blocks()
    places = np.arange(N)
    gains = reference_list_gains(block.indptr, block.items, *linear(), places, 2**64 - 1)
    expected = np.clip(gains[np.isfinite(gains)] - MARGIN, -LARGEST_VOTE, LARGEST_VOTE).sum()
    votes = Votes("user")
    total = voted(votes, linear(), *rows)[0] * votes.query.step
    assert total == pytest.approx(expected, abs=60 * votes.query.step)
    assert abs(total) > 0.1, "it says something"


def test_nobody_votes_by_more_than_a_quarter_and_somebody_by_all_of_it(search):
    votes, beside, largest = Votes("user"), rows_of(5), 0.0
    for weights in (pointing(1), pointing(-1), linear()):
        without = voted(votes, weights, *beside)
        for row in (*rows_of(40, seed=2), range(N), range(N - 20, N), range(20)):
            change = voted(votes, weights, *beside, row) - without
            largest = max(largest, search.exceeds(votes.query, change, np.zeros_like(change)))
    assert 0.999 < largest <= 1


def test_one_interaction_moves_a_vote_by_at_most_one_half(search):
    """Which items are hidden may change with it, so a vote may go from one end to the other."""
    votes, largest = Votes("record"), 0.0
    rng = np.random.default_rng(4)
    for _ in range(300):
        row = rng.choice(N, 6, replace=False).tolist()
        one, other = voted(votes, pointing(1), row), voted(votes, pointing(1), row[:-1])
        largest = max(largest, search.exceeds(votes.query, one, other))
    assert 0.5 < largest <= 1, "more than the Δ of unit user"


def test_a_large_crowd_sends_a_sample_of_votes():
    votes, rows = Votes("user"), rows_of(400)
    everyone, sample = (voted(votes, pointing(-1), *rows, part=part)[0] for part in (1.0, 0.25))
    assert everyone < 0
    assert 0.1 * everyone > sample > 0.45 * everyone


def test_who_has_nothing_to_hide_or_to_show_does_not_vote():
    assert voted(Votes("user"), linear(), [3], [7]).tolist() == [0]
