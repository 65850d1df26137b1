"""No setting is dead: under every supported budget it changes what is released, or giving it is refused.

Every setting of every model and method is changed in turn: beside the defaults, and beside every other choice
of one of its fellows (a solver, a way of cleaning). What counts is the plan's events and the release's bits
and diagnostics, not the settings that a release repeats.
"""

import functools
import itertools
import types
import typing
from collections.abc import Iterator, Mapping
from typing import Any, Literal

import numpy as np
import polars as pl
import pytest

import hushrec as hr
from hushrec import models
from hushrec.errors import BudgetUnsupported, HushrecError
from hushrec.models.base import Model
from hushrec.models.du_leighton_patel.method import Method
from hushrec.settings import Frozen, Only, Settings

KINDS = {
    name: kind
    for name in hr.HOMES
    if isinstance(kind := getattr(hr, name), type) and issubclass(kind, Settings)
}
GROUPED = {"keep_probability": 0.5, "group_probability": 0.5, "threshold": 12.0, "groups": "ratings"}
REQUIRED: Mapping[str, dict[str, Any]] = {
    "DistanceBased": GROUPED,
    "MatrixFactorization": {"rank": 3, "epochs": 3},
    "PosteriorSampleMF": {"rank": 2, "chain": {"chains": 2, "epochs": 6}},
    "PosteriorMF": {"rank": 2, "epochs": 5},
    "UserLevelSGD": {"rank": 2, "epochs": 3},
    "InputPerturbationMF": {"rank": 2, "epochs": 3},
    "PrivateSGD": {"rank": 2, "epochs": 3},
    "PrivateALS": {"rank": 2, "epochs": 3},
}
"""What a method cannot do without, and what makes a fit short."""
APART = {
    "threads": "the same sums on other threads; more than one descent thread gives another release each time",
    "groups": "a source of distances, not a choice among a few; test_groups.py has all of them",
}
CANDIDATES: Mapping[str, tuple[Any, ...]] = {
    "rank": (1, 3),
    "pair_items": (4, 3),
    "loss_bound": (20.0,),
    "clip_norm": (0.01, 0.5),
    "contribution_cap": (2.0, 3.0),
    "split": ({"item sums": 9.0}, {"item counts": 9.0}, {"posterior sample": 9.0}),
    "reg": (0, 20),
    "threshold": (0.1, 0.5, 40.0),
}
"""Values by a setting's own name, where those made from the default would not do."""

Path = tuple[str, ...]


# -- settings, their values, and a configuration with one of them -----------------------------------------


def fields(kind: type[Frozen], before: Path = ()) -> Iterator[tuple[Path, Any]]:
    """Every setting that is not made of settings, by its path."""
    for name, field in kind.model_fields.items():
        if isinstance(field.annotation, type) and issubclass(field.annotation, Frozen):
            yield from fields(field.annotation, (*before, name))
        elif name not in APART:
            yield (*before, name), field


def choices(annotation: Any) -> tuple[Any, ...]:
    """The values of a literal or a bool, also of one that may be None."""
    if annotation is bool:
        return False, True
    if typing.get_origin(annotation) is Literal:
        return typing.get_args(annotation)
    if typing.get_origin(annotation) in (typing.Union, types.UnionType):
        return tuple(itertools.chain.from_iterable(map(choices, typing.get_args(annotation))))
    return ()


def others(path: Path, field: Any, value: Any) -> Iterator[Any]:
    """Other values that a setting could have."""
    if found := choices(field.annotation):
        yield from (choice for choice in found if choice != value)
    elif path[-1] in CANDIDATES:
        yield from (other for other in CANDIDATES[path[-1]] if other != value)
    elif isinstance(value, tuple):
        yield from ((*value[:k], value[k] * 3 + 1, *value[k + 1 :]) for k in range(len(value)))
    elif isinstance(value, int):
        yield from (value + 1, value - 1, 2 * value + 1)
    elif isinstance(value, float):
        yield from (value / 2, value / 8, min(2 * value + 0.01, 0.99), 3 * value + 1)
    else:
        yield from (1, 2, 3.0)


def at(config: Any, path: Path) -> Any:
    return functools.reduce(getattr, path, config)


def with_value(given: Mapping[str, Any], path: Path, value: Any) -> dict[str, Any]:
    """Settings with another value at a path."""
    first, *rest = path
    return {**given, first: with_value(given.get(first, {}), tuple(rest), value) if rest else value}


def enabled(kind: type[Frozen], given: Mapping[str, Any], path: Path) -> dict[str, Any]:
    """Settings with those beside which the one at a path has an effect."""
    found = dict(given)
    for mark in kind.model_fields[path[0]].metadata:
        for name, allowed in mark.where.items() if isinstance(mark, Only) else ():
            if (other := tuple(name.split(".")))[0] in kind.model_fields:
                found = with_value(found, other, allowed[0])
    return found


def contexts(kind: type[Settings]) -> Iterator[dict[str, Any]]:
    """The defaults, and every other choice of one setting."""
    given = REQUIRED.get(kind.__name__, {})
    yield given
    default = kind(**given)
    for path, field in fields(kind):
        for choice in choices(field.annotation):
            if choice != at(default, path):
                yield with_value(enabled(kind, given, path), path, choice)


# -- what they do -----------------------------------------------------------------------------------------


def given_to(config: Settings) -> hr.People:
    """Ratings, or likes of a model that learns from interactions."""
    return clicks() if getattr(config, "feedback", "ratings") == "interactions" else world()


