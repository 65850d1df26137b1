"""What is known of the order and of the stars of own items: the weights that the client gives them."""

from datetime import date

import numpy as np
import pytest

from hushrec.errors import ReleaseError
from hushrec.release.client import Client
from hushrec.release.own_items import like_weights, recency_weights
from release.predictors.test_linear_items import N, expected, linear

R2, R3, R4 = (1 / np.sqrt(rank) for rank in (2, 3, 4))


def test_an_item_counts_less_the_more_of_the_same_user_s_are_later():
    indptr, times = np.array([0, 4, 4, 5, 7]), np.array([30, 10, 20, 10, 5, 8, 9])
    assert recency_weights(indptr, times).tolist() == [1, R3, R2, R3, 1, R2, 1]
    assert recency_weights(np.array([0]), times[:0]).tolist() == []
    assert recency_weights(np.array([0, 3]), np.zeros(3)).tolist() == [1, 1, 1], "equal times tell no order"


def test_stars_of_the_middle_count_half():
    ratings = np.array([1, 2, 2.9, 3, 3.4, 3.5, 4, 5])
    assert like_weights(ratings, (1.0, 5.0, 1.0), 4.0).tolist() == [0, 0, 0, 0.5, 0.5, 1, 1, 1]
    halves = like_weights(np.array([2.5, 3, 3.5, 4]), (0.5, 5.0, 0.5), 4.0)
    assert halves.tolist() == [0, 0.5, 0.5, 1], "of ½ to 5 the middle is 2¾"
    assert like_weights(ratings[:3], (1.0, 5.0, 1.0), 2.0).tolist() == [0, 1, 1], "likes below the middle"


OLDEST = {"i7": "2026-05-02", "i2": "2026-05-01"}
KINDS = {"clicks": {}, "counts": {"counts": 9}, "likes": {"scale": (1.0, 5.0, 1.0), "likes": 4.0}}
CASES = [
    ("clicks", ["i4", "i2", "i7"], {}, {4: R3, 2: R2, 7: 1}),
    ("clicks", (item for item in ["i7", "i4", "i2", "i7"]), {}, {4: R3, 2: R2, 7: 1}),
    ("counts", ["i7", "i4", "i2", "i7"], {}, {4: R3, 2: R2, 7: 1}),
    ("likes", ["i4", "none", "i2"], {}, {4: R2, 2: 1}),
    ("clicks", {"i4", "i2", "i7"}, {}, {4: 1, 2: 1, 7: 1}),
    ("counts", {"i4": 3, "i2": 1}, {}, {4: 1, 2: 1}),
    ("clicks", ["i4", "i2", "i7"], {"recency": False}, {4: 1, 2: 1, 7: 1}),
    ("clicks", ["i2", "i7", "i4"], {"times": OLDEST}, {4: R3, 2: R2, 7: 1}),
    (
        "likes",
        {"i2": 5, "i7": 3, "i4": 4, "i1": 2},
        {"times": OLDEST | {"i1": "2026-05-09"}},
        {4: R3, 2: R2, 7: 0.5},
    ),
    ("counts", {"i7": 1, "i4": 2}, {"times": {"i4": 5, "i7": float("nan")}}, {4: 1, 7: R2}),
    ("clicks", {"i7", "i4"}, {"times": {"i4": date(2026, 5, 1), "i7": date(2025, 5, 1)}}, {4: 1, 7: R2}),
    ("likes", {"i7": 3, "i4": 2}, {}, {7: 0.5}),
]


@pytest.mark.parametrize(("kind", "own", "order", "weights"), CASES)
def test_the_client_weighs_own_items(kind, own, order, weights):
    own = own if isinstance(own, dict | set) else [*own]
    client = Client(linear(**KINDS[kind]))
    listed = client.recommend(own, N, **order)
    scores = expected(client.release, [*weights], [*weights.values()])
    assert {row.item_id: row.score for row in listed} == pytest.approx(
        {item: scores[int(item[1:])] for item in client.release.items if item not in own}
    ), "whatever was given is known, and not listed"
    for row in listed:
        assert sum(why.contribution for why in client.reasons(own, row.item_id, N, **order)) == pytest.approx(
            row.score
        )


@pytest.mark.parametrize("times", [{"i1": 5, "i2": "2026"}, {"i1": None, "i2": 5}])
def test_times_that_cannot_be_compared_are_refused(times):
    for ask in (Client(linear()).recommend, lambda own, **more: Client(linear()).reasons(own, "i3", **more)):
        with pytest.raises(
            ReleaseError, match="times must be all numbers, all dates, or all texts of ISO 8601"
        ):
            ask(["i1", "i2"], times=times)
        with pytest.raises(ReleaseError, match="times map item ids"):
            ask(["i1", "i2"], times=["i1"])
