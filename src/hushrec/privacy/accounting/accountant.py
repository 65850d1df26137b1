"""From noise to ε: a budget counts one number, in integers, rounded to the safe side.

A budget at δ = 0 is *pure*: it counts ε, which adds up. A budget at δ > 0 is *Gaussian*: it counts μ² of
Gaussian differential privacy (Dong, Roth & Su 2022). A release is μ-GDP if its two worlds are as hard to tell
apart as N(0, 1) and N(μ, 1), that is if its trade-off function f is at least G_μ(α) = Φ(Φ⁻¹(1 − α) − μ).
Releases that are μᵢ-GDP are together √(Σ μᵢ²)-GDP (Corollary 3.3), also if later ones are chosen after seeing
earlier ones (Smith & Thakurta 2022). ε at δ is that of Gaussian noise of this μ (Balle & Wang 2018, Theorem
8).

So every mechanism costs a μ, by its own trade-off function: ``gaussian_cost``, ``laplace_cost``,
``response_cost``, and ``pure_cost`` where an ε alone is known. Each also has its pure ε, but for Gaussian
noise.
"""

import math
from collections.abc import Callable, Iterable
from dataclasses import dataclass
from fractions import Fraction
from functools import lru_cache
from numbers import Real
from typing import Protocol

from scipy.special import erfcx, erfinv, ndtri_exp

from hushrec.errors import BudgetError
from hushrec.privacy.accounting import fixed_point
from hushrec.privacy.accounting.budget import Budget

_ROUNDING = 16 * 2.0**-52
"""Generous bound on the relative error of one floating-point step of the formulas."""
_MARGIN = Fraction(1, 2**40)
"""Exceeds the relative error of a normal quantile, which is below 2^-46 as tests check in long decimals."""
_TINY, _LINEAR, _HUGE = 2.0**-40, 500, 2**20
"""−ln of a probability below which, or above which, bounds of one line are used; they are tight there."""
_LN_2 = Fraction(6931471805599453, 10**16)
"""A little below ln 2."""
_BITS = 40
"""Of the largest cost of a budget, so that it is the same on machines whose last digits differ."""


def _require(**figures: object) -> None:
    """Refuse a figure for which the formulas would give any answer, or search for ever."""
    for name, figure in figures.items():
        most = 1 if name == "delta" else math.inf
        if isinstance(figure, bool) or not isinstance(figure, Real) or not 0 <= float(figure) <= most:
            raise BudgetError(f"{name} must be a number of at least 0{', and at most 1' * (most == 1)}")


def gaussian_delta(mu: float, epsilon: float) -> float:
    """δ of Gaussian noise at a given ε, rounded up: never below the true value.

    δ(ε) = Φ(μ/2 − ε/μ) − e^ε Φ(−μ/2 − ε/μ)  (Balle & Wang 2018, Theorem 8).

    With a = ε/μ − μ/2 and b = ε/μ + μ/2, e^ε φ(b) = φ(a), so both terms are φ(a) times a Mills ratio. This
    avoids overflow for large ε and cancellation in the tail.

    Args:
        mu: Δ/σ, at least 0.
        epsilon: at least 0.
    """
    _require(mu=mu, epsilon=epsilon)
    if mu == 0:
        return 0.0
    near, far = epsilon / mu - mu / 2, epsilon / mu + mu / 2
    density = math.exp(-near * near / 2) / 2
    second = density * float(erfcx(far / math.sqrt(2)))
    first = density * float(erfcx(near / math.sqrt(2))) if near > 0 else math.erfc(near / math.sqrt(2)) / 2
    error = _ROUNDING * (1 + far * (1 + abs(near))) * (first + second)
    return min(1.0, first - second + error)


@lru_cache(maxsize=4096, typed=True)
def gaussian_epsilon(mu: float, delta: float) -> float:
    """The smallest ε with δ(ε) ≤ ``delta``, rounded up: never below the true value.

    Args:
        mu: Δ/σ, at least 0.
        delta: at least 0; at 0 only μ = 0 has a finite ε.

    Returns:
        ε, or infinity.
    """
    _require(mu=mu, delta=delta)
    if gaussian_delta(mu, 0.0) <= delta:
        return 0.0
    if delta <= 0 or mu == math.inf:
        return math.inf
    return _crossing(lambda epsilon: gaussian_delta(mu, epsilon) <= delta)[1]


