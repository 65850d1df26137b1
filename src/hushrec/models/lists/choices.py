"""A phase of models of ratings, unit ``user``: pairs of items that people rated, whatever they gave them.

The pairs are those of ``PrivateEASE``, of the thousand items that are rated most. Factors of them are tastes:
people choose what they like.
"""

import numpy as np

from hushrec.arrays import Floats, Ints
from hushrec.data.anywhere import AnyPeople
from hushrec.data.domain import Domain
from hushrec.estimation.choice_factors import rounds, scaled_tastes, visible
from hushrec.estimation.head import Head
from hushrec.estimation.shrinkage import Known, denoised_counts
from hushrec.estimation.yearly_matrix import unpack_triangle
from hushrec.models.lists.estimate.pair_factors import Crowd, Muting, clean_pairs, muting
from hushrec.models.lists.sums import ItemWeights, PairSums
from hushrec.models.visibility import mu
from hushrec.privacy.accounting.measurement import Measurement
from hushrec.privacy.grant import Measures
from hushrec.sums.footprint import DRAWS, FLOPS, Footprint

_MOST_ITEMS, _RANK = 1_000, 64
"""Items whose pairs are measured, and the most factors. Of 2,000 items, RMSE on MovieLens 1M was .001 larger
at ε = 2."""


def choice_pairs(domain: Domain) -> PairSums:
    """Return the sums of pairs that are measured. Privacy: public."""
    return PairSums(min(_MOST_ITEMS, domain.n_items), "user")


def fixed_lens(run: Measures, chosen: Ints, weights: Muting) -> ItemWeights:
    """Return the lens of the pairs: which items, how much each counts, where users lie on average.

    A fit that goes on after a stop reads the lens that its pairs were measured under.

    Args:
        run: the charged plan, or the non-private baseline.
        chosen: positions of the items whose pairs are measured.
        weights: d and v of all items, from released counts.

    Privacy: post-processing.
    """
    of_chosen = {"weights": weights.weights[chosen], "direction": weights.direction[chosen]}
    fixed = run.fixed("lens", {"items": chosen, **of_chosen})
    return ItemWeights(Head(len(weights.weights), fixed["items"]), fixed["weights"], fixed["direction"])


def measure_tastes(
    counts: Known,
    size: float,
    people: AnyPeople,
    run: Measures,
    query: Measurement,
    explained: float,
) -> Floats:
    """Measure the pairs, and make tastes of their factors; zeros for items beyond the thousand.

    Args:
        counts: released item counts of unit ``user``, which sum to Σ √c of users with c ratings.
        size: released number of users.
        people: whose pairs are summed.
        run: the charged plan, or the non-private baseline.
        query: the pairs, as the plan lists them.
        explained: variance of a user's ratings that the tastes explain, in squared widths of the scale.

    Returns:
        In rating units, shape (n_items, any); users' vectors have unit covariance.

    Privacy: charged (the pairs).
    """
    domain = people.domain
    popularity, narrow = denoised_counts(counts), mu(run.terms)
    weights = muting(popularity, narrow * size)
    sums = choice_pairs(domain)
    lens = fixed_lens(run, Head.of(popularity, sums.n_items).items, weights)
    *_, (_, triangle) = sums.measure(people, lens)
    pairs = run.measure(query, triangle)
    of_head = weights.of(lens.head.items)
    lengths = max(float(counts.values.sum()), 0.0) / 2
    crowd = Crowd(size, size, narrow * size, narrow * lengths, 0.0)
    sigma = np.full(sums.n_items, pairs.sigma)
    square = unpack_triangle(pairs.values, sums.n_items)
    factors = clean_pairs(square, sigma, of_head, crowd, (), _RANK).factors
    tastes = visible(factors) / np.sqrt(of_head.variance)[:, None]
    return lens.head.spread(scaled_tastes(tastes, popularity[lens.head.items], domain.scale.span, explained))


def choices_footprint(domain: Domain) -> Footprint:
    """Estimate the triangle of pairs with its noise, and its cleaning. Privacy: public."""
    n = choice_pairs(domain).n_items
    cells = n * (n - 1) / 2
    memory = max(34 * cells, 8 * cells + 12.0 * n * n + 48.0 * n * _RANK) + 8.0 * _RANK * domain.n_items
    seconds = cells / DRAWS + rounds(_RANK) * 2.0 * n * n * _RANK / FLOPS
    return Footprint(1e7 + memory, 45, 100, seconds, 2.0)
