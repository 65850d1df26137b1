"""Record and replay: given the public values, nothing that leaves a fit may depend on the private ratings.

``hushrec.audit.replay`` says how. Here it goes over every model, in settings that make each part of it run.
"""

import dataclasses

import pytest

import hushrec as hr
from hushrec.audit.fits import replayed_pairs
from hushrec.audit.replay import compare, record, watch
from hushrec.audit.worlds import World
from hushrec.models.lists import private_ease

USER, RATING, STARS = ("user", "add-remove"), ("record", "add-remove"), ("record", "replace")
MODELS = {
    "effects": (hr.GlobalEffects, {}),
    "svd": (hr.CovarianceSVD, {"rank": 2}),
    "knn": (hr.CovarianceKNN, {"rank": 2, "n_neighbours": 2}),
    "dense knn": (hr.CovarianceKNN, {"n_neighbours": 2, "covariance": {"cleaning": "none"}}),
    "svd of a head": (hr.CovarianceSVD, {"rank": 2, "covariance": {"pair_items": 3}}),
    "dense knn of a head": (
        hr.CovarianceKNN,
        {"n_neighbours": 2, "covariance": {"cleaning": "none", "pair_items": 3}},
    ),
    "shrunk svd": (hr.CovarianceSVD, {"rank": 2, "covariance": {"cleaning": "shrink"}}),
    "levels": (hr.GlobalEffects, {"user_biases": "released"}),
    "perturbed": (hr.InputPerturbationMF, {"rank": 2, "epochs": 2}),
    "perturbed sgd": (hr.InputPerturbationMF, {"rank": 2, "epochs": 2, "solver": "sgd"}),
    "sgd": (hr.PrivateSGD, {"rank": 2, "epochs": 2}),
    "user sgd": (hr.UserLevelSGD, {"rank": 2, "epochs": 2, "clip_norm": 0.01}),
    "als": (hr.PrivateALS, {"rank": 2, "epochs": 2}),
    "adaptive": (hr.AdaptiveFactors, {}),
    "posterior": (hr.PosteriorMF, {"rank": 2, "epochs": 2, "clip_norm": 0.01}),
    "popularity": (hr.Popularity, {}),
    "ease": (hr.PrivateEASE, {"rank": 2}),
    "ease of a head": (hr.PrivateEASE, {"rank": 2, "pair_items": 3}),
}
NEW = ("levels", "perturbed", "sgd", "als")
CASES = [
    (name, protected)
    for name, (model, _) in MODELS.items()
    for protected in (RATING, STARS, USER)
    if protected in model.supports and (name, protected) != ("levels", USER)
]
SLOW = (
    "dense knn",
    "dense knn of a head",
    "shrunk svd",
    "perturbed sgd",
)
QUICK = [case for case in CASES if case[0] not in SLOW]
WORLDS = {
    kind: World.of(hr.Domain(list("abcdefg"), scale=scale, max_per_user=3, max_users=max_users))
    for kind, scale, max_users in (("ratings", (1, 5, 1), 20), ("interactions", None, 10_000))
}
each_case = pytest.mark.parametrize(("model", "protected"), CASES, ids=lambda part: str(part))


@pytest.fixture(scope="module", autouse=True)
def warm():
    """What is loaded, compiled or remembered once is not what is looked for."""
    for name, protected in CASES:
        record(everybody(name), built(name), budget_of(protected))


def world_of(name):
    """The world of what a model learns from."""
    return WORLDS[MODELS[name][0].feedback]


def everybody(name):
    world = world_of(name)
    return world.ratings(world.everybody)


def budget_of(protected, noise="gaussian", epsilon=4.0):
    unit, adjacency = protected
    delta = 1e-6 if noise == "gaussian" else 0.0
    return hr.Budget(epsilon=epsilon, delta=delta, unit=unit, adjacency=adjacency)


def built(name, **settings):
    model, own = MODELS[name]
    return model(**own, **settings)