@lru_cache(maxsize=4096, typed=True)
def gaussian_mu(epsilon: float, delta: float) -> float:
    """The largest μ = Δ/σ with δ(ε) ≤ ``delta``, rounded down: never above the true value.

    Args:
        epsilon: at least 0.
        delta: in [0, 1); at 0 the answer is 0.
    """
    _require(epsilon=epsilon, delta=delta)
    if delta == 1:
        raise BudgetError("at δ = 1 any noise will do; choose a δ below 1")
    if delta == 0:
        return 0.0
    return _crossing(lambda mu: gaussian_delta(mu, epsilon) > delta)[0]


@dataclass(frozen=True, slots=True)
class Spent:
    """Accumulated privacy loss in units of 1e-12. Sums are exact, in any order.

    Args:
        mu_squared: Σ μ² of all measurements.
        epsilon: Σ ε; None with Gaussian noise, which has no finite pure ε.
    """

    mu_squared: int = 0
    epsilon: int | None = 0

    def __add__(self, other: "Spent") -> "Spent":
        pure = None if self.epsilon is None or other.epsilon is None else self.epsilon + other.epsilon
        return Spent(self.mu_squared + other.mu_squared, pure)

    def __mul__(self, times: int) -> "Spent":
        pure = None if times and self.epsilon is None else (self.epsilon or 0) * times
        return Spent(self.mu_squared * times, pure)

    def units(self, delta: float) -> int:
        """What a budget at δ counts: μ², or ε at δ = 0; in units of 1e-12.

        Raises:
            BudgetError: Gaussian noise at δ = 0.
        """
        _require(delta=delta)
        if delta > 0:
            return self.mu_squared
        if self.epsilon is None:
            raise BudgetError(NO_DELTA)
        return self.epsilon

    def epsilon_units(self, delta: float) -> int:
        """ε at δ in units of 1e-12, rounded up."""
        return epsilon_of(self.units(delta), delta)

    def epsilon_at(self, delta: float) -> float:
        """ε at δ, rounded up; infinite for Gaussian noise at δ = 0."""
        if delta == 0 and self.epsilon is None:
            return math.inf
        return fixed_point.shown(self.epsilon_units(delta))

    def planned_epsilon(self, delta: float) -> float:
        """As ``epsilon_at``, of what was planned together: at most Σε, which holds at any δ."""
        counted = self.epsilon_at(delta)
        return counted if self.epsilon is None else min(counted, fixed_point.shown(self.epsilon))


NO_DELTA = "Gaussian noise has no finite ε at δ = 0; give a δ, or use Laplace noise"


def epsilon_of(cost: int, delta: float) -> int:
    """ε at δ of a cost, μ² or, at δ = 0, ε itself; both in units of 1e-12, rounded up."""
    if delta == 0 or cost == 0:
        return cost
    return fixed_point.cost(Fraction(gaussian_epsilon(_root(cost), delta)))


@lru_cache(maxsize=1024)
def largest_cost(budget: Budget) -> int:
    """The largest cost within a budget: of μ² at δ > 0, of ε at δ = 0; in units of 1e-12, rounded down.

    μ² has ``_BITS`` binary digits.
    """
    if budget.delta == 0:
        return budget.epsilon_units
    most = math.floor(Fraction(gaussian_mu(budget.epsilon, budget.delta)) ** 2 * fixed_point.PER_ONE)
    most = min(most, 2 * fixed_point.LARGEST - 1)
    spare = max(most.bit_length() - _BITS, 0)
    most = most >> spare << spare
    # ε of μ² is rounded up as well, so the last steps may be one too many.
    while most and epsilon_of(most, budget.delta) > budget.epsilon_units:
        most -= 1 << spare
    return most


def budget_of(cost: int, like: Budget) -> Budget:
    """The largest budget whose largest cost is at most ``cost``; ε is rounded down, and never above ``like``.

    Args:
        cost: at least 1 unit of what ``like`` counts.
        like: gives δ, unit and adjacency.
    """
    if cost >= largest_cost(like):
        return like
    units = min(epsilon_of(cost, like.delta), like.epsilon_units)
    while True:
        epsilon = fixed_point.written_below(Fraction(units, fixed_point.PER_ONE))
        budget = like.model_copy(update={"epsilon": epsilon})
        if units < 1 or largest_cost(budget) <= cost:
            return budget
        units -= 1 + (units >> 40)


