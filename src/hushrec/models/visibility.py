"""Signals that show through noise: the μ of a budget, signals, and their thresholds.

Noise hides the tastes of a small crowd. A signal is μ, the narrowness of the noise, times the total of the
declared crowd, over the total of the noise on the declared catalogue. A model that learns more than
averages asks here, before any rating is read, whether that is worth its part of the budget. One that decides
after its first sums asks with the crowd and the counts that these release.

*Directions of taste* show by μ · ratings/items^¾. The exponent is between those of two cases: ratings of one
item, whose number is ratings/items, and directions, for which popular items count most.

*Pairs of items* compare each rating with all others of its user. With U users who rate c of n items each,
weights w, noise of deviation Δ/μ on every entry, and B the bound on a centred rating, the leading eigenvalues
are proportional to B² Σ_u w_u c²/n for the people and to (Δ/μ) √n for the noise. The ratio grows with
μ Σ_u w_u c²/n^{3/2}: over n^¾, the signal of directions times √c for unit ``record``, where w = 1/√c.

*Whole users*, as vectors of length one, show by μ · users/√n: √n is the edge of the noise of a matrix.
*Gradients* show by the fraction of the variance of tastes that they reveal
(``models/liu_wang_smola/estimate.py``).

Privacy: public; it follows from public facts, and where counts or a measured crowd are given, from what was
released.
"""

import math
from collections.abc import Mapping

import numpy as np

from hushrec.arrays import Floats
from hushrec.data.declarations import Crowd
from hushrec.data.domain import Domain
from hushrec.privacy.accounting.accountant import gaussian_mu, survival
from hushrec.privacy.accounting.budget import Terms
from hushrec.privacy.accounting.measurement import Norm

# -- the table: the least that shows, by signal, and the run that chose it -----------------------------------

SHOWN: Mapping[str, float] = {"record": 20.0, "user": 32.0}
"""Times the edge of the noise, by unit: a covariance gains more than effects lose by sharing. Chosen on films
and series; docs/models/adaptive_factors.md has the tables, lab/scoreboard/choice.md that of generated crowds.
"""
COVARIANCE = 60_000.0
"""Pairs, unit ``user``: a covariance predicts better than factors that descend under noise, among up to 2,000
items. Chosen on generated crowds of up to 25 million ratings: as good at 64,000, and 0.2 % better at 119,000.
"""
LISTED = 560.0
"""Directions: factors of models that list people, docs/models/private_als.md. Of signals from 90 to 3,230 on
films, animated series and generated ratings, factors gained from 580 on and lost up to 5 % to averages at 540
and less, except for a gain of 0.4 % at 320.
"""
GRADIENTS = 700.0
"""Directions: a dozen clipped gradients, docs/models/user_level_sgd.md. From 750 on they gained on films,
animated series and generated ratings, or cost less than 0.2 %; at 590 and less they lost up to 1.2 %.
"""
MARGINAL_GRADIENTS = 0.435
"""Fraction of the variance of tastes: 32 marginal gradients, docs/models/posterior_mf.md. From 0.44 on they
gained on films, animated series and generated ratings; on MovieLens 1M they lost 0.9 % at 0.41, and of a
generated crowd at ε = 0.25 0.3 % at 0.46.
"""
NOISY_RATINGS = 45 / math.sqrt(2)
"""An item's noisy ratings, docs/models/private_als.md. In units of ε √(ratings/items), factors lost
up to 5 % at 33 and less, gained from 55 on, and between, at 46 and 47, gained 1 % and lost 0.5 %. One set of
many cells without a rating (animated series, add-remove) still lost 3 % at 67.
"""
SHARING: Mapping[str, float] = {"user": 1_260.0, "record": 1_800.0}
"""Pairs: item effects give up some of their part to a covariance, docs/models/covariance_svd.md. It is the
least that showed any, over generated and real catalogues of 500 to 5,000 items.
"""
WHOLE = 5.0
"""Pairs, over ``SHARING``: all of 2,000 items are worth their noise in a covariance; of n items it takes n^¾
times as much. With 4 heads were up to a third larger; the RMSE with 5 was up to 0.2 % lower in six of eight
runs (both units, ε from 0.5 to 8), the same in one, and 0.06 % higher in one.
"""
TASTE, TASTE_WITH_FEATURES = 20.0, 13.0
"""Whole users, as measured, Σ √c in place of users (half of it for unit ``user``): lists by pairs rank better
than counts, without and with public features of the items. ``python -m lab bench scoreboard lists``;
lab/scoreboard/top_n.md has the table.
"""
CHOICES_SHOWN, CHOICES_BESIDE_FEATURES = 140.0, 300.0
"""Whole users, half of Σ √c in place of users: pairs of the items that people rated, whatever they gave them,
are worth their noise for ratings, without and with public features. docs/models/adaptive_factors.md has the
table.
"""
_L1 = 4.7
"""Ratio of the noise on pairs, Laplace to Gaussian at the same μ: Δ is larger in L1. Chosen by hand."""
_TYPICAL_ITEMS = 2_000
"""A convention: the catalogue for which ``COVARIANCE`` and ``WHOLE`` are stated."""
_HALFWAY = 20.0
"""Ratings at which a user's own taste is half determined. Chosen by hand."""
_OF_HEAD = 200
"""Items whose covariance is taken for what shows: the fewest that a model measures. Chosen by hand."""
_RATED = 50
"""Ratings of an item, on average, from which pairs with it can show. Chosen by hand."""


