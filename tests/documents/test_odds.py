"""How to read ε: every figure bounds what it names, and is rounded to the safe side."""

import math
from statistics import NormalDist

import pytest

from hushrec.release.odds import FALSE_POSITIVES, Odds, gaussian
from hushrec.release.statement import Measured

NORMAL = NormalDist()
EXACT = Measured("counts", "exact", 0.0, 0.0, 4, 0.0, 0.0)


def gaussian_noise(rho):
    return Measured("sums", "gaussian", 1.0, 1 / math.sqrt(2 * rho), 4, 1.0, rho)


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
    both = Odds.of(9, 1e-6, [gaussian_noise(0.08), gaussian_noise(0.42), EXACT, pure(1.0)]).mu
    assert both == pytest.approx(math.sqrt(2 * 0.5 + gaussian(1.0) ** 2), rel=1e-9)
    assert both >= math.sqrt(2 * 0.5 + gaussian(1.0) ** 2)
    assert Odds.of(1, 0.0, [pure(1, "randomized response")]).mu == pytest.approx(gaussian(1))


@pytest.mark.parametrize(
    "measured",
    [
        [],
        [EXACT],
        [Measured("round", "subsampled gaussian", 1.0, 4.0, 12, 1.0, 0.03, 0.0625)],
    ],
)
def test_where_no_mu_is_known_none_is_named(measured):
    odds = Odds.of(2.0, 1e-6, measured)
    assert odds.mu is None
    assert "μ" not in str(odds)
    assert odds.best_attack == pytest.approx(min(math.exp(2) * 0.01 + 1e-6, 1), rel=1e-6)


@pytest.mark.parametrize("rho", [0.005, 0.02, 0.125, 0.5, 2, 8])
def test_of_gaussian_noise_the_best_attack_is_the_likelihood_ratio(rho):
    mu = math.sqrt(2 * rho)
    threshold = NORMAL.inv_cdf(1 - FALSE_POSITIVES)
    power = 1 - NORMAL.cdf(threshold - mu)  # of the test x > threshold between N(0, 1) and N(μ, 1)
    found = Odds.of(50.0, 1e-6, [gaussian_noise(rho)]).best_attack
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
        assert found == pytest.approx(power, rel=1e-6)
    factor = Odds.of(epsilon, delta).factor
    assert factor == math.inf if epsilon >= 700 else factor >= math.exp(epsilon)


def test_what_is_printed_and_written_is_rounded_up():
    odds = Odds.of(1.0, 1e-6, [gaussian_noise(0.02)])
    assert str(odds) == (
        "How to read ε: but for δ, odds change at most 2.72 times; μ ≤ 0.201 (Gaussian differential "
        "privacy); the best attack finds at most 1.68 % of those it looks for, with 1 % false positives."
    )
    assert odds.to_json() == {"odds": 2.71829, "mu": 0.200001, "best_attack": 0.0167372}
    assert Odds.of(math.inf, 0.0).to_json() == {"odds": None, "mu": None, "best_attack": 1.0}
    assert "billions of times or more" in str(Odds.of(math.inf, 0.0))
