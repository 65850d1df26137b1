"""Chains: their law against exact ones, what they promise bit for bit, and what they refuse."""

import os
import signal
import subprocess
import sys
from contextlib import suppress

import numpy as np
import polars as pl
import pytest
from scipy import stats

import hushrec as hr
from hushrec.data.packed.blocks import Blocks
from hushrec.errors import ConfigError
from hushrec.privacy.checkpoint.checkpoint import Checkpoint, State
from hushrec.solvers.mcmc import sgld as chains
from hushrec.solvers.mcmc.density import ChainSettings, Source, Target
from hushrec.solvers.mcmc.sample import sample
from hushrec.solvers.mcmc.sgld import Chain, Kept

KEY = bytes(range(32))
ALARM = 1e-6
WIDE = 1e3  # a margin within which no prediction of these tests is clamped


def made(rows, n_items, asked=None):
    """Ratings of ``rows``: person to item to rating."""
    domain = hr.Domain([f"i{i}" for i in range(n_items)], scale=(1, 5, 1), max_users=100)
    users = sorted(rows)
    counts = [len(rows[user]) for user in users]
    items = np.concatenate([sorted(rows[user]) for user in users]).astype(np.int32)
    steps = np.concatenate([[rows[user][i] - 1 for i in sorted(rows[user])] for user in users])
    indptr = np.concatenate([[0], np.cumsum(counts)])
    return hr.Ratings(domain, pl.Series(users), indptr, items, steps.astype(np.uint8), asked=asked)


# Weak priors beside the data, so that both are seen in the law.
SETTINGS = ChainSettings(
    epochs=30,
    quanta=16,
    rate=0.1,
    decay=0,
    shape=20,
    taste=0.05,
    level_variance=0.05,
    user_variance=0.02,
    item_variance=0.02,
)
# Precisions and b_0 stay where they are, so that people without items in common are independent.
FIXED = SETTINGS.model_copy(update={"shape": 1e9, "level_variance": 1e-9})


def unclamped(scale, rank):
    """Weights are 1: B is five ratings' worth."""
    return Target(scale=scale, bound=5 * (4 + WIDE) ** 2, rank=rank, margin=WIDE)


def copied(rows, n_items, copies):
    """The same people and items many times, apart from each other."""
    shifted = {
        f"{copy:05}{user}": {i + copy * n_items: r for i, r in own.items()}
        for copy in range(copies)
        for user, own in rows.items()
    }
    return made(shifted, n_items * copies)


def started(ratings, target, settings, number=0):
    chain = Chain(Source(ratings, target, None), target, settings, KEY, number, Kept(None))
    return chain, chain.start()


def predictions(state, copies=1):
    """Of all pairs of each copy, shape (copies, n_users, n_items)."""
    p, q = (a.reshape(copies, -1, a.shape[1]) for a in (state.user_factors, state.item_factors))
    b_u, b_i = (a.reshape(copies, -1) for a in (state.user_effects, state.item_effects))
    predicted = np.einsum("cuf,cif->cui", p, q, dtype=np.float64)
    return predicted + b_u[:, :, None] + b_i[:, None] + state.level


def exact(rows, n_items, scale, rank, settings, *, copies, sweeps, seed=0):
    """States of independent chains of exact Gibbs draws, written down from the density alone."""
    rng, heat = np.random.default_rng(seed), settings.temperature
    x, rated = np.zeros((2, len(rows), n_items))
    for u, own in enumerate(rows.values()):
        for i, r in own.items():
            x[u, i], rated[u, i] = r - 3, 1
    mean_precision = np.sqrt(rank / (settings.taste * 16))
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


