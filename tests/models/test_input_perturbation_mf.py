"""Noise on every rating or cell, then a factoriser: what is particular to it."""

import itertools

import numpy as np
import pytest

import hushrec as hr
from hushrec.estimation.noisy_ratings import NoisyRatings, plausible
from hushrec.privacy.accounting.events import EVERY_RATING
from hushrec.privacy.grant import SEAL, Grant
from hushrec.statistics.cells import Cells


def events_of(domain, allowed, **settings):
    return {e.name: e for e in hr.plan(hr.InputPerturbationMF(**settings), domain, allowed).events}


def test_under_replace_every_rating_gets_noise_and_else_every_cell(listed, budget):
    domain = listed[0].domain
    found = events_of(domain, budget(adjacency="replace"))
    assert found["ratings"].size == EVERY_RATING
    assert found["ratings"].sensitivity == 2, "±1 star around the averages, changed from end to end"
    found = events_of(domain, budget())
    assert found["cells"].size == domain.n_users * domain.n_items
    assert found["cells"].sensitivity == 1


def test_the_clip_sets_the_noise(listed, budget):
    wide, narrow = (events_of(listed[0].domain, budget(), clip=clip)["cells"] for clip in (0.25, 0.125))
    assert wide.scale == pytest.approx(2 * narrow.scale)


@pytest.mark.parametrize("solver", ["als", "sgd"])
@pytest.mark.parametrize("analysis", ["corrected", "published"])
@pytest.mark.parametrize("adjacency", ["add-remove", "replace"])
def test_any_factoriser_goes_on_from_there(listed_rmse, budget, solver, analysis, adjacency):
    """The solver costs nothing, and both find something."""
    config = hr.InputPerturbationMF(rank=3, solver=solver, analysis=analysis)
    assert listed_rmse(config, budget(20.0, adjacency=adjacency)) < 0.99


def test_factors_find_what_averages_leave(listed_rmse, budget):
    assert (
        listed_rmse(hr.InputPerturbationMF(rank=4)) < listed_rmse(hr.GlobalEffects(levels="released")) - 0.02
    )
    at = budget(10.0)
    found, left = (listed_rmse(m, at) for m in (hr.InputPerturbationMF(rank=4), hr.GlobalEffects()))
    assert found < left - 0.01


@pytest.mark.parametrize(("threshold", "epsilon"), [(1.0, 50.0), (0.15, 0.1)])
def test_any_number_of_cells_may_survive(listed, budget, threshold, epsilon):
    """None, where the threshold is far above all that is there, and nearly all, where noise drowns it."""
    config = hr.InputPerturbationMF(rank=2, threshold=threshold)
    release = hr.fit(listed[0], config, budget(epsilon), entropy=hr.testing.Seeded(1))
    assert np.isfinite(release.tensors["user_factors"]).all()
    assert all(1 <= stars <= 5 for stars in hr.Client(release).predict(user=release.users[0]).values())


# -- which cells are ratings ------------------------------------------------------------------------------


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
    kept, weights = plausible(cells, users, items, 1.0, 4.0)
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
    kept, weights = plausible(cells, users / 50, items / 50, 1.0, 4.0)
    assert 0 < len(weights) < len(cells.values)
    assert weights.min() >= 0.02
    assert {*places(kept)} < {*places(cells)}


def test_louder_noise_is_believed_less():
    cells, users, items, _ = simulated()
    means = []
    for sigma in (0.2, 0.5, 1.5):
        _, weights = plausible(cells._replace(sigma=sigma), users, items, 1.0, 4.0)
        means.append(float(weights.mean()))
    assert means[0] > means[1] > means[2]


def test_no_cells_are_no_trouble():
    empty = NoisyRatings(np.zeros(4, np.int64), np.zeros(0, np.int32), np.zeros(0, np.float32), 0.5)
    kept, weights = plausible(empty, np.ones(3), np.ones(2), 1.0, 4.0)
    assert (len(weights), kept.indptr.tolist()) == (0, [0, 0, 0, 0])


def test_quiet_noise_is_believed_wholly():
    cells = NoisyRatings(
        np.array([0, 2]), np.arange(2, dtype=np.int32), np.array([0.9, 0.7], np.float32), 0.01
    )
    kept, weights = plausible(cells, np.array([2.0]), np.array([1.0, 1.0]), 1.0, 4.0)
    assert weights.tolist() == pytest.approx([1, 1])
    assert len(kept.columns) == 2


def test_a_threshold_out_of_reach_is_refused_before_it_is_charged(listed, budget, tmp_path):
    config = hr.InputPerturbationMF(rank=2)
    ledger = hr.Ledger.create(tmp_path / "ledger.db", budget(1000.0))
    with pytest.raises(hr.errors.HushrecError, match="threshold"):
        hr.fit(listed[0], config, budget(900.0), ledger=ledger)
    assert ledger.entries() == ()


def test_cells_are_released_clamped_and_thresholded(listed, budget):
    """Through the grant: nothing between −α and α is listed where a rating may be new, nothing beyond ±B."""
    train, _ = listed
    for adjacency in ("add-remove", "replace"):
        config = hr.InputPerturbationMF(analysis="published")
        allowed = budget(4.0, adjacency=adjacency)
        cells = config._cells(train.domain, allowed)
        assert isinstance(cells, Cells)
        planned = hr.plan(config, train.domain, allowed)
        grant = Grant(planned.events, hr.testing.Seeded(1), seal=SEAL)
        levels = np.full(train.domain.n_items, 3.4), np.zeros(train.domain.n_users)
        noisy = cells.release(grant, cells.residuals.entries(train, *levels))
        sizes = np.abs(noisy.values)
        assert sizes.max() <= 1 + 1e-6
        if adjacency == "replace":
            assert len(noisy.values) == train.n_ratings
            np.testing.assert_array_equal(noisy.columns, train.items)
        else:
            assert sizes.min() >= 0.6 - 1e-3
            # α = 0.6 and b = 1/2.8: e^(−0.6 · 2.8) of 150,000 empty cells pass.
            empty = train.domain.n_users * train.domain.n_items - train.n_ratings
            assert len(noisy.values) > 0.15 * empty
