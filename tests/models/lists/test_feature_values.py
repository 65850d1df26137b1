"""What a release says of values of features: items like those that it has get the same places and scores."""

import dataclasses

import numpy as np
import pytest
from scipy.sparse import csr_array

from hushrec.estimation.head import Head
from hushrec.item_prior import FeatureGroup
from hushrec.models.lists.estimate.feature_values import CountModel, place_items, reach_tail, value_table
from hushrec.models.lists.estimate.pair_factors import RIDGE, Crowd, ItemFactors, ease, muting

N, RANK = 60, 4
CROWD = Crowd(5e3, 5e3, 1e4, 1e4, 0.1)


def group(name, n_values, seed):
    chosen = np.random.default_rng(seed).integers(0, n_values, N)
    labels = tuple(f"{name} {at}" for at in range(n_values))
    return FeatureGroup(name, labels, labels, csr_array(np.eye(n_values)[chosen]))


@dataclasses.dataclass
class World:
    """Items whose counts and factors follow from features; the pairs of some were measured."""

    measured: np.ndarray

    def __post_init__(self):
        rng = np.random.default_rng(1)
        self.groups = group("genre", 5, 2), group("decade", 3, 3)
        self.table = csr_array(np.hstack([of.table.toarray() for of in self.groups]))
        coefficients = rng.normal(size=8)
        self.counts = CountModel(np.exp(3 + self.table @ coefficients), 3.0, coefficients)
        self.weights = muting(self.counts.expected, CROWD.signal)
        values = rng.normal(size=(8, RANK)) * 8
        at, v = self.measured, self.weights.of(self.measured).direction
        rows = np.sqrt(self.weights.variance[at])[:, None] * (self.table[at] @ values)
        fitted, tables = ItemFactors(rows - np.outer(v, v @ rows), values), [of.table for of in self.groups]
        factors = reach_tail(fitted, tables, self.weights, Head(N, at))
        self.linear, self.explained = ease(factors, self.weights, 800.0, CROWD)
        self.made = value_table(
            self.groups, self.counts, self.counts.expected, self.weights, at, self.explained, CROWD
        )
        scores = {"item_scores": self.counts.expected, "input_weights": self.linear.inputs}
        scores |= {"item_factors": self.linear.factors, "output_weights": self.linear.outputs}
        self.tensors = scores | {"intercept": self.linear.intercept} | dict(self.made.tensors)


@pytest.fixture(params=["all", "half"])
def world(request):
    chosen = np.random.default_rng(4).permutation(N)[: N if request.param == "all" else N // 2]
    return World(np.sort(chosen))


def test_what_features_explain_of_factors_is_all_of_them(world):
    """g_i = e_i F_i W + v_i (w − …)/A_i, if nothing but features made the factors; so it is in the tail."""
    made = world.made.tensors
    table = csr_array((made["value_weights"], made["value_columns"], made["value_starts"]), shape=(N, 8))
    along = np.outer(world.weights.direction / world.explained.diagonal, made["value_direction"])
    np.testing.assert_allclose(table @ made["value_factors"] + along, world.linear.factors, atol=1e-12)


def test_an_item_like_one_of_the_release_has_its_weights_and_direction(world):
    """Its twin's g_j A_j, d_j and count; b_j g_j lacks the twin's correction for what it says of itself."""
    longer = place_items(world.tensors, world.made.constants, world.table)
    new, old = slice(N, None), slice(None)
    np.testing.assert_allclose(longer["item_scores"][new], world.counts.expected[old], rtol=1e-12)
    np.testing.assert_allclose(longer["input_weights"][new], world.weights.weights[old], rtol=1e-12)
    diagonal = world.made.constants["own_variance"] * (world.weights.variance[old] + RIDGE)
    loaded = world.linear.factors[old] * world.explained.diagonal[old, None]
    np.testing.assert_allclose(longer["item_factors"][new] * diagonal[:, None], loaded, atol=1e-10)
    outputs = longer["output_weights"][new] * longer["input_weights"][new]
    np.testing.assert_allclose(outputs, diagonal, rtol=1e-12)
    for name in ("item_scores", "item_factors", "value_starts", "value_columns"):
        np.testing.assert_array_equal(longer[name][: len(world.tensors[name])], world.tensors[name])
