"""Liu, Wang & Smola 2015, "Fast differentially private matrix factorization", as printed.

What fails: ε = 4 s B is printed for exp(−s F) and a loss of at most B per user; the true loss under
``replace`` is 2 s B, and none is known for ``reject`` (README.md). And a pass of Langevin dynamics (§3.2,
§5.4, eq. 4) visits people in one order, to and fro, by steps that do not become small against 1/(2 s n_i),
n_i the ratings of an item. So its law is not the density from which ε follows (README.md).
``hr.PosteriorSampleMF`` draws by ``hushrec.models.liu_wang_smola.chain`` in its place.

As the steps go to 0, passes sample the density ∝ exp(−E/T) of ``hushrec.models.liu_wang_smola.kernels``.
A rating whose prediction r̂ is in [low, high] applies, with e = r − r̂ and both sides evaluated before it,

    p_u, q_i, b_u, b_i ← p_u + 2 h c_u e q_i, q_i + 2 h c_u e p_u, b_u + 2 h c_u e, b_i + 2 h c_u e.

Prior and noise together are an Ornstein–Uhlenbeck process, whose transition over a time t (a pass takes 1) is
exact: v ← e^(−hΛt) v + √(T (1 − e^(−2hΛt))/Λ) ξ. A person's is applied half before and half after their
ratings, the items' at the middle of each interval, and every other pass reads the ratings from last to
first: both splittings are symmetric, so that only the ratings' own steps have an error of O(h).
"""

from collections.abc import Mapping, Sequence
from dataclasses import replace
from itertools import pairwise
from typing import ClassVar, Literal

import numpy as np
from numpy.random import Generator
from pydantic import Field

from hushrec.arrays import Floats, Floats32, Ints, Ints32
from hushrec.data.domain import Domain
from hushrec.errors import BudgetUnsupported, ConfigError
from hushrec.kernels.compiled import compiled
from hushrec.kernels.csr import frozen
from hushrec.models.liu_wang_smola.chain import Chain, ChainSettings, Posterior, State
from hushrec.models.liu_wang_smola.posterior_sample_mf import SAMPLE, PosteriorSampleMF
from hushrec.privacy.accounting.budget import Terms
from hushrec.privacy.accounting.measurement import Measurement
from lab.paper import PublishedModel


class LangevinSettings(ChainSettings):
    """Also the steps of the chains."""

    rate: float = Field(default=1.0, gt=0, allow_inf_nan=False)
    """step size of the first epoch, in units of 1/(curvature of the effect of the heaviest person)."""
    offset: float = Field(default=100.0, gt=0, allow_inf_nan=False)
    """epochs after which the step size begins to fall."""
    decay: float = Field(default=1 / 3, ge=0, le=1, allow_inf_nan=False)
    """γ of the step sizes rate · (1 + t/offset)^−γ, t = 0, 1, …."""
    noise_intervals: int = Field(default=32, ge=1, le=2**16)
    """intervals of a pass; in each that somebody is visited in, items get their noise."""


@np.errstate(over="ignore", invalid="ignore")  # what diverges is refused at the end
def langevin_epoch(chain: Chain, state: State) -> None:
    """Visit all people, in reverse order every other time, so that errors of O(h) cancel."""
    settings, source, target = chain.settings, chain.source, chain.target
    assert isinstance(settings, LangevinSettings)
    domain = source.domain
    curvature = 2 * (target.scale * domain.scale.star**2) * target.bound / target.largest(domain)
    # η_t of Liu, Wang & Smola 2015, eq. 4: it falls from pass to pass.
    rate = settings.rate * (1 + state.epoch / settings.offset) ** -settings.decay / curvature
    of_people = np.append(state.user_precision, chain.precisions[0])
    of_items = np.append(state.item_precision, chain.precisions[1])
    heat = settings.temperature
    # A generator each, drawn from in the order of visits: how people lie in parts changes no bit.
    before, after, noise = (
        chain.generator(f"noise {of}", state.epoch) for of in ("before", "after", "of items")
    )
    items = state.item_factors, state.item_effects
    back, visited, time = state.epoch % 2 == 1, 0, 0.0  # time: up to which the items had their transitions
    for part in [*source.parts()][::-1] if back else source.parts():
        people = state.user_factors[part.people], state.user_effects[part.people]
        in_order = (people[0][::-1], people[1][::-1]) if back else people
        values = part.rows.values - np.float32(state.level[0])
        ratings = frozen(part.rows.indptr, np.int64), frozen(part.rows.columns, np.int32), values
        gains, n_people = np.float32(2 * rate) * part.scales, len(part.scales)
        order = np.arange(n_people - 1, -1, -1) if back else np.arange(n_people)
        interval = (visited + np.arange(n_people)) * settings.noise_intervals // max(source.n_users, 1)
        _transition(in_order, of_people, heat, rate / 2, before)
        starts = np.flatnonzero(np.diff(interval, prepend=-1))
        for start, end in pairwise([*starts, n_people]):
            middle = (interval[start] + 0.5) / settings.noise_intervals
            if middle > time:
                _transition(items, of_items, heat, rate * (middle - time), noise)
                time = middle
            _visit(order[start:end], back, *ratings, gains, *people, *items, *chain.range(state))
        _transition(in_order, of_people, heat, rate / 2, after)
        visited += n_people
    _transition(items, of_items, heat, rate * (1 - time), noise)
    if not np.isfinite(state.item_factors).all():
        raise ConfigError("an MCMC chain diverged; lower the chains' rate")


