"""Users whom a release lists are predicted from the vectors that it holds."""

import numpy as np
import pytest

from hushrec.errors import ReleaseError
from hushrec.release.predictors import scores
from hushrec.release.predictors.factor_predictor import ListedPeople
from support.predictions import EVERYTHING, N


def pairs(made, count=40):
    rng = np.random.default_rng(5)
    return rng.integers(0, len(made.users), count), rng.integers(0, N, count)


def by_hand(made, person, item):
    t = {name: tensor.astype(np.float64) for name, tensor in made.tensors.items()}
    taste = sum(a * b for a, b in zip(t["item_factors"][item], t["user_factors"][person], strict=True))
    return t["item_effects"][item] + made.constants["user_mean"] + t["user_effects"][person] + taste


@pytest.mark.parametrize("rank", [0, 1, 3, N])
def test_a_listed_person_is_predicted_by_his_released_vector(release, rank, monkeypatch):
    made = release("factors and people", n=N, rank=rank)
    people, items = pairs(made)
    wanted = [by_hand(made, *pair) for pair in zip(people, items, strict=True)]
    found = ListedPeople(made).predict(people, items)
    np.testing.assert_allclose(found, wanted, rtol=0, atol=1e-12)
    monkeypatch.setattr(scores, "_PAIRS", 7)
    np.testing.assert_allclose(ListedPeople(made).predict(people, items), found, rtol=0, atol=1e-12)


def test_somebody_else_s_vector_would_be_noticed(release):
    made = release("factors and people", n=N)
    people, items = pairs(made)
    wrong = ListedPeople(made).predict((people + 1) % len(made.users), items)
    assert np.abs(wrong - ListedPeople(made).predict(people, items)).max() > 0.1


def test_people_are_found_by_their_ids(release):
    people = ListedPeople(release("factors and people"))
    assert people.find(["person 3 é", "nobody", "person 0 é"]).tolist() == [3, -1, 0]
    assert people.find([]).tolist() == []
    with pytest.raises(ReleaseError, match="lists no people"):
        ListedPeople(release())


def test_listed_people_are_ranked_by_their_released_tastes(release):
    made = release("factors and people", n=N)
    tastes = made.tensors["item_factors"].astype(float) @ made.tensors["user_factors"][3].astype(float)
    wanted = np.log(made.tensors["item_popularity"].astype(float)) + tastes / 2
    found = ListedPeople(made).rank(np.full(N, 3), EVERYTHING)
    np.testing.assert_allclose(found, wanted, rtol=0, atol=1e-6)
