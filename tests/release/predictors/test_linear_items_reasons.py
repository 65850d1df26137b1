"""Of a linear item model: its reasons add up to the score, and its similar items are known ones."""

import numpy as np
import pytest

from hushrec.release.artefact import Release
from hushrec.release.client import Client
from hushrec.release.fold_in import predictor

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
    added = dict(client.reasons(["a", "c"], "e"))
    assert set(added) == {"a", "c"}
    scores = {row.item_id: row.score for row in client.recommend(["a", "c"])}
    assert sum(added.values()) == pytest.approx(scores["e"])
    assert all(row.score > 0 and row.item_id != "b" for row in client.similar("b"))
    assert {row.item_id for row in client.recommend(["a", "c"], 4, diversity=1)} == set("bdef")
