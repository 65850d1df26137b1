"""The canary: what its error rates prove is below the truth, near it, and above a claim that does not hold.

False alarms: each error rate is replaced by its Clopper–Pearson upper limit, which is below the true rate
with chance 2.5e-7. So a right release is accused with chance 5e-7 at most, an audit. The seeds are fixed.
"""

import math

import numpy as np
import pytest
from scipy import stats

import hushrec as hr
from hushrec.audit.canary import MISTAKEN, SHORTFALLS, Trial, at_most, epsilon_of, listen
from hushrec.audit.recorder import Recorder
from hushrec.audit.replay import record
from hushrec.audit.search import distances
from hushrec.audit.worlds import World
from hushrec.curator.seeded import fit
from hushrec.privacy import grant as grant_module
from hushrec.privacy.accounting.accountant import gaussian_epsilon
from hushrec.testing import Seeded

WORLD = World.of()
BUDGET = hr.Budget(epsilon=4.0, delta=1e-6, unit="user", adjacency="add-remove")
PAIRS = WORLD.pairs("user", "add-remove")
RATING = WORLD.pairs("record", "add-remove")["a user's only rating"]
PAIR = PAIRS["a user of the highest ratings"]
ONE = hr.GlobalEffects(
    split={
        "item sums": 1.0,
        "item counts": 1e-6,
        "global sum": 1e-6,
        "global count": 1e-6,
        "weight ratios": 1e-6,
    }
)
FOUR = hr.GlobalEffects()
SIX = hr.CovarianceSVD(rank=2, effects={"reg": 20}, covariance={"contribution_cap": 30.0})
LAPLACE = hr.GlobalEffects(noise="laplace")


def worlds(model, budget=BUDGET, pair=PAIR):
    return hr.plan(WORLD.domain, model, budget), distances(model, budget, WORLD, pair)


def pure(epsilon):
    return hr.Budget(epsilon=epsilon, delta=0.0, unit="record", adjacency="add-remove")


@pytest.fixture
def weaken(monkeypatch):
    """Plants noise that is narrower than what was booked."""

    def plant(factor):
        width = grant_module._width
        monkeypatch.setattr(grant_module, "_width", lambda event: factor * width(event))

    return plant


# -- from error rates to ε --------------------------------------------------------------------------------


def proven(ratios, delta=1e-6, *, gaussian=True):
    trial = Trial(gaussian, delta)
    for batch in np.split(ratios[:, None], 10, axis=2):
        trial.hear(batch)
    (found,) = trial.prove()
    return found


def test_error_rates_prove_what_they_should():
    """On the curve itself: the bound is below the truth, tends to it, and nothing is proven by guessing."""
    rng = np.random.default_rng(0)
    for mu in (0.5, 1.0, 2.0):
        truth = epsilon_of(mu, 1e-6)
        bounds = [
            proven(mu * rng.standard_normal((2, n)) + [[-mu * mu / 2], [mu * mu / 2]])
            for n in (1000, 200_000)
        ]
        assert 0 <= bounds[0] < bounds[1] < truth
        assert bounds[1] > 0.9 * truth
    for gaussian in (True, False):
        assert proven(rng.standard_normal((2, 1000)), gaussian=gaussian) == 0
        assert proven(np.stack([np.ones(1000), -np.ones(1000)]), gaussian=gaussian) == 0
    assert epsilon_of(1.0, 1e-5) == pytest.approx(gaussian_epsilon(1.0, 1e-5), rel=1e-9)


def test_any_noise_proves_what_randomized_response_loses():
    """One bit that is kept with odds e^ε: the general bound is tight there."""
    rng, epsilon = np.random.default_rng(1), 1.5
    kept = rng.random((2, 200_000)) < math.exp(epsilon) / (1 + math.exp(epsilon))
    bits = np.where(kept, [[False], [True]], [[True], [False]])
    found = proven(np.where(bits, epsilon, -epsilon), 0.0, gaussian=False)
    assert 0.95 * epsilon < found < epsilon


