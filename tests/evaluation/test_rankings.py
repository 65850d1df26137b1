"""Lists leave out what users fold in, and find what is held out of them and of nobody else."""

import dataclasses

import numpy as np
import polars as pl
import pytest

import hushrec as hr
from hushrec.data.domain import Domain
from hushrec.data.load import load
from hushrec.data.split import held_out_people
from hushrec.errors import DataError
from hushrec.evaluation.rankings import rank, recall
from hushrec.release.client import Client
from release.predictors.test_linear_items import linear
from support.releases import ranker

ITEMS = "abcdef"
DOMAIN = Domain([*ITEMS], max_users=10)


def given(rows, domain=DOMAIN):
    pairs = [(user, item) for user, items in rows.items() for item in items]
    return load(pl.DataFrame(pairs, schema=["user_id", "item_id"], orient="row"), domain)


def listed(lists, names=ITEMS):
    return ["".join(names[i] if i >= 0 else "-" for i in row) for row in lists.items]


def found(lists, names=ITEMS):
    return [
        "".join(np.array(list(names))[row[hit]]) for row, hit in zip(lists.items, lists.hits, strict=True)
    ]


def test_own_items_are_left_out_and_the_held_out_ones_found():
    """Ranked b, a, d, c, f, e; of users of both parts: v is new and folds in nothing, x finds nothing."""
    release = ranker(items=ITEMS, scores=[5, 6, 3, 4, 1, 2])
    train = given({"u": "ab", "w": "d", "x": "f"})
    lists = rank(release, train=train, test=given({"u": "cf", "v": "e", "w": "ab"}), n=3)
    assert lists.users.to_pylist() == ["u", "w"]
    assert listed(lists) == ["dcf", "bac"]
    assert found(lists) == ["cf", "ba"]
    assert lists.n_held_out.tolist() == [2, 2]
    assert lists.popularity.tolist() == [1, 1, 0, 1, 0, 1]
    assert (lists.n_fitted, lists.n_left_out, lists.n_new) == (3, 1, 1)
    with pytest.raises(DataError, match="folds in anything, so there are no lists"):
        rank(release, train=train, test=given({"v": "e"}), n=3)


def test_an_empty_place_is_not_a_hit_of_the_user_before():
    """User u is to find the last item, whose place is one below v's first: −1 of v, seen from u's row."""
    release = ranker(items=ITEMS)
    train, test = given({"u": "abcde", "v": "bcdef"}), given({"u": "f", "v": "a"})
    lists = rank(release, train=train, test=test, n=4)
    assert listed(lists) == ["f---", "a---"]
    assert lists.hits.sum() == 2
    assert recall(lists, 4).tolist() == [1, 1]


def test_lists_are_those_of_the_client():
    train, fold_in, test = held_out_people(hr.synthetic.interactions(300, 30, 4000, seed=2), 20, seed=0)
    release = hr.baseline(train, hr.Popularity())
    lists = rank(release, train=fold_in, test=test, n=5, fitted=train)
    names = test.domain.items
    for user, row in zip(lists.users.to_pylist(), lists.items, strict=True):
        at = fold_in.users.to_pylist().index(user)
        own = [names[i] for i in fold_in.items[fold_in.indptr[at] : fold_in.indptr[at + 1]]]
        assert [names[i] for i in row] == [said.item_id for said in Client(release).recommend(own, 5)]
    assert lists.n_fitted == 280


def test_what_was_rated_leaves_the_lists_of_likes_and_the_middle_counts_half():
    release = linear(scale=(1.0, 5.0, 1.0), likes=4.0)
    stars, times = {"i1": 5, "i3": 3, "i5": 1, "i6": 4}, {"i1": 10, "i3": 30, "i5": 40, "i6": 20}
    domain = Domain(release.items, max_users=10, scale=(1, 5, 1), likes=4)
    columns = {
        "user_id": ["u"] * 4,
        "item_id": [*stars],
        "rating": [*stars.values()],
        "timestamp": [*times.values()],
    }
    table = pl.DataFrame(columns)
    train, rated = load(table, domain), load(table, domain.model_copy(update={"likes": None}))
    test = load(pl.DataFrame({"user_id": ["u"], "item_id": ["i0"], "rating": [5]}), domain)
    for more, own in (({"rated": rated}, stars), ({}, {"i1": 5, "i6": 4})):
        lists = rank(release, train=train, test=test, n=9, **more)
        names = [row.item_id for row in Client(release).recommend(own, 9, times=times)]
        assert [release.items[i] for i in lists.items[0] if i >= 0] == names
    plain = Domain(release.items, max_users=10)
    with pytest.raises(DataError, match="rated goes with likes"):
        rank(release, train=given({"u": ["i1"]}, plain), test=given({"u": ["i0"]}, plain), n=9, rated=rated)


# -- ratings ----------------------------------------------------------------------------------------------


def test_only_likes_are_to_be_found_and_all_ratings_are_folded_in(release, ratings):
    train = ratings({"u": {"d": 1}})  # disliked, and known all the same
    test = ratings({"u": {"a": 4, "b": 3, "c": 5}, "v": {"a": 2}})
    lists = rank(release, train=train, test=test, n=3, likes=4)
    assert listed(lists) == ["cba"]
    assert found(lists) == ["ca"]
    assert lists.n_left_out == 1
    three = rank(release, train=train, test=test, n=3, likes=3)
    assert found(three) == ["cba"]


def test_listed_people_are_ranked_by_their_vectors_or_fold_in(release, ratings):
    """By their vectors both like a most and d least; from what they give at home, d is the best.

    Of items that are as much to a user's taste, the popular ones are first, not those with more stars.
    """
    tensors = {
        **release.tensors,
        "item_popularity": np.array([1, 3, 2, 4], np.float32),
        "item_factors": np.array([[9], [0], [0], [-9]], np.float32),
        "user_effects": np.zeros(2, np.float32),
        "user_factors": np.array([[1], [1]], np.float32),
    }
    listing = dataclasses.replace(release, kind="factors and people", tensors=tensors, users=("u", "v"))
    train, test = (
        ratings({"v": {"c": 3}, "x": {"d": 1}}),
        ratings({"u": {"a": 4}, "v": {"a": 4}, "x": {"b": 4}}),
    )
    assert listed(rank(listing, train=train, test=test, n=4, likes=4)) == ["abcd", "abd-", "bac-"]
    at_home = listed(rank(listing, train=train, test=test, n=4, likes=4, fold_in=True))
    assert at_home == ["dba-", "bac-"]
