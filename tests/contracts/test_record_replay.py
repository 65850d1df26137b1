"""Record and replay: given the public values, nothing that leaves a fit may depend on the private ratings.

A fit on some ratings is recorded: what every measurement returned. Then a fit on neighbouring ratings is
given the same values. The release, byte for byte, what is printed and logged, the measurements and their
order, and every line that models run must be the same; and at each measurement the two bounded sums may lie
no further apart than what was booked. So all that the neighbours can differ in is what the noise hides.
"""

import dataclasses
import logging
from pathlib import Path

import numpy as np
import polars as pl
import pytest

import hushrec
import hushrec as hr
from hushrec.models.averages import AverageSettings
from hushrec.statistics.cells import Cells, NoisyRatings
from hushrec.statistics.effects import EffectSums
from hushrec.statistics.factors import FactorSums
from hushrec.statistics.home import HomeGradients
from hushrec.statistics.residuals import Residuals

ITEMS = tuple("abcdefg")
CAP = 3
EVERYBODY = {
    "light": {"a": 5},
    "usual": {"a": 1, "b": 5, "d": 3},
    "other": {"b": 2, "c": 2},
    "heavy": {"a": 5, "b": 1, "c": 5, "d": 1, "e": 5, "f": 1},  # twice the cap
    "extreme": {"d": 5, "e": 5},
}
SILENT = [f"user {k}" for k in range(6)]  # on the roster; most of the time they have rated nothing
DOMAIN = hr.Domain(ITEMS, scale=(1, 5, 1), cap=CAP, max_users=20, users=[*EVERYBODY, *SILENT])
USER, RATING, STARS = ("user", "add-remove"), ("rating", "add-remove"), ("rating", "replace")
ALONE = {"heavy": EVERYBODY["heavy"]}
FIRST = {"light": {"a": 5}}


def without(people, user, item=None):
    rest = {name: dict(own) for name, own in people.items()}
    if item is None:
        del rest[user]
    else:
        del rest[user][item]
    return {name: own for name, own in rest.items() if own}


def rated(people, user, item, stars):
    return {**people, user: {**people.get(user, {}), item: stars}}


NEIGHBOURS = {
    RATING: {
        "a rating": (EVERYBODY, without(EVERYBODY, "usual", "b")),
        "a user's only rating": (EVERYBODY, without(EVERYBODY, "light", "a")),
        "one more of a heavy user": (rated(EVERYBODY, "heavy", "g", 5), EVERYBODY),
        "the only rating of an item": (EVERYBODY, without(EVERYBODY, "heavy", "f")),
        "one more of an only user": (rated(ALONE, "heavy", "g", 1), ALONE),
        "the only rating": (FIRST, {}),
    },
    STARS: {
        "a rating": (EVERYBODY, rated(EVERYBODY, "usual", "b", 1)),
        "a user's only rating": (EVERYBODY, rated(EVERYBODY, "light", "a", 1)),
        "a heavy user's": (EVERYBODY, rated(EVERYBODY, "heavy", "f", 5)),
        "an only user's": (ALONE, rated(ALONE, "heavy", "a", 1)),
        "the only rating": (FIRST, rated(FIRST, "light", "a", 1)),
    },
    USER: {
        "a light user": (EVERYBODY, without(EVERYBODY, "light")),
        "a usual user": (EVERYBODY, without(EVERYBODY, "usual")),
        "a user above the cap": (EVERYBODY, without(EVERYBODY, "heavy")),
        "an extreme user": (EVERYBODY, without(EVERYBODY, "extreme")),
        "the only user": (FIRST, {}),
        "the only user, above the cap": (ALONE, {}),
    },
}


def ratings(people):
    rows = [(user, item, stars) for user, own in people.items() for item, stars in own.items()]
    schema = {"user_id": pl.String, "item_id": pl.String, "rating": pl.Float64}
    return hr.load(pl.DataFrame(rows, schema=schema, orient="row"), DOMAIN)