def test_a_rate_is_above_its_limit_as_rarely_as_stated():
    for errors, n in ((0, 100), (3, 100), (50, 100)):
        (limit,) = at_most(np.array([errors]), n)
        assert stats.binom.cdf(errors, n, limit) == pytest.approx(MISTAKEN, rel=1e-6)
    assert at_most(np.array([100]), 100) == 1


# -- stacked releases -------------------------------------------------------------------------------------


def test_the_pair_is_as_far_apart_as_the_claim_allows():
    """Most of the claimed μ is there to be found: an audit of a timid canary would prove nothing."""
    for model in (ONE, FOUR):
        planned, gaps = worlds(model)
        found = epsilon_of(math.sqrt(sum(gap.loss for gap in gaps)), BUDGET.delta)
        assert 0.97 * planned.epsilon < found <= planned.epsilon


@pytest.mark.parametrize("model", [ONE, SIX], ids=["one", "six"])
def test_a_right_claim_holds_and_is_nearly_reached(model):
    planned, gaps = worlds(model, pair=PAIRS["a user above the cap"] if model is SIX else PAIR)
    heard = listen(planned, gaps, runs=100_000)
    assert 0.8 * planned.epsilon < heard.epsilon <= planned.epsilon
    assert heard.noticed is not None
    assert heard.noticed <= 0.1


def test_laplace_noise_is_heard_too():
    planned, gaps = worlds(LAPLACE, pure(1.0), RATING)
    heard = listen(planned, gaps, runs=100_000)
    assert 0.7 * planned.epsilon < heard.epsilon <= planned.epsilon


@pytest.mark.full
def test_the_stated_power_is_the_power(weaken):
    """Noise that is a little smaller than what would be noticed is noticed."""
    planned, gaps = worlds(ONE)
    heard = listen(planned, gaps, runs=50_000)
    beyond = SHORTFALLS[SHORTFALLS.index(heard.noticed) + 1]
    weaken(1 - beyond)
    assert listen(planned, gaps, runs=50_000).epsilon > planned.epsilon


def test_too_little_laplace_noise_is_noticed(weaken):
    planned, gaps = worlds(LAPLACE, pure(1.0), RATING)
    weaken(0.7)
    assert listen(planned, gaps, runs=100_000).epsilon > planned.epsilon


def test_a_claim_that_is_too_small_is_noticed():
    """The planted fault: an accountant that charges a tenth too little."""
    dearer = hr.Budget(epsilon=4.4, delta=1e-6, unit="user", adjacency="add-remove")
    planned, gaps = worlds(FOUR, dearer)
    assert listen(planned, gaps, runs=100_000).epsilon > worlds(FOUR)[0].epsilon


# -- whole fits -------------------------------------------------------------------------------------------


def ratio_of(model, heard_of, other, seed):
    """Log-likelihood ratio of "it is the other world", of one fit; both worlds' sums on what it released."""
    recorder = Recorder()
    fit(WORLD.ratings(heard_of), model, BUDGET, entropy=Seeded(seed, recorder))
    here, there = recorder.measured, record(WORLD.ratings(other), model, BUDGET, recorder.measured).measured
    found = 0.0
    for one, two in zip(here, there, strict=True):
        change = (two.sums - one.sums).ravel()
        noise = one.value.values.ravel() / one.event.step - one.sums.ravel()
        found += float(change @ noise - change @ change / 2) / (one.event.noise / one.event.step) ** 2
    return found


def end_to_end(model, n):
    """ε that n whole fits of each world prove."""
    absent = [ratio_of(model, PAIR[1], PAIR[0], seed) for seed in range(n)]
    present = [-ratio_of(model, PAIR[0], PAIR[1], n + seed) for seed in range(n)]
    return proven(np.array([absent, present]))


@pytest.mark.full
def test_whole_fits_are_as_private_as_they_say_and_hardly_more():
    truth = worlds(ONE)[0].epsilon
    assert 0.4 * truth <= end_to_end(ONE, 1200) <= truth


@pytest.mark.full
def test_too_little_noise_in_whole_fits_is_noticed(weaken):
    weaken(0.5)
    assert end_to_end(FOUR, 600) > worlds(FOUR)[0].epsilon
