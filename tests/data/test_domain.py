"""A domain: what is public before any record is read."""

import hashlib
import json
import subprocess
import sys

import numpy as np
import polars as pl
import pytest

import hushrec as hr
from hushrec.data.declarations import Crowd, domain_text
from hushrec.data.domain import Domain, Scale
from hushrec.errors import DataError, DomainError


def sha256(text):
    return hashlib.sha256(text.encode()).hexdigest()


def test_scale_knows_its_levels():
    half_stars = Scale(0.5, 5.0, 0.5)
    assert (half_stars.n_values, half_stars.mid, half_stars.span) == (10, 2.75, 4.5)


def test_nearest_clamps_and_rounds_halves_up():
    ratings = np.array([-9.0, 0.5, 0.74, 0.75, 1.2, 5.0, 99.0, 1e300])
    assert Scale(0.5, 5.0, 0.5).nearest(ratings).tolist() == [0, 0, 0, 1, 1, 9, 9, 9]


@pytest.mark.parametrize("scale", [(0, 1, 0.1), (1, 10, 0.1), (-3, 3, 0.25), (0, 255, 1)])
def test_nearest_finds_every_level_of_a_decimal_scale(scale):
    scale = Scale(*scale)
    steps = np.arange(scale.n_values)
    assert (scale.nearest(scale.lo + scale.step * steps) == steps).all()


@pytest.mark.parametrize(
    "items",
    [["1", "2"], [1, 2], np.array([1, 2]), pl.Series([1, 2]), iter(["1", "2"]), range(1, 3)],
    ids=["text", "ints", "numpy", "polars", "iterator", "range"],
)
def test_ids_of_any_sort_become_the_same_text(items):
    domain = Domain(items=items, scale=(1, 5, 1), max_per_user=500, max_users=np.int64(7))
    assert domain.items == ("1", "2")
    assert domain.positions == {"1": 0, "2": 1}
    assert (domain.n_items, domain.max_per_user, domain.scale) == (2, 500, (1.0, 5.0, 1.0))
    assert domain.max_users == 7


def test_ids_are_normalised_to_nfc():
    assert Domain(["cafe\u0301"], scale=(1, 5, 1), max_users=1).items == ("caf\u00e9",)


@pytest.mark.parametrize(
    ("change", "message"),
    [
        ({"items": []}, "catalogue is empty"),
        ({"items": "abc"}, "as a list"),
        ({"items": 7}, "as a list"),
        ({"items": ["a", "b", "a"]}, "^(?!.*'a').*positions 0 and 2 occurs more than once"),
        ({"items": ["e\u0301", "\u00e9"]}, "more than once"),
        ({"items": ["a", 1.0]}, "not float .at 1."),
        ({"items": ["a", True]}, "not bool"),
        ({"items": ["a", None]}, "not NoneType"),
        ({"items": ["a", np.float64(1)]}, "not float64"),
        ({"items": ["a", ""]}, "position 1 must have 1 to 256 bytes"),
        ({"items": ["\u00e9" * 129]}, "1 to 256 bytes"),
        ({"items": ["a\0b"]}, "NUL"),
        ({"items": ["\ud800"]}, "not valid Unicode"),
        ({"scale": (1, 5, 0.3)}, "not a whole number of steps"),
        *(({"scale": scale}, "is not a scale") for scale in ((5, 1, 1), (1, 5, -1), (1, 1, 1))),
        ({"scale": (1, float("nan"), 1)}, "is not a scale"),
        ({"scale": (0, 256, 1)}, "257 values are more than 256"),
        ({"scale": (1, 5)}, "scale"),
        ({"max_per_user": 0}, "max_per_user: .* greater than or equal to 1"),
        ({"max_per_user": 1.5}, "max_per_user"),
        ({"max_users": 0}, "max_users"),
        ({"max_users": "many"}, "max_users"),
        ({"expected_users": 0}, "expected_users"),
        ({"expected_records": -1}, "expected_records"),
    ],
)
def test_a_wrong_declaration_is_explained(change, message):
    good = {"items": ["a", "b"], "scale": (1, 5, 1), "max_per_user": 5, "max_users": 10}
    Domain(**good)
    with pytest.raises(DomainError, match=message) as caught:
        Domain(**(good | change))
    assert "pydantic" not in str(caught.value)


def test_saved_domain_opens_equal(tmp_path):
    domain = Domain(["é", "007", "b,\"c'"], scale=(0.5, 5, 0.5), max_per_user=3, max_users=9)
    domain.save(tmp_path / "domain.json")
    opened = Domain.open(tmp_path / "domain.json")
    assert (opened, opened.digest) == (domain, domain.digest)


