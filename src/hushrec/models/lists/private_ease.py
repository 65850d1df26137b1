"""EASE (Steck 2019) from one noisy Gram matrix of users' items."""

import math
from collections.abc import Mapping, Sequence
from dataclasses import replace
from functools import partial
from typing import ClassVar

import numpy as np
from pydantic import Field

from hushrec.arrays import Floats
from hushrec.data.anywhere import AnyPeople
from hushrec.data.domain import Domain, FeedbackKind
from hushrec.documents.fact import Fact
from hushrec.documents.sentences import Branch
from hushrec.errors import ConfigError
from hushrec.estimation.choice_factors import rounds
from hushrec.estimation.head import Head
from hushrec.estimation.shrinkage import Known, combine, denoised_counts, shrinking_cost
from hushrec.estimation.yearly import YearlySums
from hushrec.estimation.yearly_matrix import head_of
from hushrec.item_prior import ItemPrior
from hushrec.models.base import PrivateModel
from hushrec.models.lists.choices import fixed_lens
from hushrec.models.lists.estimate.feature_values import CountModel, count_model, reach_tail, value_table
from hushrec.models.lists.estimate.pair_factors import (
    DIRECTIONS,
    Crowd,
    Muting,
    clean_pairs,
    ease,
    muting,
    tables_of,
)
from hushrec.models.lists.estimate.yearly_pairs import NAME, YearlyPairs, passed_on, yearly_pairs
from hushrec.models.lists.outputs import linear_release, score_release
from hushrec.models.lists.sums import (
    LARGEST,
    MOST_VOTERS,
    CrowdSize,
    PairSums,
    Votes,
)
from hushrec.models.visibility import TASTE, TASTE_WITH_FEATURES, mu, whole_users
from hushrec.privacy.accounting.budget import Budget, Terms
from hushrec.privacy.accounting.measurement import Measurement
from hushrec.privacy.carried import Carried
from hushrec.privacy.grant import Measures
from hushrec.privacy.noisy import Noisy
from hushrec.release.artefact import Release
from hushrec.sums.footprint import DRAWS, FLOPS, Footprint
from hushrec.sums.item_sums import ItemCounts

COUNTS, BOTH, PAIRS = "counts", "both", "pairs"
"""The branches of the plan: the item counts are measured again, pairs of items are, or both."""
_BESIDE = " beside counts"
"""What follows the names of the pairs' measurements in the branch of both."""
AGAIN = {COUNTS: "item counts again", BOTH: "item counts beside pairs"}
"""Branch → the name of its second measurement of the counts."""
FEWEST_ITEMS = math.sqrt(3.0)
"""Smallest Σ √c/n, or Σ c/Σ √c for unit ``record``, at which own items tell more than popularity does.

That of people with three items each; at 1.9 each, EASE without noise is below popularity
(docs/models/private_ease.md).
"""
LEAST_CLEAR, CLEAR = 2.0, 9.0
"""An item's count over its noise, of the 20 largest: the least at which pairs are measured, and that at which
counts need not be measured again. Chosen on nine sets; docs/models/private_ease.md."""
POPULAR = 20
"""How many of the most popular items must be clear of the noise. Chosen by hand, as the above."""
VOTE_ERROR = 0.005
"""Error of the mean vote by its noise, at most, where there are people enough. Chosen by hand."""
LEAST_EACH = 3
"""Items of each user, on average, at which own items are expected to tell more than popularity; as above."""
LENGTH_RATIO = 0.75
"""Σ √c, or its counterpart for unit ``user``, of people as unequal as in real data, over that of equal
people: lognormal numbers of items with σ = 1.25 have 0.71 or more."""
VOTE_MOVES = 0.002
"""Deviation of a voter's mean vote from one release of a year to the next, which has other lists. By hand."""
HEADROOM = 2
"""All sums must fit this many times the declared users. Chosen by hand."""