@pytest.fixture(scope="module", autouse=True)
def warm():
    """What is loaded, compiled or remembered once is not what is looked for."""
    for name, protected in CASES:
        hr.fit(ratings(EVERYBODY), built(name), budget_of(protected), entropy=hr.testing.Seeded(1))


# -- the audit --------------------------------------------------------------------------------------------

MODELS = {
    "effects": (hr.GlobalEffects, {}),
    "svd": (hr.CovarianceSVD, {"rank": 2}),
    "knn": (hr.CovarianceKNN, {"rank": 2, "neighbours": 2}),
    "dense knn": (hr.CovarianceKNN, {"neighbours": 2, "covariance": {"cleaning": "none"}}),
    "shrunk svd": (hr.CovarianceSVD, {"rank": 2, "covariance": {"cleaning": "shrink"}}),
    "levels": (hr.GlobalEffects, {"levels": "released"}),
    "perturbed": (hr.InputPerturbationMF, {"rank": 2, "epochs": 2}),
    "perturbed sgd": (hr.InputPerturbationMF, {"rank": 2, "epochs": 2, "solver": "sgd"}),
    "sgd": (hr.PrivateSGD, {"rank": 2, "epochs": 2, "contribution": 0.01}),
    "als": (hr.PrivateALS, {"rank": 2, "epochs": 2}),
}
NEW = ("levels", "perturbed", "sgd", "als")
CASES = [
    (name, protected)
    for name, (model, _) in MODELS.items()
    for protected in NEIGHBOURS
    if protected in model.supports and (name, protected) != ("levels", USER)
]
QUICK = [case for case in CASES if case[0] not in ("dense knn", "shrunk svd", "perturbed sgd")]
each_case = pytest.mark.parametrize(("model", "protected"), CASES, ids=lambda part: str(part))


def budget_of(protected, noise="gaussian", epsilon=4.0):
    unit, adjacency = protected
    delta = 1e-6 if noise == "gaussian" else 0.0
    return hr.Budget(epsilon=epsilon, delta=delta, unit=unit, adjacency=adjacency)


def built(name, **settings):
    model, own = MODELS[name]
    return model(**own, **settings)


@pytest.mark.parametrize(("model", "protected"), QUICK, ids=lambda part: str(part))
def test_neighbours_cannot_be_told_apart(auditor, protected, model):
    for one, other in NEIGHBOURS[protected].values():
        seen = auditor.compare(built(model), budget_of(protected), ratings(one), ratings(other))
        assert seen.measured
        assert seen.lines


@pytest.mark.parametrize(("model", "protected"), [case for case in QUICK if case[0] in NEW], ids=str)
def test_nor_as_published(auditor, protected, model):
    """Whatever the noise is worth: nothing but the noisy values leaves the fit."""
    if protected == USER:
        return
    for one, other in NEIGHBOURS[protected].values():
        fitted = built(model, analysis="published")
        auditor.compare(fitted, budget_of(protected), ratings(one), ratings(other))


@pytest.mark.full
@each_case
@pytest.mark.parametrize("analysis", ["corrected", "published"])
@pytest.mark.parametrize("noise", ["gaussian", "laplace"])
@pytest.mark.parametrize("epsilon", [0.5, 50.0])
def test_neighbours_cannot_be_told_apart_in_any_setting(auditor, protected, model, analysis, noise, epsilon):
    fitted = built(model, analysis=analysis, noise=noise)
    if fitted.law != noise or (analysis, model, protected) == ("published", "sgd", USER):
        return  # refused, which has tests of its own
    for one, other in NEIGHBOURS[protected].values():
        for pair in ((one, other), (other, one)):
            auditor.compare(fitted, budget_of(protected, noise, epsilon), *map(ratings, pair))


def at_random(protected, rng):
    """Up to six people with up to all of the items, and a neighbour of theirs."""
    people = {
        f"user {k}": {item: int(rng.integers(1, 6)) for item in rng.permutation(ITEMS)[: rng.integers(1, 8)]}
        for k in range(rng.integers(1, 7))
    }
    user = f"user {rng.integers(len(people))}"
    item = str(rng.choice(list(people[user])))
    if protected == USER:
        return people, without(people, user)
    if protected == RATING:
        return people, without(people, user, item)
    return people, rated(people, user, item, int(rng.integers(1, 6)))


