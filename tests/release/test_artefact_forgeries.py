"""What was edited is refused, and what was forged, with a digest that fits, as far as it cannot be used."""

import dataclasses
import functools
import json
import operator

import numpy as np
import pytest
import safetensors.numpy

import hushrec as hr
from hushrec.errors import ReleaseError
from hushrec.release.artefact import Release
from support import releases
from support.releases import valued
from support.statements import UNPROTECTED


def put(*path, value):
    def change(facts, tensors):
        *way, last = path
        for name in way:
            facts = facts[name]
        facts[last] = value

    return change


EDITS = {
    "a smaller ε": put("statement", "epsilon", value=0.5),
    "no caveat": put("statement", "caveats", value=[]),
    "another unit": put("statement", "unit", value="user"),
    "another model": put("model", value="Better"),
    "another setting": put("settings", "rank", value=3),
    "items exchanged": lambda facts, tensors: facts["items"].reverse(),
    "another scale": put("scale", 1, value=4.0),
    "another constant": put("constants", "user_mean", value=0.0),
    "another number": lambda facts, tensors: tensors["item_effects"].__setitem__(0, 3.0),
    "tensors exchanged": lambda facts, tensors: tensors.update(
        item_effects=tensors["item_noise"], item_noise=tensors["item_effects"]
    ),
    "another digest": put("sha256", value="0" * 64),
    "no digest": lambda facts, tensors: facts.pop("sha256"),
    "one more fact": put("verified", value=True),
}


@pytest.mark.parametrize("edit", EDITS)
def test_a_careless_edit_is_noticed(release, statement, forged, edit):
    made = release("neighbours", statement=statement(unit="record", caveats=(UNPROTECTED,)))
    with pytest.raises(ReleaseError, match=r"altered|damaged"):
        Release.from_bytes(forged(made.to_bytes(), EDITS[edit], sign=False))


# What follows is refused although its digest fits: a forger, or another program, wrote it.


FACTS = ("format", "model", "settings", "kind", "items", "scale", "constants", "statement")


@pytest.mark.parametrize("fact", FACTS)
def test_a_missing_fact_is_refused(release, forged, fact):
    with pytest.raises(ReleaseError):
        Release.from_bytes(forged(release().to_bytes(), lambda facts, tensors: facts.pop(fact)))


MALFORMED = {
    "a kind that is unknown": put("kind", value="forest"),
    "a kind of other tensors": put("kind", value="dense neighbours"),
    "items twice": put("items", value=["a", "b", "c", "a"]),
    "an item too few": put("items", value=["a", "b", "c"]),
    "an item too many": put("items", value=["a", "b", "c", "d", "e"]),
    "no items": put("items", value=[]),
    "a scale of one number": put("scale", value=[1.0]),
    "a scale that is NaN": put("scale", value=[1.0, float("nan"), 1.0]),
    "an endless scale": put("scale", value=[1.0, float("inf"), 1.0]),
    "a constant that is NaN": put("constants", "user_mean", value=float("nan")),
    "an infinite constant": put("constants", "user_mean", value=float("inf")),
    "a constant too large": put("constants", "user_mean", value=10**400),
    "no ε": lambda facts, tensors: facts["statement"].pop("epsilon"),
    "one more line in the statement": put("statement", "verified", value=True),
    "a scale of four numbers": put("scale", value=[1.0, 5.0, 0.5, 7.0]),
    "users who are letters": put("users", value=""),
}


@pytest.mark.parametrize("fault", MALFORMED)
def test_malformed_facts_are_refused(release, forged, fault):
    with pytest.raises(ReleaseError):
        Release.from_bytes(forged(release().to_bytes(), MALFORMED[fault]))


def ways(value, *way):
    """The way to every fact, but to settings, which may be anything, and to what is never read back."""
    if way not in (("settings",), ("sha256",), ("statement", "reading"), ("statement", "ledger", "file")):
        yield way
        parts = enumerate(value) if isinstance(value, list) else getattr(value, "items", tuple)()
        for name, part in parts:
            yield from ways(part, *way, name)


