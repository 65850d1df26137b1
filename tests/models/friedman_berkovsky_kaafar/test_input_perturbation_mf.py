"""Noise on every rating or cell, then a factoriser: what is particular to it."""

import itertools
import math

import numpy as np
import pytest

import hushrec as hr
from hushrec.models.friedman_berkovsky_kaafar.estimate import NoisyRatings, membership_probability
from hushrec.models.friedman_berkovsky_kaafar.input_perturbation_mf import cells_footprint
from hushrec.models.friedman_berkovsky_kaafar.sums import Cells
from hushrec.privacy.accounting.measurement import EVERY_RATING
from hushrec.sums.footprint import Footprint
from support.runs import charged


def events_of(domain, allowed, **settings):
    return {
        e.name: e for e in hr.plan(domain, hr.InputPerturbationMF(**{"epochs": 6} | settings), allowed).noisy
    }


def test_under_replace_every_rating_gets_noise_and_else_every_cell(listed, budget):
    domain = listed[0].domain
    found = events_of(domain, budget(adjacency="replace"))
    assert found["ratings"].size == EVERY_RATING
    assert found["ratings"].sensitivity == 2, "±1 star around the averages, changed from end to end"
    found = events_of(domain, budget())
    assert found["cells"].size == domain.n_users * domain.n_items
    assert found["cells"].sensitivity == 1


@pytest.mark.parametrize(("solver", "adjacency"), [("als", "add-remove"), ("sgd", "replace")])
def test_any_factoriser_goes_on_from_there(listed_rmse, budget, solver, adjacency):
    """The solver costs nothing, and both find something."""
    config = hr.InputPerturbationMF(rank=3, epochs=20, solver=solver)
    assert listed_rmse(config, budget(20.0, adjacency=adjacency)) < 0.99


def test_cells_are_released_thresholded_and_clamped_far_out(listed, budget):
    """Through the grant: nothing between −α and α where a rating may be new, and nothing beyond 4 B there."""
    train, _ = listed
    for adjacency in ("add-remove", "replace"):
        config, allowed = hr.InputPerturbationMF(epochs=6), budget(4.0, adjacency=adjacency)
        run = charged(config, train.domain, allowed)
        config.biases.measure(train, run, config.norm)
        cells, people = config._cells(train.domain, allowed), train
        levels = np.full(train.domain.n_items, 3.4), np.zeros(train.domain.n_users)
        noisy = cells.measure(run, cells.residuals.entries(people, *levels))
        sizes = np.abs(noisy.values)
        if adjacency == "replace":
            assert sizes.max() <= 1 + 1e-6
            assert len(noisy.values) == train.n_entries
            np.testing.assert_array_equal(noisy.columns, train.items)
        else:
            assert 1.5 < sizes.max() <= 4 + 1e-6
            assert sizes.min() >= 0.6 - 1e-3


# -- public facts of noisy cells: which thresholds can be reached, and how many empty cells are -----------


DOMAIN = hr.Domain(range(50), scale=(1, 5, 1), max_users=100, users=range(40))
BEFORE = Footprint(1e6, 0, 0, 1.0)


def few_cells(adjacency="add-remove", threshold=0.6):
    return Cells(DOMAIN, adjacency, 1.0, threshold, 1.0)


def test_empty_cells_are_kept_by_the_noise_alone():
    """P(|X| ≥ α) = e^(−α ε/Δ) of all cells, each of 60 bytes."""
    kept = {e: (cells_footprint(BEFORE, few_cells(), e, 2.0).memory - BEFORE.memory) / 60 for e in (0.5, 5.0)}
    for epsilon, count in kept.items():
        assert count == pytest.approx(40 * 50 * math.exp(-few_cells().threshold * epsilon / 1.0), rel=0.01)
    assert kept[5.0] < kept[0.5] / 10


# -- which noisy cells are ratings: probabilities that are honest -----------------------------------------


