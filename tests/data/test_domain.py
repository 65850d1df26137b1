"""A domain: what is public before any record is read."""

import hashlib
import json
import math
import subprocess
import sys

import numpy as np
import polars as pl
import pytest

import hushrec as hr
from hushrec.data.declarations import Crowd, domain_text
from hushrec.data.domain import Domain, Scale
from hushrec.errors import DataError, DomainError

SCALE = {"scale": (1, 5, 1)}
LIKES = SCALE | {"likes": 4}


def declared(**facts):
    """A domain of two items for at most ten people who rate, but for what is given."""
    return Domain(**{"items": ["7", "8"], "scale": (1, 5, 1), "max_users": 10} | facts)


def given(**facts):
    """The same for people who give no ratings."""
    return declared(**{"scale": None} | facts)


# -- scales -----------------------------------------------------------------------------------------------


def test_a_rating_is_clamped_and_rounded_halves_up():
    half_stars = Scale(0.5, 5.0, 0.5)
    assert (half_stars.n_values, half_stars.mid, half_stars.span) == (10, 2.75, 4.5)
    ratings = np.array([-9.0, 0.5, 0.74, 0.75, 1.2, 5.0, 99.0, 1e300])
    assert half_stars.nearest(ratings).tolist() == [0, 0, 0, 1, 1, 9, 9, 9]


@pytest.mark.parametrize("scale", [(0, 1, 0.1), (1, 10, 0.1), (0.5, 10.4, 0.1), (-3, 3, 0.25), (0, 255, 1)])
def test_every_level_of_a_decimal_scale_is_found_and_may_be_the_threshold(scale):
    scale = Scale(*scale)
    steps = np.arange(scale.n_values)
    levels = scale.lo + scale.step * steps
    assert (scale.nearest(levels) == steps).all()
    for likes in (*levels.tolist(), *levels.round(2).tolist()):
        assert declared(scale=scale, likes=likes).likes == likes


# -- ids --------------------------------------------------------------------------------------------------


@pytest.mark.parametrize(
    "ids",
    [
        *(["1", "2"], [1, 2], np.array([1, 2]), pl.Series([1, 2]), range(1, 3)),
        {"1": "Heat", "2": "Alien"}.keys(),
    ],
    ids=["text", "ints", "numpy", "polars", "range", "keys"],
)
def test_ids_of_any_sort_become_the_same_text(ids):
    domain = declared(items=ids, users=iter(ids), max_users=np.int64(7))
    assert domain.items == domain.users == ("1", "2")
    assert domain.positions == domain.user_positions == {"1": 0, "2": 1}
    assert (domain.n_items, domain.n_users, domain.max_users) == (2, 2, 7)


def test_ids_are_in_nfc_and_a_roster_in_the_order_of_utf8_bytes():
    users = ["\U0001f600", "\uffff", "10", "9", "Z", "a", "cafe\u0301", "ab"]
    domain, turned = (
        declared(items=["cafe\u0301"], users=users),
        declared(items=["caf\u00e9"], users={*users}),
    )
    assert (domain, domain.digest) == (turned, turned.digest)
    assert domain.model_dump_json() == turned.model_dump_json()
    assert domain.items == ("caf\u00e9",)
    assert list(domain.users) == ["10", "9", "Z", "a", "ab", "caf\u00e9", "\uffff", "\U0001f600"]
    assert [domain.user_positions[user] for user in domain.users] == list(range(8))


# -- declarations -----------------------------------------------------------------------------------------

TEXTS = {"titles": ["Alien (1979)", ""], "features": {"genres": {"7": "Horror|Sci-Fi"}}}
HINTS = {"expected_users": 7, "expected_records": 9_100}
CLASSES = {"strict": 0.5, "caf\u00e9": 8.0}
KINDS = {
    "ratings": (SCALE, "scale 1 to 5 by 1", ""),
    "interactions": ({}, "interactions", ""),
    "counts": ({"counts": 9}, "interactions counted up to 9", ""),
    "likes": (LIKES, "likes: ratings of at least 4 on the scale 1 to 5 by 1", ""),
    "roster": (SCALE | {"users": ["y", "\u00e9"]}, "scale 1 to 5 by 1", ", roster of 2 people"),
    "classes": ({"personal_epsilon": CLASSES}, "interactions", ", classes strict ε = 0.5, café ε = 8"),
    "titles": (SCALE | TEXTS, "scale 1 to 5 by 1", ", titles"),
    "hints": (SCALE | HINTS, "scale 1 to 5 by 1", ", about 7 users, about 9,100 ratings"),
}
NOT_THE_POPULATION = {*TEXTS, *HINTS}