def json_type(value):
    return float if type(value) is int else type(value)


def test_a_fact_of_another_type_is_refused(release, opened, forged):
    data = release("factors and people").to_bytes()
    facts, _ = opened(data)
    for *way, name in filter(None, ways(facts)):
        right = functools.reduce(operator.getitem, way, facts)[name]
        for odd in (7, "7", True, None, [], {}):
            if json_type(odd) is not json_type(right):
                with pytest.raises(ReleaseError):
                    Release.from_bytes(forged(data, put(*way, name, value=odd)))


def replaced(name, make):
    return lambda tensors: tensors | {name: make(tensors[name])}


def spoilt(name, value):
    def change(tensor):
        tensor = tensor.copy()
        tensor.flat[-1] = value
        return tensor

    return replaced(name, change)


TENSORS = {
    "turned": replaced("item_factors", lambda t: np.ascontiguousarray(t.T)),
    "a variance of zero": spoilt("item_noise", 0.0),
    "a negative variance": spoilt("item_noise", -1.0),
    "no popularity": spoilt("item_popularity", 0.0),
    "a negative popularity": spoilt("item_popularity", -1.0),
}


@pytest.mark.parametrize("fault", TENSORS)
def test_tensors_that_cannot_be_used_are_refused(release, forged, fault):
    def change(facts, tensors):
        changed = TENSORS[fault](tensors)
        tensors.clear()
        tensors.update(changed)

    made = release(rank=3)  # with rank 4 a turned matrix would have the right shape
    with pytest.raises(ReleaseError):
        Release.from_bytes(forged(made.to_bytes(), change))
    with pytest.raises(ReleaseError):
        dataclasses.replace(made, tensors=TENSORS[fault](dict(made.tensors)))


RELEASES = {
    **{kind: functools.partial(releases.release, kind) for kind in releases.KINDS_OF_FACTORS},
    "item scores": releases.ranker,
    "linear items": lambda: releases.ranker(tuple("abcdefgh"), **valued(2, 8)),
    "people's rows": lambda: hr.baseline(hr.synthetic.netflix_like(9, 6, 30, 0), hr.UserKNN()),
    "item neighbours": lambda: hr.baseline(hr.synthetic.netflix_like(9, 6, 30, 0), hr.ItemKNN()),
}


def others(tensor):
    """A tensor of another type, of other shapes, and with a number that is none."""
    yield tensor.astype(np.float64)
    yield tensor.astype(np.int16)
    yield from (tensor[:-1].copy(), np.concatenate([tensor, tensor[:1]]), tensor[:, None].copy(), tensor[:0])
    if tensor.dtype == np.float32:
        yield from (np.where(tensor == tensor.flat[-1], np.float32(odd), tensor) for odd in (np.nan, -np.inf))


@pytest.mark.parametrize("kind", RELEASES)
def test_no_tensor_of_another_type_shape_or_number_is_taken(opened, kind):
    made = RELEASES[kind]()
    forgeries = [made.tensors | {"more": np.ones(4, np.float32)}]
    for name, tensor in made.tensors.items():
        forgeries.append({other: kept for other, kept in made.tensors.items() if other != name})
        forgeries += [{**made.tensors, name: odd} for odd in others(tensor)]
    facts, _ = opened(made.to_bytes())
    for forgery in forgeries:
        with pytest.raises(ReleaseError):
            dataclasses.replace(made, tensors=forgery)
        with pytest.raises(ReleaseError):
            Release.from_bytes(releases.closed(facts, forgery))


NEEDED = {
    "factors": {"user_mean", "user_variance"},
    "factors and people": {"user_mean", "user_variance"},
    "neighbours": {"user_mean", "user_variance", "bias_noise", "neighbours"},
    "dense neighbours": {"user_mean", "user_variance", "bias_noise", "neighbours"},
}


