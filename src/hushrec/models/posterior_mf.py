"""Posterior sampling of item factors, people's own at home (Liu, Wang & Smola 2015)."""

from collections.abc import Callable, Iterator, Mapping, Sequence
from functools import partial
from typing import ClassVar

import numpy as np
from pydantic import Field

from hushrec.arrays import Floats, Ints
from hushrec.data.blocks import Blocks
from hushrec.data.domain import Domain
from hushrec.data.ratings import Ratings
from hushrec.models import posterior
from hushrec.models.base import Model, Noise
from hushrec.models.dynamics import langevin_step, prior_variance
from hushrec.models.effects import EffectSettings
from hushrec.models.predictors import factor_release
from hushrec.privacy.budget import Budget
from hushrec.privacy.mechanisms import Grant
from hushrec.privacy.personal import weights
from hushrec.release.artefact import Release
from hushrec.statistics.effects import EffectSums
from hushrec.statistics.marginal import MarginalGradients
from hushrec.statistics.population import FULL, Population
from hushrec.statistics.query import Query

_LEFT = 0.27
"""Part of the prior variance that is taken to be left to go in the last round; it falls geometrically."""
_AVERAGED = 0.3
"""Share of the rounds whose states are averaged."""
_BASELINE = Budget(epsilon=100.0, delta=1e-9, unit="user", adjacency="add-remove")
"""Stands in where nothing is charged and no noise added: clips are then wide."""


class PosteriorMF(Model):
    """Langevin dynamics on the posterior of item factors, every step a measurement of clipped gradients.

    Args:
        rank: number of factors.
        rounds: T, how many steps are taken.
        sample_rate: probability with which a person takes part in a step.
        clip: bound on a rating's error, as a fraction of the scale's width.
        contribution: bound on the norm of a person's whole gradient, in widths of the scale; by default it
            grows with ε.
        taste: prior variance of p·q, in squared widths of the scale.
        effects: how the item effects are measured.

    Privacy: unit ``user`` under add-remove; every person's vector stays at home, and everybody may ask for an
    ε of his own.
    """

    supports: ClassVar = frozenset({("user", "add-remove")})
    personal: ClassVar = True
    blockwise: ClassVar = True

    rank: int = Field(default=5, ge=1, le=128)
    rounds: int = Field(default=32, ge=1, le=1000)
    sample_rate: float = Field(default=1.0, gt=0, le=1, allow_inf_nan=False)
    clip: float = Field(default=0.2, gt=0, le=1, allow_inf_nan=False)
    contribution: float | None = Field(default=None, gt=0, le=1000, allow_inf_nan=False)
    taste: float = Field(default=0.005, gt=0, le=1, allow_inf_nan=False)
    effects: EffectSettings = EffectSettings()

    @property
    def law(self) -> Noise:
        """Gaussian noise, which is the noise of Langevin dynamics."""
        return "gaussian"

    def queries(self, domain: Domain, budget: Budget) -> Sequence[tuple[Query, float]]:
        """Item effects, then the gradients of every round."""
        effects, gradients = self._effects(domain, budget), self._gradients(domain, budget)
        return self.with_shares([*effects.queries(), *gradients.queries()], budget)

    def own_shares(self, budget: Budget) -> Mapping[str, float]:
        """All rounds alike; together the more, the larger ε is."""
        rest = budget.epsilon / (budget.epsilon + 1.3)
        effects = {"global sum": 0.02, "global count": 0.02, "item sums": 0.8, "item counts": 0.16}
        shares = {name: part * (1 - rest) for name, part in effects.items()}
        return shares | {f"items, round {t + 1}": rest / self.rounds for t in range(self.rounds)}

    def release(self, ratings: Ratings | Blocks, budget: Budget, grant: Grant) -> Release:
        """Item effects, then Langevin steps of the item factors.

        Privacy: charged (the events of ``queries``).
        """
        domain = ratings.domain
        if budget.unit != "user":
            budget, ratings = _BASELINE, ratings.capped(domain.cap)
        people = Population(ratings, self._weigher(domain, budget))
        sums, gradients = self._effects(domain, budget), self._gradients(domain, budget)
        baseline = self.effects.measure(sums, people.total(sums.measure), grant)
        span, noise = domain.scale.span, gradients.noise
        prior = prior_variance(self.taste, self.rank, span)
        items = np.sqrt(prior * self.rank) * posterior.initial(domain.n_items, self.rank)
        random = np.ones(domain.n_items)  # how much of each row is still where it started
        states = []
        for t in range(1, self.rounds + 1):
            query = gradients.query(t)
            present = partial(_present, people, query, grant)
            measure = partial(gradients.measure, present, baseline.item_effects, items)
            noisy = query.release(grant, measure)
            pace = {
                "prior": prior,
                "noise": noise,
                "rate": query.rate,
                "left": _LEFT ** ((t - 1) / self.rounds),
            }
            items, part = langevin_step(items, noisy.values, noisy.sigma, baseline.counts, **pace)
            random *= 1 - part
            if t > self.rounds * (1 - _AVERAGED):
                states.append(items)
        # People fold in only on what was learned.
        return factor_release(self, domain, baseline, np.mean(states, axis=0) * np.sqrt(1 - random)[:, None])

    def _weigher(self, domain: Domain, budget: Budget) -> Callable[[Floats], Ints]:
        """Weights for the ε that people ask for; without noise, nobody but who asks for 0 has less."""
        if budget is _BASELINE:
            return lambda asked: np.where(asked > 0, FULL, 0)
        events = self.plan(domain, budget).events
        return lambda asked: np.rint(weights(events, budget.delta, asked) * FULL).astype(np.int64)

    def _effects(self, domain: Domain, budget: Budget) -> EffectSums:
        return self.effects.sums(domain, budget, self.norm, published=False, personal=True)

    def _gradients(self, domain: Domain, budget: Budget) -> MarginalGradients:
        span = domain.scale.span
        contribution = self.contribution or 0.42 * budget.epsilon**0.6
        return MarginalGradients(
            domain=domain,
            rank=self.rank,
            rounds=self.rounds,
            rate=self.sample_rate,
            noise=posterior.RESIDUAL * span**2,
            clip=self.clip * span,
            contribution=contribution * span,
        )


def _present(people: Population, query: Query, grant: Grant) -> Iterator[tuple[Ratings, Ints]]:
    """Who takes part in a round: everybody, or the sample that the grant draws."""
    if query.rate == 1:
        return people.blocks()
    return people.sampled(grant.sample(query.name, people.n_people))