@pytest.mark.parametrize("kind", KINDS)
def test_a_domain_is_told_in_a_line_saved_and_digested(kind, tmp_path):
    """The digest names releases, so it must never drift."""
    facts, feedback, more = KINDS[kind]
    domain = given(**facts)
    assert repr(domain) == f"Domain({domain_text(domain)})"
    assert domain_text(domain) == f"2 items, {feedback}, cap 500, at most 10 users{more}"
    domain.save(tmp_path / "domain.json")
    again = Domain.open(tmp_path / "domain.json")
    assert (again, again.digest, {domain: 1}[again]) == (domain, domain.digest, 1)
    assert again.model_dump_json() == domain.model_dump_json()
    assert (again.crowd, again.titles, again.features) == (domain.crowd, domain.titles, domain.features)
    assert ("titles" in json.loads((tmp_path / "domain.json").read_text())) == (kind == "titles")
    identity = {"items": ["7", "8"], "max_per_user": 500, "max_users": 10, **facts}
    for name in NOT_THE_POPULATION & {*identity}:
        del identity[name]
    if "scale" in identity:
        identity["scale"] = [1.0, 5.0, 1.0]
    if "likes" in identity:
        identity["likes"] = 4.0
    text = json.dumps(identity, sort_keys=True, ensure_ascii=False, separators=(",", ":"))
    assert domain.digest == hashlib.sha256(text.encode()).hexdigest()


def test_titles_and_expectations_are_not_the_population():
    domains = {kind: given(**facts) for kind, (facts, *_) in KINDS.items()}
    plain, titled, hinted = domains["ratings"], domains["titles"], domains["hints"]
    assert len({domain.digest for domain in domains.values()}) == len(domains) - 2
    assert plain == titled == hinted
    assert hash(plain) == hash(titled)
    assert plain != declared(max_users=11)
    assert plain != "Domain"
    assert plain.digest != declared(items=["8", "7"]).digest
    assert (plain.users, plain.n_users, plain.user_positions, plain.titles) == (None, 0, {}, None)
    # The noise differs, so the release of one is not handed out for the other.
    budget = hr.Budget(epsilon=8.0, delta=1e-6, unit="user", adjacency="add-remove")
    plans = [hr.plan(domain, hr.CovarianceSVD(), budget) for domain in (plain, hinted)]
    assert plans[0].key("ledger") != plans[1].key("ledger")


def test_repr_is_short_and_names_nobody():
    assert "secret" not in repr(declared(users=(f"secret {u}" for u in range(10))))


@pytest.mark.parametrize("kind", ["interactions", "counts", "likes"])
def test_interactions_have_no_scale_that_a_model_could_use(kind):
    domain, rated = given(**KINDS[kind][0]), declared()
    assert (domain.feedback, rated.feedback) == ("interactions", "ratings")
    with pytest.raises(DomainError, match="declares interactions, which have no scale; declare"):
        domain.scale  # noqa: B018
    domain.require("interactions", by="Popularity")
    rated.require("ratings", by="CovarianceSVD")
    with pytest.raises(DataError, match="CovarianceSVD works on ratings, and this domain declares inter"):
        domain.require("ratings", by="CovarianceSVD")
    with pytest.raises(DataError, match=r"Popularity works on inter.* declares ratings; .*\(likes=\)"):
        rated.require("interactions", by="Popularity")


def test_importing_the_domain_does_not_import_the_heavy_ones():
    heavy = ("duckdb", "numba", "pyarrow", "scipy")
    code = f"import sys, hushrec.data.domain; print([name for name in {heavy} if name in sys.modules])"
    done = subprocess.run([sys.executable, "-c", code], capture_output=True, text=True, check=True)
    assert done.stdout.strip() == "[]"


