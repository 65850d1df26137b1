"""Chains: their law against exact ones, and where they end."""

import numpy as np
import pytest
from scipy import stats

from hushrec.models.liu_wang_smola import chain as chain_module
from hushrec.models.liu_wang_smola.chain import Posterior, sweep
from support.chains import (
    FIXED,
    SETTINGS,
    assert_alike,
    copied,
    disagreement,
    made,
    moments,
    moved_by_place,
    people,
    predictions,
    started,
    unclamped,
)


def exact(rows, n_items, scale, rank, settings, *, copies, sweeps, seed=0):
    """States of independent chains of exact Gibbs draws, written down from the density alone."""
    rng, heat = np.random.default_rng(seed), settings.temperature
    x, rated = np.zeros((2, len(rows), n_items))
    for u, own in enumerate(rows.values()):
        for i, r in own.items():
            x[u, i], rated[u, i] = r - 3, 1
    mean_precision = np.sqrt(rank / (settings.factor_variance * 16))
    hyper_rate = settings.shape / mean_precision
    effects = [1 / (v * 16) for v in (settings.user_variance, settings.item_variance)]
    items, level = rng.standard_normal((copies, n_items, rank + 1)), np.zeros(copies)
    precisions = np.full((2, copies, rank), mean_precision)

    def side(others, x, rated, precision, effect):
        """Effect and factors of each row, given the other side's: normal."""
        features = np.concatenate([np.ones((*others.shape[:2], 1)), others[:, :, 1:]], axis=2)
        prior = np.concatenate([np.full((copies, 1), effect), precision], axis=1)
        curvature = 2 * scale * np.einsum("ui,cif,cig->cufg", rated, features, features)
        curvature += np.eye(rank + 1) * prior[:, None, :, None]
        error = x - level[:, None, None] - others[:, None, :, 0]
        pull = 2 * scale * np.einsum("ui,cui,cif->cuf", rated, error, features)[..., None]
        noise = np.sqrt(heat) * rng.standard_normal(pull.shape)
        turned = np.swapaxes(np.linalg.cholesky(curvature), -1, -2)
        return (np.linalg.solve(curvature, pull) + np.linalg.solve(turned, noise))[..., 0]

    for _ in range(sweeps):
        users = side(items, x, rated, precisions[0], effects[0])
        items = side(users, x.T, rated.T, precisions[1], effects[1])
        rest = np.einsum("cuf,cif->cui", users[:, :, 1:], items[:, :, 1:])
        rest += users[:, :, :1] + items[:, None, :, 0]
        total = 2 * scale * rated.sum() + 1 / (settings.level_variance * 16)
        level = 2 * scale * ((x - rest) * rated).sum(axis=(1, 2)) / total
        level += rng.standard_normal(copies) * np.sqrt(heat / total)
        for k, vectors in enumerate((users, items)):
            squares = (vectors[:, :, 1:] ** 2).sum(axis=1)
            shape = settings.shape + vectors.shape[1] / 2
            precisions[k] = rng.gamma(shape, 1 / (hyper_rate + squares / (2 * heat)))
    return rest + level[:, None, None], precisions


COPIES = 600


def sampled(settings, rank, epochs=40):
    """Last states of as many independent chains as there are copies."""
    chain, state = started(copied(people(), 5, COPIES), unclamped(0.5, rank), settings)
    for _ in range(epochs):
        chain.advance(state)
    return predictions(state, COPIES)


@pytest.mark.parametrize(("rank", "heat"), [pytest.param(1, 1.0, marks=pytest.mark.full), (2, 2.0)])
@pytest.mark.full
def test_predictions_have_the_law_of_exact_gibbs_draws(rank, heat):
    """Means and variances of all 30 predictions, 600 independent copies; a wrong temperature is seen."""
    settings = FIXED.model_copy(update={"temperature": heat})
    right, _ = exact(people(), 5, 0.5, rank, settings, copies=4000, sweeps=40)
    centre = right.mean(axis=0)
    ours = moments(sampled(settings, rank), centre)
    assert disagreement(ours, moments(right, centre)) < 1
    hot = settings.model_copy(update={"temperature": 2 * heat})
    assert disagreement(moments(sampled(hot, rank), centre), moments(right, centre)) > 1


@pytest.mark.full
@pytest.mark.parametrize("heat", [1.0, 2.0])
def test_precisions_and_level_have_their_law(heat):
    """A chain of 4,000 epochs, against exact Gibbs draws of the whole hierarchy."""
    settings = SETTINGS.model_copy(update={"temperature": heat})
    right, precisions = exact(people(), 5, 0.5, 1, settings, copies=4000, sweeps=80)
    logs = np.log(precisions)[:, :, 0].T
    theirs = np.concatenate([right.reshape(len(right), -1), logs], axis=1)
    centre = theirs.mean(axis=0)
    chain, state = started(made(people(), 5), unclamped(0.5, 1), settings)
    seen = []
    for _ in range(4100):
        chain.advance(state)
        logs = np.log([state.user_precision[0], state.item_precision[0]])
        seen.append(np.concatenate([predictions(state).ravel(), logs]))
    batches = moments(np.array(seen[100:]), centre).reshape(40, 100, -1).mean(axis=1)
    assert disagreement(batches, moments(theirs, centre)) < 1
    # Gamma without the factor √λ of a person's prior: each has (n/2) / (shape + n/2) less precision.
    wrong = theirs + np.concatenate([np.zeros(30), np.log(20 / (20 + np.array([3, 2.5])))])
    assert disagreement(batches, moments(wrong, centre)) > 1


