"""Matrix factorisation of noisy ratings (Friedman, Berkovsky & Kaafar 2016, §4.2)."""

import math
from collections.abc import Mapping, Sequence
from typing import Annotated, ClassVar, Literal

import numpy as np
from pydantic import Field

from hushrec.arrays import Floats32
from hushrec.data.anywhere import AnyPeople
from hushrec.data.domain import Domain
from hushrec.models.base import Noise, PrivateModel
from hushrec.models.biases import Biases, BiasSettings, average_split, biases_footprint, require_rank
from hushrec.models.factorization.factorizers import Factors, Sparse, gradient_descent, least_squares
from hushrec.models.friedman_berkovsky_kaafar.estimate import NoisyRatings, membership_probability
from hushrec.models.friedman_berkovsky_kaafar.sums import Cells
from hushrec.models.outputs import people_release
from hushrec.models.visibility import noisy_split, shows_noisy
from hushrec.privacy.accounting.budget import Budget, Terms
from hushrec.privacy.accounting.measurement import Measurement
from hushrec.privacy.grant import Measures
from hushrec.release.artefact import Release
from hushrec.settings import only
from hushrec.sums.footprint import DRAWS, Footprint


def cells_footprint(before: Footprint, cells: Cells, epsilon: float, pace: float) -> Footprint:
    """Estimate the averages, then noise on all cells, and those that are kept: empty ones by noise alone.

    Args:
        before: footprint of the averages, which stay.
        epsilon: their part of ε.
        pace: seconds of the solver per million ratings or kept cells.

    Privacy: public.
    """
    drawn = n_kept = 0.0
    if cells.adjacency == "add-remove":
        drawn = float(cells.domain.n_users * cells.domain.n_items)
        # An empty cell survives eq. 8 with probability P(|Laplace(b)| > α) = e^(−α/b), b = Δ/ε.
        n_kept = drawn * math.exp(-cells.threshold * epsilon / cells.query.sensitivity)
    seconds = drawn / DRAWS + pace * n_kept / 1e6
    each = 60 if n_kept else 40
    return before.then(Footprint(before.memory + 60 * n_kept, each, 32, seconds, pace, gathered=True))


def factorise_noisy(
    noisy: NoisyRatings,
    weights: Floats32 | None,
    biases: Biases,
    domain: Domain,
    *,
    solver: Literal["als", "sgd"],
    rank: int,
    epochs: int | None,
    rate: float,
    reg: float,
) -> Factors:
    """Fit factors and effects to noisy ratings, in rating units.

    Args:
        noisy: the noisy ratings.
        weights: weight of each; None for equal ones.
        biases: what was subtracted from them.
        solver: ``als``, whose ridge grows with the noise, or ``sgd``.
        epochs: number of passes; by default 6 of ``als`` or 20 of ``sgd``.
        rate, reg: learning rate and λ of ``sgd``, for ratings of one to five.

    Privacy: post-processing.
    """
    star = domain.scale.star
    # In stars, for which the rates and penalties are stated.
    values = noisy.values / np.float32(star)
    sparse = Sparse(noisy.indptr, noisy.columns, values, domain.n_items, weights)
    if solver == "sgd":
        return gradient_descent(sparse, rank, epochs or 20, rate=rate, reg=reg).times(star)
    variance = float(np.mean(values.astype(np.float64) ** 2)) if len(values) else 1.0
    ridge = 25.0 if weights is None else 10.0
    factors = least_squares(
        sparse,
        rank,
        epochs or 6,
        reg=ridge * variance,
        power=0.0,
        # λ/s² is then the variance of a noisy rating over that of an effect: the penalty of such a prior.
        row_scale=float(np.sqrt(ridge * biases.user_variance.mean())) / star,
        column_scale=float(np.sqrt(ridge * biases.item_variance.mean())) / star,
    )
    return factors.times(star)


_WIDEST = 4.0  # chosen by hand: noisy cells whose plausibility is estimated are clamped to 4 clips


