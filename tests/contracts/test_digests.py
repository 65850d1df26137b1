"""A move changes no byte: digests of what every model, unit, adjacency and noise gave before it.

Of tensors, constants, sensitivities, noise and booked costs, not of words. After a change on purpose, or for
a new model, ``python tests/contracts/test_digests.py`` writes ``digests.json``, and the commit says why.

On the kind of machine that wrote the file the bytes are compared; on another one, whose libraries may add in
another order, sums to single precision.
"""

import hashlib
import itertools
import json
from pathlib import Path

import llvmlite.binding
import numba
import numpy as np
import polars as pl
import pytest
import scipy

import hushrec as hr
from hushrec.errors import HushrecError
from hushrec.models.base import Noiseless

STORED = Path(__file__).with_name("digests.json")
HIDDEN, SHOWN = 1.0, 300.0
"""ε at which noise hides most factors of these few people, and one at which it hides none."""
PROTECTED = [("user", "add-remove"), ("user", "replace"), ("record", "add-remove"), ("record", "replace")]
SCALES = {"stars": (1, 5, 1), "tenths": (0, 10, 1)}
MODELS = {
    "effects corrected": lambda **noise: hr.GlobalEffects(**noise),
    "released effects corrected": lambda **noise: hr.GlobalEffects(user_biases="released", **noise),
    "svd corrected": lambda **noise: hr.CovarianceSVD(rank=4, **noise),
    "shrunk svd corrected": lambda **noise: hr.CovarianceSVD(
        rank=4, covariance={"cleaning": "shrink"}, **noise
    ),
    "knn corrected": lambda **noise: hr.CovarianceKNN(rank=4, n_neighbours=5, **noise),
    "svd of a head": lambda **noise: hr.CovarianceSVD(rank=4, covariance={"pair_items": 12}, **noise),
    "knn of a head": lambda **noise: hr.CovarianceKNN(
        rank=4, n_neighbours=5, covariance={"pair_items": 12}, **noise
    ),
    "dense knn corrected": lambda **noise: hr.CovarianceKNN(
        n_neighbours=5, covariance={"cleaning": "none"}, **noise
    ),
    "input als corrected": lambda: hr.InputPerturbationMF(rank=3, epochs=3),
    "input sgd corrected": lambda: hr.InputPerturbationMF(rank=3, epochs=3, solver="sgd"),
    "sgd corrected": lambda: hr.PrivateSGD(rank=3, epochs=3),
    "user sgd corrected": lambda: hr.UserLevelSGD(rank=3, epochs=3),
    "als corrected": lambda: hr.PrivateALS(rank=3, epochs=3),
    "posterior corrected": lambda: hr.PosteriorMF(rank=3, epochs=4),
    "posterior sample corrected": lambda: hr.PosteriorSampleMF(rank=3, chain={"epochs": 20}),
    "adaptive": lambda: hr.AdaptiveFactors(),
    "popularity": lambda: hr.Popularity(),
    "ease": lambda: hr.PrivateEASE(rank=3),
    "ease of few items": lambda: hr.PrivateEASE(pair_items=12),
    # Six items were given by 33 people each, so that noise decides which three of them are in this head.
    "ease of a head": lambda: hr.PrivateEASE(rank=3, pair_items=16),
    "mf corrected": lambda: hr.MatrixFactorization(rank=3),
    "mf sgd corrected": lambda: hr.MatrixFactorization(rank=3, solver="sgd", epochs=3),
    "user knn corrected": lambda: hr.UserKNN(),
    "item knn corrected": lambda: hr.ItemKNN(),
}
GROUPED = {"keep_probability": 0.5, "group_probability": 0.5, "threshold": 3.0}
METHODS = {
    "response": lambda made: hr.RandomizedResponse(),
    "sampled response": lambda made: hr.RandomizedResponse(sample=10),
    "raw groups": lambda made: hr.DistanceBased(**GROUPED, groups="ratings"),
    "released groups": lambda made: hr.DistanceBased(**GROUPED, groups=made),
}


ASKED = ("posterior", "posterior sample")
"""Models that are also fitted to people who ask for an ε of their own."""


def machine():
    """What the last bits of floating point depend on."""
    versions = f"numpy {np.__version__}, scipy {scipy.__version__}, numba {numba.__version__}"
    return f"{llvmlite.binding.get_host_cpu_name()}, {versions}"


