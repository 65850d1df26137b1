"""The audit of record and replay finds what it looks for: leaks are planted, and it sees each of them."""

import dataclasses
import logging
from pathlib import Path

import numpy as np
import pytest

import hushrec
import hushrec as hr
from hushrec.estimation.noisy_ratings import NoisyRatings
from hushrec.models.phases.biases import BiasSettings
from hushrec.statistics.cells import Cells
from hushrec.statistics.factor_sums import FactorSums
from hushrec.statistics.item_sums import EffectSums
from hushrec.statistics.person_gradients import RidgeGradients
from hushrec.statistics.residuals import Residuals

USER, RATING, STARS = ("user", "add-remove"), ("rating", "add-remove"), ("rating", "replace")
MODELS = {
    "effects": hr.GlobalEffects(),
    "promises": hr.GlobalEffects(user_biases="released"),
    "perturbed": hr.InputPerturbationMF(rank=2, epochs=2),
    "sgd": hr.PrivateSGD(rank=2, epochs=2, clip_norm=0.01),
    "als": hr.PrivateALS(rank=2, epochs=2),
    "posterior": hr.PosteriorMF(rank=2, rounds=2, clip_norm=0.01),
}
NEW = ("promises", "perturbed", "sgd", "als")
CASES = [
    (name, protected)
    for name, model in MODELS.items()
    for protected in (RATING, STARS, USER)
    if protected in model.supports and (name, protected) != ("promises", USER)
]


@pytest.fixture(scope="module", autouse=True)
def warm(world):
    """What is loaded, compiled or remembered once is not what is looked for."""
    everybody = world.ratings(world.everybody)
    for name, protected in CASES:
        hr.fit(everybody, MODELS[name], budget_of(protected), entropy=hr.testing.Seeded(1))


def budget_of(protected):
    unit, adjacency = protected
    return hr.Budget(epsilon=4.0, delta=1e-6, unit=unit, adjacency=adjacency)


def constant(ratings, release):
    return dataclasses.replace(release, constants={**release.constants, "users": float(ratings.n_users)})


def popularity(ratings, release):
    order = np.argsort(-np.bincount(ratings.items, minlength=len(release.items)), kind="stable")
    tensors = {name: tensor[order] for name, tensor in release.tensors.items()}
    return dataclasses.replace(release, items=tuple(release.items[i] for i in order), tensors=tensors)


def error_on_training(ratings, release):
    rmse = float(np.sqrt(np.mean((release.tensors["item_effects"][ratings.items] - ratings.values()) ** 2)))
    return dataclasses.replace(release, config={**release.config, "rmse": rmse})


def progress(ratings, release):
    print(f"{ratings.n_ratings} ratings")
    return release


def log(ratings, release):
    logging.getLogger("hushrec").debug("%d users", ratings.n_users)
    return release


def refusal(ratings, release):
    if ratings.n_users < 5:
        raise ValueError("too few users to be private")
    return release


LEAKS = [constant, popularity, error_on_training, progress, log, refusal]


@pytest.fixture
def planted(auditor, world, monkeypatch):
    """Replaces something of the library, and makes sure that the audit finds it."""

    def audit(owner, name, fault, found=None, protected=USER, pairs=None, model="effects"):
        right = getattr(owner, name)
        monkeypatch.setattr(owner, name, lambda *arguments, **named: fault(right, *arguments, **named))

        def everything():
            for pair in pairs or world.neighbours[protected].values():
                auditor.compare(MODELS[model], budget_of(protected), *map(world.ratings, pair))

        with pytest.raises(auditor.Leak, match=found):
            everything()

    return audit


@pytest.mark.parametrize("leak", LEAKS, ids=lambda leak: leak.__name__)
def test_a_leak_is_found(planted, leak):
    def leaky(release, model, ratings, budget, grant):
        return leak(ratings, release(model, ratings, budget, grant))

    planted(hr.GlobalEffects, "release", leaky)


def test_a_branch_on_private_data_is_found(planted):
    """Even one that changes nothing yet: how long it takes can be seen."""
    source = "def chosen(ratings):\n    if ratings.n_users > 4:\n        ratings.counts\n    return None\n"
    names = {}
    exec(compile(source, str(Path(hushrec.__file__).parent / "models" / "planted.py"), "exec"), names)

    def branching(release, model, ratings, budget, grant):
        names["chosen"](ratings)
        return release(model, ratings, budget, grant)

    planted(hr.GlobalEffects, "release", branching, "lines")


