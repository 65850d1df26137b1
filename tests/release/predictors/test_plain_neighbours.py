"""Nearest neighbours at home: what their docstrings say, and rows that cannot be used are refused."""

import dataclasses

import numpy as np
import pytest

from hushrec.errors import ReleaseError
from hushrec.release.artefact import Release
from hushrec.release.client import Client
from hushrec.release.fold_in import predictor
from hushrec.release.kinds import DISTANCES

ITEMS = tuple("abcdef")
TABLE = np.array(
    [
        [5, 4, 1, 0, 5, 0],
        [5, 5, 0, 0, 1, 0],
        [1, 2, 5, 4, 2, 0],
        [0, 0, 0, 0, 0, 0],
        [1, 1, 5, 5, 4, 0],
        [3, 3, 3, 0, 3, 0],
    ],
    dtype=float,
)
"""Nobody rated the last item, and one row is empty."""


def rows(table=TABLE):
    rated = table > 0
    starts = np.concatenate([[0], np.cumsum(rated.sum(axis=1))])
    items, steps = np.nonzero(rated)[1], table[rated] - 1
    return {
        "row_starts": starts.astype(np.int64),
        "row_items": items.astype(np.int32),
        "row_steps": steps.astype(np.uint8),
    }


def planted(kind, statement):
    facts = {"model": "Planted", "settings": {}, "kind": kind, "items": ITEMS, "scale": (1.0, 5.0, 1.0)}
    return facts | {"statement": statement()}


@pytest.fixture
def people(statement):
    def make(k=2, distance="squared", table=TABLE, **changes):
        facts = {
            **planted("people's rows", statement),
            "constants": {"neighbours": float(k), "distance": float(DISTANCES.index(distance))},
            "tensors": rows(table),
        }
        return Release(**(facts | changes))

    return make


@pytest.fixture
def alike(statement):
    """Similarities 0.9 (a, b), 0.5 (a, c), −0.8 (a, d), 0.3 (b, c); of the others none."""

    def make(k=2, **changes):
        similarity = np.eye(6)
        for (i, j), s in {(0, 1): 0.9, (0, 2): 0.5, (0, 3): -0.8, (1, 2): 0.3}.items():
            similarity[i, j] = s
        facts = {
            **planted("item neighbours", statement),
            "constants": {"neighbours": float(k)},
            "tensors": {
                "item_means": np.array([3, 2, 4, 3, 3.5, 3], np.float32),
                "item_popularity": np.array([9, 7, 5, 3, 2, 1], np.float32),
                "similarity": similarity[np.triu_indices(6)].astype(np.float32),
            },
        }
        return Release(**(facts | changes))

    return make


KIND = pytest.mark.parametrize("kind", ["people", "alike"])


# -- people -----------------------------------------------------------------------------------------------


def similar(a, b, distance):
    if distance == "squared":
        return -((a - b) ** 2).sum()
    if distance == "pearson":
        a, b = (np.where(row > 0, row - row[row > 0].mean() if row.any() else 0, 0) for row in (a, b))
    length = np.linalg.norm(a) * np.linalg.norm(b)
    return round(a @ b / length, 6) if length > 1e-9 else 0.0


@pytest.mark.parametrize("distance", DISTANCES)
@pytest.mark.parametrize("k", [1, 2, 3, 10**6])
def test_it_is_the_mean_of_the_nearest_who_rated_it(people, k, distance):
    """The item asked about left out of everybody, so also of one's own row."""
    own = np.array([4.5, 0, 2, 3, 0, 0])
    rated = np.array([2, 0, 3])  # a client's order is anybody's
    found = predictor(people(k, distance)).predict(rated, own[rated], np.arange(5))
    for target in range(5):
        without = np.arange(6) != target
        raters = np.flatnonzero(TABLE[:, target])
        nearness = [-similar(own * without, TABLE[u] * without, distance) for u in raters]
        nearest = raters[np.argsort(nearness, kind="stable")][:k]
        assert found[target] == pytest.approx(TABLE[nearest, target].mean())