@pytest.mark.full
@each_case
def test_neighbours_at_random_cannot_be_told_apart(auditor, protected, model):
    rng = np.random.default_rng(6)
    for _ in range(25):
        epsilon = float(np.exp(rng.uniform(-1, 4)))
        pair = map(ratings, at_random(protected, rng))
        auditor.compare(built(model), budget_of(protected, epsilon=epsilon), *pair)


@pytest.mark.parametrize(("model", "protected"), [("svd", USER), *((m, RATING) for m in NEW)], ids=str)
def test_what_is_recorded_is_what_was_released(auditor, model, protected):
    """The auditor changes nothing itself, and a tape of other noise gives another release."""
    budget = budget_of(protected)
    seen = auditor.run(ratings(EVERYBODY), built(model), budget)
    again = auditor.run(ratings(EVERYBODY), built(model), budget, seen.measured)
    assert (again.artefact, again.lines) == (seen.artefact, seen.lines)
    other = [(*rest, dataclasses.replace(noisy, values=noisy.values + 1)) for *rest, noisy in seen.measured]
    assert auditor.run(ratings(EVERYBODY), built(model), budget, other).artefact != seen.artefact


@pytest.mark.parametrize("model", NEW)
def test_nothing_is_paid_for_and_not_used(auditor, model):
    """Each measurement by itself changes the release."""
    budget = budget_of(RATING)
    seen = auditor.run(ratings(EVERYBODY), built(model), budget)
    for place, (*rest, noisy) in enumerate(seen.measured):
        louder = (*rest, dataclasses.replace(noisy, values=noisy.values * 2 + 3))
        tape = [*seen.measured[:place], louder, *seen.measured[place + 1 :]]
        again = auditor.run(ratings(EVERYBODY), built(model), budget, tape)
        assert again.artefact != seen.artefact, rest[0]


def test_all_doors_are_watched(auditor):
    """Every booked measurement was seen, whichever way it was released."""
    for model, protected, settings in (
        ("perturbed", RATING, {}),
        ("perturbed", STARS, {}),
        ("sgd", RATING, {"analysis": "published"}),
        ("als", STARS, {"analysis": "published"}),
        ("sgd", USER, {}),
    ):
        fitted = built(model, **settings)
        seen = auditor.run(ratings(EVERYBODY), fitted, budget_of(protected))
        planned = hr.plan(fitted, DOMAIN, budget_of(protected))
        assert [event for _, _, event, _ in seen.measured] == list(planned.events)


# -- the audit finds what it looks for --------------------------------------------------------------------


def constant(ratings, release):
    return dataclasses.replace(release, constants={**release.constants, "users": float(ratings.n_users)})


def popularity(ratings, release):
    order = np.argsort(-np.bincount(ratings.items, minlength=len(ITEMS)), kind="stable")
    tensors = {name: tensor[order] for name, tensor in release.tensors.items()}
    return dataclasses.replace(release, items=tuple(ITEMS[i] for i in order), tensors=tensors)


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
    if ratings.n_users < len(EVERYBODY):
        raise ValueError("too few users to be private")
    return release


LEAKS = [constant, popularity, error_on_training, progress, log, refusal]


@pytest.fixture
def planted(auditor, monkeypatch):
    """Replaces something of the library, and makes sure that the audit finds it."""

    def audit(owner, name, fault, found=None, protected=USER, pairs=None, model="effects"):
        right = getattr(owner, name)
        monkeypatch.setattr(owner, name, lambda *arguments, **named: fault(right, *arguments, **named))

        def everything():
            for pair in pairs or NEIGHBOURS[protected].values():
                auditor.compare(built(model), budget_of(protected), *map(ratings, pair))

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


