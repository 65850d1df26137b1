"""Of a linear item model: its reasons add up to the score, and its similar items are known ones."""

from dataclasses import replace

import numpy as np
import pytest

from hushrec.release.artefact import Release
from hushrec.release.client import Client
from hushrec.release.fold_in import predictor
from support.releases import valued

N = 6
EVERYTHING = np.arange(N)


@pytest.fixture
def linear(statement):
    rng = np.random.default_rng(1)
    tensors = {
        "item_factors": rng.normal(size=(N, 3)),
        "input_weights": rng.uniform(0.1, 1, N),
        "output_weights": rng.uniform(1, 9, N),
        "intercept": rng.normal(size=3),
        "item_scores": np.arange(N, 0, -1),
    }
    return Release(
        model="Planted",
        settings={},
        kind="linear items",
        items=tuple("abcdef"),
        scale=None,
        constants={},
        tensors={name: np.asarray(tensor, np.float32) for name, tensor in tensors.items()},
        statement=statement(),
    )


@pytest.mark.parametrize("rated", [[0], [4, 1], [5, 0, 2, 3], list(range(N))])
def test_contributions_add_up_to_the_score(linear, rated):
    t = {name: tensor.astype(np.float64) for name, tensor in linear.tensors.items()}
    given = np.array(rated), np.ones(len(rated)), EVERYTHING
    found = predictor(linear).contributions(*given)
    length = np.sqrt((t["input_weights"][rated] ** 2).sum())
    for place, i in enumerate(rated):
        for j in range(N):
            weight = t["input_weights"][i]
            part = weight * t["item_factors"][i] + weight**2 / length * t["intercept"]
            wanted = part @ t["item_factors"][j] * t["output_weights"][j] if i != j else 0
            assert found[place, j] == pytest.approx(wanted, abs=1e-12)
    np.testing.assert_allclose(found.sum(axis=0), predictor(linear).predict(*given), rtol=0, atol=1e-9)


def test_without_own_items_there_are_no_reasons(linear):
    assert Client(linear).reasons([], "a") == []
    assert [row.item_id for row in Client(linear).recommend([], 2)] == ["a", "b"]


def test_similarity_is_the_cosine_of_known_items(linear):
    t = {name: tensor.astype(np.float64) for name, tensor in linear.tensors.items()}
    g, a = t["item_factors"], t["input_weights"]
    found = predictor(linear).similarity(EVERYTHING, EVERYTHING[1:])
    for i in range(N):
        for j in range(1, N):
            cosine = g[i] @ g[j] / (np.linalg.norm(g[i]) * np.linalg.norm(g[j]))
            assert found[i, j - 1] == pytest.approx(cosine * np.sqrt(a[i] * a[j]), abs=1e-12)


def test_a_client_gives_reasons_similar_and_varied_items(linear):
    client = Client(linear)
    added = {row.item_id: row.contribution for row in client.reasons(["a", "c"], "e")}
    assert set(added) == {"a", "c"}
    scores = {row.item_id: row.score for row in client.recommend(["a", "c"])}
    assert sum(added.values()) == pytest.approx(scores["e"])
    assert all(row.score > 0 and row.item_id != "b" for row in client.similar("b"))
    assert {row.item_id for row in client.recommend(["a", "c"], 4, diversity=1)} == set("bdef")


# -- features ---------------------------------------------------------------------------------------------

OWN = ["a", "d", "c", "k"]
WEIGHTS = dict(zip(OWN, 1 / np.sqrt([4, 3, 2, 1]), strict=True))
"""Of a list, in which the latest is last."""


@pytest.fixture
def named(ranker):
    return ranker(tuple("abcdefghijkl"), **valued(3, 12))


@pytest.mark.parametrize("item", ["h", "d"])
def test_reasons_of_items_and_features_add_up_to_the_score(named, item):
    reasons = Client(named).reasons(OWN, item, 100)
    rated, target = np.array([0, 3, 2, 10]), np.array(["abcdefghijkl".index(item)])
    score = predictor(named).predict(rated, np.array([*WEIGHTS.values()]), target)[0]
    assert sum(row.contribution for row in reasons) == pytest.approx(score, rel=1e-12)
    assert {row.item_id for row in reasons if row.item_id} == set(OWN) - {item}
    assert len({(row.feature, row.value) for row in reasons if not row.item_id}) >= 3


def test_a_feature_adds_what_its_own_items_have_of_it(named):
    """Rows of one wide value are one reason, and items are named by how much they have of it."""
    t = {name: tensor.astype(np.float64) for name, tensor in named.tensors.items()}
    target = "abcdefghijkl".index("h")
    towards = t["item_factors"][target] * t["output_weights"][target]
    parts: dict[tuple[str, str], dict[str, float]] = {}
    for item in OWN:
        at = "abcdefghijkl".index(item)
        for entry in range(int(t["value_starts"][at]), int(t["value_starts"][at + 1])):
            column = int(t["value_columns"][entry])
            part = t["value_weights"][entry] * t["value_factors"][column] @ towards
            part *= t["input_weights"][at] * WEIGHTS[item]
            of = parts.setdefault(named.values[column], {})
            of[item] = of.get(item, 0.0) + part
    reasons = [row for row in Client(named).reasons(OWN, "h", 100) if row.item_id is None]
    assert {(row.feature, row.value): row.contribution for row in reasons} == pytest.approx(
        {value: sum(of.values()) for value, of in parts.items()}
    )
    for row in reasons:
        of = parts[row.feature, row.value]
        assert list(row.items) == sorted(of, key=lambda item: -abs(of[item]))
    assert any(len(row.items) > 1 for row in reasons)


def test_without_values_reasons_are_items_alone(named):
    plain = {name: tensor for name, tensor in named.tensors.items() if not name.startswith("value_")}
    bare = replace(named, tensors=plain, values=(), constants={})
    assert all(row.item_id and not row.items for row in Client(bare).reasons(OWN, "h", 100))
    whole = sum(row.contribution for row in Client(bare).reasons(OWN, "h", 100))
    assert whole == pytest.approx(sum(row.contribution for row in Client(named).reasons(OWN, "h", 100)))
