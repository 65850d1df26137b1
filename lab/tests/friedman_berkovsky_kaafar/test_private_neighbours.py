from dataclasses import dataclass, replace

import numpy as np
import pytest

import hushrec as hr
from lab.experiments.source import Split
from lab.friedman_berkovsky_kaafar import private_neighbours
from lab.friedman_berkovsky_kaafar.published_neighbours import listed_predictions
from lab.published import FriedmanKNN, cost, fit

SPLIT = Split(kind="holdout", fraction=0.2, splits=1)


@dataclass(frozen=True)
class Made:
    """Generated ratings of people who are public."""

    title: str = "made up"

    def load(self):
        made = hr.synthetic.netflix_like(users=150, items=30, ratings=2500, seed=3)
        domain = hr.Domain(made.domain.items, scale=(1, 5, 1), max_users=200, users=made.users.to_pylist())
        return replace(made, domain=domain)


@pytest.fixture(autouse=True)
def few_items(monkeypatch):
    monkeypatch.setattr(private_neighbours, "FORM", FriedmanKNN(rank=4))
    monkeypatch.setattr(private_neighbours, "HELD", 0.1)


def test_the_ridge_is_trained_and_measured_on_ratings_that_it_did_not_see():
    work = private_neighbours.work(Made(), SPLIT, (20.0,))
    (found,) = work.bench().measure(*work.cases())
    train, _, test = SPLIT.parts(Made().load(), 0)
    allowed = hr.Budget(epsilon=20.0, delta=0, unit="record", adjacency="replace")
    release = fit(train, private_neighbours.FORM, allowed, SPLIT.entropy(0, 0))
    made = private_neighbours.with_ridge(release, found["ridge"])
    by_hand = listed_predictions(made, train=train, test=test) - test.numbers()
    assert found["rmse"] == pytest.approx(np.sqrt(np.mean(by_hand**2)))
    assert found["looks"] >= 2
    assert found["true_epsilon"] == cost(private_neighbours.FORM, train.domain, allowed).true
    assert found["claimed_epsilon"] == 20
