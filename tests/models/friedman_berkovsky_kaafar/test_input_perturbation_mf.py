"""Noise on every rating or cell, then a factoriser: what is particular to it."""

import numpy as np
import pytest

import hushrec as hr
from hushrec.privacy.accounting.measurement import EVERY_RATING
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


@pytest.mark.parametrize("solver", ["als", "sgd"])
@pytest.mark.parametrize("adjacency", ["add-remove", "replace"])
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
