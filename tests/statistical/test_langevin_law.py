"""Langevin dynamics draws from exp(−E/T), and, at any rate h, exactly from the law that its steps define.

Chains are run side by side, as copies of one small model in the rows of one kernel call, so that what is
compared are independent draws. A check gives a p-value and alarms below 1e-9; there are under 200 of them, so
a right kernel raises an alarm for fewer than one choice in 5e6 of the keys. Every check fails on a planted
fault: noise with a variance 10 % too large, items that are never settled, a drift twice as large, half as
large, or of the wrong sign.
"""

import numpy as np
import pytest
from scipy import linalg, stats

from hushrec.kernels.solvers.langevin import langevin
from hushrec.kernels.solvers.langevin_pass import LangevinPass

ALARM = 1e-9
KEY = bytes(range(32))
NOTHING = 1e12  # a precision that holds a coordinate at 0


class Copies:
    """Many copies of a model of a few users and items, each a chain of its own.

    ``table`` holds their ratings, NaN where there is none; ``priors`` are Λ_U, Λ_V, and λ_U with λ_V.
    """

    def __init__(self, table, scales, priors, *, copies, temperature=1.0, bounds=(-np.inf, np.inf), seed=0):
        self.table, self.scales, self.priors = table, scales, priors
        self.copies, self.temperature, self.bounds = copies, temperature, bounds
        self.shape, rank = table.shape, len(priors[0])
        (n_users, n_items), rated = table.shape, ~np.isnan(table)
        each, rows = rated.sum(axis=1), np.arange(copies)
        self.indptr = np.concatenate([[0], np.cumsum(np.tile(each, copies))]).astype(np.int64)
        self.items = (rows[:, None] * n_items + np.nonzero(rated)[1]).ravel().astype(np.int32)
        self.values = np.tile(table[rated], copies).astype(np.float32)
        # First the first user of every copy, and so on: the users of a copy are in several quanta.
        self.order = (np.arange(n_users)[:, None] + rows * n_users).ravel().astype(np.int32)
        rng = np.random.default_rng(seed)
        sizes = copies * n_users, copies * n_items
        self.factors = [rng.standard_normal((n, rank), np.float32) for n in sizes]
        for side, precision in zip(self.factors, priors[:2], strict=True):
            side /= np.sqrt(precision).astype(np.float32)
        self.effects = [rng.standard_normal(n, np.float32) for n in sizes]
        self.number = 0

    def run(self, passes, rate, *, noise_intervals=4, settled=True, hold=None, scale=1.0, hot=1.0, sign=1.0):
        """``hold`` is put back before every pass, all of which then is in its first quantum.

        The last four are faults.
        """
        distribution = [np.float32(p) for p in self.priors[:2]]
        for _ in range(passes):
            if hold is not None:
                self.factors[1][:], self.effects[1][:] = hold
            visits = len(self.order) * (1 if hold is None else noise_intervals) + (0 if settled else 1)
            epoch = LangevinPass(KEY, self.number, visits, len(self.effects[1]), noise_intervals)
            langevin(
                self.indptr,
                self.items,
                np.float32(sign) * self.values,
                self.order,
                *self.factors,
                *self.effects,
                np.tile(np.float32(scale * self.scales), self.copies),
                *distribution,
                self.priors[2],
                rate,
                hot * self.temperature,
                *self.bounds,
                epoch,
            )
            self.number += 1

    def states(self):
        """Users' and items' factors with the effect as last coordinate, for each copy."""
        sides = zip(self.factors, self.effects, self.shape, strict=True)
        return [np.column_stack([f, e]).reshape(self.copies, n, -1).astype(float) for f, e, n in sides]


def squares(x):
    return float((np.asarray(x) ** 2).sum())


