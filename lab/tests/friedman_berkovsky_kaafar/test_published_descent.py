"""Algorithms 4 and 5 of Friedman, Berkovsky & Kaafar 2016: which noise they draw, and where."""

import math

import numpy as np
import pytest

from hushrec.privacy.accounting.measurement import EVERY_RATING
from lab.paper import PaperNoise, PaperRun
from lab.published import FriedmanBoundedSGD, FriedmanUnboundedSGD, cost, fit

STAR = 1.0  # of the scale of one to five


def watched(monkeypatch, config, ratings, allowed):
    """What a release measures: the values of each round before and after the noise."""
    seen, right = [], {name: getattr(PaperRun, name) for name in ("measure", "measure_rows")}
    for name in right:

        def watch(run, query, *values, name=name):
            noisy = right[name](run, query, *values)
            seen.append((query, values, noisy))
            return noisy

        monkeypatch.setattr(PaperRun, name, watch)
    config.fit(ratings, PaperRun.of(config, ratings.domain, allowed, 1))
    return [part for part in seen if ", epoch " in part[0].name]


def test_bounded_it_draws_noise_for_every_rating_in_every_epoch(listed, listed_rmse, budget):
    config = FriedmanBoundedSGD(rank=3, epochs=4)
    noises = config.printed(listed[0].domain, budget(adjacency="replace"))
    rounds = [name for name, event in noises.items() if event.size == EVERY_RATING]
    assert rounds == [f"ratings, epoch {t}" for t in range(1, 5)]
    worth = cost(config, listed[0].domain, budget(adjacency="replace"))
    assert worth.true == pytest.approx(worth.claimed, rel=1e-9)
    assert listed_rmse(config, budget(1000.0, adjacency="replace")) == pytest.approx(
        listed_rmse(config), abs=0.03
    )


def test_bounded_the_noise_is_fresh_and_on_the_same_ratings(monkeypatch, listed, budget):
    train, config = listed[0], FriedmanBoundedSGD(rank=2, epochs=3, clip=0.2)
    rounds = watched(monkeypatch, config, train, budget(2.0, adjacency="replace"))
    assert len(rounds) == 3
    for _, (values,), noisy in rounds:
        np.testing.assert_array_equal(values, rounds[0][1][0])
        assert len(noisy.values) == train.n_entries
        assert np.abs(values).max() * rounds[0][0].step <= 0.8 + 1e-6, "residuals are clipped"
    noises = [noisy.values - values * query.step for query, (values,), noisy in rounds]
    assert all(abs(np.corrcoef(noises[0], other)[0, 1]) < 0.05 for other in noises[1:])


def test_unbounded_every_vector_gets_the_noise_of_algorithm_5(monkeypatch, listed, budget):
    """s = γ(e_max q_max + λ p_max)/ε_k for users and γ(e_max p_max + λ q_max)/ε_k for items."""
    train = listed[0]
    config = FriedmanUnboundedSGD(rank=2, epochs=2, clip=0.2, learning_rate=0.02, reg=0.05)
    rounds = watched(monkeypatch, config, train, budget(2.0))
    e_max = 0.8 / STAR + 0.4 * 0.5
    reach = {"users": 0.02 * (e_max * 0.5 + 0.05 * 0.4), "items": 0.02 * (e_max * 0.4 + 0.05 * 0.5)}
    assert [query.name for query, _, _ in rounds] == [
        f"{side}, epoch {t}" for t in (1, 2) for side in ("users", "items")
    ]
    for query, (rows, scales), noisy in rounds:
        side = query.name.partition(",")[0]
        np.testing.assert_allclose(scales, reach[side] / (0.7 / 4 * 2.0), rtol=5e-4)  # the clip is on a grid
        assert rows.shape == ((train.domain.n_users if side == "users" else 150), 2)
        assert (noisy.values != rows).all()
    noises = config.printed(train.domain, budget(2.0)).values()
    assert {noise.loss for noise in noises if isinstance(noise, PaperNoise)} == {math.inf}


@pytest.mark.parametrize(
    ("kind", "adjacency"), [(FriedmanBoundedSGD, "replace"), (FriedmanUnboundedSGD, "add-remove")]
)
def test_what_is_released_is_within_the_bounds_on_norms(listed, budget, kind, adjacency):
    """p·q is in stars: of users within p_max, of items within q_max, and so |p·q| ≤ p_max q_max."""
    config = kind(rank=3, epochs=3, user_norm=0.3, item_norm=0.2)
    release = fit(listed[0], config, budget(0.5, adjacency=adjacency), 1)
    products = release.tensors["user_factors"].astype(float) @ release.tensors["item_factors"].T.astype(float)
    assert np.abs(products).max() <= 0.3 * 0.2 * (1 + 1e-4)
    assert np.abs(products).max() > 0.3 * 0.2 * 0.9, "noise drives some of them there"
