"""A dimension that is counted changes lists, and where none is counted everybody gets the same list."""

from dataclasses import replace

import numpy as np
import pytest

import hushrec as hr
from hushrec.data import synthetic
from hushrec.release.client import Client
from hushrec.release.kinds import LEAST, dimensions
from hushrec.testing import Seeded
from support.releases import pairs, ranker, release

N = 30


def factors(columns, size, seed=0, noise=1.0):
    """A release with some columns of factors of this size, and as many of zeros."""
    own = np.zeros((N, 2 * columns), dtype=np.float32)
    own[:, ::2] = size * np.random.default_rng(seed).normal(size=(N, columns))
    made = release(n=N, rank=2 * columns)
    tensors = {**made.tensors, "item_factors": own, "item_noise": np.full(N, noise, dtype=np.float32)}
    return replace(made, tensors=tensors)


def linear(directions, size):
    """A linear model of one direction that all share, and some others of this size."""
    rng = np.random.default_rng(1)
    own = np.column_stack([rng.uniform(0.5, 1, N), size * rng.normal(size=(N, directions))])
    tensors = {
        "item_factors": own,
        "input_weights": rng.uniform(0.5, 1, N),
        "output_weights": np.ones(N),
        "intercept": np.zeros(directions + 1),
        "item_scores": own[:, 0],
    }
    made = ranker([f"i{n}" for n in range(N)])
    return replace(
        made,
        kind="linear items",
        tensors={k: np.float32(v) for k, v in tensors.items()},
        settings={"rank": 8},
    )


def lists(made, users=20):
    """Top items of users with three items each, as the order of what none of them has."""
    rng, client = np.random.default_rng(3), Client(made)
    chosen = [rng.choice(N - 10, 3, replace=False) for _ in range(users)]
    left = made.items[N - 10 :]
    found = set()
    for own in chosen:
        ids = [made.items[i] for i in own]
        stars = dict.fromkeys(ids, 5.0) if made.scale else ids
        found.add(tuple(row.item_id for row in client.recommend(stars, 10, allowed=left)))
    return found


@pytest.mark.parametrize("columns", [1, 3])
def test_of_item_factors_the_columns_that_move_lists_are_counted(columns):
    assert factors(columns, 1.0).dimensions == columns
    assert len(lists(factors(columns, 1.0))) > 5
    assert factors(columns, 1e-4).dimensions == 0
    assert len(lists(factors(columns, 1e-4))) == 1
    assert not factors(columns, 0).personal


def test_the_noise_of_a_rating_decides_what_a_factor_tells():
    assert factors(2, 0.1, noise=0.1).dimensions == 2
    assert factors(2, 0.1, noise=1e4).dimensions == 0


def test_the_bound_is_a_part_of_what_everything_together_tells():
    one = np.zeros((1, 1), dtype=np.float32)
    for share, counted in ((LEAST * 1.01, 1), (LEAST * 0.99, 0)):
        one[:] = np.sqrt(share / (1 - share))
        tensors = {"item_factors": one, "item_noise": np.ones(1, dtype=np.float32)}
        assert dimensions("factors", tensors, {}) == counted


def test_of_linear_items_one_direction_is_everybodys():
    assert linear(3, 1.0).dimensions == 3
    assert len(lists(linear(3, 1.0))) > 5
    assert linear(3, 1e-4).dimensions == 0
    assert len(lists(linear(3, 1e-4))) == 1
    nothing = linear(3, 0)
    zeros = {**nothing.tensors, "item_factors": np.zeros((N, 4), dtype=np.float32)}
    assert replace(nothing, tensors=zeros).dimensions == 0


def one_direction(inputs, factors):
    """A linear model of one direction, with weights of the users' own items."""
    tensors = linear(0, 0).tensors
    tensors = {**tensors, "input_weights": np.float32(inputs), "item_factors": np.float32(factors)[:, None]}
    return replace(linear(0, 0), model="Anchors", settings={}, tensors=tensors)


def test_of_one_direction_lists_differ_unless_all_items_point_along_it():
    """A model from outside hushrec may weigh a few own items alone, or love what others hate."""
    size = np.random.default_rng(5).uniform(0.5, 1, N)
    sign = np.where(np.arange(N) % 2, 1.0, -1.0)
    anchor = (np.arange(N) == 7) * 1.0
    for inputs, signs, counted in ((size, 1.0, 0), (-size, 1.0, 0), (size, sign, 1), (anchor, 1.0, 1)):
        made = one_direction(inputs, size * signs)
        assert (made.dimensions, made.personal) == (counted, bool(counted))
        assert (len(lists(made)) > 1) == made.personal


def test_scores_and_releases_without_factors_have_none():
    assert ranker().dimensions == 0
    assert release(rank=0).dimensions == 0


def test_of_neighbours_the_covariance_decides_and_of_whole_matrices_the_items_in_pairs():
    assert release("neighbours", n=N).dimensions == 2
    packed = np.zeros(pairs(4), dtype=np.float32)
    packed[[0, 4, 7, 9]] = 1  # the diagonal
    assert dimensions("dense neighbours", {"covariance": packed}, {}) == 0
    packed[2] = -1  # items 0 and 2
    assert dimensions("dense neighbours", {"covariance": packed}, {}) == 2
    assert dimensions("item neighbours", {"similarity": packed}, {}) == 0
    packed[8] = 1  # items 2 and 3
    assert dimensions("item neighbours", {"similarity": packed}, {}) == 2


def test_of_rows_the_items_with_a_choice_among_neighbours():
    tensors = {"row_starts": np.array([0, 2, 3, 5]), "row_items": np.array([0, 1, 1, 0, 1])}
    assert dimensions("people's rows", tensors, {"neighbours": 1.0}) == 2
    assert dimensions("people's rows", tensors, {"neighbours": 2.0}) == 1
    assert dimensions("people's rows", tensors, {"neighbours": 3.0}) == 0


@pytest.mark.parametrize("epsilon", [0.5, 100])
def test_what_is_said_of_a_fit_holds_of_its_lists(epsilon):
    ratings = synthetic.netflix_like(300, N, 5_000, 0)
    budget = hr.Budget(epsilon=epsilon, delta=1e-6, unit="user", adjacency="add-remove")
    made = hr.testing.fit(ratings, hr.CovarianceSVD(rank=4), budget, entropy=Seeded(0))
    assert made.personal == (epsilon == 100)
    assert (len(lists(made)) > 1) == made.personal
    assert ("survived the noise: " in made.taste) == made.personal
    assert ("no taste survived the noise at ε = 0.5" in made.taste) == (not made.personal)