@pytest.mark.parametrize(
    ("hints", "crowd"),
    [
        (HINTS, Crowd(7, 9_100, declared=True)),
        ({}, Crowd(1_000, 20_000, declared=False)),
        ({"expected_users": 10}, Crowd(10, 200, declared=False)),
        ({"expected_records": 500}, Crowd(1_000, 500, declared=False)),
    ],
)
def test_a_crowd_is_what_was_declared_or_follows_from_the_bounds_alone(hints, crowd):
    assert declared(items=range(30), max_users=1_000, max_per_user=20, **hints).crowd == crowd
    assert crowd.each == crowd.ratings / crowd.users


@pytest.mark.parametrize(
    "titles",
    [
        {7: "Alien", "8": " Bond ", "9": "elsewhere"},
        ["Alien", "Bond"],
        iter(["Alien", "Bond"]),
        {"7": "Alien", "8": "Bond"},
    ],
)
def test_texts_are_one_for_each_item(titles):
    assert declared(titles=titles).titles == ("Alien", "Bond")
    assert declared(titles=["", " "]).titles is declared(titles={}).titles is None
    years = {"year": [None, "1995"], "genres": {"8": "War"}, "none": {}}
    assert declared(features=years).features == {"genres": ("", "War"), "year": ("", "1995")}
    assert [*declared(features=years).features] == ["genres", "year"], "in an order of their own"
    assert declared(features={"none": {}}).features is None


# -- what is refused --------------------------------------------------------------------------------------

