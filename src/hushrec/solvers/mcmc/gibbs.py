"""A Gibbs sweep over people and items, which keeps the density exactly (Salakhutdinov & Mnih 2008, §3.3).

Liu, Wang & Smola 2015, Algorithm 1, asks for a draw from the density, and comes near it by stochastic
gradient Langevin dynamics, whose steps leave a bias that grows with an item's number of ratings. Here each
person, and then each item, is drawn given all others (``hushrec.kernels.solvers.conditional_draws``).

Privacy: private.
"""

import math

import numpy as np

from hushrec.kernels.csr import frozen
from hushrec.kernels.solvers.conditional_draws import Sides, accepted, add, draw, triangle_size, weigh
from hushrec.solvers.mcmc.chain import Chain, State
from hushrec.solvers.mcmc.density import ChainBatch

BAND = 1 << 25
"""Bytes of sums that are held at once: bounds the memory, and does not change the result."""
_SMALLEST = 8
"""The second proposal has τ from 2^-8 to 1, of all sizes equally often. Chosen by hand: any keeps the law."""

__all__ = ["BAND", "sweep"]


def sweep(chain: Chain, state: State) -> None:
    """Draw all people given the rest, then all items, then b_0."""
    for of_users in (True, False):
        _half(chain, state, of_users)
    _level(chain, state)


def _half(chain: Chain, state: State, of_users: bool) -> None:
    side = "users" if of_users else "items"
    factors, effects, precision = (
        (state.user_factors, state.user_effects, state.user_precision)
        if of_users
        else (state.item_factors, state.item_effects, state.item_precision)
    )
    prior = np.concatenate([[chain.precisions[0 if of_users else 1]], precision])
    heat, (low, high) = chain.settings.temperature, chain.range(state)
    # A generator each, so that how many rows are drawn at once changes no number of any.
    normals, moves, sizes, *chances = (
        chain.generator(f"{what} of {side}", state.epoch)
        for what in ("draw", "move", "size", "chance of the draw", "chance of the move")
    )
    rank = factors.shape[1]
    rows = max(1, BAND // (8 * triangle_size(rank)))

    def ratings(part: ChainBatch, first: int) -> tuple[object, ...]:
        """The arguments that ``add`` and ``weigh`` share."""
        sides = Sides(
            state.user_factors[part.people],
            state.user_effects[part.people],
            state.item_factors,
            state.item_effects,
        )
        values = part.rows.values - np.float32(state.level[0])
        entries = frozen(part.rows.indptr, np.int64), frozen(part.rows.columns, np.int32)
        start = first - part.first if of_users else first
        return of_users, start, *entries, frozen(values, np.float32), frozen(part.scales, np.float32), sides

    for first in range(0, len(effects), rows):
        band = slice(first, min(first + rows, len(effects)))
        size = band.stop - first
        triangle, pull = np.zeros((size, triangle_size(rank))), np.zeros((size, rank + 1))
        for part in chain.source.parts():
            add(*ratings(part, first), triangle, pull)
        proposals = np.empty((size, rank + 1), np.float32)
        draw(triangle, pull, prior, heat, normals.standard_normal(pull.shape), proposals)
        for whole in (False, True) if np.isfinite(high) else (False,):
            gains = np.zeros(size)
            if whole:
                tau = 2.0 ** (-_SMALLEST * sizes.random((size, 1)))
                now = np.column_stack([effects[band], factors[band]])
                fresh = moves.standard_normal(pull.shape) * np.sqrt(heat / prior)
                proposals = (np.sqrt(1 - tau**2) * now + tau * fresh).astype(np.float32)
            for part in chain.source.parts() if np.isfinite(high) else ():
                weigh(*ratings(part, first), proposals, whole, low, high, gains)
            moved = accepted(gains, heat, chances[whole].random(size))
            effects[band][moved] = proposals[moved, 0]
            factors[band][moved] = proposals[moved, 1:]


def _level(chain: Chain, state: State) -> None:
    """Draw b_0 by elliptical slice sampling (Murray, Adams & MacKay 2010, Fig. 2), which always ends."""
    heat, draws = chain.settings.temperature, chain.generator("level", state.epoch)
    before, other = float(state.level[0]), draws.standard_normal() * math.sqrt(heat / chain.level_precision)
    highest = chain.loss(state) + heat * draws.standard_exponential()
    angle = draws.uniform(0, 2 * math.pi)
    least, most = angle - 2 * math.pi, angle
    while True:
        state.level[0] = before * math.cos(angle) + other * math.sin(angle)
        if chain.loss(state) < highest:
            return
        least, most = (angle, most) if angle < 0 else (least, angle)
        angle = draws.uniform(least, most)