def test_digest_is_of_the_content_in_order():
    domain = Domain(["a", "b"], scale=(1, 5, 1), max_per_user=500, max_users=10)
    # The digest names releases, so it must never drift.
    assert domain.digest == sha256(
        '{"items":["a","b"],"max_per_user":500,"max_users":10,"scale":[1.0,5.0,1.0]}'
    )
    assert domain.digest != Domain(["b", "a"], scale=(1, 5, 1), max_per_user=500, max_users=10).digest


def saved(**change):
    return json.dumps({"items": ["a"], "scale": [1, 5, 1], "max_per_user": 5, "max_users": 9} | change)


@pytest.mark.parametrize(
    ("text", "message"),
    [
        *((text, "is not a domain|cannot be read") for text in ("", "[1, 2]", "{}", saved(extra=1))),
        (saved(items=["a", "a"]), "more than once"),
        (None, r"domain\.json cannot be read: No such file"),
    ],
)
def test_a_file_that_is_no_domain_is_refused(tmp_path, text, message):
    if text is not None:
        (tmp_path / "domain.json").write_text(text)
    with pytest.raises(DomainError, match=message):
        Domain.open(tmp_path / "domain.json")


# -- kinds of feedback ------------------------------------------------------------------------------------

KINDS = {
    "ratings": {"scale": (1, 5, 1)},
    "interactions": {},
    "counts": {"counts": 9},
    "likes": {"scale": (1, 5, 1), "likes": 4},
}
LIKES = "likes: ratings of at least 4 on the scale 1 to 5 by 1"


@pytest.mark.parametrize(
    ("kind", "feedback", "told", "fields"),
    [
        ("ratings", "ratings", "scale 1 to 5 by 1", {"scale": [1.0, 5.0, 1.0]}),
        ("interactions", "interactions", "interactions", {}),
        ("counts", "interactions", "interactions counted up to 9", {"counts": 9}),
        ("likes", "interactions", LIKES, {"likes": 4.0, "scale": [1.0, 5.0, 1.0]}),
    ],
)
def test_a_domain_declares_what_people_give(kind, feedback, told, fields, tmp_path):
    domain = Domain(["a"], max_users=9, **KINDS[kind])
    assert domain.feedback == feedback
    assert repr(domain) == f"Domain(1 items, {told}, cap 500, at most 9 users)"
    domain.save(tmp_path / "domain.json")
    again = Domain.open(tmp_path / "domain.json")
    assert (again, again.digest, again.feedback) == (domain, domain.digest, feedback)
    text = json.dumps({"max_per_user": 500, "items": ["a"], "max_users": 9} | fields, sort_keys=True)
    assert domain.digest == sha256(text.replace(" ", ""))


def test_kinds_have_digests_of_their_own():
    assert len({Domain(["a"], max_users=9, **kind).digest for kind in KINDS.values()}) == len(KINDS)


@pytest.mark.parametrize("kind", ["interactions", "counts", "likes"])
def test_interactions_have_no_scale_that_a_model_could_use(kind):
    domain = Domain(["a"], max_users=9, **KINDS[kind])
    with pytest.raises(DomainError, match="declares interactions, which have no scale; declare"):
        domain.scale  # noqa: B018
    domain.require("interactions", by="Popularity")
    with pytest.raises(DataError, match="CovarianceSVD works on ratings, and this domain declares inter"):
        domain.require("ratings", by="CovarianceSVD")


def test_ratings_are_no_interactions():
    domain = Domain(["a"], max_users=9, **KINDS["ratings"])
    domain.require("ratings", by="CovarianceSVD")
    with pytest.raises(DataError, match=r"Popularity works on inter.* declares ratings; .*\(likes=\)"):
        domain.require("interactions", by="Popularity")


@pytest.mark.parametrize(
    ("change", "message"),
    [
        ({"likes": 4}, "likes: .*declare the scale of the ratings too"),
        ({"scale": (1, 5, 1), "likes": 4.5}, "likes: 4.5 is not on the scale 1 to 5 by 1"),
        ({"scale": (1, 5, 1), "likes": 0}, "likes: 0 is not on the scale"),
        ({"scale": (1, 5, 1), "likes": float("nan")}, "likes: give a finite number"),
        ({"scale": (5, 1, 1), "likes": 4}, "wrong domain: scale: [^:]* is not a scale[^:]*$"),
        ({"scale": (1, 5, 1), "counts": 3}, "counts: ratings are not counted"),
        ({"scale": (1, 5, 1), "likes": 4, "counts": 3}, "counts: ratings are not counted"),
        ({"counts": 1}, "counts: .* greater than or equal to 2"),
        ({"counts": 256}, "counts: .* less than or equal to 255"),
    ],
)
def test_a_kind_that_does_not_exist_is_explained(change, message):
    with pytest.raises(DomainError, match=message):
        Domain(["a"], max_users=9, **change)


