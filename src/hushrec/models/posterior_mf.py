"""Posterior sampling of item factors; user factors stay on devices (Liu, Wang & Smola 2015)."""

from collections.abc import Callable, Iterator, Mapping, Sequence
from dataclasses import replace
from functools import partial
from typing import ClassVar, Literal, Self

import numpy as np
from pydantic import Field, model_validator

from hushrec.arrays import Floats, Ints
from hushrec.data.domain import Domain
from hushrec.data.packed.blocks import Blocks
from hushrec.data.ratings import Ratings
from hushrec.errors import BudgetUnsupported
from hushrec.estimation import factor_steps
from hushrec.estimation.factor_steps import langevin_step, prior_variance
from hushrec.models.base import Model, Noise
from hushrec.models.phases.biases import require_rank
from hushrec.models.phases.item_effects import EffectSettings, ItemEffects, effects_footprint
from hushrec.models.phases.outputs import FACTOR_NOISE, factor_release
from hushrec.privacy.accounting.budget import Budget
from hushrec.privacy.accounting.weights import weights
from hushrec.privacy.grant import Grant
from hushrec.release.artefact import Release
from hushrec.release.statement import placeholder_statement
from hushrec.solvers.initial import normal_factors
from hushrec.solvers.mcmc.density import ChainSettings, Posterior
from hushrec.solvers.mcmc.sample import sample
from hushrec.statistics.footprint import COPIED, DRAWS, Footprint
from hushrec.statistics.item_sums import EffectSums
from hushrec.statistics.person_gradients import MarginalGradients
from hushrec.statistics.population import FULL, Population
from hushrec.statistics.query import Query

_LEFT = 0.27
"""Assumed share of the prior variance that remains before the last round; it falls geometrically."""
_AVERAGED = 0.3
"""Share of the rounds whose states are averaged."""
_BASELINE = Budget(epsilon=100.0, delta=1e-9, unit="user", adjacency="add-remove")
"""Stand-in budget for the non-private baseline: it makes clips wide."""
_CERTIFIED = {"rounds", "sample_rate", "clip", "clip_norm", "factor_variance", "effects"}
_POSTERIOR = {"loss_bound", "margin", "out_of_range", "chain"}
"""Settings that only one method has."""
_SAMPLE = "posterior sample"
_SAMPLED_NOISE = 0.11
"""Variance of a rating around what a sample predicts, in squared widths of the scale."""