# -- μ -------------------------------------------------------------------------------------------------------


def mu(terms: Terms, norm: Norm = "l2") -> float:
    """Return Δ/σ of one measurement that takes the whole budget; infinite without noise.

    For Gaussian noise it is the largest μ within ε at δ. For Laplace noise, which alone has a finite ε at
    δ = 0, it is ε/√2, because noise of scale Δ/ε has √2 times that deviation; at δ > 0 with the ε that costs
    that μ, which is smaller. Under replace, where a changed
    value moves a sum twice as far as a new one, it is half.

    Args:
        terms: unit, adjacency, ε and δ.
        norm: ``l2`` for Gaussian noise, ``l1`` for Laplace noise.
    """
    if math.isinf(terms.epsilon):
        return math.inf
    ratio = gaussian_mu(terms.epsilon, terms.delta)
    if norm == "l1" or terms.delta == 0:
        pure = terms.epsilon if terms.delta == 0 else 2 * survival(ratio / 2)
        ratio = pure / math.sqrt(2)
    return ratio / 2 if terms.adjacency == "replace" else ratio


# -- signals -------------------------------------------------------------------------------------------------


def directions(domain: Domain, terms: Terms) -> float:
    """Return μ · ratings/items^¾."""
    return mu(terms) * domain.crowd.ratings / math.pow(domain.n_items, 0.75)


def noisy_ratings(domain: Domain, terms: Terms) -> float:
    """Return μ √(ratings/items) under Laplace noise: each of an item's ratings has noise of its own."""
    return mu(terms, "l1") * math.sqrt(domain.crowd.ratings / domain.n_items)


def whole_users(domain: Domain, terms: Terms, users: float) -> float:
    """Return μ · users/√items.

    Args:
        users: how many, or the sum of their vectors' lengths.
    """
    return mu(terms) * users / math.sqrt(domain.n_items)


# -- what is worth its part of a budget ----------------------------------------------------------------------


def over_noise_edge(counts: Floats, crowd: Crowd, weight: float, noise: float) -> float:
    """Return what a covariance of 200 items may show of tastes, over the edge of its noise.

    If users chose items independently, and a rating said as much of all others, its largest eigenvalue were
    w s² Σ_i n_i²/n; that of noise with deviation σ on every entry is 2 σ √200. Users with c ratings each
    can follow about c/(c + 20) of it.

    Args:
        counts: released number of ratings of each item, or proportional to it, shape (n_items,).
        crowd: as measured.
        weight: w s²: w is the weight of a user with as many ratings as there are on average, and s² the
            variance of ratings, in squared rating units.
        noise: σ of an entry, in squared rating units.
    """
    if not noise:
        return math.inf
    largest = np.sort(counts)[-_OF_HEAD:] * crowd.ratings / max(float(counts.sum()), 1e-9)
    followed = crowd.each / (crowd.each + _HALFWAY)
    edge = 2 * noise * math.sqrt(_OF_HEAD)
    return float(followed * weight * (largest @ largest) / crowd.users / edge)