def test_who_has_no_ratings_gets_the_mean_of_all_who_rated_it(people):
    found = Client(people(1)).predict({})
    assert found["a"] == 3
    assert found["f"] == pytest.approx(TABLE[TABLE > 0].mean())  # nobody rated it


def test_what_nobody_rated_is_predicted_by_ones_own_mean(people):
    assert Client(people()).predict({"a": 4, "b": 3}, "f") == {"f": 3.5}


def test_a_release_without_rows_knows_the_scale(people):
    client = Client(people(table=TABLE[3:4]))
    assert set(client.predict({}).values()) == {3}
    assert client.predict({"a": 2}, "bf") == {"b": 2, "f": 2}
    client = Client(people(table=TABLE[:0]))
    assert set(client.predict({}).values()) == {3}


def test_two_items_are_as_alike_as_their_columns(people):
    """The last item has no ratings: it is like nothing."""
    found = predictor(people()).similarity(np.arange(6), np.array([4, 0, 5, 4]))
    for i in range(6):
        for place, j in enumerate([4, 0, 5, 4]):
            a, b = TABLE[:, i], TABLE[:, j]
            lengths = np.linalg.norm(a) * np.linalg.norm(b)
            assert found[i, place] == pytest.approx(a @ b / lengths if lengths else 0, abs=1e-12)


def test_the_nearest_people_give_no_reasons(people):
    with pytest.raises(ReleaseError, match="by the nearest people"):
        Client(people()).reasons({"a": 5}, "b")


def test_people_s_lists_are_ordered_by_popularity_and_taste(people):
    """An item's popularity is Σ (1 + 2 (r − 3)/4) over its ratings; of what nobody rated next to nothing."""
    rank = predictor(people())
    rated, ratings, targets = np.array([2]), np.array([2.0]), np.arange(6)
    predicted = rank.predict(rated, ratings, targets)
    given = TABLE > 0
    popularity = np.maximum((given * (1 + (TABLE - 3) / 2)).sum(axis=0), 1e-3)
    means = np.where(
        given.any(axis=0), TABLE.sum(axis=0) / np.maximum(given.sum(axis=0), 1), TABLE[given].mean()
    )
    wanted = np.log(popularity) + (predicted - means) / 2
    np.testing.assert_allclose(rank.rank(rated, ratings, targets), wanted, rtol=0, atol=1e-6)
    assert rank.rank(rated, ratings, targets).argmin() == 5


# -- items ------------------------------------------------------------------------------------------------


@pytest.mark.parametrize(
    ("own", "k", "expected"),
    [
        ({"b": 4, "c": 1}, 2, 3 + (0.9 * 2 + 0.5 * -3) / 1.4),
        ({"c": 1, "b": 4}, 2, 3 + (0.9 * 2 + 0.5 * -3) / 1.4),
        ({"b": 4, "c": 1}, 1, 3 + 2),
        ({"a": 1, "b": 4, "c": 1}, 1, 3 + 2),  # his own rating of a does not count
        ({"c": 3}, 5, 3 - 1),
        ({"d": 5, "c": 3}, 2, 3 - 1),  # unlike items do not count
        ({"d": 5}, 2, 3),
        ({"e": 5}, 2, 3),
        ({}, 2, 3),
    ],
)
def test_it_is_the_weighted_mean_around_the_means(alike, own, k, expected):
    assert Client(alike(k)).predict(own, "a")["a"] == pytest.approx(expected)


@pytest.mark.parametrize("k", [1, 2, 5])
def test_contributions_add_up_to_the_prediction_around_the_mean(alike, k):
    """In any order, rated or asked for; of a target its own rating does not count."""
    made = alike(k)
    means = made.tensors["item_means"].astype(np.float64)
    for rated, ratings in (([], []), ([2, 1], [1, 4]), ([0, 1, 2, 3], [1, 4, 1, 5]), ([4], [5])):
        given = np.array(rated, dtype=np.int64), np.array(ratings, dtype=np.float64), np.arange(6)
        found = predictor(made).contributions(*given)
        assert found.shape == (len(rated), 6)
        np.testing.assert_allclose(means + found.sum(axis=0), predictor(made).predict(*given), atol=1e-9)
        assert all(found[place, item] == 0 for place, item in enumerate(rated))


