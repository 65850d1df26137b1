"""From noise to ε: privacy losses add up in integers and convert to ε at δ, rounded to the safe side.

Gaussian measurements compose exactly. With μ² = Σ (Δᵢ/σᵢ)² their joint loss is that of one measurement with
Δ/σ = μ (Dong, Roth & Su 2022, §3.2). This also holds if later ones are chosen after seeing earlier ones
(Smith & Thakurta 2022). The privacy curve has a closed form (Balle & Wang 2018, Theorem 8). Gaussian
measurements are charged in ρ = μ²/2, which is additive.

Laplace measurements have two additive costs: ε = Δ/b (basic composition) and the exact zCDP loss
ε + e^−ε − 1 ≤ ε²/2 (Harrison & Manurangsi 2026). For measurements that are fixed together, as in a plan, ε at
δ is the smaller of the two bounds. A later release could choose between them, so a ledger fixes one with its
first charge (see ``routes``).

Gaussian measurements of a random sample of people are charged as Rényi divergences at fixed orders,
which add order by order. ε at δ is then the smaller of two conversions: of all divergences, the
other measurements contributing αρ; or of those without the pure losses, plus their Σε.

A posterior sample costs ε = Δ/T, and min(ε²/2, ε) in zCDP.

Local randomizers cost the ε, and the zCDP loss, of one cell times the number of cells that may differ. For
k-ary randomized response the zCDP loss is well below ε²/2 (see ``events.cell_rho``).

A Gaussian measurement of a random sample of people costs Rényi divergences. Each person takes part with
probability q, independently and in secret. The sum over those who do gets Gaussian noise of z = σ/Δ. For
neighbours that differ by one person, in either direction, its divergence of integer order α is at most
ln(A_α)/(α − 1) with

    A_α = Σ_k C(α, k) (1 − q)^(α−k) q^k e^(k(k−1)/(2z²)),   k = 0 … α

(Mironov, Talwar & Zhang 2019, §3.3). The bound holds for adjacency add-remove only, not for replacement.
Divergences of measurements add order by order, also if later ones are chosen after seeing earlier ones
(Mironov 2017, Proposition 1). Every order that is fixed beforehand gives a valid ε at δ. A plan's
measurements are fixed together, so a plan uses the best order; a ledger uses a single one (see ``routes``).
"""

import math
from collections.abc import Callable, Iterable
from dataclasses import dataclass
from fractions import Fraction
from functools import lru_cache
from numbers import Real
from typing import Protocol

import numpy as np
from scipy.special import erfcx

from hushrec.arrays import Floats, Ints
from hushrec.errors import BudgetError
from hushrec.privacy.accounting import fixed_point
from hushrec.privacy.accounting.budget import Budget

ORDERS = (*range(2, 65), 72, 80, 96, 112, 128, 160, 192, 256, 320, 384, 512, 768, 1024)
"""Orders α at which divergences are kept. They are part of the ledger's format; do not change them."""

_LARGEST = 2**20
"""Largest ratio Δ/σ for which sampling is taken into account."""

Curve = tuple[int, ...]
"""The divergence at each of ``ORDERS``, in units of 1e-12; empty without any."""

_ROUNDING = 16 * 2.0**-52
"""Generous bound on the relative error of one floating-point step of the formulas."""


