"""A canary user, end to end: how surely can his presence be told from all that was released?

An attacker knows everybody's ratings, the canary's too, and wants to know whether the canary was among them.
The best that he can do is the likelihood ratio of all noisy values, which for Gaussian noise is linear in
them. He makes n releases without the canary and n with him, and says "he is there" where the ratio is above
one. The rates at which he errs bound from below the μ of Gaussian differential privacy that the release has
(Dong, Roth & Su 2022): μ ≥ −Φ⁻¹(false positives) − Φ⁻¹(false negatives), and by it ε at the release's δ. That
bound must stay below what the statement claims, and come so near to it that a fault would be noticed.

False alarms: each error rate is replaced by its Clopper–Pearson upper limit, which is below the true rate
with chance 2.5e-7. So a right release is accused with chance 5e-7 at most, an audit. The seeds are fixed.
"""

import dataclasses
import math

import numpy as np
import polars as pl
import pytest
from scipy import optimize, stats

import hushrec as hr
from hushrec.models.base import Model
from hushrec.privacy import grant as grant_module
from hushrec.privacy.accounting.accountant import gaussian_epsilon
from hushrec.privacy.grant import SEAL, Grant
from hushrec.statistics.covariance_sums import CovarianceSums
from hushrec.statistics.item_sums import EffectSums
from hushrec.statistics.population import Population

MISTAKEN = 2.5e-7
ITEMS = 8
BUDGET = hr.Budget(epsilon=4.0, delta=1e-6, unit="user", adjacency="add-remove")
DOMAIN = hr.Domain(range(ITEMS), scale=(1, 5, 1), max_users=100)
CANARY = {str(item): 5 if item % 2 else 1 for item in range(ITEMS)}  # as far from the others as he can be

ONE = hr.GlobalEffects(
    shares={"item sums": 1.0, "item counts": 1e-6, "global sum": 1e-6, "global count": 1e-6}
)
FOUR = hr.GlobalEffects()
SIX = hr.CovarianceSVD(rank=2)


def ratings(*canaries):
    """Twelve users like any other, and the canary or not."""
    rng = np.random.default_rng(4)
    others = [{str(i): int(rng.integers(2, 5)) for i in rng.permutation(ITEMS)[:4]} for _ in range(12)]
    rows = [
        (f"u{k}", item, stars) for k, own in enumerate([*others, *canaries]) for item, stars in own.items()
    ]
    return hr.load(pl.DataFrame(rows, schema=["user_id", "item_id", "rating"], orient="row"), DOMAIN)


WITHOUT, WITH = ratings(), ratings(CANARY)


# -- from error rates to ε --------------------------------------------------------------------------------


def epsilon_of(mu, delta):
    """ε at δ of Gaussian differential privacy, by SciPy: δ = Φ(μ/2 − ε/μ) − e^ε Φ(−μ/2 − ε/μ)."""
    if mu <= 0:
        return 0.0

    def excess(epsilon):
        far = math.exp(epsilon + stats.norm.logcdf(-mu / 2 - epsilon / mu))
        return stats.norm.cdf(mu / 2 - epsilon / mu) - far - delta

    return 0.0 if excess(0.0) <= 0 else optimize.brentq(excess, 0.0, 100.0)


def at_most(errors, n):
    """Clopper–Pearson: a rate that the true one exceeds with chance ``MISTAKEN``."""
    return float(stats.beta.ppf(1 - MISTAKEN, errors + 1, n - errors)) if errors < n else 1.0


def lower_bound(absent, present, delta):
    """ε that these log-likelihood ratios prove, of releases without and with the canary."""
    rates = at_most(int(np.sum(absent > 0)), len(absent)), at_most(int(np.sum(present <= 0)), len(present))
    return epsilon_of(-sum(float(stats.norm.ppf(rate)) for rate in rates), delta)


# -- the attack -------------------------------------------------------------------------------------------


class Attack:
    """Listens to a fit and knows both worlds: what each sum would be without the canary, and with him."""

    def __init__(self, monkeypatch):
        self.ratio, self._worlds = 0.0, {}
        for sums in (EffectSums, CovarianceSums):
            monkeypatch.setattr(sums, "measure", self._knowing(sums.measure))
        release = Grant.release

        def heard(grant, bounded):
            event = grant._booking(bounded)
            noisy = release(grant, bounded)
            self._hear(noisy.values.ravel(), event)
            return noisy

        monkeypatch.setattr(Grant, "release", heard)

    def _knowing(self, measure):
        def measured(sums, data, *released):
            # The released values that the sums are centred on are known to everybody.
            worlds = [measure(sums, Population(world), *released) for world in (WITHOUT, WITH)]
            for (query, absent), (_, present) in zip(*worlds, strict=True):
                self._worlds[query.name] = absent.ravel() * query.step, present.ravel() * query.step
            return measure(sums, data, *released)

        return measured

    def _hear(self, heard, event):
        absent, present = self._worlds[event.name]
        self.ratio += float((present - absent) @ (heard - (present + absent) / 2)) / event.sigma**2

    def ratios(self, fit, data, seeds):
        """Log-likelihood ratio of "the canary is there" of each release."""

        def of(seed):
            self.ratio = 0.0
            fit(data, hr.testing.Seeded(seed))
            return self.ratio

        return np.array([of(seed) for seed in seeds])


