"""A Markov chain over people and items, by any transition that keeps the density.

An epoch is a transition, such as ``hushrec.solvers.mcmc.gibbs.sweep``, then a round of Gibbs draws: the
precisions of the factors given the factors, and b_0 along the two directions, b_0 against all b_u and b_0
against all b_i, that do not change any prediction

    r̂_ui = b_0 + b_u + b_i + ⟨p_u, q_i⟩.

Ratings and effects are in units of the scale here (``Scale.star``).
"""

import hmac
import math
from collections.abc import Callable
from dataclasses import dataclass

import numpy as np
from numpy.random import Generator, Philox  # noqa: TID251  (a sampler in floating point, keyed by its caller)

from hushrec.arrays import Floats, Floats32, Ints
from hushrec.errors import ConfigError
from hushrec.kernels.solvers.squared_errors import losses
from hushrec.solvers.mcmc.density import ChainData, ChainSettings, Posterior

_WATCHED = 250  # items whose effect is recorded, and their products with the next ones; chosen by hand
_PAIRS = 1 << 20  # predicted at once: bounds the memory, does not change the result
_PATIENCE = 2  # largest multiple of the epochs for a chain that may not end yet; chosen by hand

__all__ = ["Chain", "State", "Transition"]


@dataclass(eq=False, repr=False)
class State:
    """The state of a chain. Privacy: private."""

    epoch: int
    user_factors: Floats32
    item_factors: Floats32
    user_effects: Floats32
    item_effects: Floats32
    level: Floats  # b_0 minus the middle of the scale, shape (1,)
    user_precision: Floats
    item_precision: Floats
    draws: Floats