@lru_cache(maxsize=4096)
def divergences(ratio: Fraction, rate: float) -> Curve:
    """Rényi divergences of one measurement of a sample, rounded up.

    Without the terms that do not depend on z, A_α − 1 = Σ_{k ≥ 2} C(α, k) (1 − q)^(α−k) q^k
    (e^(k(k−1)/(2z²)) − 1). All terms are positive, so small losses keep their digits. The divergence is also
    at most α/(2z²), the cost if everybody takes part.

    Rounded up once: the logarithm of every term is raised by 32u (1 + α + the sizes of its parts), u = 2^-53.
    The parts, their sum, its exponential, the sum of α − 1 of these and its logarithm x lose less than 8u
    times the same. The rest exceeds the relative error of a few u in ln(1 + e^x), which grows by at least
    half of what x does, over max(1, x), and x is at most ln α plus the (weighted) sizes of the parts.

    Args:
        ratio: 1/z = Δ/σ.
        rate: q, in (0, 1).
    """
    everybody = tuple(fixed_point.cost(order * ratio**2 / 2) for order in ORDERS)
    if ratio > _LARGEST:
        return everybody
    orders, k, combinations, starts = _terms()
    growth = k * (k - 1) / 2 * fixed_point.float_above(ratio**2)
    # ln(e^x − 1) without overflow, and without loss of digits for small x.
    lifted = growth + np.log(-np.expm1(-growth))
    kept, taken = (orders - k) * math.log1p(-rate), k * math.log(rate)
    logs = combinations + kept + taken + lifted
    logs += _ROUNDING * (1 + orders + combinations - kept - taken + growth + np.abs(lifted))
    largest = np.maximum.reduceat(logs, starts)
    sums = np.add.reduceat(np.exp(logs - np.repeat(largest, np.diff(starts, append=logs.size))), starts)
    moments = np.logaddexp(0.0, largest + np.log(sums))  # ln A_α from ln(A_α − 1)
    sampled = (
        max(1, fixed_point.cost(Fraction(moment) / (order - 1)))  # a loss is never 0, even if it underflows
        for order, moment in zip(ORDERS, moments.tolist(), strict=True)
    )
    return tuple(map(min, sampled, everybody))


def added(first: Curve, second: Curve) -> Curve:
    """The divergences of two measurements together."""
    if not first or not second:
        return first or second
    return tuple(map(int.__add__, first, second))


def smallest(curve: Iterable[int], delta: float) -> tuple[int, int]:
    """The smallest ε at δ that the divergences give, in units of 1e-12, rounded up, and its order.

    ε = D_α + ln((α − 1)/α) − (ln δ + ln α)/(α − 1)  (Canonne, Kamath & Steinke 2020, Proposition 12).

    Args:
        curve: D_α in units of 1e-12 at each of ``ORDERS``.
        delta: above 0.
    """
    best = min((loss + conversion(order, delta), order) for loss, order in zip(curve, ORDERS, strict=True))
    return max(0, best[0]), best[1]


@lru_cache(maxsize=4096)
def conversion(order: int, delta: float) -> int:
    """The term that conversion at an order adds to the divergence, in 1e-12, rounded up; may be negative."""
    terms = math.log1p(-1 / order), -math.log(delta) / (order - 1), -math.log(order) / (order - 1)
    return fixed_point.cost(Fraction(sum(terms) + _ROUNDING * sum(map(abs, terms))))


@lru_cache(maxsize=1)
def _terms() -> tuple[Floats, Floats, Floats, Ints]:
    """α, k and ln C(α, k) of every term with k ≥ 2, order after order, and where each order begins."""
    pairs = [(order, k) for order in ORDERS for k in range(2, order + 1)]
    orders, k = np.array(pairs, np.float64).T
    combinations = np.array([math.log(math.comb(*pair)) for pair in pairs])
    return orders, k, combinations, np.flatnonzero(k == 2)


"""Bounds the relative error of one floating-point step of the formulas."""


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


def zcdp_epsilon(rho: float, delta: float) -> float:
    """ε at δ of any mechanism that is ρ-zCDP, rounded up.

    ε = inf over α > 1 of αρ + ln((α − 1)/α) − (ln δ + ln α)/(α − 1)  (Canonne, Kamath & Steinke 2020,
    §2.3, solved for ε). The bound holds for every α, so an inaccurate search gives a larger ε.

    Args:
        rho: at least 0.
        delta: at least 0; at 0 only ρ = 0 has a finite ε.

    Returns:
        ε, or infinity.
    """
    _require(rho=rho, delta=delta)
    if rho == 0:
        return 0.0
    if delta == 0 or rho == math.inf:
        return math.inf

    def bound(log_order: float) -> float:
        order = math.exp(log_order)  # α − 1
        terms = rho * (1 + order), -math.log1p(1 / order), -(math.log(delta) + math.log1p(order)) / order
        return sum(terms) + _ROUNDING * sum(map(abs, terms))

    low, high = -40.0, 40.0
    for _ in range(120):
        third = (high - low) / 3
        if bound(low + third) < bound(high - third):
            high -= third
        else:
            low += third
    return max(0.0, bound((low + high) / 2))