def compared(fitted, budget, pairs):
    for pair in pairs:
        seen = compare(fitted, budget, *map(WORLDS[fitted.feedback].ratings, pair))
        assert seen.measured
        assert seen.lines


@pytest.mark.parametrize(("model", "protected"), QUICK, ids=lambda part: str(part))
def test_neighbours_cannot_be_told_apart(protected, model):
    pairs = [*world_of(model).pairs(*protected).values()]  # all of them in any setting, below
    compared(built(model), budget_of(protected), pairs[::3])


@pytest.mark.parametrize("model", ["ease", "ease of a head"])
@pytest.mark.parametrize("protected", [RATING, USER])
def test_neighbours_cannot_be_told_apart_by_factors_of_pairs(protected, model, monkeypatch):
    """Five users are no crowd, so the model is kept from ranking them by popularity."""
    monkeypatch.setattr(private_ease, "TASTE", 0.0)
    monkeypatch.setattr(private_ease, "FEWEST_ITEMS", 0.0)
    monkeypatch.setattr(private_ease, "CLEAR", 0.0)
    monkeypatch.setattr(private_ease, "LEAST_CLEAR", 0.0)
    budget = budget_of(protected, epsilon=50.0)
    seen = watch(everybody(model), built(model), budget)
    assert hr.Release.from_bytes(seen.release).kind == "linear items"
    compared(built(model), budget, world_of(model).pairs(*protected).values())


@pytest.mark.full
@each_case
@pytest.mark.parametrize(("noise", "epsilon"), [("gaussian", 50.0), ("laplace", 0.5)])
def test_neighbours_cannot_be_told_apart_in_any_setting(protected, model, noise, epsilon):
    chosen = {"noise": noise} if "noise" in MODELS[model][0].model_fields else {}
    fitted = built(model, **chosen)
    if fitted.noise_distribution != noise:
        return  # the model has one kind of noise, whose other case this is
    pairs = replayed_pairs(world_of(model), budget_of(protected))
    turned = [pair[:: -1 if place % 2 else 1] for place, pair in enumerate(pairs)]
    compared(fitted, budget_of(protected, noise, epsilon), turned)


@pytest.mark.parametrize(("model", "protected"), [("svd", USER), *((m, RATING) for m in NEW)], ids=str)
def test_what_is_recorded_is_what_was_released(model, protected):
    """The audit changes nothing itself, and a tape of other noise gives another release."""
    budget = budget_of(protected)
    seen = watch(everybody(model), built(model), budget)
    again = watch(everybody(model), built(model), budget, seen.measured)
    assert (again.release, again.lines) == (seen.release, seen.lines)
    other = [with_values(made, made.value.values + 1) for made in seen.measured]
    assert watch(everybody(model), built(model), budget, other).release != seen.release


@pytest.mark.parametrize("model", NEW)
def test_nothing_is_paid_for_and_not_used(model):
    """Each measurement by itself changes the release."""
    budget = budget_of(RATING)
    seen = watch(everybody(model), built(model), budget)
    for place, made in enumerate(seen.measured):
        louder = with_values(made, made.value.values * 2 + 3)
        tape = [*seen.measured[:place], louder, *seen.measured[place + 1 :]]
        assert watch(everybody(model), built(model), budget, tape).release != seen.release, made.name


def with_values(made, values):
    return dataclasses.replace(made, value=dataclasses.replace(made.value, values=values))


def test_all_doors_are_watched():
    """Every booked measurement was seen, whichever way it was released."""
    for model, protected in (
        ("perturbed", RATING),
        ("perturbed", STARS),
        ("user sgd", USER),
        ("popularity", USER),
        ("ease", RATING),
    ):
        fitted = built(model)
        seen = record(everybody(model), fitted, budget_of(protected))
        planned = hr.plan(world_of(model).domain, fitted, budget_of(protected))
        taken = {made.event.branch for made in seen.measured}
        booked = [event for event in planned.noisy if not event.branch or event.branch in taken]
        assert [made.event for made in seen.measured] == booked
        assert len(taken - {""}) <= 1
