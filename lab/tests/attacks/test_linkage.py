"""The linkage attack finds whom it must, and is at chance where there is nothing to be found.

Everything is seeded. At chance, a sound release would be alarmed of for one seed in a million: strictly for
rows in random order; for responses where people are found independently of each other.
"""

import itertools
import math

import numpy as np
import pytest

import hushrec as hr
from hushrec.data.domain import Domain
from hushrec.data.people import People
from hushrec.data.synthetic import netflix_like
from lab.attacks import linkage as module
from lab.attacks.linkage import (
    informed,
    linkage,
    response_channel,
    scoreboard,
    simulate_attack,
    standings,
    substitution_channel,
)

N, LEVELS = 2000, 5
RAW = response_channel(LEVELS, math.inf)


@pytest.fixture(scope="session")
def truth():
    return netflix_like(2000, 500, 100_000, seed=1)


def grid_of(ratings):
    """Symbols of all cells, shape (users, items)."""
    grid = np.zeros((ratings.n_users, ratings.domain.n_items), np.int64)
    grid[ratings.user_index(), ratings.items] = ratings.values.astype(np.int64) + 1
    return grid


def published(grid, domain):
    """Rows of these symbols, and where each person's went; empty ones are absent."""
    kept = grid.any(axis=1)
    rows = np.where(kept, np.cumsum(kept) - 1, -1)
    users, items = np.nonzero(grid[kept])
    indptr = np.concatenate([[0], np.cumsum(np.count_nonzero(grid[kept], axis=1))])
    names = [f"{row:06}" for row in range(kept.sum())]
    return People(domain, names, indptr, items, grid[kept][users, items] - 1), rows


def responded(ratings, epsilon, seed=0):
    """Every cell by randomized response at this ε, and the exponent."""
    rng, grid = np.random.default_rng(seed), grid_of(ratings)
    flipped = LEVELS / (math.exp(epsilon) + LEVELS)
    other = (grid + rng.integers(1, LEVELS + 1, grid.shape)) % (LEVELS + 1)
    flips = rng.random(grid.shape) < flipped
    return *published(np.where(flips, other, grid), ratings.domain), -math.log(flipped)


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


def test_responses_that_tell_nothing_are_found_at_chance(truth):
    """Two people's eight cells, at ε = 0.01 each, change a chance by the factor e^0.16 at most."""
    released, rows, exponent = responded(truth, 0.01)
    result = linkage(released, truth, rows, channel=response_channel(LEVELS, exponent))
    assert at_chance(result, math.exp(2 * 8 * 0.01))


def test_replaced_items_hide_few(truth):
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


def test_facts_are_ratings_and_wrong_ones_of_items_that_were_not_rated(truth):
    people, items, steps = module._facts(truth, 1000, 8, 2, seed=4)
    assert len(set(people)) == 1000
    assert truth.counts[people].min() >= 8
    held = np.take_along_axis(grid_of(truth)[people], items.astype(np.int64), axis=1)
    assert (held[:, :6] == steps[:, :6] + 1).all()
    assert (held[:, 6:] == 0).all()
    assert all(len(set(row)) == 8 for row in items)
    assert set(steps[:, 6:].ravel()) == set(range(LEVELS))


# What facts are worth


@pytest.mark.parametrize(("lo", "hi", "step", "rho"), [(1, 5, 1, 1.5), (0, 8, 1, 3), (0.5, 4.5, 0.5, 1.5)])
def test_scoreboard_is_the_papers_formula(lo, hi, step, rho):
    domain = Domain(["a", "b", "c"], scale=(lo, hi, step), max_users=10)
    grid = np.array([[1, 2, 0], [3, 0, 5], [4, 1, 0], [5, 4, 0]])
    released, _ = published(grid, domain)
    kinds, tables = scoreboard(released)
    assert set(kinds) == {0}
    items, steps = np.array([[0, 1, 2]], np.int32), np.array([[2, 0, 4]], np.uint8)
    for k, support in enumerate((4, 3, 2)):  # the last one's single rating counts as two
        expected = np.exp(-step * np.abs(np.arange(5) - steps[0, k]) / rho) / math.log(support)
        assert tables(items, steps)[0, k, 0, 1:6] == pytest.approx(expected)
        assert tables(items, steps)[0, k, 0, 0] == 0


