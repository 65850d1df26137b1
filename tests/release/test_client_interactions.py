"""Releases of interactions at home: ids in, a list out, and no predicted ratings."""

import math

import numpy as np
import pytest

from hushrec.errors import ReleaseError
from hushrec.release.client import Client

LIKES = {"scale": (1.0, 5.0, 1.0), "likes": 4.0}
KINDS = {"given": {}, "counted": {"counts": 9}, "likes": LIKES}


@pytest.fixture(params=list(KINDS))
def client(request, ranker):
    return Client(ranker(**KINDS[request.param]))


def ids(found):
    return [row.item_id for row in found]


def test_everybody_gets_the_same_list_without_what_they_gave(client):
    assert ids(client.recommend([])) == ["a", "b", "c", "d"]
    assert ids(client.recommend(["b", "unheard of"])) == ["a", "c", "d"]
    assert ids(client.recommend((name for name in ("d", "a")), n=1)) == ["b"]
    assert [(row.score, row.rank) for row in client.recommend(["a"], 2)] == [(3.0, 1), (2.0, 2)]


def test_scores_are_no_ratings_and_are_not_clamped(ranker):
    found = Client(ranker(scores=[-3, 700, 1e6, 0], **LIKES)).recommend([])
    assert [(row.item_id, row.score) for row in found] == [("c", 1e6), ("b", 700), ("d", 0), ("a", -3)]


def test_ratings_are_not_predicted(client):
    with pytest.raises(ReleaseError, match="it ranks items and predicts no ratings; call recommend"):
        client.predict(["a"])


class Watched:
    """What a predictor is given."""

    def rank(self, rated, ratings, targets):
        self.own = dict(zip(rated.tolist(), ratings.tolist(), strict=True))
        return np.zeros(len(targets))


@pytest.fixture
def watched(ranker):
    def used(kind, own):
        client = Client(ranker(**KINDS[kind]))
        client._predictor = watch = Watched()
        left = ids(client.recommend(own))
        return watch.own, left

    return used


@pytest.mark.parametrize("kind", KINDS)
def test_ids_alone_are_in_order_and_count_once(watched, kind):
    assert watched(kind, ["c", "a", "c"]) == ({2: 1, 0: 1 / math.sqrt(2)}, ["b", "d"])


def test_a_rating_below_the_threshold_is_half_a_like_or_none_and_its_item_is_known(watched):
    own = {"a": 2.9, "b": 3.4, "c": 3.5, "d": math.nan}
    assert watched("likes", own) == ({1: 0.5, 2: 1}, ["d"])  # 3.5 is 4 after rounding, as in loading


def test_counts_are_those_of_loading(watched):
    own = {"a": 50, "b": 0.4, "c": 1.5, "d": math.inf}
    assert watched("counted", own) == ({0: 1, 2: 1}, ["b", "d"])


@pytest.mark.parametrize("own", ["Alien", 7, b"Alien"])
def test_what_is_no_list_of_ids_is_refused(client, own):
    with pytest.raises(ReleaseError, match=r"of interactions: give your own as in \['Alien', 'Heat'\]"):
        client.recommend(own)


def test_numbers_are_refused_where_none_count(ranker):
    with pytest.raises(ReleaseError, match="item ids without numbers"):
        Client(ranker()).recommend({"a": 5})


def test_ids_alone_are_refused_where_ratings_are_needed(release):
    with pytest.raises(ReleaseError, match=r"of ratings: give your own as in \{'Alien': 5\}"):
        Client(release()).recommend(["item 0 é"])
