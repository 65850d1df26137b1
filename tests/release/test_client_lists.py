"""What else a person asks of a release at home: similar items, reasons, filters and varied lists."""

import dataclasses
import math
import unicodedata

import numpy as np
import pytest

from hushrec.errors import ReleaseError
from hushrec.release.client import Client
from hushrec.release.fold_in import predictor

A, B, C, D = (f"item {i} é" for i in range(4))
N = 12


@pytest.fixture
def client(release, kind):
    return Client(release(kind, n=N))


def ids(found):
    return [row.item_id for row in found]


# -- similar items ----------------------------------------------------------------------------------------


def test_similar_items_are_the_most_similar_ones(client):
    everything = np.arange(N)
    alike = predictor(client.release).similarity(everything, everything)
    for item, name in enumerate(client.release.items):
        wanted = sorted(
            (i for i in range(N) if i != item and alike[item, i] > 0), key=lambda i: -alike[item, i]
        )
        found = client.similar(name, N)
        assert ids(found) == [client.release.items[i] for i in wanted]
        assert [row.score for row in found] == [alike[item, i] for i in wanted]
        assert [row.rank for row in found] == list(range(1, len(wanted) + 1))
        assert client.similar(name, 2) == found[:2]
        assert client.similar(name, 0) == []


def test_a_twin_is_the_most_similar(release):
    made = release(n=N)
    factors = made.tensors["item_factors"].copy()
    factors[7] = 0.5 * factors[3]  # as in taste, however strongly
    tensors = {**made.tensors, "item_factors": factors, "item_noise": np.ones(N, np.float32)}
    best, *_ = Client(dataclasses.replace(made, tensors=tensors)).similar("item 3 é")
    assert (best.item_id, best.rank) == ("item 7 é", 1)
    assert best.score == pytest.approx(1)


def test_the_item_is_named_as_anywhere_else(client):
    assert client.similar(unicodedata.normalize("NFD", A)) == client.similar(A)
    with pytest.raises(ReleaseError, match="'never heard of' is not in this release's catalogue of 12 items"):
        client.similar("never heard of")


def test_who_knows_no_pairs_of_items_says_so(ranker, release):
    for made in (ranker(items=(A, B)), release(rank=0)):
        with pytest.raises(
            ReleaseError, match=r"are alike: (no taste survived the noise|.* learns no tastes).*; use one"
        ):
            Client(made).similar(A)
        with pytest.raises(ReleaseError, match="does not tell which items are alike"):
            Client(made).recommend([A] if made.scale is None else {A: 3}, diversity=0.5)


# -- reasons ----------------------------------------------------------------------------------------------


def test_reasons_are_the_largest_contributions_by_name(client):
    own = {C: 5, "never heard of": 5, A: 1, D: 3, B: math.nan, "item 9 é": 4}
    rated = np.array([2, 0, 3, 9])
    for target, name in ((5, "item 5 é"), (2, C)):
        added = predictor(client.release).contributions(rated, np.array([5.0, 1, 3, 4]), np.array([target]))[
            :, 0
        ]
        wanted = {client.release.items[i]: value for i, value in zip(rated, added, strict=True) if value}
        found = client.reasons(own, name, 10)
        assert {row.item_id: row.contribution for row in found} == wanted
        sizes = [abs(row.contribution) for row in found]
        assert sizes == sorted(sizes, reverse=True)
        assert client.reasons(own, name) == found[:3]


def test_it_takes_an_item_of_the_catalogue_and_own_ratings(client):
    assert client.reasons({}, A) == []
    with pytest.raises(ReleaseError, match="not in this release's catalogue"):
        client.reasons({A: 5}, "never heard of")
    with pytest.raises(ReleaseError, match="give own ratings"):
        client.reasons(None, A)


# -- filters ----------------------------------------------------------------------------------------------


def test_filters_leave_the_rest_of_the_list_as_it_was(client):
    own = {A: 5, B: 2}
    whole = client.recommend(own, N)
    first, second, third, *rest = ids(whole)
    assert ids(client.recommend(own, N, exclude=[first, third])) == [second, *rest]
    assert ids(client.recommend(own, N, allowed={third, second})) == [second, third]
    assert ids(client.recommend(own, 1, allowed=[third, second], exclude=(second,))) == [third]
    scores = {row.item_id: row.score for row in whole}
    for item, score, *_ in client.recommend(own, exclude=[first]):
        assert score == pytest.approx(scores[item], abs=1e-9)


def test_own_items_stay_out_and_unknown_ids_are_ignored(client):
    own = {A: 5, B: 2}
    assert ids(client.recommend(own, allowed=[A, C, "never heard of"])) == [C]
    assert client.recommend(own, exclude=["never heard of"]) == client.recommend(own)
    assert client.recommend(own, allowed=[]) == client.recommend(own, allowed=["never heard of"]) == []
    assert ids(client.recommend(own, allowed=(unicodedata.normalize("NFD", name) for name in [C]))) == [C]


@pytest.mark.parametrize("given", ["item 1 é", b"item", 7])
def test_what_is_no_list_of_ids_is_refused(client, given):
    for name in ("exclude", "allowed"):
        with pytest.raises(ReleaseError, match="exclude and allowed take item ids"):
            client.recommend({A: 5}, **{name: given})


# -- varied lists -----------------------------------------------------------------------------------------


def test_a_varied_list_has_the_same_scores_in_another_order(client):
    own = {A: 5, B: 2}
    whole = client.recommend(own, N)
    assert client.recommend(own, N, diversity=0) == whole
    found = client.recommend(own, N, diversity=1)
    assert found[0] == whole[0]
    assert sorted((row.item_id, row.score) for row in found) == sorted(
        (row.item_id, row.score) for row in whole
    )
    assert [row.rank for row in found] == list(range(1, N - 1))
    assert client.recommend(own, 0, diversity=1) == []
    assert client.recommend(own, allowed=[], diversity=1) == []


@pytest.mark.parametrize("diversity", [-0.1, 1.1, math.nan])
def test_diversity_is_a_share(client, diversity):
    with pytest.raises(ReleaseError, match="diversity must be between 0 and 1"):
        client.recommend({A: 5}, diversity=diversity)