def test_informed_scores_are_log_likelihood_ratios_to_what_others_hold(truth):
    """Chances of others add up to 1 over symbols, and to the length of a row over items."""
    kinds, tables = informed(truth, RAW, 0.25)
    items = np.arange(500, dtype=np.int32)[:, None]
    odds = np.array([tables(items, np.full_like(items, a, np.uint8))[:, 0] for a in range(LEVELS)])
    assert odds.shape == (LEVELS, 500, kinds.max() + 1, LEVELS + 1)
    facts = 0.75 * np.eye(LEVELS + 1)[1:] + 0.25 * np.eye(LEVELS + 1)[0]
    others = np.array([facts[a, a + 1] / np.exp(odds[a, ..., a + 1]) for a in range(LEVELS)])
    nothing = facts[0, 0] / np.exp(odds[0, ..., 0])
    assert others.sum(axis=0) + nothing == pytest.approx(1, abs=1e-6)
    lengths = [truth.counts[kinds == kind].mean() for kind in range(kinds.max() + 1)]
    assert (1 - nothing).sum(axis=0) == pytest.approx(lengths, abs=0.5)
    assert np.exp(odds[1, ..., 1]) == pytest.approx(0, abs=1e-6)  # another star is all but ruled out


def test_response_law_is_what_responses_do(truth):
    channel = response_channel(LEVELS, 1.3)
    released, rows, exponent = responded(truth, math.log(LEVELS * math.expm1(1.3)))
    assert exponent == pytest.approx(1.3)
    before, after = grid_of(truth)[rows >= 0], grid_of(released)
    for a in range(LEVELS + 1):
        became = np.bincount(after[before == a], minlength=LEVELS + 1)
        # 36 normal deviations: one beyond 5.6 in 1e6 tests or more
        spread = np.sqrt(became.sum() * channel[a] * (1 - channel[a]))
        assert (np.abs(became - became.sum() * channel[a]) < 5.6 * spread).all()
    asked = response_channel(LEVELS, 1.3, asked=0.25)
    assert asked == pytest.approx(0.25 * channel + 0.75 * np.eye(LEVELS + 1)[0])


# The score of every row


def reference(grid, kinds, items, tables, own):
    """The kernel's answers by NumPy, a dense score at a time."""
    out = []
    for known, table, row in zip(items, tables, own, strict=True):
        scores = sum(table[k, kinds, grid[:, i]] for k, i in enumerate(known))
        first, second = np.sort(scores)[[-1, -2]]
        behind = scores[row] - first if row >= 0 else -np.inf
        chance = 1 / np.exp(scores - first).sum()
        ties = np.count_nonzero(np.isclose(scores, first, rtol=0, atol=1e-12))
        out.append((ties, (first - second) / scores.std(), chance, behind))
    return map(np.array, zip(*out, strict=True))


def made_up():
    """Symbols of 60 rows' cells of 20 items, a third of them not empty."""
    rng = np.random.default_rng(3)
    return rng.integers(1, 6, (60, 20)) * (rng.random((60, 20)) < 1 / 3)


def by_item(grid):
    """The cells that are not empty, item by item: starts, rows, steps."""
    items, rows = np.nonzero(grid.T)
    starts = np.searchsorted(items, np.arange(grid.shape[1] + 1))
    return starts, rows.astype(np.int32), (grid.T[items, rows] - 1).astype(np.uint8)


def test_standings_are_those_of_numpy_for_any_number_of_threads():
    rng, grid = np.random.default_rng(3), made_up()
    kinds = rng.integers(0, 3, 60).astype(np.uint8)
    items = np.array([rng.permutation(20)[:4] for _ in range(40)], np.int32)
    tables, own = rng.standard_normal((40, 4, 3, 6)), rng.integers(-1, 60, 40)
    expected = reference(grid, kinds, items, tables, own)
    results = [standings(*by_item(grid), kinds, items, tables, own, threads=n) for n in (1, 3)]
    for one, other in zip(*results, strict=True):
        assert one.tolist() == other.tolist()
    for mine, one in zip(results[0][1:], expected, strict=True):
        assert mine == pytest.approx(one, abs=1e-12)
    for target, row in enumerate(results[0][0]):
        *_, behind = reference(grid, kinds, items[[target]], tables[[target]], [row])
        assert behind == pytest.approx(0, abs=1e-12)  # the row that is named has the highest score


# Before a release


@pytest.fixture(scope="module")
def ratings():
    return hr.synthetic.netflix_like(users=400, items=300, ratings=20_000, seed=2)


def budget(cell, ratings):
    epsilon = cell * ratings.domain.n_items
    return hr.Budget(epsilon=epsilon, delta=0.0, unit="user", adjacency="replace")


def test_raw_rows_and_rows_of_a_large_epsilon_tell_who_is_who(ratings):
    assert simulate_attack(ratings, None, targets=200).named > 0.9
    found = simulate_attack(ratings, hr.RandomizedResponse(), budget(8.0, ratings), targets=200)
    assert found.named > 0.9
    assert {attack.name for attack in found.attacks} == {"Scoreboard-RH", "informed"}


def test_rows_of_a_small_epsilon_do_not(ratings):
    """By chance 0.5 of 200 are first; 12 or more once in 1e13 releases, were people independent."""
    found = simulate_attack(ratings, hr.RandomizedResponse(), budget(0.01, ratings), targets=200)
    assert found.first < 12 / 200
