"""Gibbs sweeps: their law against a sampler that knows nothing of them, and whom they hear."""

from dataclasses import replace

import numpy as np
import pytest

from hushrec.models.liu_wang_smola import chain as chain_module
from hushrec.models.liu_wang_smola.chain import Posterior, sweep
from support.chains import (
    FIXED,
    SETTINGS,
    assert_alike,
    disagreement,
    made,
    moments,
    moved_by_place,
    people,
    predictions,
    started,
    unclamped,
)


def hamiltonian(rows, n_items, target, settings, *, copies, rounds, seed=0):
    """States of independent chains that know nothing of Gibbs draws: paths of the clamped energy.

    Neal 2011, "MCMC using Hamiltonian dynamics", Fig. 2; precisions stay at their mean. A path that the
    clamp's kinks throw off is rejected, so its step is no source of error.
    """
    rng, unit = np.random.default_rng(seed), 4.0**2
    x = np.full((len(rows), n_items), np.nan)
    for u, own in enumerate(rows.values()):
        for i, r in own.items():
            x[u, i] = r - 3
    n, k, edge = len(rows), target.rank, 2 + target.margin
    weights = np.array(
        [min(1, target.bound / (len(own) * (4 + target.margin) ** 2)) for own in rows.values()]
    )
    factor = np.sqrt(k / (settings.factor_variance * unit))
    sizes = n, n_items, n * k, n_items * k, 1
    variances = settings.user_variance, settings.item_variance, 1 / factor / unit, 1 / factor / unit
    each = [
        np.full(m, 1 / (v * unit)) for m, v in zip(sizes, (*variances, settings.level_variance), strict=True)
    ]
    prior, cut = np.concatenate(each), np.cumsum(sizes)[:-1]

    def energy(state):
        b_u, b_i, p, q, level = np.split(state, cut, axis=1)
        p, q = p.reshape(-1, n, k), q.reshape(-1, n_items, k)
        predicted = level[:, :, None] + b_u[:, :, None] + b_i[:, None] + np.einsum("cuk,cik->cui", p, q)
        error = np.nan_to_num(x - predicted.clip(-edge, edge))
        pull = -2 * target.scale * weights[:, None] * error * (np.abs(predicted) <= edge)
        total = target.scale * (weights[:, None] * error**2).sum(axis=(1, 2)) + state**2 @ prior / 2
        sides = [pull.sum(axis=2), pull.sum(axis=1)]
        sides += [np.einsum("cui,cik->cuk", pull, q).reshape(len(p), -1)]
        sides += [np.einsum("cui,cuk->cik", pull, p).reshape(len(p), -1), pull.sum(axis=(1, 2))[:, None]]
        return total, np.concatenate(sides, axis=1) + state * prior, predicted

    state = rng.standard_normal((copies, len(prior))) / np.sqrt(prior)
    total, slope, predicted = energy(state)
    for _ in range(rounds):
        step = rng.uniform(0.02, 0.12, (copies, 1))
        speed = rng.standard_normal(state.shape)
        there, now, push = state, speed, slope
        for _ in range(12):
            now = now - step / 2 * push
            there = there + step * now
            other, push, seen = energy(there)
            now = now - step / 2 * push
        change = total - other + (speed**2 - now**2).sum(axis=1) / 2
        moved = np.log(rng.random(copies)) < change
        state, slope = (np.where(moved[:, None], a, b) for a, b in ((there, state), (push, slope)))
        total, predicted = np.where(moved, other, total), np.where(moved[:, None, None], seen, predicted)
    return predicted


@pytest.mark.full
def test_clamped_predictions_have_the_law_of_an_independent_sampler():
    """People of 1 to 3 ratings, clamped close to the scale; a weight that is doubled is seen."""
    settings = FIXED.model_copy(update={"level_variance": 0.05, "user_variance": 0.1, "item_variance": 0.1})
    target = Posterior(scale=0.4, bound=2 * 4.5**2, rank=2, margin=0.5)
    theirs = hamiltonian(people(), 5, target, settings, copies=1500, rounds=150)
    centre = theirs.mean(axis=0)
    ours = []
    for number in range(8):  # of one chain the draws of every fourth epoch, once it has forgotten its start
        chain, state = started(made(people(), 5), target, settings, number)
        for epoch in range(2100):
            chain.advance(state)
            if epoch >= 100 and epoch % 4 == 0:
                ours.append(predictions(state)[0])
    batches = moments(np.array(ours), centre).reshape(40, 100, -1).mean(axis=1)
    assert disagreement(batches, moments(theirs, centre)) < 1
    doubled = replace(target, scale=0.8)
    wrong = hamiltonian(people(), 5, doubled, settings, copies=1500, rounds=150)
    assert disagreement(batches, moments(wrong, centre)) > 1


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