def gaussian_checks(x, mean, covariance):
    """p-values of the mean and of the covariance of independent normal rows."""
    n, d = x.shape
    y = linalg.solve_triangular(linalg.cholesky(covariance, lower=True), (x - mean).T, lower=True)
    off = (y @ y.T)[np.triu_indices(d, 1)] / np.sqrt(n)
    on = ((y**2).sum(axis=1) - n) / np.sqrt(2 * n)
    return {
        "mean": float(stats.chi2.sf(squares(y.sum(axis=1)) / n, d)),
        "covariance": float(stats.chi2.sf(squares(off) + squares(on), d * (d + 1) // 2)),
    }


def alarms(p_values):
    return {name for name, p in p_values.items() if p < ALARM}


def composed(steps):
    """x ← M x + d + noise of covariance Q, one step after the other, as one step."""
    size = len(steps[0][1])
    m, d, q = np.eye(size), np.zeros(size), np.zeros((size, size))
    for step_m, step_d, step_q in steps:
        m, d, q = step_m @ m, step_m @ d + step_d, step_m @ q @ step_m.T + step_q
    return m, d, q


def stationary(steps):
    """Mean and covariance of what the steps, repeated for ever, converge to."""
    m, d, q = composed(steps)
    return np.linalg.solve(np.eye(len(d)) - m, d), linalg.solve_discrete_lyapunov(m, q)


def payment(precision, rate, temperature, elapsed):
    """``precision`` is 0 where nothing is paid."""
    where = precision > 0
    spread = -np.expm1(-2 * rate * elapsed * precision) / np.where(where, precision, 1)
    return (
        np.diag(np.exp(-rate * elapsed * precision)),
        np.zeros(len(precision)),
        np.diag(temperature * spread),
    )


def pull(row, target, rate):
    """A rating's step for a model that is linear in what moves: r ≈ ⟨row, x⟩; ``rate`` is 2 h c."""
    return np.eye(len(row)) - rate * np.outer(row, row), rate * target * row, np.zeros((len(row),) * 2)


# -- users whose items stay: a Gaussian posterior of vectors ------------------------------------------------


RANK, RATED, SCALE, TEMPERATURE = 3, 8, 0.4, 0.7
LOVED = np.random.default_rng(5).standard_normal((RATED, RANK + 1))  # factors, and effects last
GIVEN = np.random.default_rng(6).standard_normal(RATED)
USER_PRIOR = np.array([0.5, 1.0, 2.0, 1.5])  # the effect's last
DESIGN = np.column_stack([LOVED[:, :-1], np.ones(RATED)])


def regression_steps(rate):
    """Two passes: one reads forward, one backward."""
    half = payment(USER_PRIOR, rate, TEMPERATURE, 0.5)
    pulls = [pull(DESIGN[k], GIVEN[k] - LOVED[k, -1], 2 * rate * SCALE) for k in range(RATED)]
    return [half, *pulls, half, half, *pulls[::-1], half]


def regression_posterior():
    precision = 2 * SCALE * DESIGN.T @ DESIGN + np.diag(USER_PRIOR)
    mean = np.linalg.solve(precision, 2 * SCALE * DESIGN.T @ (GIVEN - LOVED[:, -1]))
    return mean, TEMPERATURE * np.linalg.inv(precision)


def regression(rate, *, copies=1000, first=60, between=30, snapshots=10, **faults):
    """Users' vectors after passes in which each user meets each of his items once, as it was before.

    That is, up to a payment for half a quantum, which is therefore short.
    """
    priors = USER_PRIOR[:-1], np.ones(RANK), (USER_PRIOR[-1], 1.0)
    chains = Copies(GIVEN[None], np.array([SCALE]), priors, copies=copies, temperature=TEMPERATURE)
    hold = np.tile(LOVED[:, :-1], (copies, 1)), np.tile(LOVED[:, -1], copies)
    chains.run(first, rate, noise_intervals=1000, hold=hold, **faults)
    found = []
    for _ in range(snapshots):
        chains.run(between, rate, noise_intervals=1000, hold=hold, **faults)
        found.append(chains.states()[0][:, 0])
    return np.concatenate(found)


@pytest.mark.full
def test_users_vectors_have_the_law_of_the_steps():
    rate = 0.04
    assert not alarms(gaussian_checks(regression(rate), *stationary(regression_steps(rate))))


@pytest.mark.full
@pytest.mark.parametrize(
    ("fault", "found"),
    [
        ({"hot": 1.1}, {"covariance"}),
        ({"scale": 2.0}, {"mean", "covariance"}),
        ({"scale": 0.5}, {"mean", "covariance"}),
        ({"sign": -1.0}, {"mean"}),
    ],
)
def test_planted_faults_in_users_vectors(fault, found):
    rate = 0.04
    assert found <= alarms(gaussian_checks(regression(rate, **fault), *stationary(regression_steps(rate))))


def bias(rate, steps, posterior):
    """How far the law of the steps is from the posterior, in its standard deviations."""
    (mean, covariance), (true_mean, true_covariance) = stationary(steps(rate)), posterior()
    root = linalg.cholesky(true_covariance, lower=True)
    shift = np.linalg.solve(root, mean - true_mean)
    stretch = np.linalg.solve(root, np.linalg.solve(root, covariance).T) - np.eye(len(mean))
    return np.abs(shift).max(), np.abs(stretch).max()


@pytest.mark.full
def test_users_vectors_have_the_posterior_at_small_rates():
    """At a rate whose bias is far below the Monte Carlo error; at a large one it shows."""
    rate = 0.005
    assert max(bias(rate, regression_steps, regression_posterior)) < 0.01
    x = regression(rate, first=500, between=300, snapshots=3)
    assert not alarms(gaussian_checks(x, *regression_posterior()))
    assert alarms(gaussian_checks(regression(0.12), *regression_posterior()))


# -- effects alone: a Gaussian posterior in which both sides move -------------------------------------------


CROSSED = np.array([[0.5, np.nan, 2.0], [np.nan, -1.0, 1.0], [1.5, 0.0, np.nan], [-0.5, np.nan, np.nan]])
CROSSED = np.column_stack([CROSSED, np.full(4, np.nan)])  # an item that nobody rates
WEIGHTS = np.array([0.5, 1.0, 0.7, 0.3])
CROSSED_PRIOR = 0.8, 1.2
QUANTA = 4  # as many as users of a copy: each is in a quantum of his own


def crossed_steps(rate, eager=True):
    """Two passes over a copy. All items are paid in every quantum here, as the kernel does not."""
    n_users, n_items = CROSSED.shape
    size = n_users + n_items
    of_items = np.concatenate([np.zeros(n_users), np.full(n_items, CROSSED_PRIOR[1])])
    steps = []
    for direction in (1, -1):
        for u, line in enumerate(CROSSED):
            elapsed = (0.5 if u == 0 else 1.0) / QUANTA
            of_user = np.where(np.arange(size) == u, CROSSED_PRIOR[0], 0.0)
            half = payment(of_user, rate, TEMPERATURE, 0.5)
            steps += [payment(of_items, rate, TEMPERATURE, elapsed), half]
            for i in np.flatnonzero(~np.isnan(line))[::direction]:
                row = np.zeros(size)
                row[[u, n_users + i]] = 1
                steps.append(pull(row, line[i], 2 * rate * WEIGHTS[u]))
            steps.append(half)
        steps.append(payment(of_items, rate, TEMPERATURE, 0.5 / QUANTA))
    return steps


def crossed_posterior():
    n_users, n_items = CROSSED.shape
    precision = np.diag(np.repeat(CROSSED_PRIOR, [n_users, n_items]))
    side = np.zeros(n_users + n_items)
    for u, i in zip(*np.nonzero(~np.isnan(CROSSED)), strict=True):
        row = np.zeros(n_users + n_items)
        row[[u, n_users + i]] = 1
        precision += 2 * WEIGHTS[u] * np.outer(row, row)
        side += 2 * WEIGHTS[u] * CROSSED[u, i] * row
    return np.linalg.solve(precision, side), TEMPERATURE * np.linalg.inv(precision)


def crossed(rate, *, copies=1000, first=100, between=50, snapshots=10, **faults):
    priors = np.array([NOTHING]), np.array([NOTHING]), CROSSED_PRIOR
    chains = Copies(CROSSED, WEIGHTS, priors, copies=copies, temperature=TEMPERATURE)
    chains.run(first, rate, noise_intervals=QUANTA, **faults)
    found = []
    for _ in range(snapshots):
        chains.run(between, rate, noise_intervals=QUANTA, **faults)
        found.append(np.concatenate([side[:, :, 1] for side in chains.states()], axis=1))
    return np.concatenate(found)


@pytest.mark.full
def test_lazy_payments_have_the_law_of_eager_steps():
    rate = 0.06
    assert not alarms(gaussian_checks(crossed(rate), *stationary(crossed_steps(rate))))


@pytest.mark.full
@pytest.mark.parametrize(
    ("fault", "found"),
    [
        ({"hot": 1.1}, {"covariance"}),
        ({"settled": False}, {"covariance"}),
        ({"scale": 2.0}, {"mean", "covariance"}),
        ({"sign": -1.0}, {"mean"}),
    ],
)
def test_planted_faults_in_effects(fault, found):
    rate = 0.06
    assert found <= alarms(gaussian_checks(crossed(rate, **fault), *stationary(crossed_steps(rate))))


@pytest.mark.parametrize(
    ("steps", "posterior"),
    [(regression_steps, regression_posterior), (crossed_steps, crossed_posterior)],
)
def test_the_bias_falls_with_the_rate(steps, posterior):
    """Mean and covariance of the steps' law are wrong by O(h): half of it at half the rate."""
    coarse, fine, finest = (np.array(bias(rate, steps, posterior)) for rate in (0.02, 0.01, 0.0025))
    assert (coarse < 0.15).all()
    assert (fine < 0.6 * coarse).all()
    assert (finest < 0.3 * fine).all()


# -- no data: the prior -------------------------------------------------------------------------------------


@pytest.mark.parametrize(
    ("temperature", "fault"),
    [
        *((temperature, {}) for temperature in (1.0, 0.25)),
        *((0.25, fault) for fault in ({"hot": 1.1}, {"settled": False})),
    ],
    ids=str,
)
@pytest.mark.full
def test_without_data_all_follow_the_prior(temperature, fault):
    """At any rate: users, items and effects, one pass after another."""
    users, items = np.array([0.5, 3.0]), np.array([1.0, 0.2])
    effects = 0.7, 2.0
    chains = Copies(
        np.full((2, 3), np.nan), np.ones(2), (users, items, effects), copies=20_000, temperature=temperature
    )
    chains.run(30, 0.5, **fault)
    earlier = chains.states()
    chains.run(2, 0.5, **fault)
    found = set()
    for before, now, precision, last in zip(earlier, chains.states(), (users, items), effects, strict=True):
        variances = temperature / np.append(precision, last)
        kept = np.diag(np.exp(-0.5 * 2 * np.append(precision, last)) * variances)
        distribution = np.block([[np.diag(variances), kept], [kept, np.diag(variances)]])
        pair = np.concatenate([before, now], axis=2).reshape(-1, 2 * len(variances))
        found |= alarms(gaussian_checks(pair, np.zeros(len(distribution)), distribution))
        if not fault:
            scaled = now.reshape(-1, len(variances)) / np.sqrt(variances)
            assert stats.kstest(scaled.ravel(), stats.norm.cdf).pvalue > ALARM
    assert found == ({"covariance"} if fault else set())


# -- everything: against a Gibbs sampler --------------------------------------------------------------------


SMALL = np.array(
    [
        [1.0, -0.5, np.nan, np.nan],
        [0.5, np.nan, 1.5, np.nan],
        [np.nan, -1.5, 0.5, np.nan],
        [2.0, 1.0, np.nan, np.nan],
    ]
)
SMALL_WEIGHTS = np.array([0.5, 0.8, 0.4, 0.6])
SMALL_PRIORS = np.array([1.0, 2.0]), np.array([1.5, 1.0]), (2.0, 1.5)


def gibbs(copies, sweeps, rng, temperature):
    """Users given items and items given users, exactly; for all copies at once. Yields after each sweep."""
    rank, (n_users, n_items) = len(SMALL_PRIORS[0]), SMALL.shape
    priors = [np.append(SMALL_PRIORS[side], SMALL_PRIORS[2][side]) for side in (0, 1)]
    states = [rng.standard_normal((copies, n, rank + 1)) for n in (n_users, n_items)]
    for _ in range(sweeps):
        for side, table in ((0, SMALL), (1, SMALL.T)):
            for row, line in enumerate(table):
                others = np.flatnonzero(~np.isnan(line))
                design = states[1 - side][:, others].copy()
                target = line[others] - design[:, :, -1]
                design[:, :, -1] = 1
                weights = np.full(len(others), SMALL_WEIGHTS[row]) if side == 0 else SMALL_WEIGHTS[others]
                weighted = 2 * design.transpose(0, 2, 1) * weights / temperature
                root = np.linalg.cholesky(weighted @ design + np.diag(priors[side] / temperature))
                half = np.linalg.solve(root, weighted @ target[:, :, None])
                half += rng.standard_normal(half.shape)
                states[side][:, row] = np.linalg.solve(root.transpose(0, 2, 1), half)[:, :, 0]
        yield states


def functionals(states):
    """What no rotation of the factors changes, for each copy: predictions and their squares, norms, and E."""
    users, items = states
    predicted = np.einsum("cuf,cif->cui", users[:, :, :-1], items[:, :, :-1])
    predicted += users[:, :, -1:] + items[:, None, :, -1]
    loss = np.nansum(SMALL_WEIGHTS[:, None] * (SMALL - predicted) ** 2, axis=(1, 2))
    norms = [(side[:, :, :-1] ** 2).sum(axis=2) for side in states]
    flat = predicted.reshape(len(users), -1)
    return np.column_stack([flat, flat**2, *norms, users[:, :, -1], items[:, :, -1], loss])


def compare(left, right):
    """p-value for each functional, from the averages of each copy, which are independent."""
    variance = sum(x.var(axis=0, ddof=1) / len(x) for x in (left, right))
    return 2 * stats.norm.sf(np.abs(left.mean(axis=0) - right.mean(axis=0)) / np.sqrt(variance))


@pytest.fixture(scope="module")
def exact():
    rng, found = np.random.default_rng(0), []
    for n, states in enumerate(gibbs(2000, 200, rng, TEMPERATURE)):
        if n >= 50 and n % 5 == 0:
            found.append(functionals(states))
    return np.mean(found, axis=0)


def sampled(rate=0.006, *, copies=1000, first=500, between=30, snapshots=30, **faults):
    chains = Copies(SMALL, SMALL_WEIGHTS, SMALL_PRIORS, copies=copies, temperature=TEMPERATURE)
    chains.run(first, rate, **faults)
    found = []
    for _ in range(snapshots):
        chains.run(between, rate, **faults)
        found.append(functionals(chains.states()))
    return np.mean(found, axis=0)


@pytest.mark.full
def test_agrees_with_gibbs(exact):
    assert compare(sampled(), exact).min() > ALARM


@pytest.mark.full
@pytest.mark.parametrize(
    "fault",
    [{"hot": 1.1}, {"settled": False}, {"scale": 2.0}, {"scale": 0.5}, {"sign": -1.0}],
    ids=str,
)
def test_planted_faults_disagree_with_gibbs(exact, fault):
    assert compare(sampled(**fault), exact).min() < ALARM


# -- predictions off the scale ------------------------------------------------------------------------------


def clamped_law(targets, effects, low, high, scale, precision):
    """Mean and variance of one b_u under exp(−E/T), by summation on a grid."""
    b = np.linspace(-8, 8, 200_001)
    energy = precision * b**2 / 2
    for target, effect in zip(targets, effects, strict=True):
        energy += scale * (target - np.clip(b + effect, low, high)) ** 2
    density = np.exp(-(energy - energy.min()) / TEMPERATURE)
    density /= density.sum()
    mean = (density * b).sum()
    return mean, (density * (b - mean) ** 2).sum()


@pytest.mark.full
def test_predictions_are_clamped():
    """One effect, pulled by ratings of fixed items while its predictions are on the scale."""
    copies, low, high, precision = 2000, -0.5, 0.8, 0.6
    given, effects = np.array([0.8, 0.6, -0.3]), np.array([0.2, -0.4, 0.5])
    priors = np.array([NOTHING]), np.array([NOTHING]), (precision, 1.0)
    mean, variance = clamped_law(given, effects, low, high, 1.0, precision)
    hold = np.zeros((3 * copies, 1)), np.tile(effects, copies)

    def checks(bounds):
        chains = Copies(
            given[None], np.ones(1), priors, copies=copies, temperature=TEMPERATURE, bounds=bounds
        )
        chains.run(500, 0.015, noise_intervals=1000, hold=hold)
        found = chains.effects[0].astype(float)
        spread = (found - found.mean()) ** 2
        z = [
            (x.mean() - distribution) / stats.sem(x)
            for x, distribution in ((found, mean), (spread, variance))
        ]
        return 2 * stats.norm.sf(np.abs(z)).min()

    assert checks((low, high)) > ALARM
    assert checks((-np.inf, np.inf)) < ALARM
    assert checks((low, 2.0)) < ALARM