@dataclass(frozen=True, slots=True)
class Spent:
    """Accumulated privacy loss in units of 1e-12. Sums are exact, in any order.

    Args:
        rho: Σ μ²/2 of Gaussian measurements.
        epsilon_sum: Σ ε of Laplace measurements and posterior samples.
        pure_rho: Σ of the zCDP loss of the same measurements.
        curve: Σ of the Rényi divergences of subsampled measurements at ``ORDERS``, or empty.
    """

    rho: int = 0
    epsilon_sum: int = 0
    pure_rho: int = 0
    curve: Curve = ()

    def __add__(self, other: "Spent") -> "Spent":
        return Spent(
            self.rho + other.rho,
            self.epsilon_sum + other.epsilon_sum,
            self.pure_rho + other.pure_rho,
            added(self.curve, other.curve),
        )

    def __mul__(self, times: int) -> "Spent":
        curve = tuple(times * loss for loss in self.curve) if times else ()
        rho, pure = self.rho * times, self.epsilon_sum * times
        return Spent(rho, pure, self.pure_rho * times, curve)

    def epsilon_units(self, delta: float) -> int:
        """ε at δ in units of 1e-12, rounded up.

        The smaller of Σε + (ε at δ of the rest) and the zCDP or Rényi bound on everything.
        """
        if delta == 0:
            if self.rho or self.curve:
                raise BudgetError("Gaussian noise has no finite ε at δ = 0; give a δ, or use Laplace noise")
            return self.epsilon_sum
        if self.curve:
            return min(self.epsilon_sum + self._smallest(delta)[0], self._smallest(delta, self.pure_rho)[0])
        return min(self.exact(delta), self.concentrated(delta)) if self.epsilon_sum else self.exact(delta)

    def exact(self, delta: float) -> int:
        """Σε + (ε at δ > 0 of Gaussian noise), for losses without a curve, in units of 1e-12, rounded up."""
        return self.epsilon_sum + _units(gaussian_epsilon(math.sqrt(2 * _above(self.rho)), delta))

    def concentrated(self, delta: float) -> int:
        """ε at δ > 0 by zCDP, for losses without a curve, in units of 1e-12, rounded up."""
        return _units(zcdp_epsilon(_above(self.rho + self.pure_rho), delta))

    def epsilon(self, delta: float) -> float:
        """ε at δ, rounded up; infinite for Gaussian noise at δ = 0."""
        if delta == 0 and (self.rho or self.curve):
            return math.inf
        return fixed_point.shown(self.epsilon_units(delta))

    def optimal_order(self, delta: float) -> int:
        """The order whose divergence determines ε at δ > 0, for losses with a curve."""
        return self._smallest(delta)[1]

    def rho_at(self, order: int) -> int:
        """Divergence of Gaussian noise and samples at one of ``ORDERS``, divided by the order, rounded up."""
        return self.rho - (-self.curve[ORDERS.index(order)] // order if self.curve else 0)

    def _smallest(self, delta: float, pure_rho: int = 0) -> tuple[int, int]:
        rho = self.rho + pure_rho
        return smallest((loss + o * rho for o, loss in zip(ORDERS, self.curve, strict=True)), delta)


class Priced(Protocol):
    """An event with a price: an ``events.Event``."""

    @property
    def branch(self) -> str: ...

    def spent(self) -> Spent: ...


def spent_of(events: Iterable[Priced]) -> Spent:
    """Total cost of a plan's measurements, of whose branches one is made; each cost is rounded up."""
    return dearest((event.branch, price(event)) for event in events)[1]


def dearest(losses: Iterable[tuple[str, Spent]]) -> tuple[str, Spent]:
    """The branch that costs most, and the cost of that branch with all that is in none.

    One branch is made, chosen after seeing earlier releases. Gaussian measurements are totally ordered by μ,
    so whatever the choice, each is a post-processing of the dearest branch's: the dearest bounds the loss
    (Dong, Roth & Su 2022, §2; Smith & Thakurta 2022).

    Args:
        losses: the branch of each measurement, empty for what is always made, and its cost.

    Raises:
        BudgetError: A measurement in a branch has other noise than Gaussian, or is of a sample.
    """
    totals: dict[str, Spent] = {"": Spent()}
    for branch, loss in losses:
        if branch and loss != Spent(rho=loss.rho):
            raise BudgetError(
                f"branch {branch}: only Gaussian noise on sums over all users can be ordered by cost; "
                "measure anything else always"
            )
        totals[branch] = totals.get(branch, Spent()) + loss
    always = totals.pop("")
    if not totals:
        return "", always
    branch = max(totals, key=lambda name: totals[name].rho)
    return branch, always + totals[branch]


def price(event: Priced) -> Spent:
    """Cost of one measurement, in exact rational arithmetic, rounded up; each event derives its own."""
    return event.spent()


def pure_loss(epsilon: Fraction) -> Spent:
    """Cost of a measurement whose pure ε alone is known; it costs min(ε²/2, ε) in zCDP.

    Its divergences are at most αε²/2 (Bun & Steinke 2016, Proposition 1.4) and at most ε ≤ αε.
    """
    return Spent(
        epsilon_sum=fixed_point.cost(epsilon), pure_rho=fixed_point.cost(min(epsilon**2 / 2, epsilon))
    )


def laplace_loss(epsilon: Fraction) -> Spent:
    """Cost of Laplace noise: ε = Δ/b, and the zCDP loss ε + e^−ε − 1."""
    above = fixed_point.float_above(epsilon)
    # The sum cancels for small ε, where its error is at most a rounding of its terms; ε²/2 is exact there.
    tight = Fraction(above + math.expm1(-above)) + Fraction(_ROUNDING * above)
    return Spent(epsilon_sum=fixed_point.cost(epsilon), pure_rho=fixed_point.cost(min(epsilon**2 / 2, tight)))


@lru_cache(maxsize=256)
def largest_rho(budget: Budget) -> int:
    """The largest ρ, in units of 1e-12, whose ε at the budget's δ is within the budget."""
    return _largest(lambda rho: Spent(rho=rho), budget)


def largest_pure(budget: Budget, split: Iterable[Fraction] = (Fraction(1),)) -> int:
    """The largest Σε, in units of 1e-12, of Laplace measurements with this split that fits the budget.

    At δ = 0, or with few measurements, this is the budget's ε. With many at δ > 0 it is more.
    """
    return _largest_pure(budget, tuple(split))


@lru_cache(maxsize=256)
def _largest_pure(budget: Budget, parts: tuple[Fraction, ...]) -> int:
    def spent(total: int) -> Spent:
        return sum((laplace_loss(part * total / fixed_point.PER_ONE) for part in parts), Spent())

    return _largest(spent, budget)


def _largest(spent: Callable[[int], Spent], budget: Budget) -> int:
    if budget.delta == 0 and spent(1).rho:
        raise BudgetError("Gaussian noise has no finite ε at δ = 0; give a δ, or use Laplace noise")
    low, high = 0, 1
    while spent(high).epsilon_units(budget.delta) <= budget.epsilon_units:
        low, high = high, 2 * high
    while high - low > 1:
        middle = (low + high) // 2
        if spent(middle).epsilon_units(budget.delta) <= budget.epsilon_units:
            low = middle
        else:
            high = middle
    return low


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


def _above(count: int) -> float:
    return math.nextafter(fixed_point.shown(count), math.inf) if count else 0.0


def _units(epsilon: float) -> int:
    return fixed_point.cost(Fraction(epsilon))