class PosteriorMF(Model):
    """Langevin dynamics on the posterior of item factors; each step measures clipped gradients.

    With ``method="posterior"``, one sample of that posterior (Alg. 1), whose ε holds only if the chain that
    drew it had converged.

    Args:
        method: ``certified``, whose ε holds, or ``posterior``.
        rank: number of factors; by default 5 (``certified``) or the paper's 16.
        rounds: T, number of steps (``certified``).
        sample_rate: probability that a user takes part in a step (``certified``).
        clip: bound on a rating's error, as a fraction of the scale's width (``certified``).
        clip_norm: bound on the norm of a user's whole gradient, in widths of the scale; by default it
            grows with ε (``certified``).
        factor_variance: prior variance of p·q, in squared widths of the scale (``certified``).
        effects: how the item effects are measured (``certified``).
        loss_bound: B, the largest weighted loss of a user, in squared widths of the scale; by default that of
            a user with ``domain.cap`` ratings (``posterior``).
        margin: κ, how far predictions may leave the scale, as a fraction of its width (``posterior``).
        out_of_range: predictions beyond that are clamped in the loss (``clamp``), or, as printed, the chain
            runs on until all predictions are within (``reject``) (``posterior``).
        chain: the length of the chains, and their priors (``posterior``).

    Privacy: unit ``user`` under add-remove, and of a posterior sample under replace; every user's vector
    stays on their device. Under add-remove all users may ask for their own ε.
    """

    supports: ClassVar = frozenset({("user", "add-remove"), ("user", "replace")})
    personal: ClassVar = True
    blockwise: ClassVar = True

    method: Literal["certified", "posterior"] = "certified"
    rank: int | None = Field(default=None, ge=1, le=128)
    rounds: int = Field(default=32, ge=1, le=1000)
    sample_rate: float = Field(default=1.0, gt=0, le=1, allow_inf_nan=False)
    clip: float = Field(default=0.2, gt=0, le=1, allow_inf_nan=False)
    clip_norm: float | None = Field(default=None, ge=1e-6, le=1000, allow_inf_nan=False)
    factor_variance: float = Field(default=0.005, ge=1e-6, le=1, allow_inf_nan=False)
    effects: EffectSettings = EffectSettings()
    loss_bound: float | None = Field(default=None, gt=0, allow_inf_nan=False)
    margin: float = Field(default=0.25, ge=0, le=10, allow_inf_nan=False)
    out_of_range: Literal["clamp", "reject"] = "clamp"
    chain: ChainSettings = ChainSettings()

    @model_validator(mode="after")
    def _of_one_method(self) -> Self:
        other = _POSTERIOR if self.method == "certified" else _CERTIFIED
        if foreign := sorted(other & self.model_fields_set):
            raise ValueError(f"{foreign[0]} has no effect with method={self.method!r}; leave it out")
        return self

    @property
    def factors(self) -> int:
        """Number of factors."""
        return self.rank or (5 if self.method == "certified" else 16)

    @property
    def noise_distribution(self) -> Noise:
        """Gaussian noise drives the dynamics; a posterior sample has pure ε and no other noise."""
        return "gaussian" if self.method == "certified" else "laplace"

    @property
    def only_seeded(self) -> str:
        """Rejection may fail after the charge, and whether it fails depends on the ratings."""
        if self.method != "posterior" or self.out_of_range != "reject":
            return ""
        return 'rejection as printed may end without a release, which no ε covers; set out_of_range="clamp"'

    def queries(self, domain: Domain, budget: Budget) -> Sequence[tuple[Query, float]]:
        """Item effects, then the gradients of every round; or the one sample."""
        require_rank(self.factors, domain)
        if self.method == "posterior":
            if self.out_of_range == "reject" and not (self.published and budget.adjacency == "replace"):
                raise BudgetUnsupported(
                    "rejection is only for the published analysis under replace: how often a newcomer's "
                    "predictions are rejected depends on the item factors, which no ε covers; set "
                    'out_of_range="clamp"'
                )
            return self.allocate([self._sample(domain, budget)], budget)
        if self.published or budget.adjacency == "replace":
            raise BudgetUnsupported(
                "the certified method supports only user under add-remove in the corrected analysis; set "
                'method="posterior" for replace or the published analysis'
            )
        effects, gradients = self._effects(domain, budget), self._gradients(domain, budget)
        return self.allocate([*effects.queries(), *gradients.queries()], budget)

    def default_split(self, budget: Budget) -> Mapping[str, float]:
        """All rounds get equal shares; together they get more at larger ε."""
        if self.method == "posterior":
            return {_SAMPLE: 1.0}
        rest = 0.93 * budget.epsilon**3 / (budget.epsilon**3 + 5)  # at small ε noise hides the factors
        effects = {"global sum": 0.02, "global count": 0.02, "item sums": 0.8, "item counts": 0.16}
        shares = {name: part * (1 - rest) for name, part in effects.items()}
        return shares | {f"items, round {t + 1}": rest / self.rounds for t in range(self.rounds)}

    def footprint(self, domain: Domain, budget: Budget) -> Footprint:
        """The item effects, then a round's gradients and the states to average; or the chains."""
        n, items = self.factors, domain.n_items
        if self.method == "posterior":
            return self.chain.footprint(items, n)
        states = 2 + _AVERAGED * self.rounds
        memory = 1e7 + 8 * items * n * (states + 12) + COPIED * items * n
        per_million = self.rounds * (1 + n**2 / 20) / 10
        rounds = Footprint(memory, 48, 64, self.rounds * items * n / DRAWS, per_million)
        return effects_footprint(domain, budget, published=False).then(rounds)

    def release(self, ratings: Ratings | Blocks, budget: Budget, grant: Grant) -> Release:
        """Item effects, then Langevin steps of the item factors; or the one sample.

        Privacy: charged (the events of ``queries``).
        """
        if budget.unit != "user":
            budget, ratings = _BASELINE, ratings.capped(ratings.domain.cap)
        return (self._certified if self.method == "certified" else self._sampled)(ratings, budget, grant)

    def _certified(self, ratings: Ratings | Blocks, budget: Budget, grant: Grant) -> Release:
        domain, rank = ratings.domain, self.factors
        people = Population(ratings, self._weigher(domain, budget))
        sums, gradients = self._effects(domain, budget), self._gradients(domain, budget)
        baseline = self.effects.measure(sums, people.total(sums.measure), grant)
        span, noise = domain.scale.span, gradients.noise
        prior = prior_variance(self.factor_variance, rank, span)
        items = np.sqrt(prior * rank) * normal_factors(domain.n_items, rank)
        initial_weight = np.ones(domain.n_items)  # how much of each row is still its random start
        states = []
        for t in range(1, self.rounds + 1):
            query = gradients.query(t)
            present = partial(_present, people, query, grant)
            measure = partial(gradients.measure, present, baseline.item_effects, items)
            noisy = query.release(grant, measure)
            step_settings = {
                "prior": prior,
                "noise": noise,
                "rate": query.rate,
                "remaining_variance": _LEFT ** ((t - 1) / self.rounds),
            }
            items, part = langevin_step(items, noisy.values, noisy.sigma, baseline.counts, **step_settings)
            initial_weight *= 1 - part
            if t > self.rounds * (1 - _AVERAGED):
                states.append(items)
        # Users fold in only on what was learned.
        return factor_release(
            self, domain, baseline, np.mean(states, axis=0) * np.sqrt(1 - initial_weight)[:, None]
        )

    def _sampled(self, ratings: Ratings | Blocks, budget: Budget, grant: Grant) -> Release:
        """Algorithm 1: U, V ∝ exp(−s Σ_u w_u Σ_i (r − r̂)²) · prior; only V and item effects are released."""
        domain, span, weigh = ratings.domain, ratings.domain.scale.span, self._weigher(ratings.domain, budget)
        target = Posterior(
            scale=self._scale(domain, budget),
            bound=self._bound(domain),
            rank=self.factors,
            margin=self.margin * span,
            clamped=self.out_of_range == "clamp",
        )
        drawn = sample(
            ratings,
            target,
            self.chain,
            grant.sample_key(_SAMPLE),
            weigh=lambda block: np.ones(block.n_users) if block.asked is None else weigh(block.asked) / FULL,
            checkpoint=grant.checkpoint,
        )
        lo, hi, _ = domain.scale
        effects = np.clip(drawn.item_effects, lo, hi)
        extra_variance = np.full(domain.n_items, (_SAMPLED_NOISE - FACTOR_NOISE) * span**2)
        factors = drawn.item_factors / np.sqrt(drawn.user_precision)  # users then have unit variance
        release = factor_release(
            self, domain, ItemEffects(effects, extra_variance, np.zeros(domain.n_items), 0.0), factors
        )
        return replace(release, statement=placeholder_statement(drawn.diagnostics.stated()))

    def _sample(self, domain: Domain, budget: Budget) -> Query:
        """A user's loss is in [0, B]: the total moves by B under add-remove, and by 2B under replace.

        As published, ε/4B; the chain's temperature divides the loss, as s does.
        """
        bound = self._bound(domain)
        change = bound * (2 if budget.adjacency == "replace" else 1)
        claimed = 4 * bound * self.chain.temperature
        size = domain.n_items * (self.factors + 1)
        return Query(_SAMPLE, change, "l1", 1.0, size, claimed, posterior=True)

    def _scale(self, domain: Domain, budget: Budget) -> float:
        """s such that s/T is what is booked; without privacy, s of ratings with their own variance."""
        if budget is _BASELINE:
            return 1 / (2 * factor_steps.RESIDUAL * domain.scale.span**2)
        event = self.plan(domain, budget).events[0]
        return self.chain.temperature / event.noise

    def _bound(self, domain: Domain) -> float:
        widths = min(domain.cap, domain.n_items) * (1 + self.margin) ** 2
        return (self.loss_bound or widths) * domain.scale.span**2

    def _weigher(self, domain: Domain, budget: Budget) -> Callable[[Floats], Ints]:
        """Weights for the ε that users ask for; without noise, only users who ask for 0 weigh less."""
        if budget is _BASELINE:
            return lambda asked: np.where(asked > 0, FULL, 0)
        events = self.plan(domain, budget).events
        return lambda asked: np.rint(weights(events, budget.delta, asked) * FULL).astype(np.int64)

    def _effects(self, domain: Domain, budget: Budget) -> EffectSums:
        return self.effects.sums(domain, budget, self.norm, published=False, personal=True)

    def _gradients(self, domain: Domain, budget: Budget) -> MarginalGradients:
        span = domain.scale.span
        clip_norm = self.clip_norm or 0.42 * budget.epsilon**0.6
        return MarginalGradients(
            domain=domain,
            rank=self.factors,
            rounds=self.rounds,
            rate=self.sample_rate,
            noise=factor_steps.RESIDUAL * span**2,
            clip=self.clip * span,
            clip_norm=clip_norm * span,
        )


def _present(people: Population, query: Query, grant: Grant) -> Iterator[tuple[Ratings, Ints]]:
    """The users who take part in a round: all, or the sample that the grant draws."""
    if query.rate == 1:
        return people.blocks()
    return people.sampled(grant.sample(query.name, people.n_people))