def test_every_rating_of_a_decimal_scale_may_be_the_threshold():
    for step in range(100):
        for likes in (0.5 + 0.1 * step, float(f"{0.5 + 0.1 * step:.1f}")):
            assert Domain(["a"], scale=(0.5, 10.4, 0.1), likes=likes, max_users=9).likes == likes


def test_importing_the_domain_does_not_import_the_heavy_ones():
    heavy = ("duckdb", "numba", "pyarrow", "scipy")
    code = f"import sys, hushrec.data.domain; print([name for name in {heavy} if name in sys.modules])"
    done = subprocess.run([sys.executable, "-c", code], capture_output=True, text=True, check=True)
    assert done.stdout.strip() == "[]"


# -- how much there is to see, as declared or as the bounds suggest ---------------------------------------


def expecting(**hints):
    return Domain(range(30), scale=(1, 5, 1), max_users=1_000, max_per_user=20, **hints)


BOTH = {"expected_users": 700, "expected_records": 9_100}


@pytest.mark.parametrize(
    ("hints", "crowd"),
    [
        (BOTH, Crowd(700, 9_100, declared=True)),
        ({}, Crowd(1_000, 20_000, declared=False)),
        ({"expected_users": 10}, Crowd(10, 200, declared=False)),
        ({"expected_records": 500}, Crowd(1_000, 500, declared=False)),
    ],
)
def test_a_crowd_is_what_was_declared_or_follows_from_the_bounds_alone(hints, crowd):
    assert expecting(**hints).crowd == crowd
    assert crowd.each == crowd.ratings / crowd.users


def test_a_population_is_the_same_whatever_is_expected_of_it(tmp_path):
    plain, hinted = expecting(), expecting(**BOTH)
    assert (plain, plain.digest) == (hinted, hinted.digest)
    hinted.save(tmp_path / "domain.json")
    assert Domain.open(tmp_path / "domain.json").crowd == hinted.crowd != plain.crowd
    assert domain_text(hinted).endswith("at most 1000 users, about 700 users, about 9,100 ratings")
    assert domain_text(hinted) in repr(hinted)


def test_another_expectation_is_another_plan():
    """The noise differs, so the release of one is not handed out for the other."""
    budget = hr.Budget(epsilon=8.0, delta=1e-6, unit="user", adjacency="add-remove")
    domains = expecting(), expecting(**BOTH)
    assert len({hr.plan(domain, hr.CovarianceSVD(), budget).key("ledger") for domain in domains}) == 2


# -- the roster -------------------------------------------------------------------------------------------


def with_roster(users, max_users=10):
    return Domain(["a", "b"], scale=(1, 5, 1), max_users=max_users, users=users)


def test_a_roster_is_kept_in_the_order_of_utf8_bytes():
    users = ["\U0001f600", "\uffff", "10", "9", "Z", "a", "\u00e9", "ab"]
    domain = with_roster(users)
    assert list(domain.users) == sorted(users, key=str.encode)
    assert domain.n_users == 8
    assert [domain.user_positions[user] for user in domain.users] == list(range(8))
    assert with_roster(reversed(users)) == domain
    assert with_roster(reversed(users)).digest == domain.digest


def test_ids_of_people_follow_the_rules_of_items():
    assert with_roster(np.array([10, 9])).users == ("10", "9")
    assert with_roster(["cafe\u0301"]).users == ("caf\u00e9",)
    assert with_roster(pl.Series(["y", "x"])).users == ("x", "y")


@pytest.mark.parametrize(
    ("users", "message"),
    [
        ([], "list of people is empty"),
        ("secret", "as a list"),
        (7, "as a list"),
        (["secret", "other", "secret"], "occurs more than once; list every person once"),
        (["caf\u00e9", "cafe\u0301"], "more than once"),
        (["secret", 1.0], "not float .at 1."),
        (["secret", ""], "position 1 must have 1 to 256 bytes"),
        ([f"secret {u}" for u in range(11)], "11 people are listed, more than max_users"),
    ],
)
def test_a_wrong_roster_is_explained_and_nobody_named(users, message):
    with pytest.raises(DomainError, match=message) as caught:
        with_roster(users)
    assert "secret" not in str(caught.value)


