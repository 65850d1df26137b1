"""A canary: a test whether releases show that one user or rating is present, which bounds ε from below.

An attacker knows all ratings, the canary's too, and guesses from which of two neighbouring worlds a release
was made. Their best statistic is the likelihood ratio of all noisy values. They see n releases of either
world and guess "the second" where the ratio exceeds a threshold, which the first tenth of the releases
chooses. Their error rates on the other releases bound ε from below:

- of Gaussian noise alone, μ ≥ −Φ⁻¹(false positives) − Φ⁻¹(false negatives), and μ gives ε at the release's δ
  (Dong, Roth & Su 2022, Corollary 1);
- of any noise, ε ≥ ln((1 − δ − false negatives)/false positives) (Kairouz, Oh & Viswanath 2015, Theorem 2.1).

Only the noise is drawn n times. The sums of both worlds are those that ``search`` recorded, both on the same
released values: ``replay`` shows that only the noise differs. The noise comes from charged grants,
many draws of a measurement stacked into one. Cells that a threshold would hide are included.

False alarms: each error rate is replaced by its Clopper–Pearson upper limit, which is below the true rate
with chance 2.5e-7. So a correct release is refuted with chance 5e-7 at most.
"""

import math
from collections.abc import Sequence
from dataclasses import dataclass, replace
from itertools import count
from typing import Any

import numpy as np
from scipy import optimize, stats

from hushrec.arrays import Floats, Ints
from hushrec.audit.search import Gap
from hushrec.privacy.accounting.plan import Plan
from hushrec.privacy.ledger.ledger import Ledger
from hushrec.privacy.noise.entropy import Seeded

MISTAKEN = 2.5e-7
"""Chance that one error rate is above its upper limit, chosen by hand: two rates give 5e-7, one audit in two
million.
"""
RUNS, BATCHES = 500_000, 10
"""Releases of either world, and batches of them, which bound the memory; both chosen by hand."""
SHORTFALLS = (0.01, 0.02, 0.03, 0.04, 0.05, 0.07, 0.1, 0.15, 0.2, 0.3, 0.4, 0.5, 0.6, 0.7, 0.8, 0.9)
"""Fractions by which the noise might be too small, chosen by hand; an audit reports the least noticeable."""
_AT_ONCE = 1 << 21  # noisy values drawn at once; chosen by hand
_THRESHOLDS = 200  # candidates for the attacker's threshold, at quantiles of the ratios; chosen by hand


@dataclass(frozen=True, slots=True)
class Heard:
    """The lower bound on ε that a canary proved.

    Attributes:
        epsilon: lower bound on ε at the budget's δ.
        noticed: the smallest shortfall of the noise, as a fraction, with which the claim would have been
            refuted; None if none would.
        runs: number of releases of either world.

    Privacy: private.
    """

    epsilon: float
    noticed: float | None
    runs: int


