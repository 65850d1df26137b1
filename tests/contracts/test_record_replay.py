"""Record and replay: given the public values, nothing that leaves a fit may depend on the private ratings.

A fit on some ratings is recorded: what every measurement returned. Then a fit on neighbouring ratings is
given the same values. The release, byte for byte, what is printed and logged, the measurements and their
order, and every line that models run must be the same; and at each measurement the two bounded sums may lie
no further apart than what was booked. So all that the neighbours can differ in is what the noise hides.
"""

import dataclasses

import numpy as np
import pytest

import hushrec as hr

USER, RATING, STARS = ("user", "add-remove"), ("rating", "add-remove"), ("rating", "replace")
MODELS = {
    "effects": (hr.GlobalEffects, {}),
    "svd": (hr.CovarianceSVD, {"rank": 2}),
    "knn": (hr.CovarianceKNN, {"rank": 2, "n_neighbours": 2}),
    "dense knn": (hr.CovarianceKNN, {"n_neighbours": 2, "covariance": {"cleaning": "none"}}),
    "shrunk svd": (hr.CovarianceSVD, {"rank": 2, "covariance": {"cleaning": "shrink"}}),
    "levels": (hr.GlobalEffects, {"user_biases": "released"}),
    "perturbed": (hr.InputPerturbationMF, {"rank": 2, "epochs": 2}),
    "perturbed sgd": (hr.InputPerturbationMF, {"rank": 2, "epochs": 2, "solver": "sgd"}),
    "sgd": (hr.PrivateSGD, {"rank": 2, "epochs": 2, "clip_norm": 0.01}),
    "als": (hr.PrivateALS, {"rank": 2, "epochs": 2}),
    "posterior": (hr.PosteriorMF, {"rank": 2, "rounds": 2, "clip_norm": 0.01}),
}
NEW = ("levels", "perturbed", "sgd", "als")
CASES = [
    (name, protected)
    for name, (model, _) in MODELS.items()
    for protected in (RATING, STARS, USER)
    if protected in model.supports and (name, protected) != ("levels", USER)
]
QUICK = [case for case in CASES if case[0] not in ("dense knn", "shrunk svd", "perturbed sgd")]
each_case = pytest.mark.parametrize(("model", "protected"), CASES, ids=lambda part: str(part))


@pytest.fixture(scope="module", autouse=True)
def warm(world):
    """What is loaded, compiled or remembered once is not what is looked for."""
    everybody = world.ratings(world.everybody)
    for name, protected in CASES:
        hr.fit(everybody, built(name), budget_of(protected), entropy=hr.testing.Seeded(1))


def budget_of(protected, noise="gaussian", epsilon=4.0):
    unit, adjacency = protected
    delta = 1e-6 if noise == "gaussian" else 0.0
    return hr.Budget(epsilon=epsilon, delta=delta, unit=unit, adjacency=adjacency)


def built(name, **settings):
    model, own = MODELS[name]
    return model(**own, **settings)


@pytest.mark.parametrize(("model", "protected"), QUICK, ids=lambda part: str(part))
def test_neighbours_cannot_be_told_apart(auditor, world, protected, model):
    for one, other in world.neighbours[protected].values():
        seen = auditor.compare(built(model), budget_of(protected), world.ratings(one), world.ratings(other))
        assert seen.measured
        assert seen.lines


@pytest.mark.parametrize(("model", "protected"), [case for case in QUICK if case[0] in NEW], ids=str)
def test_nor_as_published(auditor, world, protected, model):
    """Whatever the noise is worth: nothing but the noisy values leaves the fit."""
    if protected == USER:
        return
    for one, other in world.neighbours[protected].values():
        fitted = built(model, analysis="published")
        auditor.compare(fitted, budget_of(protected), world.ratings(one), world.ratings(other))


@pytest.mark.full
@each_case
@pytest.mark.parametrize("analysis", ["corrected", "published"])
@pytest.mark.parametrize("noise", ["gaussian", "laplace"])
@pytest.mark.parametrize("epsilon", [0.5, 50.0])
def test_neighbours_cannot_be_told_apart_in_any_setting(
    auditor, world, protected, model, analysis, noise, epsilon
):
    fitted = built(model, analysis=analysis, noise=noise)
    if fitted.noise_distribution != noise or (
        analysis == "published" and protected == USER and model in ("sgd", "posterior")
    ):
        return  # refused, which has tests of its own
    for one, other in world.neighbours[protected].values():
        for pair in ((one, other), (other, one)):
            auditor.compare(fitted, budget_of(protected, noise, epsilon), *map(world.ratings, pair))


def at_random(world, protected, rng):
    """Up to six people with up to all of the items, and a neighbour of theirs."""
    people = {
        f"user {k}": {
            item: int(rng.integers(1, 6))
            for item in rng.permutation(world.domain.items)[: rng.integers(1, 8)]
        }
        for k in range(rng.integers(1, 7))
    }
    user = f"user {rng.integers(len(people))}"
    item = str(rng.choice(list(people[user])))
    if protected == USER:
        return people, world.without(people, user)
    if protected == RATING:
        return people, world.without(people, user, item)
    return people, world.rated(people, user, item, int(rng.integers(1, 6)))


@pytest.mark.full
@each_case
def test_neighbours_at_random_cannot_be_told_apart(auditor, world, protected, model):
    rng = np.random.default_rng(6)
    for _ in range(25):
        epsilon = float(np.exp(rng.uniform(-1, 4)))
        pair = map(world.ratings, at_random(world, protected, rng))
        auditor.compare(built(model), budget_of(protected, epsilon=epsilon), *pair)


@pytest.mark.parametrize(("model", "protected"), [("svd", USER), *((m, RATING) for m in NEW)], ids=str)
def test_what_is_recorded_is_what_was_released(auditor, world, model, protected):
    """The auditor changes nothing itself, and a tape of other noise gives another release."""
    budget = budget_of(protected)
    seen = auditor.run(world.ratings(world.everybody), built(model), budget)
    again = auditor.run(world.ratings(world.everybody), built(model), budget, seen.measured)
    assert (again.artefact, again.lines) == (seen.artefact, seen.lines)
    other = [(*rest, dataclasses.replace(noisy, values=noisy.values + 1)) for *rest, noisy in seen.measured]
    assert auditor.run(world.ratings(world.everybody), built(model), budget, other).artefact != seen.artefact


@pytest.mark.parametrize("model", NEW)
def test_nothing_is_paid_for_and_not_used(auditor, world, model):
    """Each measurement by itself changes the release."""
    budget = budget_of(RATING)
    seen = auditor.run(world.ratings(world.everybody), built(model), budget)
    for place, (*rest, noisy) in enumerate(seen.measured):
        louder = (*rest, dataclasses.replace(noisy, values=noisy.values * 2 + 3))
        tape = [*seen.measured[:place], louder, *seen.measured[place + 1 :]]
        again = auditor.run(world.ratings(world.everybody), built(model), budget, tape)
        assert again.artefact != seen.artefact, rest[0]


def test_all_doors_are_watched(auditor, world):
    """Every booked measurement was seen, whichever way it was released."""
    for model, protected, settings in (
        ("perturbed", RATING, {}),
        ("perturbed", STARS, {}),
        ("sgd", RATING, {"analysis": "published"}),
        ("als", STARS, {"analysis": "published"}),
        ("sgd", USER, {}),
    ):
        fitted = built(model, **settings)
        seen = auditor.run(world.ratings(world.everybody), fitted, budget_of(protected))
        planned = hr.plan(fitted, world.domain, budget_of(protected))
        assert [event for _, _, event, _ in seen.measured] == list(planned.events)