@pytest.mark.full
def test_clamped_losses_against_quadrature():
    """One person, two items, predictions clamped to [2, 4], where the priors reach far out."""
    rows, copies, scale = {"u": {0: 3, 1: 4}}, 3000, 0.8
    settings = FIXED.model_copy(
        update={"factor_variance": 1e-9, "user_variance": 0.05, "item_variance": 0.05}
    )
    target = Posterior(scale=scale, bound=2 * 3.0**2, rank=1, margin=-1.0)
    chain, state = started(copied(rows, 2, copies), target, settings)
    for _ in range(60):
        chain.advance(state)
    z = predictions(state, copies)[:, 0]
    grid = np.linspace(-9, 9, 901)
    one, two = np.meshgrid(grid, grid, indexing="ij")
    prior = np.linalg.inv(0.8 * np.ones((2, 2)) + 0.8 * np.eye(2))
    energy = (prior[0, 0] * one**2 + 2 * prior[0, 1] * one * two + prior[1, 1] * two**2) / 2

    def chances(low, high):
        loss = (np.clip(one, low, high)) ** 2 + (1 - np.clip(two, low, high)) ** 2
        density = np.exp(-energy - scale * loss)
        density /= density.sum()
        edges = np.searchsorted(grid, [-1.0, 0.0, 1.0])
        cut = [np.add.reduceat(density.sum(axis=axis), [0, *edges]) for axis in (1, 0)]
        return np.concatenate(cut)

    found = np.concatenate([np.bincount(np.digitize(z[:, k], [-1.0, 0.0, 1.0]), minlength=4) for k in (0, 1)])
    expected = copies * chances(-1, 1)
    bound = stats.chi2.isf(1e-6, 6)
    assert ((found - expected) ** 2 / expected).sum() < bound
    unbounded = copies * chances(-50, 50)
    assert ((found - unbounded) ** 2 / unbounded).sum() > bound


def test_a_temperature_is_a_scale_and_a_precision():
    """The law at T is that of s/T and Λ/T, and so is every step: one chain is the other's, up to rounding."""
    heat = 2.0
    hot = SETTINGS.model_copy(update={"temperature": heat})
    warm = SETTINGS.model_copy(
        update={
            "factor_variance": SETTINGS.factor_variance * heat**2,
            **{name: getattr(SETTINGS, name) * heat for name in VARIANCES},
        }
    )
    states = []
    for settings, scale in ((hot, 0.5), (warm, 0.5 / heat)):
        chain, state = started(made(people(), 5), unclamped(scale, 2), settings)
        for _ in range(20):
            chain.advance(state)
        states.append(state)
    one, other = states
    assert predictions(one) == pytest.approx(predictions(other), abs=1e-3)
    assert one.user_precision / heat == pytest.approx(other.user_precision, rel=1e-3)


VARIANCES = "level_variance", "user_variance", "item_variance"


# -- gibbs sweeps: their law against a sampler that knows nothing of them, and whom they hear -------------


@pytest.mark.full
def test_a_star_moves_an_item_alike_wherever_its_person_stands():
    """120 people rate one item of three; the first, the middle or the last of them gives it a star more.

    As printed, with steps that are too long, the first moves it fourteen times as far as the last
    (lab/tests/liu_wang_smola/test_langevin.py). Chains with and without the star draw the same numbers.
    """
    assert_alike(moved_by_place(sweep, SETTINGS, epochs=12, seeds=60))


def test_how_many_rows_are_summed_at_once_changes_no_bit(monkeypatch):
    states = []
    for band in (1 << 25, 8 * 6 * 2):
        monkeypatch.setattr(chain_module, "BAND", band)
        chain, state = started(made(people(), 5), unclamped(0.5, 2), SETTINGS)
        for _ in range(5):
            chain.advance(state)
        states.append(predictions(state).tobytes() + state.level.tobytes())
    assert states[0] == states[1]


def test_a_chain_that_starts_far_off_the_scale_comes_back(crowd):
    """From effects where every prediction is clamped, which the normal proposals alone never leave."""
    target = Posterior(scale=2.0, bound=12 * 25.0, rank=2)
    chain, state = started(made(crowd, 12), target, SETTINGS)
    state.item_effects[:6] += 10
    before = chain.loss(state)
    for _ in range(60):
        chain.advance(state)
    assert np.abs(state.item_effects).max() < 4
    assert chain.loss(state) < before / 4
