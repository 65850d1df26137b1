"""Search for people whose gradients from home move the sum by more than Δ: there are none.

What is searched are the integers that enter the grant.
"""

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from hushrec.models.liu_wang_smola.sums import RidgeGradients
from support.people import HEAVY, SCALES, on_sphere, person


def gave(search, gradients, row, factors, ridge, effects, rng):
    """What the sum moves by when this person comes to two others."""
    n = gradients.domain.n_items
    company = [person(rng, n, 5), person(rng, n, 1)]
    here, there = (
        gradients.measure(search.people(gradients.domain, [mine, *company]), effects, factors, ridge)
        for mine in (row, [None] * n)
    )
    return search.exceeds(gradients.query(1), here, there)


@settings(max_examples=150, derandomize=True, deadline=None)
@given(
    seed=st.integers(0, 10**6),
    n_ratings=st.sampled_from([1, 2, 10, 60, 200]),
    rank=st.integers(1, 8),
    size=st.sampled_from([0.0, 1e-6, 0.3, 1.0, 25.0]),
    ridge=st.sampled_from([1e-9, 1e-3, 1.0, 13.3]),
    clip=st.sampled_from([0.01, 0.8, 4.0]),
    clip_norm=st.sampled_from([0.1, 1.5, 3.0, 100.0]),
    scale=st.sampled_from(SCALES),
)
def test_nobody_at_home_moves_the_sum_by_more_than_he_may(
    search, seed, n_ratings, rank, size, ridge, clip, clip_norm, scale
):
    rng = np.random.default_rng(seed)
    domain = search.domain(200, 3, scale)
    gradients = RidgeGradients(domain, rank, 1, clip, clip_norm)
    factors = size * on_sphere(200, rank, 1.0, seed)
    effects = rng.uniform(scale[0] - 1, scale[1] + 1, 200)
    row = person(rng, 200, n_ratings, high=domain.scale.n_values)
    assert gave(search, gradients, row, factors, ridge, effects, rng) <= 1


@pytest.mark.parametrize("seed", range(4))
def test_people_at_home_contribute_independently(search, seed):
    """To the last bit, or one's coming would change what others round to."""
    rng = np.random.default_rng(seed)
    domain = search.domain(200, 12)
    gradients = RidgeGradients(domain, 3, 1, 0.8, 0.7)
    factors, effects = on_sphere(200, 3, 1.0, seed), rng.uniform(1, 5, 200)
    rows = [person(rng, 200, int(n)) for n in rng.choice([0, 1, 7, 33, 150, 200], 12)]
    silent = [None] * 200
    alone = [[row if k == j else silent for j, row in enumerate(rows)] for k in range(12)]
    together, *each = (
        gradients.measure(search.people(domain, case), effects, factors, 0.3) for case in (rows, *alone)
    )
    np.testing.assert_array_equal(together, sum(each))


def test_who_rated_much_gives_what_he_may_and_no_more(search):
    rng = np.random.default_rng(1)
    found = []
    for clip_norm in (0.05, 0.2, 1.5):
        gradients = RidgeGradients(search.domain(200, 3), 4, 1, 0.8, clip_norm)
        found.append(gave(search, gradients, HEAVY, on_sphere(200, 4, 1.0, 2), 0.1, np.full(200, 3.0), rng))
    print(f"largest ratios at home: {found}")
    assert max(found) <= 1
    assert min(found) > 0.98, "truncation takes next to nothing"
