"""Search for people whose marginal gradients move a sum by more than they may.

What is searched are the integers that enter the grant.
"""

import dataclasses
import itertools

import numpy as np
from hypothesis import given, settings
from hypothesis import strategies as st

from hushrec.data.people import FULL
from hushrec.models.liu_wang_smola.sums import MarginalGradients
from support.people import HEAVY, SCALES, person

WEIGHTS = [1, 77, FULL // 3, FULL // 2, FULL - 1, FULL]


def measured(search, gradients, rows, weights, effects, factors, scales=None):
    """The sum of a round over these people."""
    ratings = search.ratings(gradients.domain, rows)
    there = np.array([set(row) != {None} for row in rows])
    requested = ratings.with_personal_epsilon(np.array(weights, float)[there])
    people = requested.with_weights(lambda asked: asked.astype(np.int64))
    scales = np.ones(len(effects)) if scales is None else scales
    return gradients.measure(people, effects, factors, scales)


def gave(search, gradients, row, weight, factors, effects, rng, scales=None):
    """What the sum moves by when a person comes to two others, in what their weight leaves them."""
    n = gradients.domain.n_items
    company = [person(rng, n, 5), person(rng, n, 1)]
    here, there = (
        measured(search, gradients, [mine, *company], [weight, FULL, 9], effects, factors, scales)
        for mine in (row, [None] * n)
    )
    query, part = gradients.query(1), weight / FULL
    return search.exceeds(dataclasses.replace(query, sensitivity=query.sensitivity * part), here, there)


@settings(max_examples=150, derandomize=True, deadline=None)
@given(
    seed=st.integers(0, 10**6),
    n_ratings=st.sampled_from([1, 2, 10, 60, 200]),
    rank=st.integers(1, 8),
    size=st.sampled_from([0.0, 1e-6, 0.3, 1.0, 25.0]),
    noise=st.sampled_from([1e-6, 0.05, 0.8]),
    clip=st.sampled_from([0.01, 0.8, 4.0]),
    clip_norm=st.sampled_from([0.1, 1.5, 3.0, 100.0]),
    weight=st.sampled_from(WEIGHTS),
    scale=st.sampled_from(SCALES),
)
def test_nobody_moves_the_sum_by_more_than_their_weight_of_delta(
    search, seed, n_ratings, rank, size, noise, clip, clip_norm, weight, scale
):
    rng = np.random.default_rng(seed)
    domain = search.domain(200, 3, scale)
    gradients = MarginalGradients(domain, rank, 1, noise, clip, clip_norm)
    factors = size * rng.standard_normal((200, rank))
    effects = rng.uniform(scale[0] - 1, scale[1] + 1, 200)
    row = person(rng, 200, n_ratings, high=domain.scale.n_values)
    scales = np.exp(rng.normal(0, 2, 200))
    assert gave(search, gradients, row, weight, factors, effects, rng, scales) <= 1


def test_who_rated_much_gives_what_he_may_and_no_more(search):
    rng = np.random.default_rng(1)
    factors, effects, found = rng.standard_normal((200, 4)), np.full(200, 3.0), []
    for clip_norm, weight in itertools.product((0.05, 0.2, 1.5), (FULL // 3, FULL)):
        gradients = MarginalGradients(search.domain(200, 3), 4, 1, 0.8, 0.8, clip_norm)
        found.append(gave(search, gradients, HEAVY, weight, factors, effects, rng))
    print(f"largest ratios: {found}")
    assert max(found) <= 1
    assert min(found) > 0.98, "truncation takes next to nothing"


def test_rounding_lifts_nobody_to_the_next_step_of_the_grid(search):
    """The bound lies a hair below a whole number of steps, which rounding in floating point may reach."""
    domain = search.domain(2, 1)
    whole = MarginalGradients(domain, 1, 1, 0.8, 4.0, 0.05)
    hair = dataclasses.replace(whole, clip_norm=float(np.nextafter(100_000 * whole.step, 0)))
    assert hair.step == whole.step
    reached = 0
    for factor in np.linspace(1.0, 2.0, 200):
        given_ = measured(search, hair, [[4, None]], [FULL], np.zeros(2), np.full((2, 1), factor))
        assert search.exceeds(hair.query(1), given_, np.zeros_like(given_)) <= 1
        reached += abs(int(given_.sum())) == 99_999
    assert reached > 100, "or nobody would be clipped"