def test_a_missing_constant_is_refused(used, release, kind):
    made = release(kind)
    for name in made.constants:
        less = {other: value for other, value in made.constants.items() if other != name}
        if name in NEEDED[kind]:
            with pytest.raises(ReleaseError, match=name):
                dataclasses.replace(made, constants=less)
        else:
            used(dataclasses.replace(made, constants=less).to_bytes())


UNUSABLE = {
    "a scale upside down": put("scale", value=[5.0, 1.0, 0.5]),
    "a level of negative variance": put("constants", "user_variance", value=-1.0),
    "a level of no variance": put("constants", "user_variance", value=0.0),
    "ratings of no variance": put("constants", "bias_noise", value=0.0),
    "ratings of negative variance": put("constants", "bias_noise", value=-1.0),
    "no neighbours": put("constants", "neighbours", value=0.0),
    "fewer neighbours than none": put("constants", "neighbours", value=-1.0),
    "half a neighbour": put("constants", "neighbours", value=0.5),
    "an ε that is NaN": put("statement", "epsilon", value=float("nan")),
    "a negative ε": put("statement", "epsilon", value=-1.0),
    "a δ above one": put("statement", "delta", value=7.0),
    "a unit that is unknown": put("statement", "unit", value="household"),
    "an adjacency that is unknown": put("statement", "adjacency", value="near"),
    "a field that is unknown": put("statement", "analysis", value="proven"),
    "negative noise": put("statement", "measurements", 0, "noise", value=-1.0),
    "control codes in its model": put("model", value="Nice\x1b[2J"),
    "control codes in its caveat": put(
        "statement", "caveats", value=[{"name": "author.foreign", "names": "NOT PRIVATE\x1b[1A\x1b[2K"}]
    ),
    "an item of half a character": put("items", 0, value="\ud800"),
}


@pytest.mark.parametrize("fault", UNUSABLE)
def test_what_cannot_be_used_is_refused_when_it_is_opened(release, forged, fault):
    data = forged(release("neighbours").to_bytes(), UNUSABLE[fault])
    with pytest.raises(ReleaseError):
        Release.from_bytes(data)


def test_settings_nested_too_deep_to_be_written_are_refused(release, opened):
    """JSON is read to a greater depth than it is written, and what was read is written to be hashed."""
    data = release(settings={"deep": "HERE"}).to_bytes()
    facts, tensors = opened(data)
    text = json.dumps(facts)
    for depth in range(700, 1000):
        nested = text.replace('"HERE"', "[" * depth + "]" * depth)
        with pytest.raises(ReleaseError):
            Release.from_bytes(safetensors.numpy.save(tensors, {"hushrec": nested}))


# -- people -----------------------------------------------------------------------------------------------

PEOPLE = {
    "nobody": lambda facts, tensors: facts.pop("users"),
    "an empty list": put("users", value=[]),
    "no list": put("users", value=None),
    "a number": put("users", value=5),
    "one too few": lambda facts, tensors: facts["users"].pop(),
    "one too many": lambda facts, tensors: facts["users"].append("somebody"),
    "one twice": lambda facts, tensors: facts["users"].__setitem__(0, facts["users"][1]),
    "two that are one": lambda facts, tensors: facts["users"].__setitem__(slice(2), [1, "1"]),
    "half a character": put("users", 0, value="\ud800"),
    "no name": put("users", 0, value=""),
    "another kind": put("kind", value="factors"),
    "factors of another rank": lambda facts, tensors: tensors.update(
        user_factors=np.ascontiguousarray(tensors["user_factors"][:, 1:])
    ),
    "factors turned": lambda facts, tensors: tensors.update(
        user_factors=np.ascontiguousarray(tensors["user_factors"].T)
    ),
}


