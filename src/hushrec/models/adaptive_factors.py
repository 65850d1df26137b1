"""Item effects first; their released sums then decide what the rest of the budget measures."""

import math
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import replace
from functools import partial
from typing import ClassVar

import numpy as np

from hushrec.arrays import Floats
from hushrec.data.anywhere import AnyPeople
from hushrec.data.declarations import Crowd
from hushrec.data.domain import Domain
from hushrec.documents.sentences import Branch
from hushrec.estimation.activity import mean_count
from hushrec.estimation.shrinkage import combine
from hushrec.models.base import EFFECTS_SPLIT, PrivateModel
from hushrec.models.effects import EffectSettings, effects_footprint, effects_of, variance_of_ratings
from hushrec.models.lists.choices import choice_pairs, choices_footprint, measure_tastes
from hushrec.models.liu_wang_smola.noisy_descent import Descent
from hushrec.models.mcsherry_mironov.covariance_model import (
    PAIRS_SPLIT,
    CovarianceSettings,
    measure_matrices,
)
from hushrec.models.mcsherry_mironov.sums import CovarianceSums
from hushrec.models.outputs import factor_release
from hushrec.models.visibility import (
    CHOICES_BESIDE_FEATURES,
    CHOICES_SHOWN,
    MARGINAL_GRADIENTS,
    SHOWN,
    covariance_beats_descent,
    over_noise_edge,
    whole_users,
)
from hushrec.privacy.accounting.budget import Budget, Terms
from hushrec.privacy.accounting.measurement import Measurement
from hushrec.privacy.grant import Measures
from hushrec.privacy.noisy import Noisy
from hushrec.release.artefact import Release
from hushrec.sums.footprint import Footprint
from hushrec.sums.item_sums import OVERALL, EffectSums
from hushrec.sums.overall import USER_COUNT, RatingSquares, user_count

EFFECTS, COVARIANCE, CHOICES, GRADIENTS = "effects", "covariance", "choices", "gradients"
"""The branches of the plan: what is measured after the first sums."""
_FIRST = 0.2
"""Part of the budget for the first sums: docs/models/adaptive_factors.md."""
_OF_PAIRS = 0.65
"""Part for the covariance, in its branch; the rest measures the item sums again. As above."""
_OF_CHOICES = {CHOICES: 0.20, GRADIENTS: 0.12}
"""Part for the pairs of items that people rated, in two branches. As above."""
_OF_GRADIENTS = 0.52
"""Part for the gradients, in their branch. As above."""
_PAIRS = "item pairs with {}"
"""Name of their measurement in a branch."""
_EXPLAINED = {CHOICES: 0.002, GRADIENTS: 0.004}
"""Variance of ratings that tastes from choices explain, in squared widths of the scale. As above."""
_LARGEST_HEAD = 8_000
"""Chosen by hand: a bound on memory, 1.1 GB for the matrices of a covariance."""
_MOST_EACH = 200
"""Ratings of each of the most users that there may be; by hand: most people have fewer."""
_AGAIN = {
    "item sums again": ("item sums", EFFECTS, 0.635),
    "item counts again": ("item counts", EFFECTS, 0.165),
    "item sums with covariance": ("item sums", COVARIANCE, 0.15),
    "item sums with choices": ("item sums", CHOICES, 0.54),
    "item counts with choices": ("item counts", CHOICES, 0.06),
    "item sums with gradients": ("item sums", GRADIENTS, 0.12),
    "item counts with gradients": ("item counts", GRADIENTS, 0.04),
}
"""Second measurements: the sums that they repeat, the branch, and their part of the budget."""