class PrivateEASE(PrivateModel):
    """A linear model of items that go together; each device makes its user's list from their own items.

    Item counts s give public weights d and the direction v of the average user. Of each user's weighted items
    y = d ∘ x, z = y − ⟨v, y⟩ v is what is their own taste. Measured: Σ_u z_u z_uᵀ/‖z_u‖² above the diagonal
    (unit ``record``: /‖z_u‖) and Σ_u ⟨v, y_u⟩²/‖y_u‖². The matrix is cleaned to L Lᵀ by what is known of its
    noise and of public features of the items, and score_j = Σ_i x_i B_ij with the B of EASE (Steck 2019,
    eq. 8) for the covariance of L, v and a diagonal, plus an intercept: popularity fills in what own items do
    not say.

    The counts and the size of the crowd come first. If they say that the crowd is too small for pairs, or has
    fewer than three items each, the rest of the budget measures the counts again, and every list is by
    popularity. If noise blurs the counts of the popular items, from which v and d come, a fifth of the budget
    measures them again before the pairs. Lists are by popularity, too, if a vote of the people says that they
    are better.

    Privacy: units ``user`` and ``record`` under add-remove.
    """

    glance: ClassVar = {
        "measures": "a count per item, the size of the crowd, and an item × item matrix of pairs",
        "predicts by": "a linear model of the user's own items",
        "noise": "Gaussian",
        "lists users": "no",
        "paper": "after Steck 2019; Lim & Teh 2007",
    }
    supports: ClassVar = frozenset({("user", "add-remove"), ("record", "add-remove")})
    feedback: ClassVar[FeedbackKind] = "interactions"
    informed: ClassVar = True

    rank: int = Field(default=128, ge=1, le=1024)
    """largest number of factors, besides up to 400 of features; the noise decides how many are used."""
    pair_items: int = Field(default=5000, ge=2, le=LARGEST)
    """the most popular items, by noisy count, whose pairs are measured."""
    threads: int = Field(default=2, ge=1, exclude=True)
    """number of threads of the kernel; does not change the result."""

    @property
    def continues(self) -> bool:
        return True

    def queries(self, domain: Domain, terms: Terms) -> Sequence[Measurement]:
        """List item counts; and unless the bound on users is too low, the crowd's size, and all branches."""
        counts = ItemCounts(domain, terms.unit).query
        most = whole_users(domain, terms, _most_lengths(domain, terms))
        if domain.n_items < 2 or most < _taste(domain):
            return [counts]
        pairs = (*self._pairs(domain, terms).queries(), Votes(terms.unit).query)
        alone, beside = ([_in_branch(query, branch) for query in pairs] for branch in (PAIRS, BOTH))
        always = counts, CrowdSize(terms.unit).query
        return [*always, *alone, _again(counts, BOTH), *beside, _again(counts, COUNTS)]

    def default_split(self, domain: Domain, budget: Budget) -> Mapping[str, float]:
        """Give the pairs four fifths, or a fifth of it to the counts, or the counts all of the rest."""
        small = {"popular part": 0.02, "vector lengths": 0.01, "votes": 0.02}
        beside = {f"{name}{_BESIDE}": part for name, part in (*small.items(), ("item pairs", 0.59))}
        counts = {"item counts": 0.15, "item counts beside pairs": 0.2, "item counts again": 0.84}
        return {"crowd size": 0.01, **counts, **small, "item pairs": 0.79, **beside}

    def prospects(self, domain: Domain, budget: Budget) -> str:
        """Say whether taste is expected to be learned from the crowd, and how lists are made if not."""
        if domain.n_items < 2:
            return ""
        learned = self.expects_taste(domain, budget)
        expected = "Taste is expected" if learned else "Taste is not expected"
        expectation = f"{expected} to be learned from {domain.crowd.in_words(domain.feedback)}: "
        expectation += f"{self.needed_crowd(domain, budget)}. "
        if not self.may_measure_pairs(domain, budget):
            return f"{expectation}All of the budget goes to item counts, and everybody gets the same list."
        lists = "If the first sums say otherwise" if learned else "If the first sums confirm this"
        rest = "the rest of the budget goes to item counts, and lists are by popularity"
        return f"{expectation}{lists}, {rest}."

    def may_measure_pairs(self, domain: Domain, terms: Terms) -> bool:
        """Return whether the bound on users allows for pairs, so that the first sums decide."""
        return len(self.queries(domain, terms)) > 1

    def expects_taste(self, domain: Domain, budget: Budget) -> bool:
        """Return whether the declared crowd is large enough for lists that are not by popularity alone."""
        return domain.crowd.users >= self.users_needed(domain, budget)

    def needed_crowd(self, domain: Domain, budget: Budget) -> str:
        """Say which crowd it takes until taste is expected to be learned."""
        if domain.n_items < 2:
            return "it takes two items"
        if not self.may_measure_pairs(domain, budget):
            each = _most_lengths(domain, budget) / domain.max_users
            bound = math.ceil(_taste(domain) / whole_users(domain, budget, each))
            return f"it takes a bound of {bound:,} users or more (max_users)"
        if domain.crowd.each < LEAST_EACH:
            return f"it takes {LEAST_EACH} each on average"
        return f"it takes about {self.users_needed(domain, budget):,.0f} with as many each"

    def users_needed(self, domain: Domain, budget: Budget) -> float:
        """Return the number of users, as unequal as in real data, from which taste is expected to be learned.

        They have c items each on average, as many as the crowd. For unit ``user``, it takes
        μ Σ √c/2 ≥ 20 √m and Σ √c ≥ √3 n of n users; for unit ``record``, μ Σ √c ≥ 20 √m and Σ c ≥ √3 Σ √c.
        With public features of the items it is 13 in place of 20.

        Returns:
            A whole number, or infinity where no number of such users is enough.
        """
        each = domain.crowd.each
        if domain.n_items < 2 or each < LEAST_EACH or not self.may_measure_pairs(domain, budget):
            return math.inf
        lengths = LENGTH_RATIO * _lengths(math.sqrt(each), budget)
        return math.ceil(_taste(domain) / whole_users(domain, budget, lengths))

    def footprint(self, domain: Domain, budget: Budget) -> Footprint:
        """Estimate the largest of: counts, the triangle of pairs with its noise, its cleaning, EASE."""
        n, m = domain.n_items, min(self.pair_items, domain.n_items)
        counting, seconds = shrinking_cost(n)
        cells = m * (m - 1) / 2
        most = self.rank + (DIRECTIONS if domain.features or domain.titles else 0)
        pairs = max(34 * cells, 8 * cells + max(12.0 * m * m + 48.0 * m * most, 40.0 * n * most))
        updates = rounds(most) * 2.0 * m * m * most
        spent = seconds + cells / DRAWS + updates / FLOPS
        return Footprint(1e7 + max(counting, pairs), 45, 100, spent, 2.0, lowered_by="pair_items")

    def fit(self, people: AnyPeople, run: Measures) -> Release:
        """Count items and people; measure the pairs of the popular items and solve for EASE, or count again.

        In a year, counts and pairs are those of all its releases, and the signal that decides is that of the
        whole year.

        Privacy: charged (the measurements of ``queries``, of one branch).
        """
        domain, unit = people.domain, run.terms.unit
        counts, sizes = ItemCounts(domain, unit), CrowdSize(unit)
        year = YearlySums.of(run.earlier, domain.items)
        first = run.measure(counts.query, lambda: counts.measure(people))
        year.warn_of_fewer(first)
        if not self.may_measure_pairs(domain, run.terms):
            return self._by_popularity(domain, run, year.follow_total(first), first)
        size = run.measure(sizes.query, sizes.measure(people))
        year = year.follow_size(float(size.values[0]), size.sigma)
        branch = run.take(*self._advise(domain, run, year, first))
        if branch != PAIRS:
            again = run.measure(_again(counts.query, branch), lambda: counts.measure(people))
            first = combine(first, again)
        if branch == COUNTS:
            return self._by_popularity(domain, run, year, first)
        year = year.combine(first.name, first.values, first.sigma)
        return self._by_pairs(people, domain, run, year, branch)

    def _advise(self, domain: Domain, run: Measures, year: YearlySums, first: Noisy) -> tuple[str, Fact]:
        """Return the branch that the first sums advise, and why: for those of the year so far.

        Privacy: post-processing.
        """
        counts = year.combine(first.name, first.values, first.sigma).sums[first.name]
        least, n_popular = _taste(domain, run.prior), min(POPULAR, domain.n_items)
        signal = whole_users(domain, run.terms, _count_lengths(counts, year.size, run.terms))
        # The counts are summed with their noise: denoised, the sum is larger where noise hides many.
        few = max(float(counts.values.sum()), 0.0) < FEWEST_ITEMS * year.size
        over_noise = _denoise(counts, run.prior)[0] / np.maximum(counts.sigma, 1e-300)
        clear = float(np.sort(over_noise)[-n_popular])
        if few or signal < least:
            return COUNTS, _reason("few_items" if few else "counts", signal, least)
        if clear < LEAST_CLEAR:
            return COUNTS, _reason("hidden", clear, LEAST_CLEAR)
        if clear < CLEAR:
            return BOTH, _reason("both", clear, CLEAR)
        return PAIRS, _reason("pairs", signal, least)

    def _by_popularity(self, domain: Domain, run: Measures, year: YearlySums, counts: Noisy) -> Release:
        """Rank items by popularity alone; what was learned of pairs waits. Privacy: post-processing."""
        year = year.combine(counts.name, counts.values, counts.sigma)
        run.hand_over(
            lambda: Carried(domain.items, {**year.arrays(), **passed_on(run.earlier, domain.items)})
        )
        return score_release(self, domain, _denoise(year.sums[counts.name], run.prior)[0])

    def _by_pairs(
        self, people: AnyPeople, domain: Domain, run: Measures, year: YearlySums, branch: str
    ) -> Release:
        """Measure the pairs under the lens of the counts, and solve for EASE.

        Privacy: charged (the measurements of the branch).
        """
        # The lens, of released counts: which items, how much each counts, where users lie on average.
        counts = year.sums["item counts"]
        popularity, regression = _denoise(counts, run.prior)
        lengths = _count_lengths(counts, year.size, run.terms)
        # In a year this is the μ of all of it: the lens of one release's part mutes what later sums can show.
        weights, size = muting(popularity, mu(run.terms) * year.size), year.size
        before = head_of(run.earlier, NAME, domain.items)
        chosen = Head.of(popularity, self.pair_items, before).items
        lens = fixed_lens(run, chosen, weights)
        head = lens.head
        measured = self._pairs(domain, run.terms).measure(people, lens)
        *numbers, (_, triangle) = (
            (query.name, run.measure(_in_branch(query, branch), values)) for query, values in measured
        )
        for name, noisy in numbers:
            year = year.combine(name, noisy.values, noisy.sigma)
        # Post-processing from here on to the vote: combine, clean, solve.
        pairs = yearly_pairs(run.earlier, domain.items, head, triangle, size, weights.of(head.items))
        learned = self._mu_of_pairs(domain, run, pairs, branch)
        # Do the pairs of the whole year carry enough by now? If not, they wait in the ledger's folder.
        signal, least = learned * lengths / math.sqrt(domain.n_items), _taste(domain, run.prior)
        if run.yearly and signal < least:
            run.decide(_reason("waits", signal, least))
            run.hand_over(lambda: Carried(domain.items, {**year.arrays(), **pairs.arrays()}))
            return score_release(self, domain, popularity)
        crowd = self._crowd(year, learned, lengths, popularity, weights, run.terms)
        tables = tables_of(run.prior, weights.weights, weights.variance)
        features = [table[head.items] for table in tables]
        whole = pairs.sums.matrix.copy() if run.yearly else pairs.sums.matrix  # it is overwritten
        fitted = clean_pairs(whole, pairs.sums.sigma, pairs.lens, crowd, features, self.rank)
        factors = reach_tail(fitted, tables, weights, head)
        linear, explained = ease(factors, weights, float(year.sums["popular part"].values[0]), crowd)
        votes = Votes(run.terms.unit)
        polled = _in_branch(votes.query, branch)
        # By Cauchy, (Σ √c)²/Σ c people at least: those of unit ``record`` are not counted themselves.
        total = max(float(counts.values.sum()), size)
        n_people = max(size if run.terms.unit == "user" else size * size / total, 1.0)
        voters = min(max(float(MOST_VOTERS), run.noise(polled) / VOTE_ERROR), n_people)
        vote = run.measure(polled, partial(votes.measure, people, linear, popularity, voters / n_people))
        # Earlier votes were about earlier lists: each counts less by what a list moves in a release.
        moved = VOTE_MOVES * voters
        year = year.combine(votes.query.name, vote.values, vote.sigma, moved=moved)
        pairs = pairs._replace(factors=fitted.factors)
        run.hand_over(lambda: Carried(domain.items, {**year.arrays(), **pairs.arrays()}))
        # People decide themselves: a list by own items may be worse even where the signals are strong.
        if year.sums[votes.query.name].values[0] <= 0:
            run.decide(Branch.vote())
            return score_release(self, domain, popularity)
        if regression is None:
            return linear_release(self, domain, linear, popularity)
        groups = run.prior.features
        table = value_table(groups, regression, popularity, weights, head.items, explained, crowd)
        return linear_release(self, domain, linear, popularity, table)

    def _mu_of_pairs(self, domain: Domain, run: Measures, pairs: YearlyPairs, branch: str) -> float:
        """Return μ of a budget whose pairs alone would have the noise that these have."""
        if not run.yearly:
            return mu(run.terms)
        booked, whole = _in_branch(self._pairs(domain, run.terms).pairs, branch), run.terms
        assert isinstance(whole, Budget)
        part = self.budget_split(domain, whole)[booked.name]
        return booked.sensitivity / math.sqrt(part * pairs.typical_variance)

    def _crowd(
        self,
        year: YearlySums,
        learned: float,
        lengths: float,
        popularity: Floats,
        weights: Muting,
        terms: Terms,
    ) -> Crowd:
        """Return what the released sums say of the crowd; ``learned`` is the μ of its pairs.

        Σ_u ⟨v, y_u⟩/‖y_u‖ is estimated from the item counts. Those of unit ``user`` weigh the items of a user
        who has c by 1/√c; and ‖y‖² is taken for c times the mean of d² over all given items.
        """
        squares = float(popularity @ weights.weights**2)
        # Σ_u ⟨v, y_u⟩ and Σ_u ‖y_u‖², because every y_u is d on the items that u has, and 0 elsewhere.
        along = float(weights.direction @ (popularity * weights.weights))
        size, signals = year.size, (learned * year.size, learned * lengths)
        if terms.unit == "record":  # vectors weigh their length; noise may leave less than nothing of it
            whole = max(float(year.sums["vector lengths"].values[0]), 1.0)
            return Crowd(whole, whole**2 / squares, *signals, along / whole)
        cosine = along / (size * math.sqrt(squares / popularity.sum()))
        return Crowd(size, size, *signals, cosine)

    def _pairs(self, domain: Domain, terms: Terms) -> PairSums:
        sums = PairSums(min(self.pair_items, domain.n_items), terms.unit, self.threads)
        if HEADROOM * domain.max_users > sums.most_people:
            others = " or lower pair_items" if terms.unit == "record" else ""
            raise ConfigError(
                f"sums over pairs of {sums.n_items:,} items of {domain.max_users:,} declared users may not "
                f"fit 64 bits; declare at most {sums.most_people // HEADROOM:,}{others}"
            )
        return sums


