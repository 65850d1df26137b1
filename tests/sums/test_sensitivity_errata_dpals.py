"""Charges in the code of Chien et al. 2021 and Krichene et al. 2023 that do not hold, each beside the truth.

A measurement with Δ/σ = μ costs μ² of Gaussian DP, and the costs of all measurements add up. Neighbours
differ in one user.
"""

import math
from pathlib import Path

import numpy as np
import pytest

from hushrec.privacy.accounting.accountant import gaussian_epsilon, gaussian_mu

PAGE = Path(__file__).resolve().parents[2] / "lab/scoreboard/dp-als.md"
DELTA, SAMPLE, NOISE, LARGEST = 1e-5, 100, 200.0, 5.0  # as for MovieLens 10M at ε = 1
BUDGET, STEPS_SHARE = 100.0, 0.5


def stated(figure):
    assert figure in " ".join(PAGE.read_text("utf-8").split())


def renyi_epsilon(rho, delta):
    """inf over α > 1 of αρ + ln((α − 1)/α) − (ln δ + ln α)/(α − 1) (Canonne, Kamath & Steinke 2020)."""
    less = np.exp(np.linspace(-8, 8, 4001))  # α − 1
    bounds = rho * (1 + less) - np.log1p(1 / less) - (math.log(delta) + np.log1p(less)) / less
    return float(bounds.min())


def charged(epsilon):
    """μ² of all Gaussian measurements that the code's accountant, by Rényi divergences, allows for an ε."""
    low, high = 0.0, 10.0
    for _ in range(100):
        middle = (low + high) / 2
        low, high = (middle, high) if renyi_epsilon(middle, DELTA) <= epsilon else (low, middle)
    return 2 * low


def centring():
    """μ² that is charged for the mean rating, and what it costs: one user has SAMPLE ratings of LARGEST."""
    total, number = SAMPLE * LARGEST, SAMPLE
    true = (total / (LARGEST * math.sqrt(SAMPLE) * NOISE)) ** 2 + (number / NOISE) ** 2
    return 2 / NOISE**2, true


def test_centring_alone_costs_more_than_the_whole_budget():
    claimed, true = centring()
    assert true / claimed == pytest.approx(5050)
    alone, whole = (
        gaussian_epsilon(math.sqrt(cost), DELTA) for cost in (true, charged(1.0) - claimed + true)
    )
    assert alone > 1.9
    stated(f"**{alone:.2f}**")
    stated(f"**{whole:.2f}**")


def test_right_hand_sides_of_ratings_that_are_not_clipped():
    """Of two equal shares, that of the right-hand sides costs 3² times as much where |r − mean| reaches 3."""
    steps = charged(1.0) - SAMPLE / NOISE**2 - centring()[0]
    rng = np.random.default_rng(1)
    weights = rng.random(30)
    weights *= math.sqrt(BUDGET) / np.linalg.norm(weights)
    factors = rng.normal(size=6)
    factors /= np.linalg.norm(factors)
    moved = np.outer(weights * -3.0, factors)
    assert np.linalg.norm(moved) == pytest.approx(3 * math.sqrt(BUDGET))
    true = gaussian_epsilon(math.sqrt(charged(1.0) + STEPS_SHARE * steps * (9 - 1)), DELTA)
    stated(f"**{true:.2f}**")


def test_weights_of_a_user_bound_the_sums_of_all_items():
    """What holds: Σ w² = B and |u| ≤ Γ bound Σ w u uᵀ of all items by √B Γ², and the bound is reached."""
    rng = np.random.default_rng(2)
    bound, largest = math.sqrt(BUDGET) * 0.3**2, 0.0
    for _ in range(200):
        weights = rng.random(rng.integers(1, 50)) ** 3
        weights *= math.sqrt(BUDGET) / np.linalg.norm(weights)
        factors = rng.normal(size=5)
        factors *= min(1, 0.3 / np.linalg.norm(factors))
        moved = weights[:, None, None] * np.outer(factors, factors)
        largest = max(largest, np.linalg.norm(moved))
    assert bound * (1 - 1e-9) < largest < bound * (1 + 1e-9)


def test_the_head_by_exact_counts_tells_neighbours_apart():
    def head(rows):
        return set(np.argsort(-rows.sum(0), kind="stable")[:1])

    rows = np.array([[1, 0], [1, 0], [0, 1]])
    more = np.vstack([rows, [0, 1], [0, 1]])
    assert head(more[:-1]) == {0}
    assert head(more) == {1}


def regularised(counts, exponent, factor, penalty):
    """Users' vectors at rank 1, each with one rating of 1 for one item; the code's penalties by counts."""
    counts = counts + 1
    weights = counts**exponent
    weights = weights * counts.sum() / (counts * weights).sum()
    return factor / (factor**2 + penalty * weights)


def test_penalties_by_the_counts_of_all_move_everyone():
    """70,000 users with one rating each, and one more with 7,000: everybody's vector moves."""
    before = np.ones(70_000)
    after = np.append(before, 7_000.0)
    factor, penalty = 1.0, 1.0  # the same for every scale: only their ratio matters
    old, new = (regularised(counts, 0.25, factor, penalty)[:70_000] for counts in (before, after))
    clip = new.max()
    times = (new.sum() - old.sum()) / (math.sqrt(BUDGET) * clip)
    stated(f"**{times:.0f} times**")
    alone = regularised(after, 0.0, factor, penalty)[:70_000]
    assert alone.sum() == pytest.approx(regularised(before, 0.0, factor, penalty).sum())


@pytest.mark.parametrize(("epsilon", "more"), [(1.0, "8 %"), (20.0, "5 %")])
def test_renyi_accounting_adds_too_much_noise(epsilon, more):
    saved = gaussian_mu(epsilon, DELTA) / math.sqrt(charged(epsilon))
    assert f"{100 * (saved - 1):.0f} %" == more
    stated(more)
