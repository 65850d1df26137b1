"""Toys for chains: people who rated few items, short chains over them, and what those predict."""

from itertools import combinations

import numpy as np
import pytest
from scipy import stats

import hushrec as hr
from hushrec.models.liu_wang_smola.chain import Chain, ChainData, ChainSettings, Posterior, sweep

KEY = bytes(range(32))
WIDE = 1e3  # a margin within which no prediction of these tests is clamped


def made(rows, n_items, personal_epsilon=None):
    """Ratings of ``rows``: person to item to rating."""
    domain = hr.Domain([f"i{i}" for i in range(n_items)], scale=(1, 5, 1), max_users=100)
    users = sorted(rows)
    counts = [len(rows[user]) for user in users]
    items = np.concatenate([sorted(rows[user]) for user in users]).astype(np.int32)
    steps = np.concatenate([[rows[user][i] - 1 for i in sorted(rows[user])] for user in users])
    indptr = np.concatenate([[0], np.cumsum(counts)])
    return hr.People(domain, users, indptr, items, steps.astype(np.uint8), personal_epsilon=personal_epsilon)


# Weak priors beside the data, so that both are seen in the law.
SETTINGS = ChainSettings(
    epochs=30,
    shape=20,
    factor_variance=0.05,
    level_variance=0.05,
    user_variance=0.02,
    item_variance=0.02,
)


# Precisions and b_0 stay where they are, so that people without items in common are independent.
FIXED = SETTINGS.model_copy(update={"shape": 1e9, "level_variance": 1e-9})


def unclamped(scale, rank):
    """Weights are 1: B is five ratings' worth."""
    return Posterior(scale=scale, bound=5 * (4 + WIDE) ** 2, rank=rank, margin=WIDE)


def copied(rows, n_items, copies):
    """The same people and items many times, apart from each other."""
    shifted = {
        f"{copy:05}{user}": {i + copy * n_items: r for i, r in own.items()}
        for copy in range(copies)
        for user, own in rows.items()
    }
    return made(shifted, n_items * copies)


def started(ratings, target, settings, number=0, transition=sweep):
    chain = Chain(ChainData(ratings, target, None), target, settings, KEY, number, transition)
    return chain, chain.start()


def predictions(state, copies=1):
    """Of all pairs of each copy, shape (copies, n_users, n_items)."""
    p, q = (a.reshape(copies, -1, a.shape[1]) for a in (state.user_factors, state.item_factors))
    b_u, b_i = (a.reshape(copies, -1) for a in (state.user_effects, state.item_effects))
    predicted = np.einsum("cuf,cif->cui", p, q, dtype=np.float64)
    return predicted + b_u[:, :, None] + b_i[:, None] + state.level


def people():
    """6 people, 5 items, of which one has no rating."""
    rng = np.random.default_rng(1)
    return {f"u{u}": {i: int(rng.integers(1, 6)) for i in range(4) if (u + i) % 3} for u in range(6)}


@pytest.fixture(scope="session")
def crowd():
    rng = np.random.default_rng(7)
    rated = [{0, *rng.integers(0, 12, 4).tolist()} for _ in range(150)]
    return {f"u{u:03}": {i: int(rng.integers(1, 6)) for i in own} for u, own in enumerate(rated)}


def moved_by_place(transition, settings, *, epochs, seeds):
    """What a star of the first, the middle and the last person moves their item's effect by, draw by draw.

    Shape (3, seeds). Everybody rates one item of three, a person in every third.
    """
    rows = {f"u{u:03}": {u % 3: 3} for u in range(120)}
    target, effects = Posterior(scale=0.6, bound=25.0, rank=1), []
    for who in (None, "u000", "u060", "u117"):
        changed = rows | ({who: {0: 5}} if who else {})
        source = ChainData(made(changed, 3), target, None)
        drawn = []
        for seed in range(seeds):
            chain = Chain(source, target, settings, seed.to_bytes(32, "little"), 0, transition)
            state = chain.start()
            for _ in range(epochs):
                chain.advance(state)
            drawn.append(state.item_effects[0] + state.level[0])
        effects.append(drawn)
    return np.array(effects[1:]) - effects[0]


def assert_alike(moved):
    """No two places differ by more than chance: 5.5 deviations, exceeded for any of three pairs with 1e-7."""
    for one, other in combinations(moved, 2):
        apart = one - other
        assert abs(apart.mean()) < 5.5 * apart.std(ddof=1) / np.sqrt(len(apart)), moved.mean(axis=1)


def disagreement(ours, theirs):
    """The largest |t| of means and variances over what both bound but with probability 1e-6.

    Both have a row for each independent (or, for batches of a chain, nearly independent) sample of moments.
    """
    spread = ours.var(axis=0, ddof=1) / len(ours) + theirs.var(axis=0, ddof=1) / len(theirs)
    t = np.abs(ours.mean(axis=0) - theirs.mean(axis=0)) / np.sqrt(spread)
    freedom = min(len(ours), len(theirs)) - 1
    return float(t.max() / stats.t.isf(1e-6 / (2 * t.size), freedom))


def moments(samples, centre):
    flat = samples.reshape(len(samples), -1)
    return np.concatenate([flat, (flat - centre.ravel()) ** 2], axis=1)
