"""Friedman, Berkovsky & Kaafar 2016, §5.4: private nearest neighbours, as printed.

The paper prints how ε is divided, and follows McSherry & Mironov 2009 in everything else. The residuals are
those of its own preprocessing (§4.1), so one rating moves one of them.
"""

from collections.abc import Callable, Iterator, Mapping, Sequence
from dataclasses import dataclass, field, fields, replace
from typing import Any

import numpy as np
from pydantic import Field

from hushrec.arrays import Floats, Ints
from hushrec.data.anywhere import AnyPeople
from hushrec.data.domain import Domain
from hushrec.data.people import People
from hushrec.estimation.head import Head
from hushrec.evaluation.parts import rows_of
from hushrec.models.biases import require_rank
from hushrec.models.effects import ItemEffects
from hushrec.models.mcsherry_mironov.covariance_model import measure_matrices, shrunk_factors, similarity
from hushrec.models.mcsherry_mironov.sums import HeadRatings
from hushrec.models.outputs import neighbour_release
from hushrec.privacy.accounting.budget import Budget, Terms
from hushrec.privacy.accounting.measurement import Measurement
from hushrec.privacy.grant import Measures
from hushrec.release.artefact import Release
from hushrec.release.fold_in import predictor
from hushrec.sums.residuals import Residuals
from hushrec.sums.triangles import triangle_sums
from lab.friedman_berkovsky_kaafar.published import Friedman
from lab.mcsherry_mironov.published import SquareSums

_NO_LEVEL = {"user_mean": 0.0, "user_variance": 1e-30}
"""Constants of a release whose predictor adds no level of its own to a user's ratings."""
_UNCENTRED = -1
"""β_p of ``CovarianceSums`` where no mean of the user's own is subtracted."""


@dataclass(frozen=True, slots=True, eq=False, repr=False)
class ListedNeighbours(Release):
    """A release of neighbours, and beside it the released average of everybody on the roster.

    Attributes:
        averages: user id → UAvg(u), in rating units. The file does not hold them: whoever opens it predicts
            as from any release of neighbours, by a level from their own ratings.

    Privacy: public; post-processing of what the statement lists.
    """

    averages: Mapping[str, float] = field(default_factory=dict)


@dataclass(frozen=True)
class ResidualCovariance(SquareSums):
    """As ``SquareSums``, of residuals of released averages: x = clamp(r − μ_i − b_u, ±B).

    No user's mean is subtracted, so a rating moves no other residual of its user.

    Args:
        user_effects: b, released, over the roster, shape (domain.n_users,); not needed by ``queries``.

    Privacy: public.
    """

    user_effects: Floats | None = None

    def measure(
        self, people: AnyPeople, item_effects: Floats, global_mean: float, head: Head | None = None
    ) -> Iterator[tuple[Measurement, Callable[[], Ints]]]:
        """As ``CovarianceSums.measure``; ``global_mean`` is a part of the released averages already.

        Privacy: bounded, each by its query's sensitivity.
        """
        if self.user_effects is None:
            raise ValueError("the covariance of residuals needs the released averages of its users")
        places = np.arange(self.n_items, dtype=np.int32) if head is None else head.places

        residuals = Residuals(self.domain, self.adjacency, self.clip).rows(item_effects, self.user_effects)

        def add(rows: tuple[int, int], block: People, *sums: Ints) -> None:
            indptr, items, entries = residuals(block).entries
            # Of the ratings themselves nothing is read.
            self._add(HeadRatings(indptr, places[items], np.zeros(0, np.uint8)), entries, rows, *sums)

        sums = triangle_sums(people, add, self.n_items, 2 if self._fits(people) else 3)
        covariance, co_rating = self.queries()
        yield covariance, lambda: self._cut(sums)
        yield co_rating, lambda: sums.pop(0)


