"""Faults that an audit must find, each with the model and the unit that it is planted under.

A fault replaces one attribute of the library by a function that is given the right one and its arguments.
"""

import dataclasses
import logging
from contextlib import contextmanager
from pathlib import Path
from typing import NamedTuple
from unittest import mock

import numpy as np

import hushrec
import hushrec as hr
from hushrec.data.people import Once
from hushrec.estimation.head import Head
from hushrec.models.biases import BiasSettings
from hushrec.models.friedman_berkovsky_kaafar.estimate import NoisyRatings
from hushrec.models.friedman_berkovsky_kaafar.sums import Cells
from hushrec.models.lists import sums
from hushrec.models.lists.sums import ENTRY_BITS, WEIGHT_BITS, PairSums
from hushrec.models.liu_wang_smola.sums import RidgeGradients
from hushrec.models.mcsherry_mironov.sums import CovarianceSums
from hushrec.privacy import grant as grant_module
from hushrec.sums import sensitivity
from hushrec.sums.factor_sums import FactorSums
from hushrec.sums.item_sums import EffectSums
from hushrec.sums.residuals import Residuals

USER, RATING, STARS = ("user", "add-remove"), ("record", "add-remove"), ("record", "replace")
MODELS = {
    "effects": hr.GlobalEffects(),
    "classes": hr.GlobalEffects(user_biases="released"),
    "perturbed": hr.InputPerturbationMF(rank=2, epochs=2),
    "sgd": hr.PrivateSGD(rank=2, epochs=2),
    "user sgd": hr.UserLevelSGD(rank=2, epochs=2, clip_norm=0.01),
    "als": hr.PrivateALS(rank=2, epochs=2),
    "posterior": hr.PosteriorMF(rank=2, epochs=2, clip_norm=0.01),
    "head": hr.CovarianceSVD(rank=2, covariance={"pair_items": 3}),
    "ease": hr.PrivateEASE(rank=2),
    "ease of a head": hr.PrivateEASE(rank=2, pair_items=6),
}
LISTING = ("classes", "perturbed", "sgd", "als")
"""Models that release a row for every user."""


class Fault(NamedTuple):
    """A fault, where it is planted, and what the audit says of it."""

    name: str
    owner: object
    attribute: str
    instead: object
    found: str = "."
    protected: tuple[str, str] = USER
    model: str = "effects"

    @property
    def config(self):
        return MODELS[self.model]

    @property
    def budget(self):
        return budget_of(self.protected)

    @contextmanager
    def planted(self):
        right = getattr(self.owner, self.attribute)

        def wrong(*arguments, **named):
            return self.instead(right, *arguments, **named)

        with mock.patch.object(self.owner, self.attribute, wrong):
            yield

    def __str__(self):
        return f"{self.name}, {self.model}, {'/'.join(self.protected)}"


def budget_of(protected, epsilon=4.0, delta=1e-6):
    unit, adjacency = protected
    return hr.Budget(epsilon=epsilon, delta=delta, unit=unit, adjacency=adjacency)


# -- what a model publishes beside its measurements -------------------------------------------------------


def constant(ratings, release):
    return dataclasses.replace(release, constants={**release.constants, "users": float(ratings.n_users)})


def popularity(ratings, release):
    order = np.argsort(-np.bincount(ratings.items, minlength=len(release.items)), kind="stable")
    tensors = {name: tensor[order] for name, tensor in release.tensors.items()}
    return dataclasses.replace(release, items=tuple(release.items[i] for i in order), tensors=tensors)


def error_on_training(ratings, release):
    rmse = float(np.sqrt(np.mean((release.tensors["item_effects"][ratings.items] - ratings.numbers()) ** 2)))
    return dataclasses.replace(release, settings={**release.settings, "rmse": rmse})


def progress(ratings, release):
    print(f"{ratings.n_entries} ratings")
    return release


def log(ratings, release):
    logging.getLogger("hushrec").debug("%d users", ratings.n_users)
    return release


def refusal(ratings, release):
    if ratings.n_users < 5:
        raise ValueError("too few users to be private")
    return release