class AdaptiveFactors(PrivateModel):
    """Item effects, and then effects again, a covariance, choices or gradients, as the first sums advise.

    A fifth of the budget measures the sums of ``GlobalEffects``. They say how many people rate how much, and
    how much their tastes would show through the noise that is left: in a covariance, as in ``CovarianceSVD``;
    or, for unit ``user``, in which items the same people rated, as in ``PrivateEASE``, and in gradients of
    item factors that start from there, as in ``PosteriorMF``. If none shows enough, the item sums are
    measured again. The dearest of these branches is paid, whichever is taken.

    Prediction: r̂_ui = μ_i + b_u + ⟨p_u, q_i⟩, with b_u and p_u regressed on the device.

    Privacy: units ``user`` and ``record`` under add-remove.
    """

    glance: ClassVar = {
        "measures": "a sum and a count per item, then these again, and pairs of items, or gradients",
        "predicts by": "regression of the user's own ratings on item factors",
        "noise": "Gaussian",
        "lists users": "no",
        "paper": "after McSherry & Mironov 2009; Liu, Wang & Smola 2015",
    }
    supports: ClassVar = frozenset({("record", "add-remove"), ("user", "add-remove")})
    informed: ClassVar = True
    rank: ClassVar = 40
    """Largest number of factors of a covariance; choices have up to 64, of which gradients move five."""

    def queries(self, domain: Domain, terms: Terms) -> Sequence[Measurement]:
        """List sums and counts by item, the number of users, and what each branch measures."""
        sums, user = self._effects(domain, terms), terms.unit == "user"
        size = [] if user else [USER_COUNT, RatingSquares(domain).query]
        branches = {EFFECTS: [], COVARIANCE: [*self._pairs(domain, terms).queries()]}
        branches |= {branch: _tastes(domain, branch) for branch in _may_show(domain, terms)}
        listed = [*sums.queries(), *size]
        for branch, further in branches.items():
            listed += [query for _, query in _again(sums, branch)]
            listed += [replace(query, branch=branch) for query in further]
        return listed

    def default_split(self, domain: Domain, budget: Budget) -> Mapping[str, float]:
        """Give a fifth to the first sums, and four fifths to each branch."""
        gradients = [*_descent(domain).queries(domain)]
        return {
            **dict.fromkeys((*OVERALL, "number of users", "squared ratings"), 0.01),
            **{name: _FIRST * EFFECTS_SPLIT[name] for name in ("item sums", "item counts")},
            **{name: part for name, (_, _, part) in _AGAIN.items()},
            **{name: part * _OF_PAIRS for name, part in PAIRS_SPLIT[budget.unit].items()},
            **{_PAIRS.format(branch): part for branch, part in _OF_CHOICES.items()},
            **{query.name: _OF_GRADIENTS / len(gradients) for query in gradients},
        }

    def prospects(self, domain: Domain, budget: Budget) -> str:
        """Say that the first sums decide."""
        return "The first sums decide what the rest of the budget measures, whatever crowd is declared."

    def footprint(self, domain: Domain, budget: Budget) -> Footprint:
        """Estimate the item effects, then the dearer of the other branches."""
        pairs = self._covariance(domain, budget).footprint(domain, budget, self.norm, self.rank)
        whole = effects_footprint(domain, budget).then(pairs)
        if _may_show(domain, budget):
            whole = whole.then(choices_footprint(domain)).then(_descent(domain).footprint(domain.n_items))
        return replace(whole, lowered_by="")

    def fit(self, people: AnyPeople, run: Measures) -> Release:
        """Measure sums and counts; then, as they advise, these again, and pairs of items, or gradients.

        The covariance is that of McSherry & Mironov 2009, §4.4, the gradients those of Langevin dynamics.

        Privacy: charged (the measurements of ``queries``, of one branch).
        """
        domain = people.domain
        sums = self._effects(domain, run.terms)
        # Summed once: what is measured again is the same sum with other noise.
        totals = {query.name: values for query, values in sums.measure(people)}
        noisy = {query.name: run.measure(query, totals[query.name]) for query in sums.queries()}
        baseline, crowd = effects_of(sums, noisy, run.prior), _crowd(sums, noisy, people, run)
        pairs, spread = self._pairs(domain, run.terms), _spread(sums, noisy, people, run)
        choices = _choices_signal(domain, run.terms, float(noisy["item counts"].values.sum()))
        branch = self._take_branch(baseline.counts, crowd, pairs, spread, choices, run)
        for first, query in _again(sums, branch):
            noisy[first] = combine(noisy[first], run.measure(query, totals[first]))
        baseline, known = effects_of(sums, noisy, run.prior), run.prior.factors_of(domain.n_items)
        if branch == EFFECTS:
            return factor_release(self, domain, baseline, known)
        if branch in _OF_CHOICES:
            query, counts = _pairs_of(domain, branch), noisy["item counts"]
            tastes = measure_tastes(counts, crowd.users, people, run, query, _EXPLAINED[branch])
            known = np.hstack([known, tastes])
            if branch == GRADIENTS:
                informed = baseline._replace(prior=replace(run.prior, factors=known))
                known = _descent(domain).factors(crowd, informed, people, run, branch)
            return factor_release(self, domain, baseline, known)
        matrices = [measure_matrices(pairs, baseline, people, run, branch)]
        factors = self._covariance(domain, run.terms).factors(
            matrices.pop(), pairs, baseline.counts, min(self.rank, domain.n_items), run.prior, crowd
        )
        return factor_release(self, domain, baseline, factors)

    def _take_branch(
        self,
        counts: Floats,
        crowd: Crowd,
        pairs: CovarianceSums,
        spread: float,
        choices: float,
        run: Measures,
    ) -> str:
        """Take the branch that is expected to predict best, given the variance of ratings.

        Args:
            choices: signal of the pairs of items that people rated, as that of lists.

        Privacy: post-processing.
        """
        domain, terms = pairs.domain, run.terms
        covariance, _ = pairs.queries()
        # w s² of ``over_noise_edge``, whose largest eigenvalue is compared with that of the noise.
        weight = spread * pairs.weight_of(crowd.each)
        signal = over_noise_edge(counts, crowd, weight, run.noise(covariance))
        shows, may_show = signal >= SHOWN[terms.unit], _may_show(domain, terms)
        descends = GRADIENTS in may_show and _descent(domain).shows(crowd, domain.n_items, terms)
        if descends and not (shows and covariance_beats_descent(crowd, domain.n_items, terms)):
            signal = _descent(domain).reach(crowd, domain.n_items, terms).prospect
            branch, least = GRADIENTS, MARGINAL_GRADIENTS
        elif shows or terms.unit == "record":
            branch, least = COVARIANCE if shows else EFFECTS, SHOWN[terms.unit]
        else:
            least = CHOICES_BESIDE_FEATURES if run.prior.design.size else CHOICES_SHOWN
            branch = CHOICES if CHOICES in may_show and choices >= least else EFFECTS
            signal = choices
        signal = float(f"{min(signal, 1e9):.3g}")
        return run.take(branch, Branch[branch](signal=signal, least=least))

    def _effects(self, domain: Domain, terms: Terms) -> EffectSums:
        return EffectSettings().sums(domain, terms, self.norm)

    def _pairs(self, domain: Domain, terms: Terms) -> CovarianceSums:
        return self._covariance(domain, terms).sums(domain, terms, self.norm)

    def _covariance(self, domain: Domain, terms: Terms) -> CovarianceSettings:
        """Return the settings for a head that is large enough for all users that there may be."""
        most = domain.max_users * min(_MOST_EACH, domain.max_per_user, domain.n_items)
        many = domain.model_copy(update={"expected_users": domain.max_users, "expected_records": most})
        head = min(CovarianceSettings().head_size(many, terms, self.norm), _LARGEST_HEAD)
        return CovarianceSettings(pair_items=max(head, 2))


