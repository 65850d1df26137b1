"""Every metric against its definition, user by user, place by place."""

import math

import numpy as np
import pyarrow as pa
import pytest

from hushrec.errors import ConfigError
from hushrec.evaluation.rankings import COVERAGE, PER_USER, AtK, Lists, coverage, named, novelty

N_ITEMS, PLACES = 40, 12
KS = (1, 2, 5, 12)


def made(n_users=200, seed=0):
    """Random lists without repetition; up to 15 held-out items, more than k for some users."""
    rng = np.random.default_rng(seed)
    items = np.array([rng.permutation(N_ITEMS)[:PLACES] for _ in range(n_users)], dtype=np.int32)
    held_out = [np.sort(rng.permutation(N_ITEMS)[: rng.integers(1, 16)]) for _ in range(n_users)]
    items[::7, 9:] = -1
    return Lists(
        users=pa.array(map(str, range(n_users))),
        items=items,
        hits=np.array([np.isin(row, own) for row, own in zip(items, held_out, strict=True)]),
        indptr=np.cumsum([0, *map(len, held_out)]),
        held_out=np.concatenate(held_out).astype(np.int32),
        popularity=rng.integers(0, 50, N_ITEMS),
        n_fitted=64,
        n_left_out=0,
    )


def by_hand(name, lists, k):
    found = []
    for user, row in enumerate(lists.items.tolist()):
        sought = set(lists.held_out[lists.indptr[user] : lists.indptr[user + 1]].tolist())
        hits = [item in sought for item in row[:k]]
        possible = min(k, len(sought))
        at = [rank for rank, hit in enumerate(hits, start=1) if hit]
        if name == "recall":
            value = sum(hits) / possible
        elif name == "precision":
            value = sum(hits) / k
        elif name == "ndcg":
            ideal = sum(1 / math.log2(rank + 1) for rank in range(1, possible + 1))
            value = sum(1 / math.log2(rank + 1) for rank in at) / ideal
        elif name == "mrr":
            value = 1 / at[0] if at else 0
        elif name == "map":
            value = sum(sum(hits[:rank]) / rank for rank in at) / possible
        else:
            listed = [item for item in row[:k] if item >= 0]
            shares = [max(lists.popularity[item], 1) / lists.n_fitted for item in listed]
            value = sum(-math.log2(share) for share in shares) / len(listed)
        found.append(value)
    return found


@pytest.mark.parametrize("name", PER_USER)
@pytest.mark.parametrize("k", KS)
def test_each_value_is_the_definitions(name, k):
    lists = made()
    found = PER_USER[name](lists, k)
    assert found == pytest.approx(by_hand(name, lists, k), abs=1e-12)
    other = by_hand(name, lists, k % PLACES + 1)  # one place more, or one alone
    assert np.abs(found - other).max() > 0.01  # the check is sharp
    score = AtK(name, k).score(lists)
    assert score.value == pytest.approx(found.mean())
    assert score.error == pytest.approx(found.std(ddof=1) / math.sqrt(len(found)))


@pytest.mark.parametrize("name", ["recall", "ndcg", "mrr", "map"])
def test_an_ideal_list_has_value_one_whatever_the_number_of_items_to_be_found(name):
    """A wrong ideal, over k places or over all held-out items, is below 1 for some users or above it."""
    indptr = np.array([0, 1, 4, 24])
    held_out = np.array([3, 0, 1, 2, *range(20)], dtype=np.int32)
    items = np.array([[3, 1, 2], [2, 1, 0], [5, 6, 7]], dtype=np.int32)
    hits = np.array([[True, False, False], [True] * 3, [True] * 3])
    counts = {"popularity": np.ones(20, np.int64), "n_fitted": 9}
    lists = Lists(pa.array(list("abc")), items, hits, indptr, held_out, n_left_out=0, **counts)
    assert PER_USER[name](lists, 3) == pytest.approx([1, 1, 1])


def test_coverage_is_of_all_lists_together_and_places_left_empty_are_not_an_item():
    lists = made()
    items = lists.items[:, :2]
    assert coverage(lists, 2) == len(set(items.ravel().tolist()) - {-1}) / N_ITEMS
    empty = made(n_users=1)  # its places from the tenth on are empty
    assert coverage(empty, 12) == 9 / N_ITEMS
    assert np.isfinite(novelty(empty, 12)).all()


def test_places_that_were_not_ranked_are_not_measured():
    for name in (*PER_USER, COVERAGE):
        with pytest.raises(ConfigError, match="these lists have 12 places, not 13; rank with n=13"):
            AtK(name, 13).score(made())


def test_names_keep_their_order_and_the_unknown_are_refused():
    assert named(["mae", "recall@20", "rmse"]) == {"mae": None, "recall@20": AtK("recall", 20), "rmse": None}
    assert list(named(["recall@20", "mae"])) == ["recall@20", "mae"]
    for wrong in (
        "ndcg",
        "recall@0",
        "recall@-1",
        "recall@020",
        "recall@20 ",
        "rmse@5",
        "hits@5",
        "recall@²",
    ):
        with pytest.raises(ConfigError, match=r"unknown metric .*; choose from rmse, mae, recall@K, .*@20"):
            named([wrong])