def _transition(
    side: tuple[Floats32, Floats32], precision: Floats, heat: float, elapsed: float, noise: Generator
) -> None:
    """Apply the exact transition of prior and noise to factors and effects; ``elapsed`` is h t."""
    pull, (factors, effects) = elapsed * precision, side
    decay = np.exp(-pull).astype(np.float32)
    spread = np.sqrt(heat * -np.expm1(-2 * pull) / precision).astype(np.float32)
    moves = noise.standard_normal((len(effects), len(precision)), dtype=np.float32) * spread
    factors *= decay[:-1]
    factors += moves[:, :-1]
    effects *= decay[-1]
    effects += moves[:, -1]


@compiled(nogil=True)
def _visit(
    order: Ints,
    back: bool,
    indptr: Ints,
    items: Ints32,
    values: Floats32,
    gains: Floats32,
    user_factors: Floats32,
    user_effects: Floats32,
    item_factors: Floats32,
    item_effects: Floats32,
    low: float,
    high: float,
) -> None:
    """Take the step of each rating of the people in ``order``; ``gains`` are 2 h c of each person."""
    for u in order:
        for k in range(indptr[u + 1] - indptr[u]):
            at = indptr[u + 1] - 1 - k if back else indptr[u] + k
            i = items[at]
            predicted = user_effects[u] + item_effects[i]
            for f in range(user_factors.shape[1]):
                predicted += user_factors[u, f] * item_factors[i, f]
            if low <= predicted <= high:
                move = gains[u] * (values[at] - predicted)
                for f in range(user_factors.shape[1]):
                    p = user_factors[u, f]
                    user_factors[u, f] += move * item_factors[i, f]
                    item_factors[i, f] += move * p
                user_effects[u] += move
                item_effects[i] += move


class LiuPosterior(PublishedModel, PosteriorSampleMF):
    """Algorithm 1: one posterior sample at the scale ε/4B.

    U, V ∝ exp(−(ε/4B) Σ_u w_u Σ_i (r_ui − r̂_ui)²) · prior, with r̂_ui = b_0 + b_u + b_i + ⟨p_u, q_i⟩.
    The draw is the last state of chains of stochastic gradient Langevin dynamics (§3.2), whose law is not the
    density: its steps are too long (README.md).
    We read line 3 as scaling the whole objective by ε/4B, penalties included. Here only the loss is scaled,
    and the precisions of the priors are sampled (§5.4). The ε is the same.

    Args:
        rank: number of factors.
        loss_bound: B, the largest weighted loss of a user, in squared widths of the scale; by default that of
            a user with ``domain.max_per_user`` ratings.
        margin: κ, how far predictions may leave the scale, as a fraction of its width.
        chain: the length of the chains, and their priors.
        out_of_range: predictions beyond that are clamped in the loss (``clamp``), or the chain runs on
            until all predictions are within (``reject``); lines 5 and 6 draw anew instead.
    """

    personal_epsilon: ClassVar = False

    chain: LangevinSettings = LangevinSettings()
    out_of_range: Literal["clamp", "reject"] = "clamp"

    def queries(self, domain: Domain, terms: Terms) -> Sequence[Measurement]:
        """The one sample."""
        if self.out_of_range == "reject" and terms.adjacency != "replace":
            raise BudgetUnsupported(
                "rejection is only for replace: how often a newcomer's predictions are rejected depends on "
                'the item factors, which no ε covers; set out_of_range="clamp"'
            )
        return super().queries(domain, terms)

    def transition(self, chain: Chain, state: State) -> None:
        """Move people and items by a pass of Langevin dynamics."""
        langevin_epoch(chain, state)

    def claims(self, domain: Domain, terms: Terms) -> Mapping[str, float]:
        """4 B; the chain's temperature divides the loss, as the paper's scale does."""
        return {SAMPLE: 4 * self._bound(domain) * self.chain.temperature}

    def _target(self, domain: Domain, noise: float) -> Posterior:
        return replace(super()._target(domain, noise), clamped=self.out_of_range == "clamp")