def _descent(domain: Domain) -> Descent:
    return Descent(rank=min(Descent().rank, domain.n_items))


def _may_show(domain: Domain, terms: Terms) -> list[str]:
    """List the branches of choices that the largest crowd within the domain's bounds would take.

    A branch that no crowd could take would still be paid for, if it were the dearest.
    """
    if terms.unit != "user" or domain.n_items < 2:
        return []
    # That these sums fit 64 bits need not be asked: those of the covariance allow for fewer users.
    each = float(min(domain.max_per_user, domain.n_items))
    everybody = Crowd(domain.max_users, domain.max_users * each, declared=True)
    if _choices_signal(domain, terms, domain.max_users * math.sqrt(each)) < CHOICES_SHOWN:
        return []
    return [CHOICES, GRADIENTS] if _descent(domain).shows(everybody, domain.n_items, terms) else [CHOICES]


def _choices_signal(domain: Domain, terms: Terms, lengths: float) -> float:
    """Return the signal of the pairs of items that people rated, as that of lists: Σ √c is ``lengths``."""
    return whole_users(domain, terms, max(lengths, 0.0) / 2)


def _pairs_of(domain: Domain, branch: str) -> Measurement:
    """Return the pairs of items that people rated, as a branch lists them."""
    return replace(choice_pairs(domain).pairs, name=_PAIRS.format(branch), branch=branch)


def _tastes(domain: Domain, branch: str) -> list[Measurement]:
    """List the pairs of a branch of choices, and its gradients, if any."""
    gradients = _descent(domain).queries(domain) if branch == GRADIENTS else ()
    return [_pairs_of(domain, branch), *gradients]


def _again(sums: EffectSums, branch: str) -> Iterator[tuple[str, Measurement]]:
    """Yield the second measurements of a branch, with the names of the first; not of what is exact."""
    firsts = {query.name: query for query in sums.queries() if not query.is_exact}
    for name, (first, of, _) in _AGAIN.items():
        if of == branch and first in firsts:
            yield first, replace(firsts[first], name=name, branch=branch)


def _crowd(sums: EffectSums, noisy: Mapping[str, Noisy], people: AnyPeople, run: Measures) -> Crowd:
    """Return how many people rate how much, from what is released.

    Privacy: charged (the number of users, for unit ``record``).
    """
    domain, terms = people.domain, run.terms
    counts = max(float(noisy["item counts"].values.sum()), 1.0)
    most = float(min(domain.max_per_user, domain.n_items))
    if terms.unit == "user":
        users = max(float(noisy["global count"].values[0]), 1.0)
        each = mean_count(counts / users, most)
    else:
        users = max(float(run.measure(USER_COUNT, user_count(people)).values[0]), 1.0)
        each = min(max(counts / users, 1.0), most)
    return Crowd(users, users * each, declared=True)


def _spread(sums: EffectSums, noisy: Mapping[str, Noisy], people: AnyPeople, run: Measures) -> float:
    """Return the variance of ratings, in squared rating units.

    Privacy: charged (the squared ratings, for unit ``record``).
    """
    if run.terms.unit == "user":
        return variance_of_ratings(sums, noisy)
    squares = RatingSquares(people.domain)
    total = run.measure(squares.query, partial(squares.measure, people)).values[0]
    count = max(float(noisy["item counts"].values.sum()), 1.0)
    # E r² − (E r)²; noise may leave less than nothing of it.
    variance = total / count - (noisy["item sums"].values.sum() / count) ** 2
    return float(min(max(variance, 0.0), squares.query.sensitivity))
