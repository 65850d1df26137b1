"""What an ε at δ means: odds, the μ of Gaussian differential privacy, and the best attack, all rounded up."""

import math
from collections.abc import Iterable
from dataclasses import dataclass

from hushrec.documents.measured import Measured
from hushrec.text import above

FALSE_POSITIVES = 0.01
"""The fraction of people wrongly named at which the best attack is given, as in Carlini et al. 2022, §IV."""
_MARGIN = 1 + 1e-12
"""Covers the rounding of the arithmetic here."""
_LARGEST_ODDS = 700.0
"""ε from which e^ε is not computed."""


@dataclass(frozen=True, slots=True)
class Odds:
    """The meaning of an ε at δ for the best possible attack.

    Attributes:
        epsilon, delta: true ε at δ; ε may be infinite.
        mu: adjacent data sets are as hard to tell apart as N(0, 1) and N(μ, 1), or harder (Dong, Roth & Su
            2022); None where no μ is known.
    """

    epsilon: float
    delta: float
    mu: float | None = None

    @classmethod
    def gaussian(cls, epsilon: float, delta: float) -> "Odds":
        """Return what Gaussian noise means that costs all of ε at δ."""
        return cls(epsilon, delta, gaussian_mu(epsilon, delta))

    @classmethod
    def of(cls, epsilon: float, delta: float, measured: Iterable[Measured] = ()) -> "Odds":
        """Return the smaller of the bounds from the total and from the measurements.

        μ² = Σ μ² over Gaussian noise plus Σ μ(ε)² over noise with a pure ε, by the composition of Gaussian
        differential privacy (Dong, Roth & Su 2022, Corollary 3.3).
        """
        return cls(epsilon, delta, _mu(measured))

    @property
    def factor(self) -> float:
        """e^ε, by which the odds of any conclusion change at most; infinite beyond floats."""
        return math.exp(self.epsilon) * _MARGIN if self.epsilon < _LARGEST_ODDS else math.inf

    @property
    def two_steps(self) -> tuple[float, float]:
        """ε and δ of two data sets with a common neighbour: 2ε and (1 + e^ε) δ (group privacy)."""
        return 2 * self.epsilon, (1 + self.factor) * self.delta * _MARGIN if self.delta else 0.0

    @property
    def right_guess(self) -> float:
        """How often a guess between two equally likely adjacent data sets is right, at most.

        Of ε at δ: (e^ε + δ)/(1 + e^ε), since the largest advantage of a test is (e^ε − 1 + 2δ)/(e^ε + 1)
        (Kairouz, Oh & Viswanath 2015, Theorem 2.4). Of μ: Φ(μ/2), the best threshold between N(0, 1) and
        N(μ, 1).
        """
        odds = math.exp(-self.epsilon)
        best = min((1 + self.delta * odds) / (1 + odds) * _MARGIN, 1.0)
        return best if self.mu is None else min(best, _normal(self.mu / 2) * _MARGIN)

    @property
    def best_attack(self) -> float:
        """The largest fraction of true positives, at α = ``FALSE_POSITIVES``, of an attack that tells two
        adjacent data sets apart.

        Of ε at δ: Kairouz, Oh & Viswanath 2015, Theorem 2.4. Of μ: Φ(μ − Φ⁻¹(1 − α)) (Dong, Roth & Su 2022,
        Equation 6).
        """
        wrong, best = FALSE_POSITIVES, 1.0
        if self.epsilon < _LARGEST_ODDS:
            few = math.exp(self.epsilon) * wrong + self.delta
            many = 1 - math.exp(-self.epsilon) * (1 - self.delta - wrong)
            best = min(1.0, max(min(few, many) * _MARGIN, wrong))
        if self.mu is None:
            return best
        return max(min(best, _normal(self.mu - _upper(wrong)) * _MARGIN), wrong)

    def to_json(self) -> dict[str, float | None]:
        """As JSON values of six digits, rounded up; an infinite factor becomes null."""
        figures = {"odds": self.factor, "mu": self.mu, "right_guess": self.right_guess}
        figures["best_attack"] = self.best_attack
        return {name: _six(figure) for name, figure in figures.items()}


def gaussian(epsilon: float) -> float:
    """The smallest μ such that every ε-differentially private release is μ-Gaussian differentially private.

    μ = 2 Φ⁻¹(e^ε/(1 + e^ε)): the two trade-off curves meet on the diagonal, and the Gaussian one is convex.

    Args:
        epsilon: a pure ε, at least 0.
    """
    if epsilon > 600:  # Mills: 1 − Φ(x) ≤ e^(−x²/2)/2
        return 2 * math.sqrt(2 * epsilon)
    return 2 * _upper(1 / (1 + math.exp(epsilon))) * _MARGIN


def gaussian_mu(epsilon: float, delta: float) -> float:
    """The largest μ of Gaussian noise that is (ε, δ)-differentially private, from above.

    δ = Φ(μ/2 − ε/μ) − e^ε Φ(−μ/2 − ε/μ), which grows with μ (Dong, Roth & Su 2022, Corollary 2.13).

    Args:
        epsilon: may be infinite, as is μ from ``_LARGEST_ODDS`` on.
        delta: above 0.
    """
    if epsilon >= _LARGEST_ODDS:
        return math.inf
    low, high = 0.0, math.sqrt(2 * epsilon) + 20
    for _ in range(80):
        mu = (low + high) / 2
        lost = _normal(mu / 2 - epsilon / mu) - math.exp(epsilon) * _normal(-mu / 2 - epsilon / mu)
        low, high = (low, mu) if lost > delta else (mu, high)
    return high * _MARGIN


def _six(figure: float | None) -> float | None:
    return None if figure is None or math.isinf(figure) else float(above(figure))


def _mu(measured: Iterable[Measured]) -> float | None:
    noisy = [line for line in measured if line.mechanism != "exact"]
    if not noisy or any(math.isinf(line.cost) for line in noisy):
        return None
    costs = [m.cost if m.mechanism == "gaussian" else gaussian(m.cost) for m in noisy]
    # A product, not a power: of a forged cost of 1e200 it is infinite, where a power raises an error.
    return math.sqrt(math.fsum(cost * cost for cost in costs)) * _MARGIN


def _normal(x: float) -> float:
    return math.erfc(-x / math.sqrt(2)) / 2


def _upper(chance: float) -> float:
    """The x with 1 − Φ(x) = ``chance`` ≤ 1/2, from above, to the last digits."""
    low, high = 0.0, 40.0
    for _ in range(80):
        middle = (low + high) / 2
        low, high = (middle, high) if _normal(-middle) > chance else (low, middle)
    return high
