"""A Markov chain over people and items whose law is the posterior (Liu, Wang & Smola 2015, Algorithm 1).

An epoch is a transition that keeps the density, such as ``sweep``, then a round of Gibbs draws: the
precisions of the factors given the factors, and b_0 along the two directions, b_0 against all b_u and b_0
against all b_i, that do not change any prediction

    r̂_ui = b_0 + b_u + b_i + ⟨p_u, q_i⟩.

Ratings and effects are in units of the scale here (``Scale.star``).

The algorithm asks for a draw from the density, and comes near it by stochastic gradient Langevin dynamics,
whose steps leave a bias that grows with an item's number of ratings. A Gibbs sweep keeps the density exactly
(Salakhutdinov & Mnih 2008, §3.3): each person, and then each item, is drawn given all others
(``kernels.py``).

Privacy: private.
"""

import hmac
import math
from collections.abc import Callable, Iterator
from dataclasses import dataclass
from typing import NamedTuple

import numpy as np
from numpy.random import Generator, Philox  # noqa: TID251  (a sampler in floating point, keyed by its caller)
from pydantic import Field

from hushrec.arrays import Floats, Floats32, Ints
from hushrec.data.anywhere import AnyPeople
from hushrec.data.domain import Domain
from hushrec.data.people import People
from hushrec.errors import ConfigError
from hushrec.kernels.csr import CSR, frozen
from hushrec.models.liu_wang_smola.kernels import (
    Sides,
    accept_proposals,
    add,
    draw,
    losses,
    triangle_size,
    weigh,
)
from hushrec.settings import Frozen
from hushrec.sums.footprint import DRAWS, Footprint

_DRAWS = 500  # most draws of a chain that the diagnostics use; chosen by hand

Weigh = Callable[[People], Floats]