class Chain:
    """A chain. Privacy: private."""

    def __init__(
        self,
        source: ChainData,
        target: Posterior,
        settings: ChainSettings,
        key: bytes,
        number: int,
        transition: "Transition",
    ) -> None:
        self.source, self.target, self.settings = source, target, settings
        self._transition = transition
        self._released = number == 0
        self.key = hmac.digest(key, f"chain {number}".encode(), "sha256")
        domain, unit = source.domain, source.domain.scale.star
        square = (domain.scale.span / unit) ** 2
        self.precisions = 1 / (settings.user_variance * square), 1 / (settings.item_variance * square)
        self.level_precision = 1 / (settings.level_variance * square)
        self._hyper_rate = settings.shape / math.sqrt(target.rank / (settings.factor_variance * square))
        self._max_residual = (domain.scale.span / 2 + target.margin) / unit
        places = np.linspace(0, domain.n_items - 1, min(_WATCHED, domain.n_items))
        self._watched: Ints = places.astype(np.int64)

    def run(self) -> State:
        settings = self.settings
        state = self.start()
        while state.epoch < settings.epochs or not self._ends(state):
            if state.epoch == _PATIENCE * settings.epochs:
                raise ConfigError(
                    "some person's prediction of some item is still off the scale, where the sample may not "
                    'be, so nothing is released; set out_of_range="clamp", which clamps predictions, or take '
                    "smaller prior variances"
                )
            self.advance(state)
        return state

    def start(self) -> State:
        """Draw the start from the prior, so that starts are dispersed."""
        settings, (n_users, n_items) = self.settings, (self.source.n_users, self.source.domain.n_items)
        rank, heat = self.target.rank, settings.temperature
        draws = self.generator("start", 0)
        user_precision, item_precision = draws.gamma(settings.shape, 1 / self._hyper_rate, (2, rank))

        def normal(shape: tuple[int, ...], precision: Floats | float) -> Floats32:
            deviation = np.sqrt(heat / np.asarray(precision)).astype(np.float32)
            return np.ascontiguousarray(draws.standard_normal(shape, dtype=np.float32) * deviation)

        looks = (settings.epochs - settings.forfeited) // settings.thin
        return State(
            epoch=0,
            user_factors=normal((n_users, rank), user_precision),
            item_factors=normal((n_items, rank), item_precision),
            user_effects=normal((n_users,), self.precisions[0]),
            item_effects=normal((n_items,), self.precisions[1]),
            level=draws.standard_normal(1) * math.sqrt(heat / self.level_precision),
            user_precision=user_precision,
            item_precision=item_precision,
            draws=np.zeros((looks, 2 * len(self._watched))),
        )

    def advance(self, state: State) -> None:
        self._transition(self, state)
        self._round(state)
        state.epoch += 1
        self._watch(state)

    def _round(self, state: State) -> None:
        """Draw the precisions and b_0 given the rest: the Gibbs step of Liu, Wang & Smola 2015, §5.4.

        With v ~ N(0, T/λ) under its full density, whose factor √λ ensures that a person without ratings has
        no influence, λ given n numbers v is Gamma(shape + n/2, rate + Σ v²/(2 T)). And b_0 − c with b + c for
        all n effects b of a side gives the same predictions; c is normal with the precision (λ_0 + n λ)/T.
        """
        settings, heat = self.settings, self.settings.temperature
        draws = self.generator("round", state.epoch)

        def precision(factors: Floats32) -> Floats:
            squares = np.einsum("nk,nk->k", factors, factors, dtype=np.float64)
            shape = settings.shape + len(factors) / 2
            return np.asarray(draws.gamma(shape, 1 / (self._hyper_rate + squares / (2 * heat))))

        state.user_precision = precision(state.user_factors)
        state.item_precision = precision(state.item_factors)
        for effects, effect_precision in zip(
            (state.user_effects, state.item_effects), self.precisions, strict=True
        ):
            total = self.level_precision + len(effects) * effect_precision
            mean = (
                self.level_precision * state.level[0] - effect_precision * effects.sum(dtype=np.float64)
            ) / total
            move = mean + draws.standard_normal() * math.sqrt(heat / total)
            effects += np.float32(move)
            state.level -= move

    def _watch(self, state: State) -> None:
        """Record energy, item effects and products of neighbours' factors, which no rotation changes."""
        look, rest = divmod(state.epoch - self.settings.forfeited, self.settings.thin)
        if rest or not 1 <= look <= len(state.draws):
            return
        energy = self.loss(state)
        factors = (state.user_factors, state.user_precision), (state.item_factors, state.item_precision)
        for vectors, precision in factors:
            energy += np.einsum("nk,nk,k->", vectors, vectors, precision, dtype=np.float64) / 2
        for effects, effect_precision in zip(
            (state.user_effects, state.item_effects), self.precisions, strict=True
        ):
            energy += effect_precision * np.einsum("n,n->", effects, effects, dtype=np.float64) / 2
        near, effects = state.item_factors[self._watched], state.item_effects[self._watched]
        products = np.einsum("nk,nk->n", near[:-1], near[1:])
        state.draws[look - 1] = np.concatenate([[energy], effects + state.level, products])

    def loss(self, state: State) -> float:
        """Return s Σ_u w_u Σ_i (r_ui − r̂_ui)²."""
        total, (low, high) = 0.0, self.range(state)
        for part in self.source.parts():
            total = losses(
                part.rows.indptr,
                part.rows.columns,
                part.rows.values - np.float32(state.level[0]),
                state.user_factors[part.people],
                state.item_factors,
                state.user_effects[part.people],
                state.item_effects,
                part.scales,
                low,
                high,
                total,
            )
        return total

    def _ends(self, state: State) -> bool:
        """Return whether the chain may end: if losses are not clamped, only in the range (Alg. 1, line 5)."""
        if self.target.clamped or not self._released:
            return True
        size = max(1, _PAIRS // self.source.domain.n_items)
        for first in range(0, len(state.user_effects), size):
            people = slice(first, first + size)
            predicted = state.user_factors[people] @ state.item_factors.T + state.item_effects
            predicted += state.user_effects[people, None] + np.float32(state.level[0])
            if np.abs(predicted).max() > self._max_residual:
                return False
        return True

    def range(self, state: State) -> tuple[float, float]:
        """Return the range to which the loss clamps predictions, minus the level."""
        max_residual = self._max_residual if self.target.clamped else math.inf
        return -max_residual - state.level[0], max_residual - state.level[0]

    def generator(self, purpose: str, number: int) -> Generator:
        """Make a generator for one purpose and epoch, independent of earlier draws."""
        words = hmac.digest(self.key, f"{purpose} {number}".encode(), "sha256")
        return Generator(Philox(key=int.from_bytes(words[:16], "little")))


Transition = Callable[[Chain, State], None]
"""Moves a state without changing the density: people, items and their effects, given precisions and b_0."""