def quantile(log: float) -> float:
    """The z with 2Φ(−z) = e^−s, up to a relative error far below ``_MARGIN``.

    Args:
        log: s, from 0 to ``_HUGE``.
    """
    if log < _TINY:
        return log * math.sqrt(math.pi / 2)
    if log < 1:
        return math.sqrt(2) * float(erfinv(-math.expm1(-log)))
    z = -float(ndtri_exp(-log - math.log(2)))  # loses digits for large s, which a step of Newton finds
    return z + (log - survival(z)) * math.sqrt(math.pi / 2) * float(erfcx(z / math.sqrt(2)))


def survival(z: float) -> float:
    """s = −ln 2Φ(−z), which ``quantile`` inverts, up to rounding; z ≥ 0."""
    if z < 1:
        return -math.log1p(-math.erf(z / math.sqrt(2)))
    return z * z / 2 - math.log(float(erfcx(z / math.sqrt(2))))


def gaussian_cost(ratio: Fraction) -> Spent:
    """Cost of Gaussian noise: μ = Δ/σ, as N(0, σ²) and N(Δ, σ²) are N(0, 1) and N(μ, 1) in units of σ."""
    return Spent(fixed_point.cost(ratio**2), None)


@lru_cache(maxsize=4096)
def laplace_cost(epsilon: Fraction) -> Spent:
    """Cost of Laplace noise of ε = Δ/b: μ = m(ε) = 2Φ⁻¹(1 − e^(−ε/2)/2).

    The trade-off of Lap(0, 1) against Lap(ε, 1) is f(α) = 1 − e^ε α for α ≤ e^(−ε)/2, e^(−ε)/(4α) up to ½,
    and e^(−ε)(1 − α) beyond. In the middle write α = Φ(−a), f(α) = Φ(−b): ln Φ(−a) + ln Φ(−b) = −ε − ln 4.
    Since ln Φ(−x) is concave and decreasing, Φ(−(a + b)/2)² ≥ e^(−ε)/4, so a + b ≤ m(ε), which is f ≥ G_μ. On
    the outer pieces f is linear from (0, 1), or to (1, 0), to a point where f ≥ G_μ, and G_μ is convex.

    A vector with Σ |shiftᵢ|/b ≤ ε costs no more. Its coordinates are independent, and Σ m(εᵢ)² ≤ m(ε)²
    because m(ε)²/ε does not decrease: with z = m/2, ε/2 = −ln 2Φ(−z) = ∫₀^z λ for the hazard rate λ of the
    normal, and λ(s)/s decreases (λ > s and λ' = λ(λ − s) < 1). So ∫₀^z λ ≥ z λ(z)/2, which says that z²/ε
    grows.
    """
    return Spent(fixed_point.cost(_mu_squared(epsilon / 2)), fixed_point.cost(epsilon))


@lru_cache(maxsize=4096)
def pure_cost(epsilon: Fraction, times: int = 1) -> Spent:
    """Cost of measurements of which the pure ε alone is known: μ = 2Φ⁻¹(e^ε/(1 + e^ε)) each.

    ε-differential privacy means f(α) ≥ max(1 − e^ε α, e^(−ε)(1 − α)), which has its corner at α = f =
    1/(1 + e^ε), on the diagonal. G_μ is convex and meets it there, in (0, 1) and in (1, 0), so it is below.
    """
    return Spent(fixed_point.cost(_pure(epsilon) * times), fixed_point.cost(epsilon * times))


@lru_cache(maxsize=4096)
def response_cost(symbols: int, exponent: float, epsilon: Fraction, cells: int) -> Spent:
    """Cost of randomized response on cells: μ = Φ⁻¹(1 − q) − Φ⁻¹(1 − p) each.

    The true answer has probability p = 1 − e^−x, each of the k − 1 others q = e^−x/(k − 1). The trade-off has
    the vertices (0, 1), (q, 1 − p), (1 − p, q) and (1, 0). G_μ is convex and goes through all four, so it is
    below. Cells are answered independently.

    Args:
        symbols: k.
        exponent: x.
        epsilon: pure ε of a cell, rounded up; its μ bounds that of the cell as well, and is used if rounding
            makes it the smaller.
        cells: number of cells that may differ.
    """
    rare, untrue = -float(ndtri_exp(-exponent - math.log(symbols - 1))), -float(ndtri_exp(-exponent))
    # Φ⁻¹(1 − q) = rare, Φ⁻¹(1 − p) = −untrue.
    mu = Fraction(rare) + Fraction(untrue) + Fraction(abs(rare) + abs(untrue)) * _MARGIN
    return Spent(fixed_point.cost(min(mu**2, _pure(epsilon)) * cells), fixed_point.cost(epsilon * cells))


