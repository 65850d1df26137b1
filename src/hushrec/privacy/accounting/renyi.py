"""Cost of a Gaussian measurement of a random sample of people, by Rényi divergences.

Each person takes part with probability q, independently and in secret. The sum over those who do gets
Gaussian noise of z = σ/Δ. For neighbours that differ by one person, in either direction, its Rényi divergence
of integer order α is at most ln(A_α)/(α − 1) with

    A_α = Σ_k C(α, k) (1 − q)^(α−k) q^k e^(k(k−1)/(2z²)),   k = 0 … α

(Mironov, Talwar & Zhang 2019, §3.3). The bound holds for adjacency add-remove only, not for replacement.
Divergences of measurements add order by order, also if later ones are chosen after seeing earlier ones
(Mironov 2017, Proposition 1). Every order that is fixed beforehand gives a valid ε at δ. A plan's
measurements are fixed together, so a plan uses the best order; a ledger uses a single one (see ``routes``).
"""

import math
from collections.abc import Iterable
from fractions import Fraction
from functools import lru_cache

import numpy as np

from hushrec.arrays import Floats, Ints
from hushrec.privacy.accounting import fixed_point

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
