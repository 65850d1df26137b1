"""One sample from the posterior of item factors (Liu, Wang & Smola 2015, Alg. 1)."""

from collections.abc import Callable, Mapping, Sequence
from dataclasses import replace
from functools import partial
from typing import ClassVar

import numpy as np
from pydantic import Field

from hushrec.arrays import Floats
from hushrec.data.anywhere import AnyPeople
from hushrec.data.domain import Domain
from hushrec.data.people import People
from hushrec.estimation.shrinkage import RATING_VARIANCE, known_popularity
from hushrec.models.base import PrivateModel
from hushrec.models.biases import require_rank
from hushrec.models.effects import ItemEffects
from hushrec.models.liu_wang_smola.chain import Chain, ChainSettings, Posterior, State, sweep
from hushrec.models.liu_wang_smola.sample import Sample, sample
from hushrec.models.outputs import RESIDUAL_VARIANCE, factor_release
from hushrec.privacy.accounting.budget import Budget, Terms
from hushrec.privacy.accounting.measurement import Measurement
from hushrec.privacy.accounting.weights import GRID
from hushrec.privacy.grant import Measures
from hushrec.privacy.sums_on_disk import Arrays
from hushrec.release.artefact import Release
from hushrec.release.statement import placeholder_statement
from hushrec.sums.footprint import Footprint

SAMPLE = "posterior sample"
_NOISE = 0.11
"""Variance of a rating around the prediction of a sample, in squared widths of the scale. Chosen by hand."""


class PosteriorSampleMF(PrivateModel):
    """One sample of the posterior of item factors; its ε holds only if the chain that drew it had converged.

    U, V ∝ exp(−(ε/Δ) Σ_u w_u Σ_i (r_ui − r̂_ui)²) · prior, with r̂_ui = b_0 + b_u + b_i + ⟨p_u, q_i⟩ and
    weights w_u such that no user's loss exceeds B; Δ is B under add-remove and 2 B under replace. Only V and
    the item effects are released.

    Privacy: unit ``user`` under both adjacencies; every user's vector stays on their device. Under add-remove
    all users may ask for their own ε.
    """

    glance: ClassVar = {
        "measures": "one posterior sample",
        "predicts by": "regression of the user's own ratings on item factors",
        "noise": "from the chain itself; its ε holds if the chain has converged",
        "lists users": "no",
        "paper": "Liu, Wang & Smola 2015, Algorithm 1",
    }
    supports: ClassVar = frozenset({("user", "add-remove"), ("user", "replace")})
    personal_epsilon: ClassVar = True
    sums_alone: ClassVar = False

    rank: int = Field(default=16, ge=1, le=128)
    """number of factors."""
    loss_bound: float | None = Field(default=None, gt=0, allow_inf_nan=False)
    """B, the largest weighted loss of a user, in squared widths of the scale; by default the
    largest loss of ``domain.max_per_user`` ratings, cap · (1 + κ)².
    """
    margin: float = Field(default=0.25, ge=0, le=10, allow_inf_nan=False)
    """κ, how far predictions may leave the scale, as a fraction of its width; beyond, they are clamped in
    the loss.
    """
    chain: ChainSettings = ChainSettings()
    """the length of the chains, and their priors."""

    def queries(self, domain: Domain, terms: Terms) -> Sequence[Measurement]:
        """List the one sample: a loss is in [0, B], so Δ is B, and 2 B under replace, with the normaliser."""
        require_rank(self.rank, domain)
        return [self._draw(domain, terms)]

    def default_split(self, domain: Domain, budget: Budget) -> Mapping[str, float]:
        return {SAMPLE: 1.0}

    def footprint(self, domain: Domain, budget: Budget) -> Footprint:
        return self.chain.footprint(domain.n_items, self.rank)

    def fit(self, people: AnyPeople, run: Measures) -> Release:
        """Draw U and V (Algorithm 1), and release V.

        Privacy: charged (the measurements of ``queries``).
        """
        domain, span = people.domain, people.domain.scale.span
        draw = self._draw(domain, run.terms)
        target = self._target(domain, run.noise(draw))
        weigh = partial(_weigh, run)
        chains = partial(
            _draw_arrays,
            partial(sample, people, target, self.chain, weigh=weigh, transition=self.transition),
        )
        drawn = Sample.of(run.sample(draw, chains))  # lines 4 to 6, by chains that keep the density
        lo, hi, _ = domain.scale
        effects = np.clip(drawn.item_effects, lo, hi)
        # One sample is spread around the posterior's mean, so a rating lies farther from what it predicts.
        extra_variance = np.full(domain.n_items, (_NOISE - RESIDUAL_VARIANCE) * span**2)
        # No counts are measured: items count alike, but for their effects.
        popularity = known_popularity(np.ones(domain.n_items), effects - domain.scale.mid, span)
        baseline = ItemEffects(effects, extra_variance, np.zeros(domain.n_items), 0.0, popularity)
        factors = drawn.item_factors / np.sqrt(drawn.user_precision)  # users then have unit variance
        release = factor_release(self, domain, baseline, factors)
        return replace(release, statement=placeholder_statement(drawn.diagnostics.facts()))

    def transition(self, chain: Chain, state: State) -> None:
        """Move people and items by an epoch.

        Privacy: private.
        """
        sweep(chain, state)

    def _draw(self, domain: Domain, terms: Terms) -> Measurement:
        # A loss in 0 to B multiplies density and normaliser by e^(−s B) to 1 each: s B together. Under
        # replace each may move either way: 2 s B.
        change = self._bound(domain) * (2 if terms.adjacency == "replace" else 1)
        return Measurement(SAMPLE, change, "loss", 1.0, domain.n_items * (self.rank + 1))

    def _target(self, domain: Domain, noise: float) -> Posterior:
        """Return the density for the booked temperature, or without noise for the ratings' own variance."""
        span = domain.scale.span
        return Posterior(
            # The chains' own temperature divides the loss as well.
            scale=self.chain.temperature / noise if noise else 1 / (2 * RATING_VARIANCE * span**2),
            bound=self._bound(domain),
            rank=self.rank,
            margin=self.margin * span,
        )

    def _bound(self, domain: Domain) -> float:
        # B of Algorithm 1, line 1, from the declared cap: the paper takes it from the users' own counts.
        widths = min(domain.max_per_user, domain.n_items) * (1 + self.margin) ** 2
        return (self.loss_bound or widths) * domain.scale.span**2


def _draw_arrays(draw: Callable[..., Sample], key: bytes) -> Arrays:
    """Draw, and give the sample as the arrays that are kept of it."""
    return draw(key=key).arrays()


def _weigh(run: Measures, block: People) -> Floats:
    """Return each user's weight in [0, 1]."""
    return (
        np.ones(block.n_users)
        if block.personal_epsilon is None
        else run.weights(block.personal_epsilon) / GRID
    )