def test_a_contribution_is_a_weight_times_what_exceeds_the_mean(alike):
    reasons = Client(alike(2)).reasons({"c": 1, "b": 4, "d": 5}, "a")
    found = {row.item_id: row.contribution for row in reasons}
    assert found == pytest.approx({"b": 0.9 * 2 / 1.4, "c": 0.5 * -3 / 1.4})  # d is unlike a, and left out


def test_similar_items_are_those_released(alike):
    found = predictor(alike()).similarity(np.array([0, 3]), np.arange(6))
    np.testing.assert_allclose(found, [[1, 0.9, 0.5, -0.8, 0, 0], [-0.8, 0, 0, 1, 0, 0]], rtol=1e-6)
    assert [row.item_id for row in Client(alike()).similar("a")] == ["b", "c"]


# -- the file ---------------------------------------------------------------------------------------------


@KIND
def test_it_comes_back_as_it_was(request, kind, used):
    made = request.getfixturevalue(kind)()
    assert used(made.to_bytes()) == made.to_bytes()
    again = Release.from_bytes(made.to_bytes())
    assert again.users == ()
    for name, tensor in made.tensors.items():
        np.testing.assert_array_equal(again.tensors[name], tensor, strict=True)


def changed(name, place, value):
    def change(tensors):
        tensor = tensors[name].copy()
        tensor[place] = value
        return tensors | {name: tensor}

    return change


FAULTS = {
    "people": {
        "a first row that starts late": changed("row_starts", 0, 1),
        "rows that descend": changed("row_starts", 2, 2),
        "rows before the first": changed("row_starts", 1, -(2**63)),
        "a row beyond the last": changed("row_starts", 2, 2**62),
        "rows that end early": changed("row_starts", -1, 20),
        "an item too many": changed("row_items", 3, 6),
        "an item before the first": changed("row_items", 0, -1),
        "an item twice": changed("row_items", 1, 0),
        "items that descend": changed("row_items", 2, 0),
        "a rating above the scale": changed("row_steps", 0, 5),
        "items in another order of bytes": lambda t: t | {"row_items": t["row_items"].astype(">i4")},
    },
}


@pytest.mark.parametrize(("kind", "fault"), [(kind, fault) for kind in FAULTS for fault in FAULTS[kind]])
def test_tensors_that_cannot_be_used_are_refused(request, kind, fault):
    made = request.getfixturevalue(kind)()
    with pytest.raises(ReleaseError):
        dataclasses.replace(made, tensors=FAULTS[kind][fault](dict(made.tensors)))


@pytest.mark.parametrize(
    ("kind", "name", "value"),
    [
        ("people", "neighbours", None),
        ("people", "neighbours", 0),
        ("people", "neighbours", 1e7),
        ("people", "distance", None),
        ("people", "distance", 3),
        ("people", "distance", -1),
        ("people", "distance", 0.5),
        ("alike", "neighbours", None),
        ("alike", "neighbours", 0),
    ],
)
def test_constants_that_cannot_be_used_are_refused(request, kind, name, value):
    made = request.getfixturevalue(kind)()
    constants = {**made.constants, name: value}
    if value is None:
        del constants[name]
    with pytest.raises(ReleaseError, match=name):
        dataclasses.replace(made, constants=constants)


def test_items_lists_are_ordered_by_popularity_and_taste(alike):
    made = alike()
    rank = predictor(made)
    rated, ratings, targets = np.array([0, 3]), np.array([5.0, 1.0]), np.array([1, 2, 4, 5])
    taste = rank.predict(rated, ratings, targets) - made.tensors["item_means"][targets]
    assert np.abs(taste).max() > 0.5
    wanted = np.log(made.tensors["item_popularity"][targets].astype(float)) + taste / 2
    np.testing.assert_allclose(rank.rank(rated, ratings, targets), wanted, rtol=0, atol=1e-6)