def disagreement(ours, theirs):
    """The largest |t| of means and variances over what both bound but with probability 1e-6.

    Both have a row for each independent (or, for batches of a chain, nearly independent) sample of moments.
    """
    spread = ours.var(axis=0, ddof=1) / len(ours) + theirs.var(axis=0, ddof=1) / len(theirs)
    t = np.abs(ours.mean(axis=0) - theirs.mean(axis=0)) / np.sqrt(spread)
    freedom = min(len(ours), len(theirs)) - 1
    return float(t.max() / stats.t.isf(ALARM / (2 * t.size), freedom))


def moments(samples, centre):
    flat = samples.reshape(len(samples), -1)
    return np.concatenate([flat, (flat - centre.ravel()) ** 2], axis=1)


def people():
    """6 people, 5 items, of which one has no rating."""
    rng = np.random.default_rng(1)
    return {f"u{u}": {i: int(rng.integers(1, 6)) for i in range(4) if (u + i) % 3} for u in range(6)}


COPIES = 600


def sampled(settings, rank, epochs=250):
    """Last states of as many independent chains as there are copies."""
    chain, state = started(copied(people(), 5, COPIES), unclamped(0.5, rank), settings)
    for _ in range(epochs):
        chain.advance(state)
    return predictions(state, COPIES)


@pytest.mark.parametrize(("rank", "heat"), [pytest.param(1, 1.0, marks=pytest.mark.full), (2, 2.0)])
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
    """A chain of 12,000 epochs, against exact Gibbs draws of the whole hierarchy."""
    settings = SETTINGS.model_copy(update={"temperature": heat})
    right, precisions = exact(people(), 5, 0.5, 1, settings, copies=4000, sweeps=80)
    logs = np.log(precisions)[:, :, 0].T
    theirs = np.concatenate([right.reshape(len(right), -1), logs], axis=1)
    centre = theirs.mean(axis=0)
    chain, state = started(made(people(), 5), unclamped(0.5, 1), settings)
    seen = []
    for _ in range(12_500):
        chain.advance(state)
        logs = np.log([state.user_precision[0], state.item_precision[0]])
        seen.append(np.concatenate([predictions(state).ravel(), logs]))
    batches = moments(np.array(seen[500:]), centre).reshape(40, 300, -1).mean(axis=1)
    assert disagreement(batches, moments(theirs, centre)) < 1
    # Gamma without the factor √λ of a person's prior: each has (n/2) / (shape + n/2) less precision.
    wrong = theirs + np.concatenate([np.zeros(30), np.log(20 / (20 + np.array([3, 2.5])))])
    assert disagreement(batches, moments(wrong, centre)) > 1


def test_clamped_losses_against_quadrature():
    """One person, two items, predictions clamped to [2, 4], where the priors reach far out."""
    rows, copies, scale = {"u": {0: 3, 1: 4}}, 3000, 0.8
    # Out there nothing but the priors pulls, which takes 25 epochs.
    settings = FIXED.model_copy(update={"taste": 1e-9, "user_variance": 0.05, "item_variance": 0.05})
    target = Target(scale=scale, bound=2 * 3.0**2, rank=1, margin=-1.0)
    chain, state = started(copied(rows, 2, copies), target, settings)
    for _ in range(200):
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
    bound = stats.chi2.isf(ALARM, 6)
    assert ((found - expected) ** 2 / expected).sum() < bound
    unbounded = copies * chances(-50, 50)
    assert ((found - unbounded) ** 2 / unbounded).sum() > bound