def covariance_beats_descent(crowd: Crowd, n_items: int, terms: Terms) -> bool:
    """Return whether a covariance predicts better than descent under noise, unit ``user``.

    Descent comes close to its best with fewer people, but is less accurate without noise. Users
    with many ratings help it more, so the least signal is also the square of the ratings per user.
    """
    least = COVARIANCE * math.sqrt(max(n_items / _TYPICAL_ITEMS, 1))
    return mu(terms) * crowd.ratings / math.pow(n_items, 0.75) >= max(least, crowd.each**2)


def shows_listed(domain: Domain, terms: Terms) -> bool:
    """Return whether factors of a model that lists people gain more than its averages lose by sharing."""
    return directions(domain, terms) >= LISTED


def listed_split(domain: Domain, terms: Terms) -> float:
    """Return the part of the budget for factors of a model that lists people; less where noise hides them.

    Of parts from 0.2 to 0.8 for averages where factors show, 0.35 was the best or within 0.3 % of it, on the
    runs of ``LISTED``.
    """
    return 0.65 * min(directions(domain, terms) / LISTED, 1.0)


def shows_gradients(domain: Domain, terms: Terms) -> bool:
    """Return whether a dozen clipped gradients of whole users gain more than item effects lose."""
    return directions(domain, terms) >= GRADIENTS


def gradients_split(domain: Domain, terms: Terms) -> float:
    """Return s/(s + s₀)/2, the part of the budget for such gradients.

    s is the signal, s₀ the least that shows. Factors gain more as the signal grows; what effects lose by
    sharing the budget stays the same.
    """
    signal = directions(domain, terms)
    return 0.5 if math.isinf(signal) else 0.5 * signal / (signal + GRADIENTS)


def shows_noisy(domain: Domain, terms: Terms) -> bool:
    """Return whether factors of ratings under Laplace noise gain more than averages lose by sharing."""
    return noisy_ratings(domain, terms) >= NOISY_RATINGS


def noisy_split(domain: Domain, terms: Terms) -> float:
    """Return the part of the budget for noisy ratings: four fifths, or less where noise hides factors."""
    return 0.8 * min(noisy_ratings(domain, terms) / NOISY_RATINGS, 1.0)


def shown_pairs(domain: Domain, terms: Terms, norm: Norm, contribution_cap: float) -> float:
    """Return the signal of pairs of rated items, over the least that shows; infinite without noise.

    Args:
        domain: the public domain, whose ``crowd`` says about how much there is to see.
        terms: unit, adjacency, ε and δ.
        norm: ``l2`` for Gaussian noise, ``l1`` for Laplace noise.
        contribution_cap: K, the number of ratings up to which a user counts in full (unit ``user``).
    """
    crowd = domain.crowd
    # w c, of Σ_u w_u c²: √c for w = 1/√c, and min(c, K) for w = min(1, K/c), over a Δ that grows as K.
    per_rating = min(crowd.each / contribution_cap, 1.0) if terms.unit == "user" else math.sqrt(crowd.each)
    signal = mu(terms, norm) * crowd.ratings * per_rating / math.pow(_rated(domain), 0.75)
    return signal / SHARING[terms.unit] / (_L1 if norm == "l1" else 1.0)


def effects_split(shown: float) -> float:
    """Return the part of the budget of item effects: nearly all where a covariance shows nothing.

    Args:
        shown: as ``shown_pairs`` says; more than a million times makes no difference, and would overflow.
    """
    split = math.pow(1 + min(shown, 1e6) ** 5, -0.18)
    return min(max(split, 0.04), 0.995)


def head_size(domain: Domain, shown: float, most: int) -> int:
    """Return how many of the most rated items are worth their noise in a covariance.

    At least 200, which cost next to nothing.

    Args:
        domain: the public domain.
        shown: as ``shown_pairs`` says.
        most: the largest number that is wanted.
    """
    rated = _rated(domain)
    part = min(shown / (WHOLE * math.pow(rated / _TYPICAL_ITEMS, 0.75)), 1.0) ** 1.25
    worth = domain.n_items if part == 1 else math.ceil(part * rated)
    return min(max(worth, 200), most, domain.n_items)


def _rated(domain: Domain) -> float:
    """Count the items with enough ratings for pairs to show."""
    return max(min(float(domain.n_items), domain.crowd.ratings / _RATED), 1.0)
