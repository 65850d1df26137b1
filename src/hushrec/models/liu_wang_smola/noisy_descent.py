"""A phase of models of factors: Langevin dynamics of item factors, with the noise of the measurements."""

from collections.abc import Iterator
from dataclasses import dataclass, replace
from functools import partial

import numpy as np

from hushrec.arrays import Floats
from hushrec.data.anywhere import AnyPeople
from hushrec.data.declarations import Crowd
from hushrec.data.domain import Domain
from hushrec.estimation.factor_steps import langevin_step, leading, normal_factors, prior_variance
from hushrec.estimation.shrinkage import RATING_VARIANCE
from hushrec.models.effects import ItemEffects
from hushrec.models.liu_wang_smola.estimate import Reach, item_scales, reach
from hushrec.models.liu_wang_smola.sums import MarginalGradients
from hushrec.models.visibility import MARGINAL_GRADIENTS, mu
from hushrec.privacy.accounting.budget import Terms
from hushrec.privacy.accounting.measurement import Measurement
from hushrec.privacy.grant import Measures
from hushrec.sums.footprint import COPIED, DRAWS, Footprint

# Chosen by hand: no page records the runs that chose these numbers.
_REMAINING = 0.27
"""Assumed fraction of the prior variance that remains before the last epoch; it falls geometrically."""
_AVERAGED = 0.3
"""Fraction of the epochs whose states are averaged."""
_EPOCHS = 32
"""Default number of epochs, with which ``MARGINAL_GRADIENTS`` of ``models/visibility.py`` was measured."""
_DOUBT = 0.3
"""Variance of an item's factors around public ones, over that of unknown factors."""
_CLIP_NORM = 0.6
"""Default clip norm in widths of the scale, where noise hides more than clipping does."""
_QUIET = 0.26
"""Expected noise below which a wider clip was better, or as good: on films from ε = 20 on, on animated series
from ε = 40 on, and for generated crowds.
"""
_LARGE = 20.0
"""ε from which on the clip is wider for any crowd."""
_WIDEST = 5.0
"""How much wider the clip becomes at most; the non-private baseline has this one."""