def _again(counts: Measurement, branch: str) -> Measurement:
    """Return the second measurement of the counts in a branch."""
    return replace(counts, name=AGAIN[branch], branch=branch)


def _in_branch(query: Measurement, branch: str) -> Measurement:
    """Return a measurement of the pairs, or of what follows from them, as a branch lists it."""
    return replace(query, name=query.name + _BESIDE * (branch == BOTH), branch=branch)


def _lengths(root_sum: float, terms: Terms) -> float:
    """Return Σ √c of users with c items; half of it for unit ``user``."""
    return root_sum / 2 if terms.unit == "user" else root_sum


def _count_lengths(counts: Known, size: float, terms: Terms) -> float:
    """Return ``_lengths`` as measured: the sum of the counts of unit ``user`` is Σ √c, else ``size`` is."""
    return _lengths(max(float(counts.values.sum()), 0.0) if terms.unit == "user" else size, terms)


def _most_lengths(domain: Domain, terms: Terms) -> float:
    """Return the largest ``_lengths`` within the bounds on users and on the items of each."""
    return domain.max_users * _lengths(math.sqrt(min(domain.max_per_user, domain.n_items)), terms)


def _denoise(counts: Known, prior: ItemPrior) -> tuple[Floats, CountModel | None]:
    """Return the counts without their noise, and what features say of them."""
    regression = count_model(counts, prior.tables)
    return denoised_counts(counts, regression.expected if regression else None), regression


def _taste(domain: Domain, prior: ItemPrior | None = None) -> float:
    """Return the least signal of whole users at which pairs are worth their noise; features lower it.

    Args:
        domain: the public domain.
        prior: what is publicly known about the items; by default, what the domain says.
    """
    features = domain.features or domain.titles if prior is None else prior.features or prior.pairs.size
    return TASTE_WITH_FEATURES if features else TASTE


def _reason(name: str, signal: float, least: float) -> Fact:
    """Say why a branch is taken, with the released signal."""
    return Branch[name](signal=float(f"{min(signal, 1e9):.3g}"), least=least)