def listen(plan: Plan, gaps: Sequence[Gap], *, runs: int = RUNS, seed: int = 0) -> Heard:
    """Draw ``runs`` releases of two neighbouring worlds, and bound ε from below.

    Args:
        plan: the charged plan of a fit.
        gaps: distances of the two worlds in every measurement.
        runs: number of releases of either world, at least ``BATCHES``.
        seed: of the noise.

    Privacy: private.
    """
    audible = [gap for gap in gaps if gap.change.size]
    gaussian = plan.budget.delta > 0 and all(gap.measured.event.mechanism == "gaussian" for gap in audible)
    test = Trial(gaussian, plan.budget.delta)
    for batch in range(BATCHES):
        test.hear(_ratios(plan, audible, runs // BATCHES, (seed * BATCHES + batch) << 32))
    epsilons = test.prove()
    noticed = (
        shortfall
        for shortfall, epsilon in zip(SHORTFALLS, epsilons[1:], strict=True)
        if epsilon > plan.epsilon
    )
    return Heard(epsilons[0], next(noticed, None), runs)


class Trial:
    """A count of an attacker's errors, with thresholds from the first batch.

    Args:
        gaussian: whether all noise is Gaussian, for which the bound is tighter.
        delta: δ of the claim.

    Privacy: private.
    """

    def __init__(self, gaussian: bool, delta: float) -> None:
        self._gaussian, self._delta = gaussian, delta
        self._thresholds: Floats | None = None
        self._heard = 0

    def hear(self, ratios: Floats) -> None:
        """Add log-likelihood ratios of releases of either world, shape (2, tests, n)."""
        if self._thresholds is None:
            self._thresholds = np.array([self._best(*pair) for pair in zip(*ratios, strict=True)])
            self._errors = np.zeros((2, len(self._thresholds)), np.int64)
            return
        above = ratios > self._thresholds[:, None]
        self._errors += [above[0].sum(axis=1), (~above[1]).sum(axis=1)]
        self._heard += ratios.shape[2]

    def prove(self) -> list[float]:
        """Return the ε that the errors prove, by test."""
        scores = self._score(self._errors[0], self._errors[1], self._heard)
        return [epsilon_of(s, self._delta) if self._gaussian else max(s, 0.0) for s in scores.tolist()]

    def _best(self, absent: Floats, present: Floats) -> float:
        n, absent, present = len(absent), np.sort(absent), np.sort(present)
        thresholds = np.quantile(np.concatenate([absent, present]), np.linspace(0.001, 0.999, _THRESHOLDS))
        positives = n - np.searchsorted(absent, thresholds, "right")
        negatives = np.searchsorted(present, thresholds, "right")
        return float(thresholds[np.argmax(self._score(positives, negatives, n))])

    def _score(self, positives: Ints, negatives: Ints, n: int) -> Floats:
        """Compute the μ, or the ε at δ, that these errors among n prove."""
        positive, negative = at_most(positives, n), at_most(negatives, n)
        if self._gaussian:
            # Dong, Roth & Su 2022, Corollary 1
            return np.asarray(-stats.norm.ppf(positive) - stats.norm.ppf(negative))
        # Kairouz, Oh & Viswanath 2015, Theorem 2.1
        return np.log(np.maximum(1 - self._delta - negative, 1e-300) / positive)


def epsilon_of(mu: float, delta: float) -> float:
    """Find ε at δ of Gaussian differential privacy, by SciPy and not by the accountant that is audited.

    δ = Φ(μ/2 − ε/μ) − e^ε Φ(−μ/2 − ε/μ).
    """
    if not mu > 0:
        return 0.0

    def excess(epsilon: float) -> float:
        # In logarithms: e^ε alone overflows long before the product does.
        far = math.exp(epsilon + float(stats.norm.logcdf(-mu / 2 - epsilon / mu)))
        return float(stats.norm.cdf(mu / 2 - epsilon / mu)) - far - delta

    return 0.0 if excess(0.0) <= 0 else float(optimize.brentq(excess, 0.0, mu * mu / 2 + 40 * mu))


def at_most(errors: Ints, n: int) -> Floats:
    """Return Clopper–Pearson upper limits, which the true rates exceed with chance ``MISTAKEN``."""
    limits = stats.beta.ppf(1 - MISTAKEN, errors + 1, np.maximum(n - errors, 1))
    return np.where(errors < n, limits, 1.0)


def _ratios(plan: Plan, gaps: Sequence[Gap], runs: int, seed: int) -> Floats:
    """Draw log-likelihood ratios for the booked noise and each shortfall, shape (2, 1 + shortfalls, runs)."""
    ratios, n_entries, seeds = np.zeros((2, 1 + len(SHORTFALLS), runs)), max(1, _AT_ONCE // runs), count(seed)
    for gap in gaps:
        event, size = gap.measured.event, gap.change.size
        for start in range(0, size, n_entries):
            for world in (0, 1):
                change, entropy = gap.change[start : start + n_entries], Seeded(next(seeds))
                ratios[world] += _draw_ratios(plan, event, change, runs, world == 1, entropy)
    return ratios


def _draw_ratios(
    plan: Plan, event: Any, change: Ints, runs: int, second: bool, entropy: Seeded
) -> list[Floats]:
    """Draw log-likelihood ratios of one measurement, by shortfall."""
    # Many draws of one measurement are one measurement of a longer vector: the same sampler, asked once.
    booked = replace(event, size=runs * change.size)
    planned = replace(plan, measurements=(booked,))
    grant = Ledger.ephemeral(
        plan.budget.model_copy(update={"epsilon": max(plan.budget.epsilon, plan.epsilon)})
    ).charge(planned, entropy=entropy)
    if event.branch:
        grant.take(event.branch)
    sums = np.tile(second * change, (runs, 1))
    noisy = grant.measure(booked, sums.ravel())
    noise = noisy.values.reshape(sums.shape) / event.step - sums
    if event.mechanism != "laplace":  # Gaussian ratios depend on the values only along the change
        sums, noise = (along @ change for along in (sums, noise))
    ratios = []
    for shortfall in (0.0, *SHORTFALLS):
        # The same draws serve every shortfall: noise that is too small is the drawn noise times what is left.
        width = event.noise / event.step * (1 - shortfall)
        values = sums + (1 - shortfall) * noise
        if event.mechanism == "laplace":
            # ln p(v | second) − ln p(v | first) of Laplace noise, and below of Gaussian noise.
            ratio = (np.abs(values) - np.abs(values - change)).sum(axis=1) / width
        else:
            ratio = (values - change @ change / 2) / width**2
        ratios.append(ratio)
    return ratios