@dataclass(frozen=True)
class Descent:
    """How item factors descend.

    Args:
        rank: number of factors.
        clip: bound on a rating's error, as a fraction of the scale's width.
        clip_norm: bound on the norm of a user's whole gradient, in widths of the scale; None for 0.6, and up
            to five times as much for crowds so large that clipping hides more than noise.
        factor_variance: prior variance of p·q, in squared widths of the scale.
        epochs: number of steps; None for 32.

    Privacy: public.
    """

    rank: int = 5
    clip: float = 0.2
    clip_norm: float | None = None
    factor_variance: float = 0.005
    epochs: int | None = None

    @property
    def n_epochs(self) -> int:
        """T, number of steps."""
        return _EPOCHS if self.epochs is None else self.epochs

    def queries(self, domain: Domain) -> Iterator[Measurement]:
        """List every epoch's gradients."""
        return self._gradients(domain).queries()

    def reach(self, crowd: Crowd, n_items: int, terms: Terms) -> Reach:
        """Expect how much the gradients of a crowd show."""
        return self._reach(crowd, n_items, terms, self.widening(crowd, n_items, terms))

    def widening(self, crowd: Crowd, n_items: int, terms: Terms) -> float:
        """Return how many times the booked norm people's gradients may have before they are scaled down.

        They are divided by it and then clipped to what is booked, so a crowd may decide that was measured
        under the same plan.
        """
        if self.clip_norm is not None:
            return 1.0
        noise = self._reach(crowd, n_items, terms, 1.0).noise
        # A clip k times as wide makes noise about k times as large: it may grow to what is quiet.
        return min(max(_QUIET / noise, terms.epsilon / _LARGE, 1.0), _WIDEST) if noise else _WIDEST

    def _reach(self, crowd: Crowd, n_items: int, terms: Terms, widening: float) -> Reach:
        # All in deviations of a rating, so that the scale cancels.
        ratio = self.factor_variance / self.rank / RATING_VARIANCE
        clip_norm = widening * self._booked_norm / np.sqrt(RATING_VARIANCE)
        return reach(crowd.users, crowd.ratings, n_items, self.rank, ratio, clip_norm, mu(terms))

    def shows(self, crowd: Crowd, n_items: int, terms: Terms) -> bool:
        """Return whether the gradients of a crowd show tastes through noise."""
        reached = self.reach(crowd, n_items, terms)
        return not reached.noise or reached.prospect >= MARGINAL_GRADIENTS

    def footprint(self, n_items: int) -> Footprint:
        """Estimate an epoch's gradients and the states to average."""
        n, epochs = self.rank, self.n_epochs
        states = 2 + _AVERAGED * epochs
        memory = 1e7 + 8 * n_items * n * (states + 12) + COPIED * n_items * n
        per_million = epochs * (1 + n**2 / 20) / 10
        return Footprint(memory, 48, 64, epochs * n_items * n / DRAWS, per_million)

    def factors(
        self, crowd: Crowd, baseline: ItemEffects, people: AnyPeople, run: Measures, branch: str = ""
    ) -> Floats:
        """Take Langevin steps of the item factors (Welling & Teh 2011), and average the last ones.

        Args:
            crowd: whose gradients are expected, as declared or as measured.
            baseline: released item effects.
            people: whose gradients are measured.
            run: the charged plan, or the non-private baseline.
            branch: the branch of the plan that the gradients belong to, if any.

        Returns:
            Shape (n_items, rank or more): public factors beyond ``rank`` are not changed.

        Privacy: charged (the measurements of ``queries``).
        """
        domain = people.domain
        gradients = self._gradients(domain)
        prior = prior_variance(self.factor_variance, self.rank, domain.scale.span)
        # Public factors of others are the prior mean; those beyond this model's rank are only passed on.
        mean, untouched = leading(baseline.prior.factors_of(domain.n_items), self.rank)
        reached = self.reach(crowd, domain.n_items, run.terms)
        counts = np.maximum(baseline.counts, 1e-3)
        information = counts * reached.information
        scales = item_scales(counts) / self.widening(crowd, domain.n_items, run.terms)
        # Rows of ``normal_factors`` have the norm 1, those of a prior of variance τ² the norm √(d τ²).
        items = np.where(mean, mean, np.sqrt(prior * self.rank) * normal_factors(*mean.shape))
        spread = np.where(mean.any(axis=1), _DOUBT, 1.0) * prior
        initial_weight = np.ones(domain.n_items)  # how much of each row is still its start
        states = []
        for t in range(1, gradients.epochs + 1):
            query = replace(gradients.query(t), branch=branch)
            sums = partial(gradients.measure, people, baseline.item_effects, items, scales)
            # Clipping leaves about the part ``kept`` of a gradient, and the scales multiply it: divided by
            # both, it is unbiased as far as the expectation is right, with noise that grows alike.
            noisy, seen_part = run.measure(query, sums), reached.kept * scales
            # Welling & Teh 2011, with the noise of the measurement as the noise of the dynamics.
            items, covered = langevin_step(
                items,
                noisy.values / seen_part[:, None],
                (noisy.sigma / seen_part) ** 2,
                information,
                mean=mean,
                pull=gradients.noise / spread * (1 + reached.noise),
                variance=spread * _REMAINING ** ((t - 1) / gradients.epochs),
            )
            initial_weight *= 1 - covered
            # The last states are draws from about the posterior: their mean is released.
            if t > gradients.epochs * (1 - _AVERAGED):
                states.append(items)
        # Users fold in only on what was learned or is public, not on a random start.
        learned = np.where(mean, 1.0, np.sqrt(1 - initial_weight)[:, None])
        return np.hstack([np.mean(states, axis=0) * learned, untouched])

    @property
    def _booked_norm(self) -> float:
        """C in widths of the scale."""
        return _CLIP_NORM if self.clip_norm is None else self.clip_norm

    def _gradients(self, domain: Domain) -> MarginalGradients:
        span = domain.scale.span
        return MarginalGradients(
            domain=domain,
            rank=self.rank,
            epochs=self.n_epochs,
            noise=RATING_VARIANCE * span**2,
            clip=self.clip * span,
            clip_norm=self._booked_norm * span,
        )
