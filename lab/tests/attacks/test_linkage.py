"""The linkage attack finds whom it must, and is at chance where there is nothing to be found.

Everything is seeded. At chance, a sound release would be alarmed of for one seed in a million: strictly for
rows in random order; for responses where people are found independently of each other.
"""

import itertools
import math

import numpy as np
import pytest

from lab.attacks import linkage as module
from lab.attacks.linkage import linkage, response_channel, substitution_channel

N, LEVELS = 2000, 5
RAW = response_channel(LEVELS, math.inf)


def limit(mean):
    """Reached with chance 5e-7 at most by Poisson's law or a lighter tail: e^(s − μ) (μ/s)^s ≤ e^−14.6.

    Rows in random order are found so: k given targets all at once with chance 1/(n (n − 1) … (n − k + 1)) or
    less, so the factorial moments of the number found are at most those of Poisson's law with the same mean;
    shares of ties are conditional means of a number found, which Chernoff's bound covers as well.
    """
    return next(s for s in itertools.count(1) if s > mean and s - mean + s * math.log(mean / s) <= -14.6)


def at_chance(result, factor=1.0):
    """Whether neither attacker finds more people than chance would; false alarms 1e-6."""
    most = limit(factor * result.targets / result.rows) / result.targets
    return all(max(attack.first, attack.named) < most for attack in result.attacks)


# Where nothing protects


def test_rows_without_names_are_named_again(truth):
    result = linkage(truth, truth, np.arange(N), channel=RAW)
    paper, better = result.attacks
    assert (paper.name, better.name) == ("Scoreboard-RH", "informed")
    assert better.first > 0.9
    assert better.named > 0.9
    assert better.misnamed < 0.02
    assert (result.first, result.named, result.misnamed) == (better.first, better.named, better.misnamed)
    assert (result.targets, result.known, result.wrong, result.first_by_chance) == (1000, 8, 2, 1 / N)
    assert not at_chance(result)


# Where there is nothing to be found


def test_rows_of_other_people_are_found_at_chance(truth):
    rows = np.random.default_rng(5).permutation(N)
    result = linkage(truth, truth, rows, channel=RAW)
    assert at_chance(result)
    better = result.attacks[1]
    assert better.misnamed > 0.9  # he still finds the row that the facts are of


def test_responses_that_tell_nothing_are_found_at_chance(truth, responded):
    """Two people's eight cells, at ε = 0.01 each, change a chance by the factor e^0.16 at most."""
    released, rows, exponent = responded(truth, 0.01)
    result = linkage(released, truth, rows, channel=response_channel(LEVELS, exponent))
    assert at_chance(result, math.exp(2 * 8 * 0.01))


def test_responses_that_leave_empty_cells_alone_are_noticed(truth, responded):
    """The planted fault: which items somebody rated comes out as it is, for any ε."""
    released, rows, exponent = responded(truth, 0.01, empty_cells_too=False)
    channel = response_channel(LEVELS, exponent)
    channel[0] = np.eye(LEVELS + 1)[0]
    result = linkage(released, truth, rows, channel=channel)
    assert not at_chance(result, math.exp(2 * 8 * 0.01))
    assert result.first > 0.2


def test_replaced_items_hide_few(truth, grid_of, published):
    rng, grid = np.random.default_rng(2), grid_of(truth)
    users, items = np.nonzero(grid)
    gone = rng.random(len(users)) >= 0.9
    moved = np.zeros_like(grid)
    moved[users[gone], rng.integers(0, grid.shape[1], gone.sum())] = grid[users[gone], items[gone]]
    moved[users[~gone], items[~gone]] = grid[users[~gone], items[~gone]]
    released, rows = published(moved, truth.domain)
    channel = substitution_channel(released, 0.9)
    # What became of ratings, and of nothing, is what the law says; 1e5 ratings, so 0.01 is over 5 deviations.
    for symbols in (range(1, LEVELS + 1), [0]):
        cells = np.isin(grid, symbols)
        became = np.bincount(moved[cells], minlength=LEVELS + 1) / cells.sum()
        shares = np.bincount(grid[cells], minlength=LEVELS + 1) / cells.sum()
        assert became == pytest.approx(shares @ channel, abs=0.01)
    assert linkage(released, truth, rows, channel=channel).named > 0.8


def test_facts_are_ratings_and_wrong_ones_of_items_that_were_not_rated(truth, grid_of):
    people, items, steps = module._facts(truth, 1000, 8, 2, seed=4)
    assert len(set(people)) == 1000
    assert truth.counts[people].min() >= 8
    held = np.take_along_axis(grid_of(truth)[people], items.astype(np.int64), axis=1)
    assert (held[:, :6] == steps[:, :6] + 1).all()
    assert (held[:, 6:] == 0).all()
    assert all(len(set(row)) == 8 for row in items)
    assert set(steps[:, 6:].ravel()) == set(range(LEVELS))
