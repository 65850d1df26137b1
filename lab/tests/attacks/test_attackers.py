"""What facts are worth to the two attackers: formulas, and laws against what randomizers do."""

import math

import numpy as np
import pytest

from hushrec.data.domain import Domain
from lab.attacks.linkage import informed, response_channel, scoreboard

LEVELS = 5
RAW = response_channel(LEVELS, math.inf)


@pytest.mark.parametrize(("lo", "hi", "step", "rho"), [(1, 5, 1, 1.5), (0, 8, 1, 3), (0.5, 4.5, 0.5, 1.5)])
def test_scoreboard_is_the_papers_formula(lo, hi, step, rho, published):
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


def test_response_law_is_what_responses_do(truth, grid_of, responded):
    channel = response_channel(LEVELS, 1.3)
    released, rows, exponent = responded(truth, math.log(LEVELS * math.expm1(1.3)))
    assert exponent == pytest.approx(1.3)
    before, after = grid_of(truth)[rows >= 0], grid_of(released)
    for a in range(LEVELS + 1):
        became = np.bincount(after[before == a], minlength=LEVELS + 1)
        # 36 normal deviations: one beyond 5.6 in 1e6 tests or more
        spread = np.sqrt(became.sum() * channel[a] * (1 - channel[a]))
        assert (np.abs(became - became.sum() * channel[a]) < 5.6 * spread).all()
    # A bare wrong share, the spread of the rest over six instead of five, would be noticed.
    before_nothing = np.bincount(after[before == 0], minlength=LEVELS + 1)
    planted = np.full(LEVELS + 1, math.exp(-1.3) / (LEVELS + 1)) * before_nothing.sum()
    assert (np.abs(before_nothing - planted) > 5.6 * np.sqrt(planted)).any()
    asked = response_channel(LEVELS, 1.3, asked=0.25)
    assert asked == pytest.approx(0.25 * channel + 0.75 * np.eye(LEVELS + 1)[0])