def test_an_order_of_measurements_that_depends_on_the_data_is_found(planted):
    def largest_first(measure, sums, ratings):
        return sorted(measure(sums, ratings), key=lambda pair: int(pair[1][0]))

    planted(EffectSums, "measure", largest_first, "was not made by the neighbour", RATING)


def test_a_sum_that_is_not_bounded_is_found(planted):
    def careless(measure, sums, ratings):
        for query, values in measure(sums, ratings):
            yield query, values * 2 if query.name == "item counts" else values

    planted(EffectSums, "measure", careless, "item counts: the neighbour lies further away")


def test_a_cap_that_depends_on_other_users_is_found(planted, world):
    def fickle(capped, ratings, cap):
        return capped(ratings, cap if ratings.n_users == len(world.everybody) else 1)

    planted(hr.Ratings, "capped", fickle, "further away")


def test_a_cap_where_single_ratings_are_protected_is_found(planted, world):
    """One more rating of a heavy user pushes another one out: two changes, and one is paid for."""

    def capped(release, model, ratings, budget, grant):
        return release(model, ratings.capped(ratings.domain.cap), budget, grant)

    items = world.domain.items
    full = {"heavy": dict.fromkeys(items, 5)}
    pairs = [(full, world.without(full, "heavy", item)) for item in items]
    planted(hr.GlobalEffects, "release", capped, "further away", RATING, pairs)


def test_what_neighbours_do_not_agree_on_is_found(planted):
    """Counts are public where only the value of a rating changes; where a rating is added they are not."""

    def is_exact(queries, sums):
        for query in queries(sums):
            yield dataclasses.replace(query, sensitivity=0.0) if query.name == "item counts" else query

    planted(EffectSums, "queries", is_exact, None, RATING)


# -- faults that private matrix factorisation might have --------------------------------------------------


@pytest.mark.parametrize("model", NEW)
def test_an_exact_count_of_a_persons_ratings_is_found(planted, model):
    """As in the noise of unbounded PALS: how far a row is trusted must not depend on n_u itself."""

    def exact(measure, settings, data, *rest, **named):
        counts = np.diff(data.roster_indptr()).astype(np.float64)
        return measure(settings, data, *rest, **named)._replace(user_counts=counts)

    planted(BiasSettings, "measure", exact, "another artefact", RATING, model=model)


@pytest.mark.parametrize(
    ("model", "protected"),
    [case for case in CASES if case[0] in NEW and case[1] != USER and case != ("promises", STARS)],
    ids=str,
)
def test_residuals_around_exact_averages_are_found(planted, model, protected):
    """One rating would move the residuals of everybody who rated the item.

    Not for released biases under ``replace``: with an L2 norm the booked change of one covers these.
    """

    def exact(entries, residuals, data, item_effects, user_effects):
        n_items = data.domain.n_items
        counts = np.maximum(np.bincount(data.items, minlength=n_items), 1)
        means = np.bincount(data.items, data.values(), minlength=n_items) / counts
        return entries(residuals, data, means, user_effects)

    planted(Residuals, "entries", exact, "further away", protected, model=model)


def test_a_list_of_the_rated_cells_is_found(planted):
    """Noise on the values alone would publish who rated what."""

    def rated_only(release, cells, grant, entries):
        noisy = release(cells, grant, entries)
        return NoisyRatings(*entries[:2], np.ones(len(entries.columns), np.float32), noisy.sigma)

    planted(Cells, "release", rated_only, None, RATING, model="perturbed")


def test_a_threshold_that_depends_on_the_data_is_found(planted):
    def fitted(release, cells, grant, entries):
        return release(
            dataclasses.replace(cells, threshold=0.5 + 0.01 * len(entries.columns)), grant, entries
        )

    planted(Cells, "release", fitted, "another exact", RATING, model="perturbed")


def test_gradients_at_home_that_are_not_clipped_are_found(planted):
    def careless(measure, home, *arguments):
        wide = dataclasses.replace(home, clip_norm=1000.0)
        return measure(wide, *arguments) * round(wide.step / home.step)

    planted(RidgeGradients, "measure", careless, "further away", USER, model="sgd")


@pytest.mark.parametrize("model", ["sgd", "als"])
def test_factors_that_were_fitted_to_the_ratings_are_found(planted, model):
    """Errors at factors that are not released: one rating moves everybody who rated the item."""

    def sequential(users, sums, entries, people, items):
        odd = np.bincount(entries.columns, minlength=len(items))[:, None] % 2 == 1
        return users(sums, entries, people, np.where(odd, items, -items))

    planted(FactorSums, "users", sequential, "further away", RATING, model=model)