class FriedmanKNN(Friedman):
    """Private nearest neighbours (§5.4): r̂_ui = μ_i + b_u + Σ_{j ∈ N} w_ij (r_uj − μ_j − b_u).

    μ and b are the averages of Algorithms 1 and 2, both released. With x = clamp(r − μ − b, ±B), the
    covariance Cov = Σ_u x_u x_uᵀ/n_u and the weights Wgt = Σ_u e_u e_uᵀ/n_u have Laplace noise, for a tenth
    of ε (McSherry & Mironov 2009, §4.4). N are the k rated items with the largest Wgt_ij; on their device a
    user adds their exact ratings (``listed_predictions``).

    The paper prints no Δ, no cleaning and no k of its own. Here Δ′ is that of McSherry & Mironov's Theorems 5
    and 6, the covariance is cleaned as in their §4.6, and k = 20 as in their §5.1. The ridge is a constant;
    ``lab/friedman_berkovsky_kaafar/private_neighbours.py`` trains it for each ε.

    Args:
        item_reg, user_reg: β_m and β_u of the averages.
        clip: B, bound on a residual, as a fraction of the scale's width.
        shrinkage: β of the diagonal and of the rest, in the cleaning.
        n_neighbours: k, number of a user's ratings that a prediction uses.
        rank: rank of the cleaned covariance.
    """

    clip: float = Field(default=0.25, gt=0, le=0.25)
    shrinkage: tuple[float, float] = (10.0, 100.0)
    n_neighbours: int = Field(default=20, ge=1, le=1000)
    rank: int = Field(default=20, ge=1, le=1024)

    def queries(self, domain: Domain, terms: Terms) -> Sequence[Measurement]:
        """The averages, covariance, co-rating weights."""
        require_rank(self.rank, domain)
        return [*super().queries(domain, terms), *self._covariance(domain, terms).queries()]

    def claims(self, domain: Domain, terms: Terms) -> Mapping[str, float]:
        """The width of the scale for sums of ratings; 2Bα + 3B² and 3 for the matrices."""
        sums, span = self._covariance(domain, terms), domain.scale.span
        bound = sums.bound * sums.grid.step
        printed = {"covariance": 2 * bound * span + 3 * bound**2, "co-rating weights": 3.0}
        return {**super().claims(domain, terms), **printed}

    def default_split(self, domain: Domain, budget: Budget) -> Mapping[str, float]:
        """0.02, 0.44, 0.44 and 0.1 for global means, items, users and neighbours."""
        part = 0.1 if budget.adjacency == "replace" else 0.05  # weights are public under replace
        averages = self._split(budget, items=0.44, users=0.44)
        return {**averages, "covariance": part, "co-rating weights": part}

    def fit(self, people: People, run: Measures) -> ListedNeighbours:
        """Averages, then covariance and weights of what they leave."""
        domain = people.domain
        biases = self._biases(people, run)
        level = np.average(biases.user_effects, weights=biases.user_counts + 1e-9)
        baseline = ItemEffects(
            biases.item_effects,
            biases.item_variance,
            biases.item_counts,
            float(level),
            biases.item_popularity,
        )
        sums = self._covariance(domain, run.terms, biases.user_effects)
        matrices = measure_matrices(sums, baseline, people, run)
        factors = shrunk_factors(matrices, domain, self.shrinkage, biases.item_counts, self.rank)
        cleaned = {"item_factors": factors, "similarity_factors": similarity(matrices)}
        made = neighbour_release(self, domain, baseline, self.n_neighbours, cleaned)
        facts: dict[str, Any] = {each.name: getattr(made, each.name) for each in fields(made)}
        listed = zip(domain.users or (), biases.user_effects.tolist(), strict=True)
        return ListedNeighbours(**facts, averages=dict(listed))

    def _covariance(
        self, domain: Domain, terms: Terms, user_effects: Floats | None = None
    ) -> ResidualCovariance:
        span = domain.scale.span
        return ResidualCovariance(
            domain=domain,
            unit="record",
            adjacency=terms.adjacency,
            norm=self.norm,
            limit=span,
            clip=self.clip * span,
            reg=_UNCENTRED,
            contribution_cap=1.0,
            offset=0.0,
            user_effects=user_effects,
        )


def listed_predictions(release: ListedNeighbours, *, train: People, test: People) -> Floats:
    """Predict all test ratings: everybody from their own training ratings less their released average.

    Args:
        release: with the averages of all who are predicted.
        train: the ratings that each user folds in.
        test: the ratings to predict.

    Returns:
        Predicted ratings, clamped to the scale, in the order of ``test``; shape (test.n_entries,).

    Privacy: private.
    """
    plain = replace(release, constants={**release.constants, **_NO_LEVEL})
    predict, own_ratings, rows = predictor(plain).predict, train.numbers(), rows_of(train, test)
    predicted = np.empty(test.n_entries)
    for user, name in enumerate(test.users.to_pylist()):
        row, average = rows[user], release.averages[name]
        folded_in = slice(train.indptr[row], train.indptr[row + 1]) if row >= 0 else slice(0)
        held_out = slice(test.indptr[user], test.indptr[user + 1])
        rated, targets = train.items[folded_in].astype(np.int64), test.items[held_out].astype(np.int64)
        predicted[held_out] = average + predict(rated, own_ratings[folded_in] - average, targets)
    lo, hi, _ = release.require_scale()
    return np.clip(predicted, lo, hi)
