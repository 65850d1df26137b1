import hashlib
import json
import subprocess
import sys

import numpy as np
import polars as pl
import pytest

from hushrec.data.domain import Domain, Scale
from hushrec.errors import DataError, DomainError


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
    domain = Domain(items=items, scale=(1, 5, 1), max_per_user=500, max_users=10_000)
    assert domain.items == ("1", "2")
    assert domain.positions == {"1": 0, "2": 1}
    assert (domain.n_items, domain.max_per_user, domain.scale) == (2, 500, (1.0, 5.0, 1.0))


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
        ({"scale": (5, 1, 1)}, "is not a scale"),
        ({"scale": (1, 5, -1)}, "is not a scale"),
        ({"scale": (1, 1, 1)}, "is not a scale"),
        ({"scale": (1, float("nan"), 1)}, "is not a scale"),
        ({"scale": (0, 256, 1)}, "257 values are more than 256"),
        ({"scale": (1, 5)}, "scale"),
        ({"max_per_user": 0}, "max_per_user: .* greater than or equal to 1"),
        ({"max_per_user": 1.5}, "max_per_user"),
        ({"max_users": 0}, "max_users"),
        ({"max_users": "many"}, "max_users"),
    ],
)
def test_a_wrong_declaration_is_explained(change, message):
    good = {"items": ["a", "b"], "scale": (1, 5, 1), "max_per_user": 5, "max_users": 10}
    Domain(**good)
    with pytest.raises(DomainError, match=message) as caught:
        Domain(**(good | change))
    assert "pydantic" not in str(caught.value)


def test_numpy_integers_are_integers():
    assert Domain(["a"], scale=(1, 5, 1), max_users=np.int64(7)).max_users == 7


def test_saved_domain_opens_equal(tmp_path):
    domain = Domain(["é", "007", "b,\"c'"], scale=(0.5, 5, 0.5), max_per_user=3, max_users=9)
    domain.save(tmp_path / "domain.json")
    opened = Domain.open(tmp_path / "domain.json")
    assert opened == domain
    assert opened.digest == domain.digest


def test_digest_is_of_the_content_in_order():
    domain = Domain(["a", "b"], scale=(1, 5, 1), max_per_user=500, max_users=10)
    # The digest names releases, so it must never drift.
    text = '{"items":["a","b"],"max_per_user":500,"max_users":10,"scale":[1.0,5.0,1.0]}'
    assert domain.digest == hashlib.sha256(text.encode()).hexdigest()
    assert domain.digest != Domain(["b", "a"], scale=(1, 5, 1), max_per_user=500, max_users=10).digest


@pytest.mark.parametrize(
    "text",
    [
        "",
        "[1, 2]",
        "{}",
        '{"items": ["a"], "scale": [1, 5, 1], "max_per_user": 5, "max_users": 9, "extra": 1}',
    ],
)
def test_a_file_that_is_no_domain_is_refused(tmp_path, text):
    (tmp_path / "domain.json").write_text(text)
    with pytest.raises(DomainError, match=r"is not a domain|cannot be read"):
        Domain.open(tmp_path / "domain.json")


def test_a_saved_domain_is_checked_again(tmp_path):
    fields = {"items": ["a", "a"], "scale": [1, 5, 1], "max_per_user": 5, "max_users": 9}
    (tmp_path / "domain.json").write_text(json.dumps(fields))
    with pytest.raises(DomainError, match="more than once"):
        Domain.open(tmp_path / "domain.json")


def test_a_missing_file_is_named(tmp_path):
    with pytest.raises(DomainError, match=r"none\.json cannot be read: No such file"):
        Domain.open(tmp_path / "none.json")


def test_repr_is_short():
    domain = Domain(range(20_000), scale=(1, 5, 1), max_users=10)
    assert repr(domain) == "Domain(20000 items, scale 1 to 5 by 1, cap 500, at most 10 users)"


# -- kinds of feedback ------------------------------------------------------------------------------------

KINDS = {
    "ratings": {"scale": (1, 5, 1)},
    "interactions": {},
    "counts": {"counts": 9},
    "likes": {"scale": (1, 5, 1), "likes": 4},
}


