"""How to read ε: every figure bounds what it names, and is rounded to the safe side."""

import math
from statistics import NormalDist

import pytest

from hushrec.documents.measured import Measured
from hushrec.documents.odds import FALSE_POSITIVES, Odds, gaussian

NORMAL = NormalDist()
EXACT = Measured("counts", "exact", 0.0, 0.0, 4, 0.0, 0.0)


def gaussian_noise(mu):
    return Measured("sums", "gaussian", 1.0, 1 / mu, 4, 1.0, mu)


def pure(epsilon, mechanism="laplace"):
    return Measured("counts", mechanism, 1.0, 1 / max(epsilon, 1), 4, 1.0, epsilon)


@pytest.mark.parametrize("epsilon", [0.01, 0.1, 1, 4, 8, 20])
def test_a_pure_epsilon_has_the_mu_whose_curve_lies_below_its_own(epsilon):
    """Both curves, false negatives against false positives; they meet on the diagonal and nowhere else."""
    mu = gaussian(epsilon)
    assert mu == pytest.approx(2 * NORMAL.inv_cdf(1 / (1 + math.exp(-epsilon))), rel=1e-7)
    for k in range(1, 1000):
        alpha = k / 1000
        own = max(0, 1 - math.exp(epsilon) * alpha, math.exp(-epsilon) * (1 - alpha))
        assert NORMAL.cdf(NORMAL.inv_cdf(1 - alpha) - mu) <= own + 1e-12
    meeting = 1 / (1 + math.exp(epsilon))
    smaller = NORMAL.cdf(NORMAL.inv_cdf(1 - meeting) - mu * 0.999)
    assert smaller > meeting  # a smaller μ would claim more than ε does


def test_mu_adds_up_in_squares_over_all_kinds_of_noise():
    both = Odds.of(9, 1e-6, [gaussian_noise(0.6), gaussian_noise(0.8), EXACT, pure(1.0)]).mu
    assert both == pytest.approx(math.sqrt(1 + gaussian(1.0) ** 2), rel=1e-9)
    assert both >= math.sqrt(1 + gaussian(1.0) ** 2)
    assert Odds.of(1, 0.0, [pure(1, "randomized response")]).mu == pytest.approx(gaussian(1))


@pytest.mark.parametrize(
    "measured",
    [
        [],
        [EXACT],
    ],
)
def test_where_no_mu_is_known_none_is_named(measured):
    odds = Odds.of(2.0, 1e-6, measured)
    assert odds.mu is None
    assert odds.best_attack == pytest.approx(min(math.exp(2) * 0.01 + 1e-6, 1), rel=1e-6)


@pytest.mark.parametrize("mu", [0.1, 0.2, 0.5, 1, 2, 4])
def test_of_gaussian_noise_the_best_attack_is_the_likelihood_ratio(mu):
    threshold = NORMAL.inv_cdf(1 - FALSE_POSITIVES)
    power = 1 - NORMAL.cdf(threshold - mu)  # of the test x > threshold between N(0, 1) and N(μ, 1)
    found = Odds.of(50.0, 1e-6, [gaussian_noise(mu)]).best_attack
    assert power <= found <= power * (1 + 1e-6)


@pytest.mark.parametrize("epsilon", [0, 0.1, 1, 3, 4, 8, 30, 699, 701, math.inf])
@pytest.mark.parametrize("delta", [0.0, 1e-6, 0.3])
def test_of_any_noise_the_best_attack_is_what_epsilon_and_delta_allow(epsilon, delta):
    """The optimal attack on what says everything with probability δ, and else randomizes one bit."""
    found = Odds.of(epsilon, delta).best_attack
    assert FALSE_POSITIVES <= found <= 1
    if epsilon < 700:
        heads = (1 - delta) / (1 + math.exp(-epsilon))  # the answer "in", if in; without δ
        tails = (1 - delta) / (1 + math.exp(epsilon))  # the same if out
        power = delta + heads * min(1, FALSE_POSITIVES / tails)
        power += tails * max(FALSE_POSITIVES - tails, 0) / heads  # then the other answer is named too
        assert power * (1 - 1e-13) <= found <= power * (1 + 1e-6)
    factor = Odds.of(epsilon, delta).factor
    assert factor == math.inf if epsilon >= 700 else factor >= math.exp(epsilon)


def optimal(epsilon, delta):
    """One bit, kept with e^ε/(1 + e^ε), but with probability δ the truth: chances of the four outputs in one
    world. In the other, the first changes its place with the last, and the second with the third."""
    kept = (1 - delta) / (1 + math.exp(-epsilon))
    return delta, kept, 1 - delta - kept, 0.0


@pytest.mark.parametrize("epsilon", [0, 0.05, 0.5, 1, 3, 8, 30, 699])
@pytest.mark.parametrize("delta", [0.0, 1e-12, 1e-6, 0.02, 0.3])
def test_of_any_noise_the_right_guess_is_that_of_the_worst_release(epsilon, delta):
    told, kept, flipped, other = optimal(epsilon, delta)
    right = (max(told, other) + max(kept, flipped) + max(flipped, kept) + max(other, told)) / 2
    found = Odds(epsilon, delta, None).right_guess
    assert right * (1 - 1e-15) <= found <= right * (1 + 1e-9)


@pytest.mark.parametrize("mu", [0.01, 0.1, 0.5, 1, 2, 4, 9])
def test_of_gaussian_noise_the_right_guess_is_the_threshold_halfway(mu):
    right = (NORMAL.cdf(mu / 2) + 1 - NORMAL.cdf(-mu / 2)) / 2
    found = Odds(50.0, 1e-6, mu).right_guess
    assert right * (1 - 1e-15) <= found <= right * (1 + 1e-9)
    assert found <= 1


def test_what_is_written_is_rounded_up():
    odds = Odds.of(1.0, 1e-6, [gaussian_noise(0.2)])
    figures = {"odds": 2.71829, "mu": 0.200001, "right_guess": 0.539828, "best_attack": 0.0167372}
    assert odds.to_json() == figures
    assert NORMAL.cdf(0.1) == pytest.approx(0.5398278, abs=1e-7)
    nothing = {"odds": None, "mu": None, "right_guess": 1.0, "best_attack": 1.0}
    assert Odds.of(math.inf, 0.0).to_json() == nothing


def test_a_forged_cost_that_no_float_can_square_is_no_error():
    odds = Odds.of(9, 1e-6, [gaussian_noise(1e200)])
    assert odds.mu is None or odds.mu == math.inf
    assert odds.best_attack <= 1