def test_a_temperature_is_a_scale_and_a_precision():
    """The law at T is that of s/T and Λ/T, and so is every step: one chain is the other's, up to rounding."""
    heat = 2.0
    hot = SETTINGS.model_copy(update={"temperature": heat})
    warm = SETTINGS.model_copy(
        update={
            "taste": SETTINGS.taste * heat**2,
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


def draw(ratings, settings=SETTINGS, target=None, key=KEY, **options):
    return sample(ratings, target or Target(scale=0.2, bound=250, rank=3), settings, key, **options)


def bits(found):
    arrays = found.item_effects, found.item_factors, found.user_precision, found.item_precision
    return b"".join(array.tobytes() for array in arrays), found.diagnostics


@pytest.fixture(scope="module")
def crowd():
    rng = np.random.default_rng(7)
    rated = [{0, *rng.integers(0, 12, 4).tolist()} for _ in range(150)]
    return {f"u{u:03}": {i: int(rng.integers(1, 6)) for i in own} for u, own in enumerate(rated)}


def test_one_key_one_sample(crowd):
    """Whatever the number of threads; another key, and each chain, is another draw."""
    ratings = made(crowd, 12)
    first = draw(ratings)
    assert bits(first) == bits(draw(ratings, threads=1)) == bits(draw(ratings, threads=4))
    assert bits(first) != bits(draw(ratings, key=KEY[::-1]))
    alone = draw(ratings, SETTINGS.model_copy(update={"chains": 1}))
    assert bits(alone)[0] == bits(first)[0]
    assert first.item_factors.shape == (12, 3)
    assert first.item_effects.shape == (12,)


def test_who_has_no_weight_leaves_no_bit(crowd):
    """The sample is that of ratings without him; with any weight, he changes it."""
    gone = "u000", "u017", "u018", "u149"
    without = draw(made({user: own for user, own in crowd.items() if user not in gone}, 12))

    def weigh(weight):
        return lambda block: np.where(block.users.is_in(gone).to_numpy(), weight, 1.0)

    assert bits(draw(made(crowd, 12), weigh=weigh(0.0))) == bits(without)
    assert bits(draw(made(crowd, 12), weigh=weigh(1e-3))) != bits(without)


def test_blocks_are_the_same_as_ratings_in_memory(crowd, tmp_path):
    """Bit for bit, however they are cut, and with somebody dropped."""
    ratings = made(crowd, 12)
    absent = {"weigh": lambda block: (block.users != "u003").to_numpy().astype(float)}
    everybody, but_one = bits(draw(ratings)), bits(draw(ratings, **absent))
    for size in (40, 400):
        blocks = Blocks.write(ratings, tmp_path / str(size), ratings_per_block=size)
        assert blocks.n_blocks > 1
        assert bits(draw(blocks)) == everybody
        assert bits(draw(blocks, **absent)) == but_one


def test_weights_bound_everybodys_loss(crowd):
    """Σ_i of the largest losses, times the weight, is B at most, and B for who has too many ratings."""
    ratings, target = made(crowd, 12), Target(scale=1.0, bound=100, rank=1)
    most = target.weights(ratings) * ratings.counts * 25
    assert most.max() == pytest.approx(100)
    assert (target.weights(ratings)[ratings.counts <= 4] == 1).all()
    assert target.weights(ratings, np.full(150, 0.5)) == pytest.approx(target.weights(ratings) / 2)


class Stop(Exception):
    pass


class Memory:
    """A checkpoint in memory, in front of which the process dies after some states."""

    def __init__(self, lives):
        self.lives, self.states = lives, {}

    def keep(self, name, arrays, facts):
        if self.lives == 0:
            raise Stop
        self.lives -= 1
        self.states[name] = State({key: array.copy() for key, array in arrays.items()}, dict(facts))

    def recall(self, name):
        return self.states.get(name)


@pytest.mark.parametrize("clamped", [True, False])
def test_interrupted_chains_go_on_bit_for_bit(crowd, monkeypatch, clamped):
    monkeypatch.setattr(chains, "_KEPT_EVERY", 0.0)
    ratings, target = made(crowd, 12), Target(scale=2.0, bound=900, rank=2, margin=4.0, clamped=clamped)
    settings = SETTINGS.model_copy(update={"epochs": 12, "chains": 3, "taste": 1e-3})
    whole, memory, deaths = draw(ratings, settings, target), Memory(0), 0
    while True:
        memory.lives = 7
        try:
            resumed = draw(ratings, settings, target, checkpoint=memory)
            break
        except Stop:
            deaths += 1
    assert deaths > 3
    assert bits(resumed) == bits(whole)


KILLED = """
import importlib.util, os, signal, sys
spec = importlib.util.spec_from_file_location("chains_test", sys.argv[1])
test = importlib.util.module_from_spec(spec)
spec.loader.exec_module(test)
test.in_folder(sys.argv[2], kill_after=int(sys.argv[3]))
"""


def in_folder(folder, kill_after=None):
    """A sample with a checkpoint in a folder; the process kills itself after some states."""
    rng = np.random.default_rng(7)
    rows = {f"u{u:02}": {i: int(rng.integers(1, 6)) for i in range(u % 12 + 1)} for u in range(40)}
    chains._KEPT_EVERY, states = 0.0, 0
    with Checkpoint(folder) as checkpoint:
        checkpoint.bind({"ratings": "these"})
        keep = checkpoint.keep

        def counted(*state):
            nonlocal states
            keep(*state)
            states += 1
            if states == kill_after:
                os.kill(os.getpid(), signal.SIGKILL)

        checkpoint.keep = counted
        return draw(made(rows, 12), SETTINGS.model_copy(update={"epochs": 8}), checkpoint=checkpoint)


def test_kill_9_changes_nothing(tmp_path):
    command = [sys.executable, "-c", KILLED, __file__, str(tmp_path / "killed")]
    for states in (5, 9):
        assert subprocess.run([*command, str(states)], check=False).returncode == -signal.SIGKILL
    assert bits(in_folder(tmp_path / "killed")) == bits(in_folder(tmp_path / "whole"))


def test_as_printed_the_chain_goes_on_until_all_predictions_are_in_range(crowd):
    """The first chain ends inside, later than asked if need be; the others only serve the diagnostics."""
    ratings, settings = made(crowd, 12), SETTINGS.model_copy(update={"epochs": 6, "rate": 0.3, "taste": 1e-3})
    late = 0
    for margin in np.linspace(0, 1, 21):
        target = Target(scale=2.0, bound=10 * (4 + margin) ** 2, rank=2, margin=margin, clamped=False)
        chain, _ = started(ratings, target, settings)
        with suppress(ConfigError):
            state = chain.run()
            assert np.abs(predictions(state)).max() <= 2 + margin + 1e-4
            assert 6 <= state.epoch <= 12
            late += state.epoch > 6
    assert late, "no chain had to go on: this tests nothing"


def test_a_chain_that_cannot_come_in_range_is_refused(crowd):
    target = Target(scale=0.01, bound=250, rank=3, margin=0.0, clamped=False)
    with pytest.raises(ConfigError, match="off the scale"):
        draw(made(crowd, 12), SETTINGS.model_copy(update={"epochs": 5}), target)


def test_a_chain_that_leaves_all_bounds_is_refused(crowd):
    target = Target(scale=5.0, bound=250, rank=3, clamped=False)
    with pytest.raises(ConfigError, match="rate"), np.errstate(all="ignore"):
        draw(made(crowd, 12), SETTINGS.model_copy(update={"rate": 1e4}), target)


def test_short_chains_are_reported_as_not_converged_and_long_ones_as_converged():
    """The same toy; the diagnostics say which is which."""
    ratings, target = made(people(), 5), Target(scale=0.05, bound=250, rank=1)
    settings = FIXED.model_copy(update={"rate": 4.0, "epochs": 500})
    far = {"epochs": 20, "rate": 0.01, "burn_in": 0.0, "item_variance": 1.0}
    short = draw(ratings, settings.model_copy(update=far), target)
    assert not short.diagnostics.converged
    assert short.diagnostics.rhat > 1.1
    assert str(short.diagnostics).startswith("NOT CONVERGED")
    long = draw(ratings, settings, target)
    assert long.diagnostics.converged, str(long.diagnostics)
