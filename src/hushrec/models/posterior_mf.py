"""Noisy Langevin dynamics of item factors; user factors stay on devices (after Liu, Wang & Smola 2015)."""

from collections.abc import Mapping, Sequence
from functools import partial
from typing import ClassVar

import numpy as np
from pydantic import Field

from hushrec.arrays import Floats, Ints
from hushrec.data.domain import Domain
from hushrec.data.packed.blocks import Blocks
from hushrec.data.ratings import Ratings
from hushrec.estimation import factor_steps
from hushrec.estimation.factor_steps import langevin_step, prior_variance
from hushrec.models.phases.biases import require_rank
from hushrec.models.phases.item_effects import EffectSettings, effects_footprint
from hushrec.models.phases.outputs import factor_release
from hushrec.models.private import PrivateModel
from hushrec.privacy.accounting.budget import Budget, Terms
from hushrec.privacy.query import AnyQuery, Sum
from hushrec.privacy.run import Run
from hushrec.release.artefact import Release
from hushrec.solvers.initial import normal_factors
from hushrec.statistics.footprint import COPIED, DRAWS, Footprint
from hushrec.statistics.item_sums import EffectSums
from hushrec.statistics.person_gradients import MarginalGradients
from hushrec.statistics.population import Population

_REMAINING = 0.27
"""Assumed share of the prior variance that remains before the last round; it falls geometrically."""
_AVERAGED = 0.3
"""Share of the rounds whose states are averaged."""
_WIDEST_CLIP = 100.0
"""ε beyond which the default clip norm no longer grows; the non-private baseline has this one."""


class PosteriorMF(PrivateModel):
    """Langevin dynamics on the posterior of item factors; each step measures clipped gradients.

    With g_u = clip(s² ∇_Q ln p(x_u | Q), C), the user's vector integrated out, and G = Σ_u g_u + N(0, σ²):
    q_i ← q_i + η_i (G_i − (s²/τ²) q_i), where η_i makes the posterior mean of the row's remaining step. The
    charged noise drives the dynamics, so ε holds after any number of steps; the release averages the last
    states. Prediction: r̂_ui = μ_i + b_u + ⟨p_u, q_i⟩.

    Args:
        rank: number of factors.
        rounds: T, number of steps.
        sample_rate: probability that a user takes part in a step.
        clip: bound on a rating's error, as a fraction of the scale's width.
        clip_norm: C, bound on the norm of a user's whole gradient, in widths of the scale; by default it
            grows with ε.
        factor_variance: prior variance of p·q, in squared widths of the scale.
        effects: how the item effects are measured.

    Privacy: unit ``user`` under add-remove; every user's vector stays on their device. All users may ask for
    their own ε.
    """

    supports: ClassVar = frozenset({("user", "add-remove")})
    informed: ClassVar = True
    personal: ClassVar = True

    rank: int = Field(default=5, ge=1, le=128)
    rounds: int = Field(default=32, ge=1, le=1000)
    sample_rate: float = Field(default=1.0, gt=0, le=1, allow_inf_nan=False)
    clip: float = Field(default=0.2, gt=0, le=1, allow_inf_nan=False)
    clip_norm: float | None = Field(default=None, ge=1e-6, le=1000, allow_inf_nan=False)
    factor_variance: float = Field(default=0.005, ge=1e-6, le=1, allow_inf_nan=False)
    effects: EffectSettings = EffectSettings()

    def queries(self, domain: Domain, terms: Terms) -> Sequence[AnyQuery]:
        """The item effects, then every round's gradients."""
        require_rank(self.rank, domain)
        return [*self._effects(domain, terms).queries(), *self._gradients(domain, terms).queries()]

    def default_split(self, domain: Domain, budget: Budget) -> Mapping[str, float]:
        """All rounds get equal shares; together they get more at larger ε."""
        rest = 0.93 * budget.epsilon**3 / (budget.epsilon**3 + 5)  # at small ε noise hides the factors
        effects = {"global sum": 0.02, "global count": 0.02, "item sums": 0.8, "item counts": 0.16}
        shares = {name: part * (1 - rest) for name, part in effects.items()}
        return shares | {f"items, round {t + 1}": rest / self.rounds for t in range(self.rounds)}

    def footprint(self, domain: Domain, budget: Budget) -> Footprint:
        """The item effects, then a round's gradients and the states to average."""
        n, items = self.rank, domain.n_items
        states = 2 + _AVERAGED * self.rounds
        memory = 1e7 + 8 * items * n * (states + 12) + COPIED * items * n
        per_million = self.rounds * (1 + n**2 / 20) / 10
        rounds = Footprint(memory, 48, 64, self.rounds * items * n / DRAWS, per_million)
        return effects_footprint(domain, budget).then(rounds)

    def release(self, feedback: Ratings | Blocks, run: Run) -> Release:
        """Item effects, then Langevin steps of the item factors.

        Privacy: charged (the events of ``queries``).
        """
        domain, span = feedback.domain, feedback.domain.scale.span
        people, gradients = Population(feedback, run.weights), self._gradients(domain, run.terms)
        baseline = self.effects.measure(self._effects(domain, run.terms), people, run)
        prior = prior_variance(self.factor_variance, self.rank, span)
        items = np.sqrt(prior * self.rank) * normal_factors(domain.n_items, self.rank)
        initial_weight = np.ones(domain.n_items)  # how much of each row is still its random start
        states = []
        for t in range(1, self.rounds + 1):
            query = gradients.query(t)
            sums = partial(_gradient, gradients, query, people, run, baseline.item_effects, items)
            noisy = run.measure(query, sums)
            how = {
                "prior": prior,
                "noise": gradients.noise,
                "rate": query.rate,
                "remaining_variance": _REMAINING ** ((t - 1) / self.rounds),
            }
            items, part = langevin_step(items, noisy.values, noisy.sigma, baseline.counts, **how)
            initial_weight *= 1 - part
            if t > self.rounds * (1 - _AVERAGED):
                states.append(items)
        # Users fold in only on what was learned.
        learned = np.sqrt(1 - initial_weight)[:, None]
        return factor_release(self, domain, baseline, np.mean(states, axis=0) * learned)

    def _effects(self, domain: Domain, terms: Terms) -> EffectSums:
        return self.effects.sums(domain, terms, self.norm, personal=True)

    def _gradients(self, domain: Domain, terms: Terms) -> MarginalGradients:
        span = domain.scale.span
        clip_norm = self.clip_norm or 0.42 * min(terms.epsilon, _WIDEST_CLIP) ** 0.6
        return MarginalGradients(
            domain=domain,
            rank=self.rank,
            rounds=self.rounds,
            rate=self.sample_rate,
            noise=factor_steps.RESIDUAL * span**2,
            clip=self.clip * span,
            clip_norm=clip_norm * span,
        )


def _gradient(
    gradients: MarginalGradients, query: Sum, people: Population, run: Run, effects: Floats, items: Floats
) -> Ints:
    """The sum of a round over all users, or over the sample that the run draws."""
    sample = run.sample(query)
    return gradients.measure(people if sample is None else people.sampled(sample), effects, items)
