"""Langevin dynamics as printed: whose stars it hears, and where it ends; tests/statistical/ has its law."""

from contextlib import suppress

import numpy as np
import pytest

import hushrec as hr
from hushrec.audit.draws import listen_to_draws
from hushrec.errors import ConfigError
from hushrec.solvers.mcmc.density import Posterior
from hushrec.solvers.mcmc.sample import sample
from lab.published.langevin import LangevinSettings, langevin_epoch
from support.chains import SETTINGS as PRIORS
from support.chains import assert_alike, crowd, made, moved_by_place, predictions, started

__all__ = ["crowd"]

SETTINGS = LangevinSettings(**PRIORS.model_dump(), rate=0.1, decay=0.0, noise_intervals=16)


def begun(ratings, target, settings):
    return started(ratings, target, settings, transition=langevin_epoch)


@pytest.mark.full
def test_the_first_person_of_a_pass_moves_an_item_more_than_the_last():
    """So the law of the chain is not the density, under which people are exchangeable (errata).

    At a tenth of the default step. After one more pass, the other way round, it is the last one.
    """
    settings = SETTINGS.model_copy(update={"noise_intervals": 32})
    moved = moved_by_place(langevin_epoch, settings, epochs=30, seeds=20)
    first, _, last = moved.mean(axis=1)
    assert first > 5 * last > 0, moved.mean(axis=1)
    with pytest.raises(AssertionError):
        assert_alike(moved)
    first, _, last = moved_by_place(langevin_epoch, settings, epochs=31, seeds=20).mean(axis=1)
    assert last > 5 * first > 0, (first, last)


@pytest.mark.full
def test_the_canary_of_an_audit_refutes_the_chain_as_printed(monkeypatch):
    """At the ε of the density, which is not its law: those who are visited last are heard."""
    monkeypatch.setattr(hr.PosteriorSampleMF, "transition", lambda _, *now: langevin_epoch(*now))
    model = hr.PosteriorSampleMF().model_copy(update={"chain": LangevinSettings()})
    budget = hr.Budget(epsilon=1.0, delta=0.0, unit="user", adjacency="add-remove")
    assert listen_to_draws(model, budget) > 1


def test_a_chain_that_leaves_all_bounds_is_refused(crowd):
    target = Posterior(scale=5.0, bound=250, rank=3, clamped=False)
    settings = SETTINGS.model_copy(update={"rate": 1e4})
    with pytest.raises(ConfigError, match="rate"), np.errstate(all="ignore"):
        sample(made(crowd, 12), target, settings, bytes(32), transition=langevin_epoch)


def test_the_chain_goes_on_until_all_predictions_are_in_range(crowd):
    """The first chain ends inside, later than asked if need be; the others only serve the diagnostics."""
    settings = SETTINGS.model_copy(update={"epochs": 6, "rate": 0.3, "factor_variance": 1e-3})
    late = 0
    for margin in np.linspace(0, 1, 21):
        target = Posterior(scale=2.0, bound=10 * (4 + margin) ** 2, rank=2, margin=margin, clamped=False)
        chain, _ = begun(made(crowd, 12), target, settings)
        with suppress(ConfigError):
            state = chain.run()
            assert np.abs(predictions(state)).max() <= 2 + margin + 1e-4
            assert 6 <= state.epoch <= 12
            late += state.epoch > 6
    assert late, "no chain had to go on: this tests nothing"
