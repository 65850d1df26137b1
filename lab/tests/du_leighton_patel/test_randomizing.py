import math
from pathlib import Path

import numpy as np
import pytest

from lab.du_leighton_patel import randomizing
from lab.reproduction import Trial


@pytest.fixture
def bench(monkeypatch):
    monkeypatch.setattr(randomizing, "SIDE", 40)
    monkeypatch.setattr(randomizing, "KS", np.array([1, 3]))
    return randomizing.Recommenders(Path("nowhere"))


def trial(**settings):
    run = {"data": randomizing.FULL, "seed": 0, **settings}
    return Trial(run["release"], run)


def test_of_a_slots_epsilon_the_chance_to_keep_is_right():
    """p* among 1,000 items, no groups: odds e^ε to 1 of the own item against each of the others."""
    keep = randomizing.kept_at(9.0)
    assert keep / ((1 - keep) / 1000) == pytest.approx(np.exp(9.0) - 1)


def test_published_responses_are_measured_by_their_own_law(bench):
    """They answer by ε_k + ln 5 in each of 40 cells, where ε_k is claimed."""
    rows = bench.measure(trial(release="randomized response", analysis="published", epsilon=400))
    assert {row["by"] for row in rows} >= {"means", "users", "items", "factors"}
    assert [row["cell_epsilon"] for row in rows] == pytest.approx([10 + math.log(5)] * len(rows))


def test_shared_representatives_are_measured_beside_fresh_ones_and_have_no_epsilon(bench):
    settings = randomizing.alter_ego(0.8, 0.8)
    fresh, shared = (
        bench.measure(trial(**settings | {"release": release}))
        for release in ("distance-based", randomizing.SHARED)
    )
    assert [(row["by"], row.get("k")) for row in fresh] == [(row["by"], row.get("k")) for row in shared]
    assert [row["loss"] for row in fresh] != [row["loss"] for row in shared]
    assert {row["cell_epsilon"] for row in shared} == {row["user_epsilon"] for row in shared} == {math.inf}


def test_one_rating_of_each_user_is_hidden():
    ratings = randomizing.netflix_like(30, 20, 300, seed=5)
    train, test = randomizing.hidden(ratings, 1)
    assert train.n_entries + test.n_entries == 300
    assert set(np.diff(test.indptr)) == {1}