@functools.cache
def clicks() -> hr.People:
    """Two kinds of people, who like the items of one half: their own items tell more than popularity."""
    rng = np.random.default_rng(3)
    users, items = [f"u{k:03}" for k in range(150)], [f"i{k:02}" for k in range(24)]
    rows = [
        (user, items[i])
        for k, user in enumerate(users)
        for i in rng.choice(
            24, rng.integers(4, 10), replace=False, p=np.where(np.arange(24) % 2 == k % 2, 9, 1) / 120
        )
    ]
    domain = hr.Domain(items, max_per_user=8, max_users=200, users=users)
    return hr.load(pl.DataFrame(rows, schema=["user_id", "item_id"], orient="row"), domain)


@functools.cache
def world() -> hr.People:
    rng = np.random.default_rng(3)
    users, items = [f"u{k:02}" for k in range(30)], [f"i{k}" for k in range(8)]
    domain = hr.Domain(items, scale=(1, 5, 1), max_per_user=6, max_users=40, users=users)
    taste = rng.integers(1, 6, (2, 8))
    rows = [
        (users[u], items[i], float(np.clip(taste[u % 2, i] + rng.integers(-1, 2), 1, 5)))
        for u in range(27)
        for i in rng.permutation(8)[: rng.integers(1, 9)]
    ]
    return hr.load(pl.DataFrame(rows, schema=["user_id", "item_id", "rating"], orient="row"), domain)


def supported(kind: type[Settings]) -> Iterator[tuple[str, str] | None]:
    """The units and adjacencies that a model protects; None for one without noise."""
    if issubclass(kind, Method):
        yield "user", "replace-items" if issubclass(kind, hr.DistanceBased) else "replace"
    else:
        assert issubclass(kind, Model)
        yield from sorted(kind.supports) or [None]


def effect(config: Settings, protected: tuple[str, str] | None) -> tuple[Any, ...]:
    """All that is planned and released, but for the settings themselves."""
    ratings = given_to(config)
    if protected is None:
        assert isinstance(config, Model)
        return bits(hr.baseline(ratings, config))
    unit, adjacency = protected
    if isinstance(config, Method):
        budget = hr.Budget(epsilon=400.0, delta=0.0, unit=unit, adjacency=adjacency)
        made = hr.testing.randomize(ratings, config, budget, entropy=hr.testing.Seeded(7)).ratings
        rows = made.indptr.tobytes(), made.items.tobytes(), made.values.tobytes()
        return config.plan(ratings.domain, budget).noisy, rows
    # So few people rank by more than counts only under little noise.
    epsilon = 60.0 if ratings.domain.feedback == "interactions" else 30.0
    epsilon = 3000.0 if isinstance(config, hr.CovarianceSVD | hr.CovarianceKNN) else epsilon
    budget = hr.Budget(epsilon=epsilon, delta=1e-6, unit=unit, adjacency=adjacency)
    return charged(config, ratings, budget)


def charged(config: Any, ratings: Any, budget: hr.Budget) -> tuple[Any, ...]:
    """Events and bits of a release; of published forms the laboratory's tests put their own here."""
    plan = hr.plan(ratings.domain, config, budget)
    return plan.noisy, *bits(hr.testing.fit(ratings, config, budget, entropy=hr.testing.Seeded(7)))


def bits(release: hr.Release) -> tuple[Any, ...]:
    tensors = sorted((name, tensor.tobytes()) for name, tensor in release.tensors.items())
    return tensors, sorted(release.constants.items()), sorted(release.statement.diagnostics.items())


def idle(config: Settings, path: Path, protected: tuple[str, str] | None) -> bool:
    """Whether a setting is marked as without effect here."""
    facts = {} if protected is None else dict(zip(("unit", "adjacency"), protected, strict=True))
    marked = [name for name, _ in config.idle(**facts)]
    return any(".".join(path[: k + 1]) in marked for k in range(len(path)))


def outcome(kind: type[Settings], given: Mapping[str, Any], protected: tuple[str, str] | None) -> object:
    """What settings do; or that they are refused, because one does nothing or the budget is not theirs."""
    try:
        return effect(kind(**given), protected)
    except BudgetUnsupported:
        return "unsupported"
    except HushrecError as error:
        return "refused" if "has no effect" in str(error) else "invalid"


def dead(kind: type[Settings]) -> Iterator[str]:
    """Settings that do nothing and are not refused, or that are refused and would do something."""
    beside, turns = contexts(kind), itertools.cycle(supported(kind))
    usual = next(beside)  # under every budget; beside other choices, under one in turn
    tried = [*((usual, protected) for protected in supported(kind)), *zip(beside, turns, strict=False)]
    for given, protected in tried:
        before = outcome(kind, given, protected)
        assert before != "invalid", f"{given} under {protected}"
        if isinstance(before, str):
            continue  # this choice is not for this budget
        config = kind(**given)
        for path, field in fields(kind):
            values = itertools.chain([at(config, path)], others(path, field, at(config, path)))
            found = (outcome(kind, with_value(given, path, value), protected) for value in values)
            own = next(found)
            if idle(config, path, protected):
                fault = "is not refused" if own != "refused" else ""
            else:
                moved = any(after != "invalid" and after != before for after in found)
                fault = "" if moved and own == before else "changes nothing"
            if fault:
                yield f"{'.'.join(path)} {fault} beside {given} under {protected}"


@pytest.mark.parametrize("name", KINDS)
@pytest.mark.full
def test_no_setting_is_dead(name: str) -> None:
    found = [*dead(KINDS[name])]
    assert not found, "\n".join(found)


# -- it sees what is planted ------------------------------------------------------------------------------


def test_every_model_and_method_is_gone_over() -> None:
    assert {*models.MODELS, *models.METHODS} <= {*KINDS}
    assert all(list(fields(kind)) for kind in KINDS.values())