def proven(attack, fit, n):
    """ε that n releases without and n with the canary prove."""
    absent = attack.ratios(fit, WITHOUT, range(n))
    present = attack.ratios(fit, WITH, range(n, 2 * n))
    return lower_bound(absent, present, BUDGET.delta)


@pytest.fixture
def attack(monkeypatch):
    return Attack(monkeypatch)


@pytest.fixture
def fit_by(monkeypatch):
    """Ways to fit a model quickly. Its plan, which no data changes, is made once."""

    def wholly(model):
        planned = model.plan(DOMAIN, BUDGET)
        monkeypatch.setattr(Model, "plan", lambda self, domain, budget: planned)
        return lambda data, entropy: hr.fit(data, model, BUDGET, entropy=entropy)

    def barely(model):
        """Without a ledger."""
        planned = model.plan(DOMAIN, BUDGET)
        return lambda data, entropy: model.release(data, BUDGET, Grant(planned.events, entropy, seal=SEAL))

    return {"wholly": wholly, "barely": barely}


@pytest.fixture
def weaken(monkeypatch):
    """Plants noise that is narrower than what was booked."""

    def plant(factor):
        add = grant_module._add_noise
        monkeypatch.setattr(
            grant_module,
            "_add_noise",
            lambda steps, event, key: add(steps, dataclasses.replace(event, sigma=factor * event.sigma), key),
        )

    return plant


def claimed(model):
    return hr.fit(WITH, model, BUDGET, entropy=hr.testing.Seeded(0)).statement.epsilon


# -- tests ------------------------------------------------------------------------------------------------


def test_the_canary_is_as_far_from_the_others_as_the_claim_allows():
    """Most of the claimed μ is there to be found: an audit of a timid canary would prove nothing."""
    for model, least in ((ONE, 0.99), (FOUR, 0.99)):
        sums = model.effects.sums(DOMAIN, BUDGET, "l2", published=False)
        found = 0.0
        events = {event.name: event for event in model.plan(DOMAIN, BUDGET).events}
        both = [sums.measure(Population(world)) for world in (WITHOUT, WITH)]
        for (query, absent), (_, present) in zip(*both, strict=True):
            sigma = events[query.name].sigma
            found += float((((present - absent) * query.step / sigma) ** 2).sum())
        assert least * claimed(model) < epsilon_of(math.sqrt(found), BUDGET.delta) <= claimed(model)


def test_error_rates_prove_what_they_should():
    """On the curve itself: the bound is below the truth, tends to it, and nothing is proven by guessing."""
    rng = np.random.default_rng(0)
    for mu in (0.5, 1.0, 2.0):
        truth = epsilon_of(mu, 1e-6)
        bounds = [
            lower_bound(*(mu * rng.standard_normal((2, n)) + [[-mu * mu / 2], [mu * mu / 2]]), 1e-6)
            for n in (1000, 100_000)
        ]
        assert 0 <= bounds[0] < bounds[1] < truth
        assert bounds[1] > 0.9 * truth
    assert lower_bound(*rng.standard_normal((2, 1000)), 1e-6) == 0
    assert lower_bound(np.ones(1000), -np.ones(1000), 1e-6) == 0
    assert epsilon_of(1.0, 1e-5) == pytest.approx(gaussian_epsilon(1.0, 1e-5), rel=1e-9)


def test_one_measurement_is_as_private_as_it_says_and_hardly_more(attack, fit_by):
    found = proven(attack, fit_by["barely"](ONE), 800)
    print(f"proven ε = {found:.3f}, claimed {claimed(ONE):.3f}")
    assert 0.4 * claimed(ONE) <= found <= claimed(ONE)


def test_half_the_noise_is_noticed(attack, fit_by, weaken):
    truth = claimed(ONE)
    weaken(0.5)
    assert proven(attack, fit_by["barely"](ONE), 400) > truth


@pytest.mark.full
@pytest.mark.parametrize("model", [ONE, FOUR, SIX], ids=["one", "four", "six"])
def test_whole_fits_are_as_private_as_they_say_and_hardly_more(attack, fit_by, model):
    truth = claimed(model)
    found = proven(attack, fit_by["wholly"](model), 1200)
    print(f"proven ε = {found:.3f}, claimed {truth:.3f}")
    assert 0.4 * truth <= found <= truth


@pytest.mark.full
def test_a_fifth_less_noise_is_noticed(attack, fit_by, weaken):
    truth = claimed(ONE)
    weaken(0.8)
    assert proven(attack, fit_by["barely"](ONE), 12_000) > truth


@pytest.mark.full
def test_too_little_noise_on_six_measurements_is_noticed(attack, fit_by, weaken):
    truth = claimed(SIX)
    weaken(0.6)
    assert proven(attack, fit_by["barely"](SIX), 800) > truth