def simulated(seed=0, scale=0.45, clip=1.0, n=(600, 200)):
    """Cells by the model's own assumptions: rated by popularity, clamped normal residuals, Laplace noise."""
    rng = np.random.default_rng(seed)
    users, items = rng.uniform(0.05, 0.6, n[0]) * n[1], rng.uniform(0.4, 1.0, n[1])
    items *= users.sum() / items.sum()
    rated = rng.random(n) < np.minimum(np.outer(users, items) / items.sum(), 0.95)
    residuals = np.clip(0.22 * 4 * rng.standard_normal(n), -clip, clip) * rated
    noisy = residuals + rng.laplace(0, scale, n)
    kept = np.abs(noisy) >= 0.6
    indptr = np.concatenate([[0], np.cumsum(kept.sum(axis=1))])
    cells = NoisyRatings(
        indptr, np.nonzero(kept)[1].astype(np.int32), noisy[kept].astype(np.float32), scale * np.sqrt(2)
    )
    return cells, users, items, rated[kept]


def places(cells):
    rows = np.repeat(np.arange(len(cells.indptr) - 1), np.diff(cells.indptr))
    return list(zip(rows.tolist(), cells.columns.tolist(), strict=True))


def test_the_weights_are_honest_probabilities():
    """Of the cells said to be ratings with probability w, about w are."""
    cells, users, items, true = simulated()
    kept, weights = membership_probability(cells, users, items, 1.0, 4.0)
    by_place = dict(zip(places(cells), true.tolist(), strict=True))
    found = np.array([by_place[place] for place in places(kept)])
    edges = np.quantile(weights, [0, 0.25, 0.5, 0.75, 1])
    for low, high in itertools.pairwise(edges):
        here = (weights >= low) & (weights <= high)
        n, p = here.sum(), weights[here].mean()
        assert abs(found[here].mean() - p) < 5.5 * np.sqrt(p * (1 - p) / n) + 0.005
    assert edges[-1] > 3 * edges[0], "they differ"
    assert weights.min() >= 0.02
    assert weights.max() <= 1
    assert np.abs(kept.values).max() <= 1, "clamped to what a residual can be"
    assert len(weights) == kept.indptr[-1]


def test_cells_that_are_hardly_ratings_are_dropped():
    """Where a hundredth is rated and the noise is as loud as that, a small cell is next to nothing."""
    cells, users, items, _ = simulated(scale=1.0)
    kept, weights = membership_probability(cells, users / 50, items / 50, 1.0, 4.0)
    assert 0 < len(weights) < len(cells.values)
    assert weights.min() >= 0.02
    assert {*places(kept)} < {*places(cells)}


def test_quiet_noise_is_believed_wholly():
    cells = NoisyRatings(
        np.array([0, 2]), np.arange(2, dtype=np.int32), np.array([0.9, 0.7], np.float32), 0.01
    )
    kept, weights = membership_probability(cells, np.array([2.0]), np.array([1.0, 1.0]), 1.0, 4.0)
    assert weights.tolist() == pytest.approx([1, 1])
    assert len(kept.columns) == 2


# -- what models of user and item factors share: rounds where factors show, and averages alone ------------


MODELS = pytest.mark.parametrize(("model", "epochs"), [(hr.PrivateSGD, 12), (hr.PrivateALS, 5)])


def hinted(domain, ratings):
    return domain.model_copy(update={"expected_records": ratings})


def rounds_of(model, domain, budget):
    planned = hr.plan(domain, model, budget).measured()
    return [m for m in planned if ", epoch " in m.name]


@MODELS
def test_rounds_find_what_averages_leave(listed_rmse, budget, model, epochs):
    averages = hr.GlobalEffects(user_biases="released")
    assert listed_rmse(model(rank=4)) < listed_rmse(averages) - 0.02
    found, left = (listed_rmse(one, budget(20.0)) for one in (model(rank=4), averages))
    assert found < left - 0.005


@MODELS
def test_each_epoch_measures_each_side_once(listed, budget, model, epochs):
    domain = hinted(listed[0].domain, 10**6)
    measured = rounds_of(model(rank=3, epochs=4), domain, budget())
    names = [f"{side}, epoch {t}" for t in range(1, 5) for side in ("users", "items")]
    assert [m.name for m in measured] == names
    assert {m.mechanism for m in measured} == {"gaussian"}
    assert len({m.split for m in measured}) == 1
    assert sum(m.split for m in measured) == pytest.approx(0.65), "the averages get the rest"
    twice = rounds_of(model(rank=3, epochs=4), domain, budget(adjacency="replace"))
    for once, moved in zip(measured, twice, strict=True):
        assert moved.sensitivity == pytest.approx(2 * once.sensitivity)
    more = rounds_of(model(rank=3, epochs=4), hinted(domain, 1000), budget(0.5))
    assert sum(m.split for m in more) < 0.5, "factors drown"