def world(scale, *, personal_epsilon=False, likes=None):
    """People of two tastes, who follow theirs in four of five ratings."""
    users, items = [f"u{k:03d}" for k in range(90)], [f"i{k:02d}" for k in range(30)]
    levels = {"personal_epsilon": {"none": 0.0, "low": 1.0, "high": 8.0}} if personal_epsilon else {}
    domain = hr.Domain(items, scale=scale, likes=likes, max_per_user=20, max_users=120, users=users, **levels)
    rng = np.random.default_rng(5)
    stars = np.arange(scale[0], scale[1] + scale[2] / 2, scale[2])
    tastes = rng.integers(0, len(stars), (2, 30))

    def given(u, i):
        return stars[tastes[u % 2, i] if rng.random() < 0.8 else rng.integers(len(stars))]

    rows = [
        (users[u], items[i], float(given(u, i)))
        for u in range(80)
        for i in rng.permutation(30)[: rng.integers(6, 25)]
    ]
    table = pl.DataFrame(
        rows, schema={"user_id": pl.String, "item_id": pl.String, "rating": pl.Float64}, orient="row"
    )
    if personal_epsilon:
        names = pl.col("user_id").str.slice(1).cast(pl.Int64) % 3
        table = table.with_columns(epsilon=names.replace_strict({0: "low", 1: "high", 2: "none"}))
    return hr.load(table, domain)


def digest(*parts):
    return hashlib.sha256("\n".join(map(str, parts)).encode()).hexdigest()[:16]


def booked(plan, split):
    """What costs something, with its numbers in bits, its part of the budget and its price."""
    costs = {line["name"]: line["cost"] for line in plan.facts["measurements"]}
    rows = [
        [m.mechanism, m.norm, split[m.name], costs[m.name], m.sensitivity, m.noise, m.step]
        + [getattr(m, name, None) for name in ("loss", "symbols", "exponent")]
        + [int(m.sensitivity) if m.norm in ("cells", "slots") else None, getattr(m, "per_slot", None), m.size]
        for m in plan.noisy
    ]
    promised = [(level.personal_epsilon, level.promised, level.weight) for level in plan.classes]
    # The None stands where a paper's claim was, so that the digests stay.
    return digest(*rows, plan.epsilon, None, promised, plan.budget.epsilon, plan.budget.delta)


def published(arrays, numbers):
    """Digest of bits whatever they are called, and two sums of them."""
    held = [np.ascontiguousarray(array) for array in arrays]
    bits = sorted(digest(array.dtype, array.shape, array.tobytes().hex()) for array in held)
    sums = [
        sum(float(np.abs(a.astype(float)).sum()) for a in held),
        sum(float((a.astype(float) ** 2).sum()) for a in held),
    ]
    return digest(bits, sorted(numbers)), [float(f"{value:.6g}") for value in sums]


def of_model(name, noise, protected, epsilon, ratings):
    """Digests of plan and release and the largest factor, or that this is refused."""
    unit, adjacency = protected or (None, None)
    try:
        config = MODELS[name](**({"noise": noise} if has_noise(name) and noise != "own" else {}))
        if protected is None:
            release = hr.baseline(ratings, config)
            plan = ""
        else:
            delta = 0.0 if noise == "laplace" else 1e-6
            budget = hr.Budget(epsilon=epsilon, delta=delta, unit=unit, adjacency=adjacency)
            plan, release = fitted(config, ratings, budget)
    except HushrecError as error:
        return type(error).__name__
    factors = release.tensors.get("item_factors", np.zeros((0, 0)))
    size = float(f"{np.abs(factors).max():.3g}") if factors.size else None
    return [plan, *published(release.tensors.values(), release.constants.values()), size]


def fitted(config, ratings, budget):
    """Digest of the plan, and the release; of published forms the laboratory's tests put their own here."""
    planned = hr.plan(ratings.domain, config, budget)
    plan = booked(planned, config.budget_split(ratings.domain, budget))
    return plan, hr.testing.fit(ratings, config, budget, entropy=hr.testing.Seeded(3))


def randomized(method, ratings, budget):
    """Digest of the plan, and the data set."""
    data = hr.testing.randomize(ratings, method, budget, entropy=hr.testing.Seeded(3))
    plan = method.plan(ratings.domain, budget)
    return booked(plan, {one.name: 1.0 for one in plan.noisy}), data


def of_method(name, ratings, made, unit, epsilon):
    """Digests of plan and data, and of what is learned from the data."""
    try:
        method = METHODS[name](made)
        adjacency = "replace" if "response" in name else "replace-items"
        budget = hr.Budget(epsilon=epsilon, delta=1e-6 if unit else 0.0, unit="user", adjacency=adjacency)
        plan, data = randomized(method, ratings, budget)
    except HushrecError as error:
        return type(error).__name__
    learned = [
        hr.fit_released(data, model) for model in (hr.ItemKNN(), hr.UserKNN(), hr.MatrixFactorization(rank=2))
    ]
    given = data.ratings
    rows = [np.asarray(given.numbers()), np.asarray(given.items), np.asarray(given.indptr)]
    arrays = [*rows, *(tensor for release in learned for tensor in release.tensors.values())]
    return [plan, *published(arrays, [])]


def has_noise(name):
    """Whether the noise distribution is a setting."""
    return "noise" in type(MODELS[name]()).model_fields