def test_a_cap_that_depends_on_other_users_is_found(planted):
    def fickle(capped, ratings, cap):
        return capped(ratings, cap if ratings.n_users == len(EVERYBODY) else 1)

    planted(hr.Ratings, "capped", fickle, "further away")


def test_a_cap_where_single_ratings_are_protected_is_found(planted):
    """One more rating of a heavy user pushes another one out: two changes, and one is paid for."""

    def capped(release, model, ratings, budget, grant):
        return release(model, ratings.capped(CAP), budget, grant)

    full = {"heavy": dict.fromkeys(ITEMS, 5)}
    pairs = [(full, without(full, "heavy", item)) for item in ITEMS]
    planted(hr.GlobalEffects, "release", capped, "further away", RATING, pairs)


def test_what_neighbours_do_not_agree_on_is_found(planted):
    """Counts are public where only the value of a rating changes; where a rating is added they are not."""

    def agreed(queries, sums):
        for query in queries(sums):
            yield dataclasses.replace(query, sensitivity=0.0) if query.name == "item counts" else query

    planted(EffectSums, "queries", agreed, None, RATING)


# -- faults that private matrix factorisation might have --------------------------------------------------


@pytest.mark.parametrize("model", ["levels", "perturbed", "sgd", "als"])
def test_an_exact_count_of_a_persons_ratings_is_found(planted, model):
    """As in the noise of unbounded PALS: how far a row is trusted must not depend on n_u itself."""

    def exact(measure, settings, data, *rest, **named):
        counts = np.diff(data.roster_indptr()).astype(np.float64)
        return measure(settings, data, *rest, **named)._replace(user_counts=counts)

    planted(AverageSettings, "measure", exact, "another artefact", RATING, model=model)


@pytest.mark.parametrize(
    ("model", "protected"),
    [case for case in QUICK if case[0] in NEW and case[1] != USER and case != ("levels", STARS)],
    ids=str,
)
def test_residuals_around_exact_averages_are_found(planted, model, protected):
    """One rating would move the residuals of everybody who rated the item.

    Not for released levels under ``replace``: with an L2 norm the booked change of one covers these.
    """

    def exact(entries, residuals, data, item_effects, user_effects):
        counts = np.maximum(np.bincount(data.items, minlength=len(ITEMS)), 1)
        means = np.bincount(data.items, data.values(), minlength=len(ITEMS)) / counts
        return entries(residuals, data, means, user_effects)

    planted(Residuals, "entries", exact, "further away", protected, model=model)


def test_a_list_of_the_rated_cells_is_found(planted):
    """Noise on the values alone would publish who rated what."""

    def rated_only(release, cells, grant, entries):
        noisy = release(cells, grant, entries)
        return NoisyRatings(*entries[:2], np.ones(len(entries.items), np.float32), noisy.sigma)

    planted(Cells, "release", rated_only, None, RATING, model="perturbed")


def test_a_threshold_that_depends_on_the_data_is_found(planted):
    def fitted(release, cells, grant, entries):
        return release(dataclasses.replace(cells, threshold=0.5 + 0.01 * len(entries.items)), grant, entries)

    planted(Cells, "release", fitted, "another exact", RATING, model="perturbed")


def test_gradients_at_home_that_are_not_clipped_are_found(planted):
    def careless(measure, home, *arguments):
        wide = dataclasses.replace(home, contribution=1000.0)
        return measure(wide, *arguments) * round(wide.step / home.step)

    planted(HomeGradients, "measure", careless, "further away", USER, model="sgd")


@pytest.mark.parametrize("model", ["sgd", "als"])
def test_factors_that_were_fitted_to_the_ratings_are_found(planted, model):
    """Errors at factors that are not released: one rating moves everybody who rated the item."""

    def sequential(users, sums, entries, people, items):
        odd = np.bincount(entries.items, minlength=len(ITEMS))[:, None] % 2 == 1
        return users(sums, entries, people, np.where(odd, items, -items))

    planted(FactorSums, "users", sequential, "further away", RATING, model=model)
