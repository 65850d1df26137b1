"""Settings: frozen, known by name, JSON in a release, and refused where they would do nothing."""

import json
from collections import OrderedDict
from typing import Annotated, Literal

import pytest
from pydantic import Field

from hushrec.errors import ConfigError
from hushrec.settings import Frozen, Settings, is_unordered, only


class Toy(Settings):
    rank: int = Field(default=3, ge=1)
    shrinkage: tuple[float, float] = (10.0, 100.0)


NAN, INF = float("nan"), float("inf")


@pytest.mark.parametrize(
    "wrong",
    [
        *({"rank": rank} for rank in (0, "many", "3", True, None, NAN, INF, 2.5)),
        *({"shrinkage": pair} for pair in ((1.0,), {1.0, 2.0}, frozenset((1.0, 2.0)), (1, NAN), (1, INF))),
        *({"shrinkage": pair} for pair in ((1, True), (1, "2"), ("1", 2), "12", None)),
        {"ranks": 2},
    ],
)
def test_a_wrong_setting_is_named_beside_those_there_are(wrong):
    with pytest.raises(ConfigError) as caught:
        Toy(**wrong)
    assert str(caught.value).startswith(f"invalid settings for Toy: {next(iter(wrong))}")
    assert str(caught.value).endswith("; valid settings are rank, shrinkage")
    assert caught.value.__cause__ is None


def test_settings_are_json_values():
    assert Toy().settings() == {"rank": 3, "shrinkage": [10.0, 100.0]}
    assert json.loads(json.dumps(Toy(rank=2).settings())) == Toy(rank=2).settings()


# -- settings without effect ------------------------------------------------------------------------------


class Inner(Frozen):
    cleaning: Literal["shrink", "none"] = "shrink"
    shrinkage: Annotated[float, only(cleaning="shrink")] = 10.0
    cap: Annotated[int, only(unit="user")] = 3


class Outer(Settings):
    solver: Literal["als", "sgd", "exact"] = "als"
    rate: Annotated[float, only(solver="sgd")] = 0.1
    epochs: Annotated[int, only(solver=("als", "sgd"))] = 5
    rank: Annotated[int, only(inner__cleaning="shrink")] = 4
    inner: Inner = Inner()


@pytest.mark.parametrize(
    ("given", "said"),
    [
        ({"rate": 0.2}, "Outer: rate has no effect with solver 'als'; leave it out, or change that"),
        ({"rate": 0.1}, "Outer: rate has no effect with solver 'als'"),  # as the default is
        ({"solver": "exact", "epochs": 2}, "Outer: epochs has no effect with solver 'exact'"),
        (
            {"inner": {"cleaning": "none", "shrinkage": 2.0}},
            "Outer: inner.shrinkage has no effect with cleaning 'none'",
        ),
        (
            {"inner": {"cleaning": "none"}, "rank": 3},
            "Outer: rank has no effect with inner.cleaning 'none'",
        ),
    ],
    ids=str,
)
def test_a_setting_that_does_nothing_beside_the_others_is_refused(given, said):
    with pytest.raises(ConfigError) as caught:
        Outer(**given)
    assert str(caught.value).startswith(said)


def test_a_public_fact_is_known_only_to_the_plan():
    made = Outer(inner={"cap": 5})
    made.require_effect(unit="user", adjacency="replace")
    with pytest.raises(ConfigError, match=r"^Outer: inner\.cap has no effect with unit 'rating'"):
        made.require_effect(unit="rating", adjacency="replace")
    Outer().require_effect(unit="rating", adjacency="replace")  # a default is no wish


def test_a_release_lists_the_settings_that_have_an_effect():
    assert Outer().settings() == {
        "solver": "als",
        "epochs": 5,
        "rank": 4,
        "inner": {"cleaning": "shrink", "shrinkage": 10.0, "cap": 3},
    }
    bare = Outer(solver="exact", inner={"cleaning": "none"})
    assert bare.settings() == {"solver": "exact", "inner": {"cleaning": "none", "cap": 3}}
    assert Outer(**Outer(solver="sgd").settings()).settings() == Outer(solver="sgd").settings()


# -- collections without an order -------------------------------------------------------------------------


def test_sets_have_no_order_and_views_have_that_of_their_mapping():
    some = {"b": 1, "a": 2}
    for values in ({*some}, frozenset(some), some.keys() & {"a"}, some.keys() - {"a"}):
        assert is_unordered(values)
    for values in (some, some.keys(), some.items(), some.values(), OrderedDict(some).keys()):
        assert not is_unordered(values)
    for values in ([*some], (*some,), iter({*some}), "ab", range(2), None):
        assert not is_unordered(values)
