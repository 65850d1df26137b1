"""Scores that are the same for everybody."""

import numpy as np
import pytest

from hushrec.errors import ReleaseError
from hushrec.release.artefact import Release
from hushrec.release.client import Client
from hushrec.release.fold_in import predictor
from hushrec.release.predictors.linear_items import LinearItems
from support.releases import ranker


def test_item_scores_are_the_same_for_everybody(ranker):
    """Negative ones and ties too; what somebody gave changes nothing but what is asked for."""
    rank = predictor(ranker(scores=[2, -1, 2, 0]))
    targets = np.array([3, 1, 0])
    for rated in ([], [0], [2, 1]):
        assert rank.predict(np.array(rated, dtype=np.int64), np.ones(len(rated)), targets).tolist() == [
            0,
            -1,
            2,
        ]


def test_scores_have_neither_reasons_nor_similar_items(ranker):
    one = np.array([0])
    with pytest.raises(ReleaseError, match="the same scores; no item of yours changes them"):
        predictor(ranker()).contributions(one, np.ones(1), one)
    with pytest.raises(ReleaseError, match="does not tell which items are alike"):
        predictor(ranker()).similarity(one, one)


# -- linear scores: those of the definition, from no item to itself ---------------------------------------


N = 9


def linear(seed=0, **changes):
    """A release with random weights, by which nobody's list is that of the popularity."""
    rng = np.random.default_rng(seed)
    tensors = {
        "item_factors": rng.standard_normal((N, 3)),
        "input_weights": rng.uniform(0.1, 1, N),
        "output_weights": rng.uniform(0.5, 2, N),
        "intercept": rng.standard_normal(3),
        "item_scores": np.arange(N, 0, -1),
    }
    tensors = {name: array.astype(np.float32) for name, array in tensors.items()}
    items = [f"i{k}" for k in range(N)]
    return ranker(items, kind="linear items", tensors=tensors, **changes)


def expected(release, own, weights=1.0):
    """Σ_i a_i ⟨g_i, g_j⟩ b_j + Σ_i a_i²/‖a‖ ⟨h, g_j⟩ b_j over the own items i ≠ j, item by item."""
    g, a, b, h = (
        release.tensors[name].astype(np.float64)
        for name in ("item_factors", "input_weights", "output_weights", "intercept")
    )
    a[own] *= weights
    length = np.sqrt(sum(a[i] ** 2 for i in own))
    each = [
        [a[i] * (g[i] @ g[j]) * b[j] + a[i] ** 2 / length * (h @ g[j]) * b[j] for i in own if i != j]
        for j in range(N)
    ]
    return np.array([sum(terms) for terms in each])


@pytest.mark.parametrize("own", [[4], [0, 3], [8, 1, 5], [*range(N)]])
def test_scores_are_those_of_the_definition(own):
    release, weights = linear(), np.linspace(1, 0.3, len(own))
    for targets in (np.arange(N), np.array([7, 4, 0]), np.array([], dtype=np.int64)):
        found = LinearItems(release).predict(np.array(own), weights, targets)
        assert found == pytest.approx(expected(release, own, weights)[targets], abs=1e-12)


def test_no_item_is_a_reason_for_itself():
    release = linear()
    for item in range(N):
        assert LinearItems(release).predict(np.array([item]), np.ones(1), np.array([item])) == pytest.approx(
            0
        )


def test_who_gave_nothing_gets_the_popular_items():
    release = linear()
    nothing = LinearItems(release).predict(np.array([], dtype=np.int64), np.zeros(0), np.arange(N))
    assert (nothing == release.tensors["item_scores"]).all()
    client = Client(Release.from_bytes(release.to_bytes()))
    assert [line.item_id for line in client.recommend([], 4)] == ["i0", "i1", "i2", "i3"]


@pytest.mark.parametrize(
    ("kind", "own"),
    [
        ({}, {"i2", "i6"}),
        ({"counts": 9}, {"i2": 4, "i6": 1}),
        ({"likes": 4.0, "scale": (1.0, 5.0, 1.0)}, {"i2": 5, "i6": 4, "i0": 2}),
    ],
)
def test_a_client_lists_the_same_of_clicks_counts_and_likes(kind, own):
    """Without an order; how often an item was given does not count, and a low rating is known and no more."""
    release = linear(**kind)
    listed = Client(Release.from_bytes(release.to_bytes())).recommend(own, N)
    scores = expected(release, [2, 6])
    ranked = [f"i{k}" for k in np.argsort(-scores) if f"i{k}" not in own]
    assert [line.item_id for line in listed if line.item_id not in own] == ranked
    assert not {"i2", "i6"} & {line.item_id for line in listed}
    best = scores[int(ranked[0][1:])]
    assert {line.item_id: line.score for line in listed}[ranked[0]] == pytest.approx(best, abs=1e-5)