def test_a_roster_is_saved_and_digested(tmp_path):
    domain, without = with_roster(["y", "é"]), with_roster(None)
    domain.save(tmp_path / "domain.json")
    assert Domain.open(tmp_path / "domain.json") == domain
    text = '{"items":["a","b"],"max_per_user":500,"max_users":10,"scale":[1.0,5.0,1.0],"users":["y","é"]}'
    assert domain.digest == sha256(text)
    assert (without.users, without.n_users, without.user_positions) == (None, 0, {})
    without.save(tmp_path / "domain.json")
    assert "users" not in json.loads((tmp_path / "domain.json").read_text())
    assert len({domain.digest, without.digest, with_roster(["y"]).digest}) == 3


def test_repr_is_short_counts_the_roster_and_names_nobody():
    people = (f"secret {u}" for u in range(6040))
    domain = Domain(range(20_000), scale=(1, 5, 1), max_users=7000, users=people)
    assert repr(domain) == (
        "Domain(20000 items, scale 1 to 5 by 1, cap 500, at most 7000 users, roster of 6,040 people)"
    )


# -- titles and features ----------------------------------------------------------------------------------


def titled(**changes):
    facts = {"scale": (1, 5, 1), "max_users": 10, "titles": ["Alien (1979)", ""]}
    return Domain(["7", "8"], **(facts | changes))


def test_titles_describe_items_and_are_not_the_population(tmp_path):
    plain = Domain(["7", "8"], scale=(1, 5, 1), max_users=10)
    both = titled(features={"genres": {"7": "Horror|Sci-Fi"}})
    assert both.digest == titled().digest == titled(titles={"8": "Aliens"}).digest == plain.digest
    assert (both, hash(both)) == (plain, hash(plain))
    assert both != Domain(["7", "8"], scale=(1, 5, 1), max_users=11)
    assert both != "Domain"
    assert repr(both).endswith(" users, titles)")
    assert "titles" not in repr(plain)
    both.save(tmp_path / "domain.json")
    for domain in (both, Domain.open(tmp_path / "domain.json")):
        assert domain.titles == ("Alien (1979)", "")
        assert domain.features == {"genres": ("Horror|Sci-Fi", "")}
    assert titled(titles=None).titles is None


@pytest.mark.parametrize("change", [{"titles": ["one"]}, {"titles": "ab"}, {"features": {"genres": ["x"]}}])
def test_titles_that_do_not_fit_are_refused(change):
    with pytest.raises(DomainError, match=r"wrong domain: (titles|features)"):
        titled(**change)
    with pytest.raises(DomainError, match="items"):
        Domain([], scale=(1, 5, 1), max_users=10, titles=["a"])


# -- an identity hangs on no order that the caller does not control ----------------------------------------

SETS = [{"8", "7"}, frozenset({"8", "7"}), {"8": 1, "7": 1}.keys() & {"7", "8"}]


@pytest.mark.parametrize("items", SETS, ids=["set", "frozenset", "of views"])
def test_a_set_is_no_catalogue(items):
    with pytest.raises(DomainError, match=r"items: .* give them in one order, such as sorted\(items\)"):
        Domain(items, max_users=9)


def test_the_keys_of_a_mapping_have_its_order():
    assert Domain({"8": "Heat", "7": "Alien"}.keys(), max_users=9).items == ("8", "7")


@pytest.mark.parametrize(
    ("name", "value"),
    [
        ("titles", {"Alien", "Heat"}),
        ("features", {"genres": {"Horror", "Crime"}}),
        ("features", {"genres": {"7": {"Horror", "Crime"}, "8": ""}}),
        ("scale", {1, 5, 0.5}),
    ],
)
def test_a_set_is_nothing_else_that_has_an_order(name, value):
    with pytest.raises(DomainError, match=f"^wrong domain: {name}: [^:]*give [^:]*|genres must be text"):
        titled(**{name: value})


def test_a_roster_and_the_names_of_features_come_in_any_order():
    people = {f"u{k}" for k in range(7)}
    texts = {"year": ["1979", "1995"], "genres": ["Horror", "Crime"]}
    turned = dict(reversed(texts.items()))
    one, other = (titled(users=u, features=f) for u, f in ((people, texts), (sorted(people), turned)))
    assert one.digest == other.digest
    assert (one.users, [*one.features]) == (other.users, ["genres", "year"])
    assert one.model_dump_json() == other.model_dump_json()