_SOURCE = "def chosen(ratings):\n    if ratings.n_users > 4:\n        ratings.counts\n    return None\n"
_NAMES = {}
exec(compile(_SOURCE, str(Path(hushrec.__file__).parent / "models" / "planted.py"), "exec"), _NAMES)


def branch(ratings, release):
    """Even one that changes nothing yet: how long it takes can be seen."""
    _NAMES["chosen"](ratings)
    return release


def leaking(leak):
    def leaky(release, model, ratings, *rest):
        return leak(ratings, release(model, ratings, *rest))

    return leaky


# -- measurements that are not what was booked ------------------------------------------------------------


def unbounded(measure, sums, *data):
    for query, values in measure(sums, *data):
        yield query, values * 2 if query.name == "item counts" else values


def fickle_cap(capped, ratings, cap):
    return capped(ratings, cap if ratings.n_users == 5 else 1)


def cap_of_ratings(release, model, ratings, *rest):
    """One more rating of a heavy user pushes another one out: two changes, and one is paid for."""
    return release(model, ratings.capped(ratings.domain.max_per_user), *rest)


def exact_counts(queries, sums):
    """Counts are public where only the value of a rating changes; where a rating is added they are not."""
    for query in queries(sums):
        yield dataclasses.replace(query, sensitivity=0.0) if query.name == "item counts" else query


def understated(queries, sums):
    for query in queries(sums):
        yield dataclasses.replace(query, sensitivity=query.sensitivity * 0.95)


# -- faults that private matrix factorisation might have --------------------------------------------------


def exact_user_counts(measure, settings, people, *rest):
    """As in the noise of unbounded PALS: how far a row is trusted must not depend on n_u itself."""
    (ratings,) = people.blocks()
    counts = np.diff(ratings.roster_indptr()).astype(np.float64)
    return measure(settings, people, *rest)._replace(user_counts=counts)


def exact_averages(rows, residuals, item_effects, user_effects):
    """One rating would move the residuals of everybody who rated the item.

    Not for released biases under ``replace``: with an L2 norm the booked change of one covers these.
    """

    def of(everyone):
        n_items = everyone.domain.n_items
        counts = np.maximum(np.bincount(everyone.items, minlength=n_items), 1)
        means = np.bincount(everyone.items, everyone.numbers(), minlength=n_items) / counts
        return rows(residuals, means, user_effects)(everyone)

    return Once(of)


def rated_cells_only(measure, cells, run, entries):
    """Noise on the values alone would publish who rated what."""
    noisy = measure(cells, run, entries)
    return NoisyRatings(*entries[:2], np.ones(len(entries.columns), np.float32), noisy.sigma)


def fitted_threshold(measure_cells, grant, measurement, cells):
    threshold = cells.threshold + len(cells.columns)
    return measure_cells(grant, measurement, dataclasses.replace(cells, threshold=threshold, limit=2**30))


def unclipped(measure, home, *arguments):
    wide = dataclasses.replace(home, clip_norm=1000.0)
    return measure(wide, *arguments) * round(wide.step / home.step)


def factors_of_the_ratings(users, sums, people, rows, factors, items):
    """Errors at factors that are not released: one rating moves everybody who rated the item."""
    odd = np.bincount(people.items, minlength=len(items))[:, None] % 2 == 1
    return users(sums, people, rows, factors, np.where(odd, items, -items))


# -- faults that the covariance of the head of a catalogue might have -------------------------------------


def head_of_the_ratings(measure, sums, people, effects, mean, head):
    """Chosen by the true counts: one person can exchange an item and all of its pairs."""
    (ratings,) = people.blocks()
    counts = np.bincount(ratings.items, minlength=head.n_items).astype(np.float64)
    return measure(sums, people, effects, mean, Head.of(counts, sums.n_items))


# -- faults that pairs of items might have -----------------------------------------------------------------


def exact_directions(measure, sums, people, lens):
    """Weights by counts without noise: one interaction moves the vectors of everybody else."""
    (given,) = people.blocks()
    counts = np.bincount(given.items, minlength=lens.head.n_items)[lens.head.items] + 1.0
    return measure(sums, people, dataclasses.replace(lens, weights=counts / counts.max(), direction=counts))


