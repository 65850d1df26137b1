"""The accountant for mechanisms of your own: from noise to ε, δ, ρ and μ, and from ε at δ to noise.

A mechanism has a ``Loss``. Losses of several add with ``+`` and repeat with ``*``::

    both = hr.accounting.gaussian(1 / 20, times=100) + hr.accounting.laplace(1 / 10)
    both.epsilon(delta=1e-6)

**Rounding.** Every loss is rounded up: to units of 1e-12 for each measurement, which then add exactly as
integers. So ε, δ, ρ, μ and σ/Δ are never below the value of their formula. A float stands for the decimal
that Python prints for it, so that 0.05 is 1/20; give a ``Fraction`` for a third.

**Assumptions.** Δ is a bound that you have proved, in the norm that the mechanism needs, for your unit and
adjacency. Noise is continuous, or rounded after it was drawn. How much noise there is, and how often, is
fixed before the first result is seen; what is measured may depend on earlier results. See
``docs/accounting.md``.
"""

import math
from dataclasses import dataclass, field
from fractions import Fraction

from hushrec.errors import BudgetError
from hushrec.privacy.accounting import fixed_point
from hushrec.privacy.accounting.accountant import Spent, price, pure_loss, zcdp_epsilon
from hushrec.privacy.accounting.calibration import smallest_that
from hushrec.privacy.accounting.events import ODDS, Gaussian, Laplace
from hushrec.privacy.accounting.local_events import Responses

__all__ = ["Loss", "gaussian", "gaussian_noise", "laplace", "pure", "randomized_response", "zcdp_epsilon"]

_FAINTEST = 1000
"""−log₂ of the smallest δ, chosen by hand: below 2^−1022 floats lose digits that the rounding counts on."""
_LARGEST, _MOST = 10**6, 10**12
"""Largest figure of a mechanism, and most measurements; chosen by hand, so that no float overflows."""


@dataclass(frozen=True, slots=True)
class Loss:
    """The privacy loss of measurements together; ``Loss()`` is that of none.

    ``a + b`` is the loss of both, ``100 * a`` that of a hundred like it, and ``sum(losses, Loss())`` that of
    a list.
    """

    _spent: Spent = field(default=Spent(), init=False)

    def epsilon(self, delta: float) -> float:
        """Find the smallest ε at δ, rounded up; infinite for Gaussian noise at δ = 0.

        Exact for Gaussian noise over everybody (Balle & Wang 2018, Theorem 8), and at δ = 0. Otherwise the
        smallest of several bounds: Σε plus the exact ε of the Gaussian noise; zCDP (Canonne, Kamath & Steinke
        2020, §2.3); and for samples Rényi divergences (the same, Proposition 12).

        Args:
            delta: δ, 0 or from 1e-300 to 1.
        """
        _require_delta(delta)
        return self._spent.epsilon(delta)

    def delta(self, epsilon: float) -> float:
        """Find the smallest δ at which ``epsilon(δ)`` is at most ε, rounded up.

        A δ that is not 0 is at least 1e-301.

        Args:
            epsilon: ε, at least 0.
        """
        if not 0 <= epsilon < math.inf:
            raise BudgetError("ε must be a number of at least 0; choose another")
        allowed = fixed_point.allowance(epsilon)
        if not self._spent.rho and not self._spent.curve and self._spent.epsilon_sum <= allowed:
            return 0.0
        low, high = -float(_FAINTEST), 0.0  # of log2 δ
        while low < (middle := (low + high) / 2) < high:
            fits = self._spent.epsilon_units(2.0**middle) <= allowed
            low, high = (low, middle) if fits else (middle, high)
        return float(2.0**high)

    @property
    def rho(self) -> float | None:
        """ρ of zero-concentrated differential privacy, rounded up; None for samples of people.

        Δ²/(2σ²) of Gaussian noise (Bun & Steinke 2016, Proposition 1.6); ε + e^−ε − 1 of Laplace noise
        (Harrison & Manurangsi 2026).
        """
        spent = self._spent
        return None if spent.curve else fixed_point.shown(spent.rho + spent.pure_rho)

    @property
    def mu(self) -> float | None:
        """μ of Gaussian differential privacy, √Σ(Δ/σ)², rounded up; None unless all is Gaussian noise.

        The loss is exactly that of one measurement with Δ/σ = μ (Dong, Roth & Su 2022, Corollary 3.3), if
        everybody takes part in all of them.
        """
        spent = self._spent
        if spent.curve or spent.epsilon_sum:
            return None
        square = 2 * spent.rho * fixed_point.PER_ONE
        return fixed_point.shown(math.isqrt(square - 1) + 1 if square else 0)

    def __add__(self, other: "Loss") -> "Loss":
        return _loss(self._spent + other._spent)

    def __mul__(self, times: int) -> "Loss":
        if not 1 <= times <= _MOST or times != int(times):
            raise BudgetError("a measurement is made a whole number of times; give one from 1 to 1e12")
        return _loss(self._spent * int(times))

    __rmul__ = __mul__

    def __repr__(self) -> str:
        if self._spent.curve:
            return "Loss(with samples of people)"
        return f"Loss(rho={self.rho}, mu={self.mu}, pure_epsilon={self.epsilon(0)})"