class ChainSettings(Frozen):
    """Lengths and priors of the chains. Variances are in squared widths of the scale.

    Privacy: public.
    """

    chains: int = Field(default=4, ge=1, le=64)
    """number of chains, from independent starts; the last state of the first one is the sample."""
    epochs: int = Field(default=1000, ge=1, le=10**7)
    """passes of each chain."""
    burn_in: float = Field(default=0.5, ge=0, lt=1)
    """fraction of the epochs that the diagnostics leave out."""
    temperature: float = Field(default=1.0, gt=0, allow_inf_nan=False)
    """T, which divides energy and prior; it only widens the priors, because s grows with it."""
    shape: float = Field(default=1000.0, gt=0, allow_inf_nan=False)
    """shape of the Gamma hyper-prior of each factor's precision; ratings move a larger one less."""
    factor_variance: float = Field(default=0.00375, gt=0, allow_inf_nan=False)
    """variance of ⟨p, q⟩ at the hyper-prior's mean."""
    level_variance: float = Field(default=0.1, gt=0, allow_inf_nan=False)
    """prior variance of b_0, around the middle of the scale."""
    user_variance: float = Field(default=0.01, gt=0, allow_inf_nan=False)
    """prior variance of b_u."""
    item_variance: float = Field(default=0.03, gt=0, allow_inf_nan=False)
    """prior variance of b_i."""

    def footprint(self, items: int, rank: int) -> Footprint:
        """Estimate every chain's state, twice if stored or released; two chains at once read the ratings."""
        state = 4.0 * (rank + 1)
        looks = self.chains * 8 * _DRAWS * 500 * 6.0
        pace = self.chains * self.epochs * (1 + rank**2 / 64) / 50
        return Footprint(
            1e8 + looks + 3 * self.chains * items * state,  # two chains hold a band of sums each
            20,
            64 + 2 * self.chains * state,
            self.chains * self.epochs * items * (rank + 1) / DRAWS,
            pace,
        )

    @property
    def forfeited(self) -> int:
        """Number of epochs that the diagnostics leave out."""
        return int(self.burn_in * self.epochs)

    @property
    def thin(self) -> int:
        """Number of epochs from one recorded draw of a chain to the next."""
        return -(-(self.epochs - self.forfeited) // _DRAWS)


@dataclass(frozen=True, slots=True)
class Posterior:
    """The density to sample, without its priors.

    The density is ∝ exp(−s Σ_u w_u Σ_i (r_ui − r̂_ui)² / T) · prior, with w_u = v_u min(1, B/(m_u L)), where
    v_u is the person's own weight in [0, 1], m_u their number of ratings and L = (hi − lo + κ)² the largest
    loss of a rating with r̂_ui in [lo − κ, hi + κ]. So no person's sum of losses exceeds B.

    Args:
        scale: s.
        bound: B, in squared rating units.
        margin: κ.
        clamped: whether r̂_ui is clamped to [lo − κ, hi + κ] in the loss. If not, the first chain continues
            until the predictions of all items for all people lie there, as printed.

    Privacy: public.
    """

    scale: float
    bound: float
    rank: int
    margin: float = 1.0
    clamped: bool = True

    def largest(self, domain: Domain) -> float:
        """Return L, the largest squared error of a rating."""
        return float((domain.scale.span + self.margin) ** 2)

    def weights(self, ratings: People, own_weights: Floats | None = None) -> Floats:
        """Return w_u of each person, shape (n_users,). Privacy: private."""
        # Liu, Wang & Smola 2015, §6, reweight by min(1, B/(m_u L)); own weights are those of Theorem 2.
        fraction = np.minimum(1.0, self.bound / (ratings.counts * self.largest(ratings.domain)))
        return np.asarray(fraction if own_weights is None else fraction * own_weights, dtype=np.float64)


class ChainBatch(NamedTuple):
    """The ratings of some people, in the form of the kernels. Privacy: private."""

    first: int  # index of the first person among all
    rows: CSR  # values as stored, or for the kernels, minus the middle of the scale, in its units
    scales: Floats32  # s w_u, for errors in units of the scale

    @property
    def people(self) -> slice:
        return slice(self.first, self.first + len(self.scales))


class ChainData:
    """The ratings of all people with positive weight, in the order of their ids.

    Mapped blocks stay mapped, unless people are left out or capped. How the ratings are cut into blocks does
    not change results.

    Privacy: private.
    """

    def __init__(self, ratings: AnyPeople, target: Posterior, weigh: Weigh | None) -> None:
        self.domain, self.n_users = ratings.domain, 0
        self._blocks: list[ChainBatch] = []
        for block in ratings.blocks():
            weights = target.weights(block, None if weigh is None else weigh(block))
            if not (weights > 0).all():
                block = block.select(np.repeat(weights > 0, block.counts))
                weights = weights[weights > 0]
            # Errors are in units of the scale, so s grows by the square of the unit.
            scales = (target.scale * self.domain.scale.star**2 * weights).astype(np.float32)
            assert block.values is not None
            rows = CSR(block.indptr, block.items, block.values)
            self._blocks.append(ChainBatch(self.n_users, rows, scales))
            self.n_users += len(weights)

    def parts(self) -> Iterator[ChainBatch]:
        """Yield all people, block by block, with values in units of the scale."""
        scale = self.domain.scale
        unit, middle = np.float32(scale.step / scale.star), np.float32((scale.lo - scale.mid) / scale.star)
        for block in self._blocks:
            yield block._replace(rows=block.rows._replace(values=block.rows.values * unit + middle))


_WATCHED = 250  # items whose effect is recorded, and their products with the next ones; chosen by hand
_PAIRS = 1 << 20  # predicted at once: bounds the memory, does not change the result
_PATIENCE = 2  # largest multiple of the epochs for a chain that may not end yet; chosen by hand


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
        # A key for each chain, and below for each purpose and epoch: no draw depends on how many came before.
        self.key = hmac.digest(key, f"chain {number}".encode(), "sha256")
        domain, unit = source.domain, source.domain.scale.star
        square = (domain.scale.span / unit) ** 2
        self.precisions = 1 / (settings.user_variance * square), 1 / (settings.item_variance * square)
        self.level_precision = 1 / (settings.level_variance * square)
        # Both sides have the mean precision λ = shape/rate, so that ⟨p, q⟩ has the variance d/λ².
        self._hyper_rate = settings.shape / math.sqrt(target.rank / (settings.factor_variance * square))
        self._max_residual = (domain.scale.span / 2 + target.margin) / unit
        # Some items stand for all, evenly spread over the catalogue.
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

        # λ given the factors: Gamma is conjugate to normal numbers of unknown precision.
        state.user_precision = precision(state.user_factors)
        state.item_precision = precision(state.item_factors)
        for effects, effect_precision in zip(
            (state.user_effects, state.item_effects), self.precisions, strict=True
        ):
            # b_0 − c and b + c: the two priors' quadratic terms in c add up to this precision.
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
        # E of the density: R̂ of it notices chains that fit differently well.
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


BAND = 1 << 25
"""Bytes of sums that are held at once: bounds the memory, and does not change the result."""
_SMALLEST = 8
"""The second proposal has τ from 2^-8 to 1, of all sizes equally often. Chosen by hand: any keeps the law."""


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
    # Λ of a row v = (effect, factors).
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

    # A band of rows at a time: their A = 2 Σ c x xᵀ and a = 2 Σ c (r − b′) x take BAND bytes.
    for first in range(0, len(effects), rows):
        band = slice(first, min(first + rows, len(effects)))
        size = band.stop - first
        triangle, pull = np.zeros((size, triangle_size(rank))), np.zeros((size, rank + 1))
        for part in chain.source.parts():
            add(*ratings(part, first), triangle, pull)
        proposals = np.empty((size, rank + 1), np.float32)
        draw(triangle, pull, prior, heat, normals.standard_normal(pull.shape), proposals)
        # The first proposal is the draw from N(A⁻¹ a, T A⁻¹), accepted by what clamping changes in the loss;
        # the second turns the state towards a draw from the prior, accepted by the clamped loss.
        # Without a clamp the draw is from the density itself: its gains stay 0, so it is always accepted.
        for whole in (False, True) if np.isfinite(high) else (False,):
            gains = np.zeros(size)
            if whole:
                # √(1 − τ²) v + τ ξ leaves N(0, T Λ⁻¹) as it is, so the prior cancels in what decides.
                tau = 2.0 ** (-_SMALLEST * sizes.random((size, 1)))
                now = np.column_stack([effects[band], factors[band]])
                fresh = moves.standard_normal(pull.shape) * np.sqrt(heat / prior)
                proposals = (np.sqrt(1 - tau**2) * now + tau * fresh).astype(np.float32)
            for part in chain.source.parts() if np.isfinite(high) else ():
                weigh(*ratings(part, first), proposals, whole, low, high, gains)
            moved = accept_proposals(gains, heat, chances[whole].random(size))
            effects[band][moved] = proposals[moved, 0]
            factors[band][moved] = proposals[moved, 1:]


def _level(chain: Chain, state: State) -> None:
    """Draw b_0 by elliptical slice sampling (Murray, Adams & MacKay 2010, Fig. 2), which always ends."""
    heat, draws = chain.settings.temperature, chain.generator("level", state.epoch)
    before, other = float(state.level[0]), draws.standard_normal() * math.sqrt(heat / chain.level_precision)
    # The slice: log density at least its present value plus log of a uniform number, which is −Exp(1).
    highest = chain.loss(state) + heat * draws.standard_exponential()
    angle = draws.uniform(0, 2 * math.pi)
    # The bracket shrinks towards angle 0, the present state, which is always accepted.
    least, most = angle - 2 * math.pi, angle
    while True:
        state.level[0] = before * math.cos(angle) + other * math.sin(angle)
        if chain.loss(state) < highest:
            return
        least, most = (angle, most) if angle < 0 else (least, angle)
        angle = draws.uniform(least, most)
