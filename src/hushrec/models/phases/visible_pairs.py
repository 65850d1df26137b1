"""How much of a covariance shows through its noise, from public facts alone.

A direction of the users' taste shows where the eigenvalue that it gives the covariance exceeds that of the
noise. With U users who rate c items each, of n, weights w, noise of deviation Δ/μ on every entry, and B the
bound on a centred rating, both grow as

    signal ∝ B² Σ_u w_u c²/n,        noise ∝ (Δ/μ) √n,

so their ratio is proportional to μ Σ_u w_u c²/(Δ/B² · n^{3/2}). Its unit is such that in a catalogue of some
2,000 items a covariance and item effects are worth about the same part of a budget where it is 1.
"""

import math

from hushrec.data.declared.crowd import Crowd
from hushrec.data.domain import Domain
from hushrec.privacy.accounting.budget import Terms
from hushrec.privacy.bounded import Norm

_BALANCED = 0.1
_TYPICAL_ITEMS = 2000
_TWICE_LOG = 2 * math.log(1e6)
_LAPLACE = 8.0
_SHOWN = 0.5
"""Visibility, of a typical catalogue, from which on effects give up some of their part."""
_LEAST_SHARE, _LARGEST_SHARE = 0.04, 0.995
_MUCH = 1e6
"""Of what shows: more makes no difference, and powers of it would overflow."""
_RATED = 50
"""Ratings of an item on average from which on pairs with it can show."""
_WHOLE = 2.0
"""Visibility from which on the whole catalogue is worth its noise."""
_FEWEST = 200
"""Items of a head that is always afforded: it costs next to nothing."""


def visibility(domain: Domain, terms: Terms, norm: Norm, contribution_cap: float) -> float:
    """The ratio of the leading eigenvalues of signal and noise; infinite without noise.

    Args:
        domain: the public domain, whose ``crowd`` says about how much there is to see.
        terms: unit, adjacency and ε.
        contribution_cap: K, the number of ratings up to which a user counts in full (unit ``user``).
    """
    if math.isinf(terms.epsilon):
        return math.inf
    crowd, epsilon = domain.crowd, terms.epsilon
    # μ of the Gaussian mechanism with this ε at δ = 1e-6, roughly; the Laplace mechanism's noise is wider.
    mu = epsilon / _LAPLACE if norm == "l1" else math.sqrt(_TWICE_LOG + 2 * epsilon) - math.sqrt(_TWICE_LOG)
    if terms.adjacency == "replace":
        mu /= 2
    if terms.unit == "user":
        signal = crowd.users * min(crowd.each, contribution_cap) * crowd.each / (0.7 * contribution_cap)
    else:
        signal = crowd.users * crowd.each**1.5
    return float(_BALANCED * mu * signal / _seen(crowd, domain.n_items) ** 1.5)


def effects_share(domain: Domain, visible: float) -> float:
    """The item effects' part of the budget: nearly all where a covariance shows nothing.

    In a small catalogue that ratio must be larger for a direction to show. Over generated and real catalogues
    of 500 to 5,000 items, the least ratio that showed any was proportional to n^(−¾) or so, which makes the
    threshold that of the signal of ``hushrec.recommended``.

    Args:
        visible: as ``visibility`` says.
    """
    shown = visible * (_seen(domain.crowd, domain.n_items) / _TYPICAL_ITEMS) ** 0.75
    share = math.pow(1 + min(shown / _SHOWN, _MUCH) ** 5, -0.18)
    return min(max(share, _LEAST_SHARE), _LARGEST_SHARE)


def head_size(domain: Domain, visible: float, most: int) -> int:
    """How many of the most rated items are worth their noise: more of them as more shows.

    Args:
        visible: as ``visibility`` says.
        most: the largest number that is wanted.
    """
    part = min(visible / _WHOLE, 1.0) ** 1.25
    worth = domain.n_items if part == 1 else math.ceil(part * _seen(domain.crowd, domain.n_items))
    return min(max(worth, _FEWEST), most, domain.n_items)


def contribution_cap(crowd: Crowd) -> float:
    """K by default: about a fifth of what a user rates, so that noise is not made for users who rate more."""
    return float(min(max(0.18 * crowd.each, 2.0), 30.0))


def _seen(crowd: Crowd, n_items: int) -> float:
    """Number of items with enough ratings for pairs to show."""
    return max(min(float(n_items), crowd.ratings / _RATED), 1.0)