@pytest.mark.parametrize(
    ("kind", "feedback", "told", "fields"),
    [
        ("ratings", "ratings", "scale 1 to 5 by 1", '"scale":[1.0,5.0,1.0]'),
        ("interactions", "interactions", "interactions", ""),
        ("counts", "interactions", "interactions counted up to 9", '"counts":9'),
        (
            "likes",
            "interactions",
            "likes: ratings of at least 4 on the scale 1 to 5 by 1",
            '"likes":4.0,"scale":[1.0,5.0,1.0]',
        ),
    ],
)
def test_a_domain_declares_what_people_give(kind, feedback, told, fields, tmp_path):
    domain = Domain(["a"], max_users=9, **KINDS[kind])
    assert domain.feedback == feedback
    assert repr(domain) == f"Domain(1 items, {told}, cap 500, at most 9 users)"
    domain.save(tmp_path / "domain.json")
    again = Domain.open(tmp_path / "domain.json")
    assert (again, again.digest, again.feedback) == (domain, domain.digest, feedback)
    text = json.dumps(
        {"max_per_user": 500, "items": ["a"], "max_users": 9} | json.loads(f"{{{fields}}}"), sort_keys=True
    )
    assert domain.digest == hashlib.sha256(text.replace(" ", "").encode()).hexdigest()


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
        assert Domain(["a"], scale=(0.5, 10.4, 0.1), likes=0.5 + 0.1 * step, max_users=9).likes
        assert Domain(
            ["a"], scale=(0.5, 10.4, 0.1), likes=float(f"{0.5 + 0.1 * step:.1f}"), max_users=9
        ).likes


def test_importing_the_domain_does_not_import_the_heavy_ones():
    heavy = ("polars", "numba", "scipy")
    code = f"import sys, hushrec.data.domain; print([name for name in {heavy} if name in sys.modules])"
    done = subprocess.run([sys.executable, "-c", code], capture_output=True, text=True, check=True)
    assert done.stdout.strip() == "[]"


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


def test_without_a_roster_nobody_is_listed():
    domain = with_roster(None)
    assert (domain.users, domain.n_users, domain.user_positions) == (None, 0, {})


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
    assert domain.digest == hashlib.sha256(text.encode()).hexdigest()
    without.save(tmp_path / "domain.json")
    assert "users" not in json.loads((tmp_path / "domain.json").read_text())
    assert len({domain.digest, without.digest, with_roster(["y"]).digest}) == 3


def test_repr_counts_the_roster_and_names_nobody():
    domain = Domain(["a"], scale=(1, 5, 1), max_users=7000, users=(f"secret {u}" for u in range(6040)))
    assert repr(domain) == (
        "Domain(1 items, scale 1 to 5 by 1, cap 500, at most 7000 users, roster of 6,040 people)"
    )


def titled(**changes):
    facts = {"scale": (1, 5, 1), "max_users": 10, "titles": ["Alien (1979)", ""]}
    return Domain(["7", "8"], **(facts | changes))


def test_titles_describe_items_and_are_not_the_population():
    plain = Domain(["7", "8"], scale=(1, 5, 1), max_users=10)
    both = titled(features={"genres": {"7": "Horror|Sci-Fi"}})
    assert both.digest == titled().digest == titled(titles={"8": "Aliens"}).digest == plain.digest
    assert both == plain
    assert hash(both) == hash(plain)
    assert both != Domain(["7", "8"], scale=(1, 5, 1), max_users=11)
    assert both != "Domain"
    assert both.features == {"genres": ("Horror|Sci-Fi", "")}
    assert repr(both).endswith(" users, titles)")
    assert "titles" not in repr(plain)


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


def test_titles_are_saved_and_opened(tmp_path):
    both = titled(features={"genres": {"7": "Horror|Sci-Fi"}})
    both.save(tmp_path / "domain.json")
    opened = Domain.open(tmp_path / "domain.json")
    assert opened.titles == ("Alien (1979)", "")
    assert opened.features == both.features
    assert titled(titles=None).titles is None


@pytest.mark.parametrize("change", [{"titles": ["one"]}, {"titles": "ab"}, {"features": {"genres": ["x"]}}])
def test_titles_that_do_not_fit_are_refused(change):
    with pytest.raises(DomainError, match=r"wrong domain: (titles|features)"):
        titled(**change)
    with pytest.raises(DomainError, match="items"):
        Domain([], scale=(1, 5, 1), max_users=10, titles=["a"])
