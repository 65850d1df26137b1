"""Whether factors show through noise at all, from public facts alone.

A budget that pays for Gaussian noise with μ shows directions of taste by the signal μ · ratings/items^¾, of
the declared number of ratings in the declared catalogue. The exponent is between those of two cases: ratings
of one item, whose number is ratings/items, and directions, for which popular items count most.
"""

import math

from hushrec.data.domain import Domain
from hushrec.privacy.accounting.accountant import gaussian_mu
from hushrec.privacy.accounting.budget import Terms

_LISTED = 560.0
"""Least signal for the factors of models that list people.

Of signals from 90 to 3,230 on films, animated series and generated ratings, factors gained from 580 on and
lost up to 5 % to averages at 540 and less, but for a gain of 0.4 % at 320.
"""
_AVERAGES = 0.35
"""Their share where factors show: of 0.2 to 0.8, the best or within 0.3 % of it."""
_NOISY = 45.0
"""Least such signal for factors of ratings that have noise each: at 33 and less they lost up to 5 %, from 55
on they gained, and between, at 46 and 47, they gained 1 % and lost 0.5 %. One set of many cells without a
rating (animated series, add-remove) still lost 3 % at 67.
"""
_BESIDE_RATINGS = 0.2
"""Share of averages where factors of such ratings show."""
_DELTA = 1e-6  # what is measured follows ε alone: it is the same under all budgets of that ε


def signal(domain: Domain, terms: Terms) -> float:
    """μ · ratings/items^¾, with the μ of ε at δ = 1e-6; infinite without noise.

    Under replace, where a changed value moves a sum twice as far as a new one, it is half of that.
    """
    if math.isinf(terms.epsilon):
        return math.inf
    mu = gaussian_mu(terms.epsilon, _DELTA) / (2 if terms.adjacency == "replace" else 1)
    return mu * domain.crowd.ratings / math.pow(domain.n_items, 0.75)


def factor_share(shown: float, needed: float) -> float:
    """Share s/(s + s₀)/2 of the budget for factors, given the signal s.

    What factors gain grows with the signal; what effects lose by sharing the budget does not.

    Args:
        shown: s.
        needed: s₀, the least signal at which the model's factors gain more than effects lose.
    """
    return 0.5 if math.isinf(shown) else 0.5 * shown / (shown + needed)


def listed_share(domain: Domain, terms: Terms) -> float:
    """Share of the budget for the factors of a model that lists people; less where noise hides them."""
    return (1 - _AVERAGES) * min(signal(domain, terms) / _LISTED, 1.0)


def shows_listed(domain: Domain, terms: Terms) -> bool:
    """Whether the factors of a model that lists people gain more than its averages lose by sharing."""
    return signal(domain, terms) >= _LISTED


def noisy_share(domain: Domain, terms: Terms) -> float:
    """Share of the budget for ratings under noise; less where the noise hides factors."""
    return (1 - _BESIDE_RATINGS) * min(_noisy_signal(domain, terms) / _NOISY, 1.0)


def shows_noisy(domain: Domain, terms: Terms) -> bool:
    """Whether factors of ratings under Laplace noise gain more than averages lose by sharing."""
    return _noisy_signal(domain, terms) >= _NOISY


def _noisy_signal(domain: Domain, terms: Terms) -> float:
    """ε √(ratings/items), under replace half of it: an item's ratings have as much noise each."""
    epsilon = terms.epsilon / (2 if terms.adjacency == "replace" else 1)
    return epsilon * math.sqrt(domain.crowd.ratings / domain.n_items)