class InputPerturbationMF(PrivateModel):
    """Noise on every rating, then any matrix factorisation.

    x′_ui = clamp(r_ui − μ_i − b_u, ±B) + Lap(Δ/ε), then min Σ w_ui (x′_ui − ⟨p_u, q_i⟩)² + ridge. Under
    add-remove every cell of users × items gets noise, cells with x′ within ±α are dropped, and w_ui is the
    probability that a kept cell holds a rating. Prediction: r̂_ui = μ_i + b_u + ⟨p_u, q_i⟩.

    Privacy: unit ``record`` under both adjacencies. Publishes a vector for every user on the roster.
    """

    glance: ClassVar = {
        "measures": "sums and counts per item and per user, and every rating",
        "predicts by": "user and item factors, fitted to noisy ratings",
        "noise": "Laplace",
        "lists users": "yes",
        "paper": "Friedman, Berkovsky & Kaafar 2016, §4.2",
        "page": "private_als",
    }
    supports: ClassVar = frozenset({("record", "add-remove"), ("record", "replace")})
    informed: ClassVar = True
    sums_alone: ClassVar = False

    rank: int = Field(default=8, ge=1, le=120)
    """d, number of factors."""
    solver: Literal["als", "sgd"] = "als"
    """``als``, or ``sgd`` (the paper's ISGD)."""
    epochs: int | None = Field(default=None, ge=1, le=1000)
    """number of passes of the solver; by default 6 of ``als`` or 20 of ``sgd``, or none where the noise
    would hide the factors of the domain's crowd, and the averages get the whole budget.
    """
    clip: float = Field(default=0.25, gt=0, le=1, allow_inf_nan=False)
    """B, bound on a residual, as a fraction of the scale's width."""
    threshold: Annotated[float, only(adjacency="add-remove")] = Field(
        default=0.15, gt=0, le=1, allow_inf_nan=False
    )
    """α, as a fraction of the scale's width; smaller noisy cells are dropped."""
    biases: BiasSettings = BiasSettings()
    """how the averages are measured."""
    learning_rate: Annotated[float, only(solver="sgd")] = Field(default=0.01, gt=0, le=1, allow_inf_nan=False)
    """γ."""
    reg: Annotated[float, only(solver="sgd")] = Field(default=0.045, ge=0, allow_inf_nan=False)
    """λ, for ratings in quarters of the scale's width; ``als`` takes its penalty from the noise."""

    @property
    def noise_distribution(self) -> Noise:
        """Laplace noise: for a single number it is smaller than Gaussian noise at the same ε."""
        return "laplace"

    def queries(self, domain: Domain, terms: Terms) -> Sequence[Measurement]:
        """List the averages, then all ratings or all cells."""
        require_rank(self.rank, domain)
        cells = [self._cells(domain, terms).query] if self._learns(domain, terms) else []
        return [*self.biases.queries(domain, terms, self.norm), *cells]

    def default_split(self, domain: Domain, budget: Budget) -> Mapping[str, float]:
        """Give the averages a fifth where factors show, and everything where noise hides them."""
        if not self._learns(domain, budget):
            return average_split(budget, 1.0)
        cells_part = noisy_split(domain, budget)
        return average_split(budget, 1 - cells_part) | dict.fromkeys(("ratings", "cells"), cells_part)

    def footprint(self, domain: Domain, budget: Budget) -> Footprint:
        """Estimate the averages, then all cells that are kept; empty cells are kept by noise alone."""
        if not self._learns(domain, budget):
            return biases_footprint(domain, budget)
        part = self.budget_split(domain, budget)[self._cells(domain, budget).query.name]
        pace = (self.epochs or 10) * self.rank / 200  # seconds per million ratings or kept cells
        biases, cells = biases_footprint(domain, budget), self._cells(domain, budget)
        return cells_footprint(biases, cells, budget.epsilon * part, pace)

    def fit(self, people: AnyPeople, run: Measures) -> Release:
        """Measure biases (Algorithms 1 and 2), add noise to every residual, clamp, factorise (Algorithm 3).

        Privacy: charged (the measurements of ``queries``).
        """
        domain = people.domain
        biases = self.biases.measure(people, run, self.norm)
        if not self._learns(domain, run.terms):
            return people_release(self, domain, biases)
        cells = self._cells(domain, run.terms)
        # Eq. 7, then lines 1 and 2 of Algorithm 3 (add-remove: eq. 8), then line 3.
        residuals = cells.residuals.entries(people, biases.item_effects, biases.user_effects)
        factors = self._factorise(cells.measure(run, residuals), biases, cells)
        released = biases._replace(
            item_effects=biases.item_effects + factors.column_effects,
            user_effects=biases.user_effects + factors.row_effects,
        )
        return people_release(self, domain, released, factors.rows, factors.columns)

    def _learns(self, domain: Domain, terms: Terms) -> bool:
        """Return whether ``epochs`` is set, or factors of the declared crowd show."""
        return self.epochs is not None or shows_noisy(domain, terms)

    def _factorise(self, noisy: NoisyRatings, biases: Biases, cells: Cells) -> Factors:
        """Factorise the noisy ratings: post-processing."""
        weights = None
        if cells.adjacency == "add-remove" and noisy.sigma:
            # Eq. 8 leaves cells that nobody rated, so each is weighted by how likely it is a rating.
            noisy, weights = membership_probability(
                noisy, biases.user_counts, biases.item_counts, cells.clip, cells.domain.scale.span
            )
        return factorise_noisy(
            noisy,
            weights,
            biases,
            cells.domain,
            solver=self.solver,
            rank=self.rank,
            epochs=self.epochs,
            rate=self.learning_rate,
            reg=self.reg,
        )

    def _cells(self, domain: Domain, terms: Terms) -> Cells:
        span = domain.scale.span
        limit = self.clip * span * (_WIDEST if terms.adjacency == "add-remove" else 1.0)
        return Cells(domain, terms.adjacency, self.clip * span, self.threshold * span, limit)