def gaussian(ratio: float | Fraction, times: int = 1, sample: float | Fraction = 1) -> Loss:
    """Account for Gaussian noise of standard deviation σ on each entry of a sum.

    Over everybody the loss is exact (Dong, Roth & Su 2022, §3.2). For a Poisson sample it is a bound by Rényi
    divergences of integer orders up to 1,024, for adjacency add-remove only (Mironov, Talwar & Zhang 2019,
    §3.3).

    Args:
        ratio: Δ/σ, with Δ the L2 sensitivity; of a sample, the largest L2 norm that one person adds.
        times: how often it is measured, with fresh noise, and a fresh sample.
        sample: q, the probability that each person takes part, independently and in secret; rounded up to a
            multiple of 2^-32.

    Raises:
        BudgetError: a number is out of range.
    """
    numerator, denominator = _exact("Δ/σ", ratio).as_integer_ratio()
    if not 0 < sample <= 1:
        raise BudgetError("the rate of a sample is a probability above 0 and at most 1; choose another")
    rate_above = math.ceil(Fraction(sample) * ODDS) / ODDS
    return _loss(price(Gaussian("noise", numerator, denominator, denominator, 1, rate_above))) * times


def laplace(ratio: float | Fraction, times: int = 1) -> Loss:
    """Account for continuous Laplace noise of scale b on each entry of a sum.

    Its ε is Δ/b, and its zCDP loss ε + e^−ε − 1 (Harrison & Manurangsi 2026), which is below ε²/2. The loss
    of discrete Laplace noise is larger than that: give its Δ/b to ``pure``.

    Args:
        ratio: Δ/b, with Δ the L1 sensitivity.
        times: how often it is measured, with fresh noise.

    Raises:
        BudgetError: a number is out of range.
    """
    numerator, denominator = _exact("Δ/b", ratio).as_integer_ratio()
    return _loss(price(Laplace("noise", numerator, denominator, denominator, 1))) * times


def pure(epsilon: float | Fraction, times: int = 1) -> Loss:
    """Account for any ε-differentially private mechanism, such as discrete Laplace noise with ε = Δ/b.

    Its zCDP loss is min(ε²/2, ε) (Bun & Steinke 2016, Proposition 1.4).

    Args:
        epsilon: ε at δ = 0.
        times: how often it is run.

    Raises:
        BudgetError: a number is out of range.
    """
    return _loss(pure_loss(_exact("ε", epsilon))) * times


def randomized_response(untrue: float | Fraction, symbols: int = 2, times: int = 1) -> Loss:
    """Account for a k-ary randomized response (Warner 1965; Kairouz, Oh & Viswanath 2014).

    Its ε is ln((k − 1)(1 − p)/p), and its zCDP loss the supremum of D_α/α, found to a part in 2,000.

    Args:
        untrue: p, the probability that the answer is one of the k − 1 untrue ones, each as likely.
        symbols: k, the number of answers, from 2 to 257.
        times: how many answers of one person may differ between neighbours.

    Raises:
        BudgetError: a number is out of range.
    """
    chance = _exact("the probability of an untrue answer", untrue)
    if symbols > 1 and chance >= Fraction(symbols - 1, symbols):
        raise BudgetError("the probability of an untrue answer must be below 1 − 1/symbols; choose another")
    exponent = math.nextafter(-math.log(fixed_point.float_below(chance)), math.inf)
    return _loss(price(Responses("randomized response", symbols, exponent, 1, 1))) * times


def gaussian_noise(epsilon: float, delta: float, times: int = 1, sample: float | Fraction = 1) -> float:
    """Find σ/Δ, the least Gaussian noise whose loss is at most ε at δ, rounded up.

    It exceeds the least noise for which ``gaussian`` states that ε by a fraction of some 1e-12 at most.

    Args:
        epsilon: ε of all ``times`` together, above 0.
        delta: δ, from 1e-300 to below 1.
        times, sample: as for ``gaussian``.

    Raises:
        BudgetError: a number is out of range, or no noise gives that ε.
    """
    _require_delta(delta)
    if not (0 < epsilon < math.inf and 0 < delta < 1):
        raise BudgetError("Gaussian noise needs ε above 0, and δ above 0 and below 1; choose others")

    def fits(noise: float) -> bool:
        loss = gaussian(1 / Fraction(noise), times, sample)
        return loss._spent.epsilon_units(delta) <= fixed_point.allowance(epsilon)

    return smallest_that(fits)


def _exact(name: str, figure: float | Fraction) -> Fraction:
    """Read a figure as it is written, within range."""
    if not 0 < figure <= _LARGEST:
        raise BudgetError(f"{name} must be above 0 and at most a million; choose another")
    return figure if isinstance(figure, Fraction) else fixed_point.as_written(figure)


def _require_delta(delta: float) -> None:
    if delta and not 2.0**-_FAINTEST <= delta <= 1:
        raise BudgetError("δ must be 0, or a probability of at least 1e-300; 1e-6 is usual")


def _loss(spent: Spent) -> Loss:
    loss = Loss()
    object.__setattr__(loss, "_spent", spent)
    return loss