def noises(name):
    """``own``, and what else may be set; ``laplace`` is also δ = 0, under whatever noise a model has."""
    if issubclass(type(MODELS[name]()), Noiseless):
        return ("own",)
    return ("own", "gaussian", "laplace") if has_noise(name) else ("own", "laplace")


def cases(*, everything):
    """Name of each case and a call that computes it; without ``everything``, one of each kind."""
    scales = SCALES if everything else {"stars": SCALES["stars"]}
    epsilons = (HIDDEN, SHOWN) if everything else (SHOWN,)
    for label, scale in scales.items():
        ratings = world(scale)
        given = {"ratings": ratings, "interactions": world(scale, likes=scale[0] + scale[2])}
        forms = [(name, noise) for name in MODELS for noise in noises(name)]
        for name, noise in forms if everything else [form for form in forms if form[1] == "own"]:
            for protected, epsilon in [(None, 0.0), *itertools.product(PROTECTED, epsilons)]:
                key = [label, name, noise, *(protected or ["exact"]), epsilon]
                source = given[type(MODELS[name]()).feedback]
                yield " ".join(map(str, key)), of_model, (name, noise, protected, epsilon, source)
        made = hr.testing.fit(
            ratings,
            hr.CovarianceSVD(rank=3),
            hr.Budget(epsilon=SHOWN, delta=1e-6, unit="user", adjacency="add-remove"),
            entropy=hr.testing.Seeded(1),
        )
        for name, delta, epsilon in itertools.product(METHODS, (0, 1), (50.0, 2000.0)):
            key = [label, "data", name, "delta" if delta else "pure", epsilon]
            yield " ".join(map(str, key)), of_method, (name, ratings, made, delta, epsilon)
    asking = world(SCALES["stars"], personal_epsilon=True)
    for name in ASKED:
        noise = "laplace" if name == "posterior sample" else "own"  # which is δ = 0
        yield f"asked {name}", of_model, (f"{name} corrected", noise, PROTECTED[0], 8.0, asking)


def differing(stored, *, everything):
    """Cases that are not what they were."""
    same_machine = stored["machine"] == machine()
    changed, seen = [], set()
    for key, compute, arguments in cases(everything=everything):
        found, before = compute(*arguments), stored["cases"].get(key, "not stored")
        seen.add(key)
        if isinstance(found, str) or isinstance(before, str):
            same = found == before
        else:
            same = found[0] == before[0] and np.allclose(found[2], before[2], rtol=1e-3)
            same &= found[1] == before[1] or not same_machine
        if not same:
            changed.append(key)
    if everything:
        changed += sorted(set(stored["cases"]) - seen)
    return changed


CHANGE = "changed; if on purpose: python tests/contracts/test_digests.py, and say why in the commit"


def test_one_release_of_each_kind_is_what_it_was():
    assert not differing(json.loads(STORED.read_text()), everything=False), CHANGE


def test_factors_show_where_there_are_any():
    """A digest of zeros would say nothing about how they are made."""
    cases = json.loads(STORED.read_text())["cases"].items()
    made = {key: value[3] for key, value in cases if isinstance(value, list) and len(value) > 3}
    learned = {tuple(key.split()[:-3]) for key, size in made.items() if key.endswith(" exact 0.0") and size}
    assert learned
    hidden = [
        key
        for key, size in made.items()
        if not size and key.endswith(f" {SHOWN}") and tuple(key.split()[:-4]) in learned
    ]
    assert not hidden


@pytest.mark.full
def test_every_release_is_what_it_was():
    assert not differing(json.loads(STORED.read_text()), everything=True), CHANGE


def test_one_bit_is_another_digest():
    one = np.zeros(3, dtype=np.float32)
    other = one.copy()
    other[1] = np.nextafter(np.float32(0), np.float32(1))
    assert published([one], [1.0])[0] != published([other], [1.0])[0]
    assert published([one], [1.0])[0] != published([one], [1.0 + 2**-52])[0]


def store():
    """Write the digests: all of them, or on another machine those that are new or that changed."""
    stored = json.loads(STORED.read_text())
    changed = stored["cases"] if stored["machine"] == machine() else differing(stored, everything=True)
    kept = {key: value for key, value in stored["cases"].items() if key not in changed}
    made = {key: kept.get(key) or compute(*arguments) for key, compute, arguments in cases(everything=True)}
    lines = ",\n".join(f"{json.dumps(key)}: {json.dumps(value)}" for key, value in sorted(made.items()))
    STORED.write_text(
        f'{{"machine": {json.dumps(stored["machine"] if kept else machine())},\n"cases": {{\n{lines}\n}}}}\n'
    )
    print(len(made), "cases", sum(not isinstance(value, str) for value in made.values()), "of them releases")


if __name__ == "__main__":
    store()