def laplace_epsilon(cost: int) -> float:
    """ε of the Laplace noise that costs μ², about: the inverse of ``laplace_cost``."""
    return 2 * survival(math.sqrt(cost / fixed_point.PER_ONE) / 2)


def pure_epsilon(cost: int) -> float:
    """ε of which ``pure_cost`` is μ², about: with e^s = (1 + e^ε)/2, ε = s + ln(2 − e^−s)."""
    s = survival(math.sqrt(cost / fixed_point.PER_ONE) / 2)
    return s + math.log1p(-math.expm1(-s))


def _pure(epsilon: Fraction) -> Fraction:
    """μ² of a pure ε, rounded up: 2Φ(−μ/2) = 2/(1 + e^ε)."""
    if epsilon > _LINEAR:
        return _mu_squared(epsilon - _LN_2)
    half = math.expm1(fixed_point.float_above(epsilon)) / 2
    return _mu_squared(Fraction(math.log1p(half) * (1 + _ROUNDING)))


def _mu_squared(log: Fraction) -> Fraction:
    """μ² with 2Φ(−μ/2) = e^−s, rounded up.

    From ``_HUGE`` on it is the bound (μ/2)² ≤ 2s, since Φ(−z) ≤ e^(−z²/2)/2. Below ``_TINY`` the tangent
    z ≤ s √(π/2) is one, since −ln 2Φ(−z) is convex. Between, the margin exceeds all rounding.
    """
    if log > _HUGE:
        return 8 * log
    return (2 * Fraction(quantile(fixed_point.float_above(log))) * (1 + _MARGIN)) ** 2


class Priced(Protocol):
    """An event with a price: an ``Measurement``."""

    @property
    def branch(self) -> str: ...

    def spent(self) -> Spent: ...


def spent_of(events: Iterable[Priced]) -> Spent:
    """Total cost of a plan's measurements, of whose branches one is made; each cost is rounded up."""
    return dearest((event.branch, event.spent()) for event in events)[1]


def dearest(losses: Iterable[tuple[str, Spent]]) -> tuple[str, Spent]:
    """The branch that costs most, and the cost of that branch with all that is in none.

    One branch is made, chosen after seeing earlier releases. Gaussian measurements are totally ordered by μ,
    so whatever the choice, each is a post-processing of the dearest branch's: the dearest bounds the loss
    (Dong, Roth & Su 2022, §2; Smith & Thakurta 2022).

    Args:
        losses: the branch of each measurement, empty for what is always made, and its cost.

    Raises:
        BudgetError: A measurement in a branch has other noise than Gaussian.
    """
    totals: dict[str, Spent] = {"": Spent()}
    for branch, loss in losses:
        if branch and loss.epsilon is not None:
            raise BudgetError(
                f"branch {branch}: only Gaussian noise can be ordered by cost; measure anything else always"
            )
        totals[branch] = totals.get(branch, Spent()) + loss
    always = totals.pop("")
    if not totals:
        return "", always
    branch = max(totals, key=lambda name: totals[name].mu_squared)
    return branch, always + totals[branch]


def _root(cost: int) -> float:
    """μ of μ² in units, rounded up."""
    square = fixed_point.float_above(Fraction(cost, fixed_point.PER_ONE))
    return math.nextafter(math.sqrt(square), math.inf)


def _crossing(reached: Callable[[float], bool]) -> tuple[float, float]:
    """Two adjacent floats (or closer than 1e-18 of the bracket) between which a condition becomes true."""
    low, high = 0.0, 1.0
    while not reached(high):
        low, high = high, 2 * high
    for _ in range(100):
        middle = (low + high) / 2
        if not low < middle < high:
            break
        low, high = (low, middle) if reached(middle) else (middle, high)
    return low, high