ONE_ORDER = r"items: .* give them in one order, such as sorted\(items\)"
WRONG = [
    ({"items": []}, "catalogue is empty"),
    *(({"items": ids}, "as a list") for ids in ("abc", 7)),
    ({"items": ["secret", "b", "secret"]}, "positions 0 and 2 occurs more than once"),
    ({"items": ["e\u0301", "\u00e9"]}, "more than once"),
    ({"items": ["a", 1.0]}, "not float .at 1."),
    ({"items": ["a", True]}, "not bool"),
    ({"items": ["a", None]}, "not NoneType"),
    ({"items": ["a", np.float64(1)]}, "not float64"),
    ({"items": ["a", ""]}, "position 1 must have 1 to 256 bytes"),
    ({"items": ["\u00e9" * 129]}, "1 to 256 bytes"),
    ({"items": ["a\0b"]}, "NUL"),
    ({"items": ["\ud800"]}, "not valid Unicode"),
    ({"items": {"8", "7"}}, ONE_ORDER),
    ({"items": frozenset({"8", "7"})}, ONE_ORDER),
    ({"items": {"8": 1, "7": 1}.keys() & {"7", "8"}}, ONE_ORDER),
    ({"scale": (1, 5, 0.3)}, "not a whole number of steps"),
    *(({"scale": scale}, "is not a scale") for scale in ((5, 1, 1), (1, 5, -1), (1, 1, 1), (1, math.nan, 1))),
    ({"scale": (0, 256, 1)}, "257 values are more than 256"),
    *(({"scale": scale}, "^wrong domain: scale: [^:]*give [^:]*") for scale in ((1, 5), {1, 5, 0.5})),
    ({"max_per_user": 0}, "max_per_user: .* greater than or equal to 1"),
    ({"max_per_user": 1.5}, "max_per_user"),
    *(({"max_users": users}, "max_users") for users in (0, "many")),
    ({"expected_users": 0}, "expected_users"),
    ({"expected_records": -1}, "expected_records"),
    ({"scale": None, "likes": 4}, "likes: .*declare the scale of the ratings too"),
    ({"likes": 4.5}, "likes: 4.5 is not on the scale 1 to 5 by 1"),
    ({"likes": 0}, "likes: 0 is not on the scale"),
    ({"likes": math.nan}, "likes: give a finite number"),
    ({"scale": (5, 1, 1), "likes": 4}, "wrong domain: scale: [^:]* is not a scale[^:]*$"),
    ({"counts": 3}, "counts: ratings are not counted"),
    ({"likes": 4, "counts": 3}, "counts: ratings are not counted"),
    ({"scale": None, "counts": 1}, "counts: .* greater than or equal to 2"),
    ({"scale": None, "counts": 256}, "counts: .* less than or equal to 255"),
    ({"users": []}, "list of people is empty"),
    *(({"users": users}, "as a list") for users in ("secret", 7)),
    ({"users": ["secret", "other", "secret"]}, "occurs more than once; list every person once"),
    ({"users": ["caf\u00e9", "cafe\u0301"]}, "more than once"),
    ({"users": ["secret", 1.0]}, "not float .at 1."),
    ({"users": ["secret", ""]}, "position 1 must have 1 to 256 bytes"),
    ({"users": [f"secret {u}" for u in range(11)]}, "11 people are listed, more than max_users"),
    ({"personal_epsilon": {}}, "leave them out"),
    ({"personal_epsilon": ["strict"]}, "give classes as"),
    *(({"personal_epsilon": {name: 1}}, "not a name of a class") for name in ("", "0.5", "inf")),
    ({"personal_epsilon": {" x": 1}}, "blanks"),
    ({"personal_epsilon": {7: 1}}, "text"),
    ({"personal_epsilon": {"x" * 257: 1}}, "bytes"),
    *(({"personal_epsilon": {f"a{c}b": 1}}, "printable") for c in ("\0", "\n", "\x1b[2J", "\u200b")),
    *(({"personal_epsilon": {f"a{c}": 1}}, "printable") for c in ("\u202e", "\ud800")),
    ({"personal_epsilon": {"caf\u00e9": 1, "cafe\u0301": 2}}, "the same text"),
    *(({"personal_epsilon": {"x": wrong}}, "0 or more") for wrong in (-0.1, math.inf, math.nan, "1", True)),
    ({"titles": "abc"}, "wrong domain: titles: give .* by id"),
    ({"titles": ["a"]}, "1 titles are given for 2 items"),
    ({"titles": {"9": "a"}}, "no id of the titles is in the catalogue"),
    ({"titles": [1, 2]}, "must be text"),
    ({"titles": {"Alien", "Heat"}}, "^wrong domain: titles: [^:]*give [^:]*"),
    ({"items": [], "titles": ["a"]}, "items"),
    ({"features": {"genres": ["x"]}}, "wrong domain: features"),
    ({"features": {"genres": {"Horror", "Crime"}}}, "^wrong domain: features: [^:]*give [^:]*"),
    ({"features": {"genres": {"7": {"Horror", "Crime"}, "8": ""}}}, "genres must be text"),
    ({"features": ["a"]}, "by name"),
    *(({"features": {name: ["a", "b"]}}, "name of a feature") for name in ("", 3, "two\nlines", "a\x1b")),
]


@pytest.mark.parametrize(("change", "message"), WRONG)
def test_a_wrong_declaration_is_explained(change, message):
    with pytest.raises(DomainError, match=message) as caught:
        declared(**change)
    assert "secret" not in str(caught.value)
    assert "pydantic" not in str(caught.value)


def test_texts_of_many_bytes_are_refused(monkeypatch):
    monkeypatch.setattr("hushrec.data.declarations.MAX_TEXT_BYTES", 7)
    with pytest.raises(DomainError, match="longer than"):
        declared(titles=["abcd", "efgh"])


@pytest.mark.parametrize(
    ("text", "message"),
    [
        *(
            (text, "is not a domain|cannot be read")
            for text in ("", "[1, 2]", "{}", '{"items": ["a"], "extra": 1, %s}')
        ),
        ('{"items": ["a", "a"], %s}', "more than once"),
        (None, r"domain\.json cannot be read: No such file"),
    ],
)
def test_a_file_that_is_no_domain_is_refused(tmp_path, text, message):
    if text is not None:
        right = '"scale": [1, 5, 1], "max_per_user": 5, "max_users": 9'
        (tmp_path / "domain.json").write_text(text.replace("%s", right))
    with pytest.raises(DomainError, match=message):
        Domain.open(tmp_path / "domain.json")