def true_head(measure, sums, people, lens):
    """Chosen by the true counts: one interaction can exchange an item and all of its pairs."""
    (given,) = people.blocks()
    counts = np.bincount(given.items, minlength=lens.head.n_items).astype(np.float64)
    return measure(sums, people, dataclasses.replace(lens, head=Head.of(counts, sums.n_items)))


def not_normalised(project, block, lens, unit):
    """z zᵀ itself: a long user moves it by more than a short one, also with a single interaction."""
    rows = project(block, lens, unit)
    one = 2 ** (WEIGHT_BITS[unit] - (2 if unit == "user" else 1) * ENTRY_BITS)
    return rows._replace(weight=np.where(rows.weight > 0, one, 0))


def half_of_the_matrix(pairs_user, n_items, unit):
    """Half of the squared norm of z zᵀ lies above the diagonal, not half of the norm."""
    return pairs_user(n_items, unit) * 0.5**0.5


EFFECTS = hr.GlobalEffects
REPLAYED = [
    *(Fault(leak.__name__, EFFECTS, "fit", leaking(leak)) for leak in (constant, popularity)),
    *(Fault(leak.__name__, EFFECTS, "fit", leaking(leak)) for leak in (error_on_training, progress)),
    *(Fault(leak.__name__, EFFECTS, "fit", leaking(leak)) for leak in (log, refusal)),
    Fault("branch", EFFECTS, "fit", leaking(branch), "lines"),
    Fault("unbounded", EffectSums, "measure", unbounded, "item counts: the neighbour lies further away"),
    Fault("fickle cap", hr.People, "capped", fickle_cap, "further away"),
    Fault("cap of ratings", EFFECTS, "fit", cap_of_ratings, "further away", RATING),
    Fault("exact counts", EffectSums, "queries", exact_counts, ".", RATING),
    *(
        Fault("exact user counts", BiasSettings, "measure", exact_user_counts, "another release", RATING, m)
        for m in LISTING
    ),
    *(
        Fault("exact averages", Residuals, "rows", exact_averages, "further away", protected, model)
        for model, protected in [*((model, RATING) for model in LISTING), ("perturbed", STARS)]
    ),
    Fault("rated cells only", Cells, "measure", rated_cells_only, ".", RATING, "perturbed"),
    Fault(
        "fitted threshold",
        grant_module.Grant,
        "measure_cells",
        fitted_threshold,
        "other public settings",
        RATING,
        "perturbed",
    ),
    *(
        Fault("exact directions", PairSums, "measure", exact_directions, "further away", protected, "ease")
        for protected in (RATING, USER)
    ),
    *(
        Fault("true head", PairSums, "measure", true_head, "further away", protected, "ease of a head")
        for protected in (RATING, USER)
    ),
    Fault("true head", CovarianceSums, "measure", head_of_the_ratings, "further away", USER, "head"),
    Fault("unclipped", RidgeGradients, "measure", unclipped, "further away", USER, "user sgd"),
    *(
        Fault(
            "unreleased factors", FactorSums, "users", factors_of_the_ratings, "further away", RATING, model
        )
        for model in ("sgd", "als")
    ),
]
"""Faults that record and replay finds."""
SEARCHED = [
    *(
        Fault("understated", EffectSums, "queries", understated, protected=protected)
        for protected in (RATING, STARS, USER)
    ),
    *(
        Fault("exact averages", Residuals, "rows", exact_averages, protected=STARS, model=model)
        for model in ("sgd", "als")
    ),
    *(
        Fault(
            "not normalised",
            sums,
            "project_users",
            not_normalised,
            protected=protected,
            model="ease",
        )
        for protected in (RATING, USER)
    ),
    Fault("half of the matrix", sensitivity, "pairs_user", half_of_the_matrix, model="ease"),
]
"""Faults that need the worst neighbours."""
HEARD = [
    Fault(
        f"noise {short:.0%} short",
        grant_module,
        "_width",
        lambda width, event, short=short: (1 - short) * width(event),
        protected=protected,
    )
    for short, protected in ((0.1, RATING), (0.1, STARS), (0.1, USER), (0.05, USER))
]
"""Faults of the noise, which only a canary hears."""
FAULTS = [*REPLAYED, *SEARCHED, *HEARD]