@pytest.mark.parametrize("fault", PEOPLE)
def test_people_who_cannot_be_predicted_for_are_refused(release, forged, fault):
    data = release("factors and people").to_bytes()
    assert Release.from_bytes(forged(data, lambda facts, tensors: None)).users  # the forger's tools work
    with pytest.raises(ReleaseError):
        Release.from_bytes(forged(data, PEOPLE[fault]))


@pytest.mark.parametrize("other", ["factors", "neighbours", "dense neighbours"])
def test_only_one_kind_lists_people(release, forged, other):
    with pytest.raises(ReleaseError, match="lists people"):
        Release.from_bytes(forged(release(other).to_bytes(), put("users", value=["somebody"])))


INTERACTIONS = {
    "ratings that nobody predicts": {"scale": [1, 5, 1]},
    "likes off the scale": {"scale": [1, 5, 1], "likes": 6},
    "likes that are no number": {"scale": [1, 5, 1], "likes": float("nan")},
    "likes without a scale": {"likes": 4},
    "counts of ratings": {"scale": [1, 5, 1], "likes": 4, "counts": 3},
    "counts of one": {"counts": 1},
    "counts beyond a byte": {"counts": 256},
    "counts that are no number": {"counts": "many"},
    "factors of ratings": {"kind": "factors"},
}


@pytest.mark.parametrize("fault", INTERACTIONS)
def test_interactions_that_cannot_be_are_refused(ranker, forged, fault):
    assert Release.from_bytes(forged(ranker().to_bytes(), lambda facts, tensors: None))
    with pytest.raises(ReleaseError):
        Release.from_bytes(
            forged(ranker().to_bytes(), lambda facts, tensors: facts.update(INTERACTIONS[fault]))
        )


def test_a_model_of_ratings_needs_its_scale(release):
    with pytest.raises(ReleaseError, match="kind 'factors' cannot be of interactions"):
        release(scale=None)
    with pytest.raises(ReleaseError, match="kind 'factors' cannot be of interactions"):
        release(likes=4.0)


def alter(name, place, value):
    return lambda facts, tensors: tensors[name].__setitem__(place, value)


VALUE_FAULTS = {
    "an unknown value": alter("value_columns", -1, 7),
    "a value before the first": alter("value_columns", 0, -1),
    "a value twice": alter("value_columns", slice(1, 3), 1),
    "a first item that starts late": alter("value_starts", 0, 1),
    "an item that ends before it starts": alter("value_starts", 3, 9_999),
    "an item of negative length": alter("value_starts", 2, -1),
    "no names": lambda facts, tensors: facts.pop("values"),
    "a name less": lambda facts, tensors: facts["values"].update(values="Comedy\nDrama"),
    "an empty name": lambda facts, tensors: facts["values"].update(
        features=facts["values"]["features"].replace("year", "", 1)
    ),
    "names of numbers": put("values", "values", value=7),
    "no intercept": lambda facts, tensors: facts["constants"].pop("count_intercept"),
    "no variance": put("constants", "own_variance", value=0.0),
    "a negative half": put("constants", "half_count", value=-1.0),
    "fewer new items than none": put("constants", "placed_items", value=-1.0),
}


@pytest.mark.parametrize("fault", VALUE_FAULTS)
def test_malformed_values_are_refused(ranker, forged, fault):
    made = ranker(tuple("abcdefgh"), **valued(2, 8))
    assert Release.from_bytes(made.to_bytes()).values == made.values
    with pytest.raises(ReleaseError):
        Release.from_bytes(forged(made.to_bytes(), VALUE_FAULTS[fault]))


def test_other_kinds_have_no_values(ranker, release):
    values = valued(2, 4, rank=2)
    for made in (ranker(), release()):
        more = {name: of for name, of in values["tensors"].items() if name.startswith("value_")}
        with pytest.raises(ReleaseError, match="not those of this kind"):
            dataclasses.replace(
                made,
                values=values["values"],
                tensors={**made.tensors, **more},
                constants={**made.constants, **values["constants"]},
            )
