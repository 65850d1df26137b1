"""The ε that each person asks for: read, dropped, carried along; never guessed. And texts about items."""

import json
import math
from random import Random

import numpy as np
import polars as pl
import pytest

from hushrec.data.declarations import features_of, texts_of
from hushrec.data.domain import Domain
from hushrec.data.dropped import Dropped
from hushrec.data.load import load
from hushrec.data.reading import Reading
from hushrec.data.split import holdout, kfold
from hushrec.errors import DataError, DomainError

LEVELS = {"strict": 0.5, "default": 2, "caf\u00e9": 8.0}
FACTS = {"scale": (1, 5, 1), "max_per_user": 2, "max_users": 3}


@pytest.fixture
def domain():
    return Domain(["a", "b", "007"], **FACTS, personal_epsilon=LEVELS)


def frame(*rows, epsilon="personal_epsilon"):
    names = ["user_id", "item_id", "rating", epsilon]
    return pl.DataFrame(rows, schema=dict.fromkeys(names, pl.String), orient="row")


def asked(people):
    return dict(zip(people.users.to_pylist(), people.personal_epsilon.tolist(), strict=True))


def test_classes_are_public_and_in_the_digest_only_when_given(domain, tmp_path):
    plain = Domain(["a", "b", "007"], **FACTS)
    assert plain.digest == "bba27d50771607632f660d71fbdf7b61bb7031ce3b562ff41e40a00ae99386cf"
    assert plain.digest != domain.digest
    assert domain.personal_epsilon == {"strict": 0.5, "default": 2.0, "caf\u00e9": 8.0}
    assert "classes strict ε = 0.5, default ε = 2" in repr(domain)
    domain.save(tmp_path / "d.json")
    again = Domain.open(tmp_path / "d.json")
    assert (again, again.digest, {again: 1}[domain]) == (domain, domain.digest, 1)
    assert "personal_epsilon" not in json.dumps(plain.model_dump(mode="json", exclude_none=True))


@pytest.mark.parametrize(
    ("personal_epsilon", "problem"),
    [
        ({}, "leave them out"),
        (["strict"], "give classes as"),
        ({"": 1}, "not a name of a class"),
        *(({number: 1}, "not a number") for number in ("0.5", "inf")),
        ({" x": 1}, "blanks"),
        ({7: 1}, "text"),
        ({"x" * 257: 1}, "bytes"),
        *(({f"a{c}b": 1}, "printable") for c in ("\0", "\n", "\x1b[2J", "\u200b", "\u202e", "\ud800")),
        ({"caf\u00e9": 1, "cafe\u0301": 2}, "the same text"),
        *(({"x": wrong}, "0 or more") for wrong in (-0.1, math.inf, math.nan, "1", True)),
    ],
)
def test_what_is_no_class_is_refused(personal_epsilon, problem):
    with pytest.raises(DomainError, match=problem):
        Domain(["a"], scale=(1, 5, 1), max_users=3, personal_epsilon=personal_epsilon)


def test_numbers_and_names_of_classes(domain):
    cells = {"x": "strict", "y": " 0.25\t", "z": "cafe\u0301", "w": "0"}
    found = asked(load(frame(*((user, "a", "1", cell) for user, cell in cells.items())), domain))
    assert found == {"x": 0.5, "y": 0.25, "z": 8, "w": 0}


@pytest.mark.parametrize(
    "cell", ["", None, "nan", "inf", "-1", "-0.1", "Strict", "generous", "much", "1e400"]
)
@pytest.mark.parametrize(("item", "rating"), [("a", "1"), ("nosuch", "1"), ("a", "none")])
def test_nobody_is_used_at_an_epsilon_that_he_has_not_asked_for(domain, cell, item, rating):
    """One record without a readable ε, a dropped one too, and all of a person's ask for 0."""
    rows = [("x", item, rating, cell), ("x", "b", "2", "3"), ("y", item, rating, cell), ("z", "a", "1", "3")]
    for table in (frame(*rows), frame(*rows[::-1]), [frame(row) for row in rows]):
        people = load(table, domain)
        assert (asked(people), people.n_entries) == ({"x": 0, "z": 3}, 2)
        # Counted whatever else is wrong with them: it may be a slip of the pen that leaves people out.
        assert people.dropped == Dropped(personal_epsilon=2, records=4)


def test_the_least_of_several_counts_whatever_the_order(domain):
    rows = [("x", "a", "1", "3"), ("x", "b", "2", "default"), ("x", "a", "5", "9"), ("y", "a", "1", "1")]
    rows += [("y", "b", "1", "0.5"), ("y", "nosuch", "1", "0.1"), ("y", "b", "none", "0.1")]
    rng = Random(0)
    for _ in range(5):
        rng.shuffle(rows)
        people = load(frame(*rows), domain)
        # The two records that are dropped for their item and their rating are heard.
        assert asked(people) == {"x": 2, "y": 0.1}
        assert people.dropped == Dropped(item_id=1, rating=1, duplicate=1, records=7)


def test_who_has_no_rating_left_is_not_there(domain):
    people = load(frame(("w", "nosuch", "1", "1"), ("x", "a", "1", "1"), ("y", "a", "", "0")), domain)
    assert (asked(people), people.indptr.tolist()) == ({"x": 1}, [0, 1])
    assert load(frame(("w", "nosuch", "1", "1")), domain).n_users == 0


def test_a_roster_takes_nobody_in_for_what_he_asks():
    listed = Domain(["a", "b"], **FACTS, users=["v", "w", "x"])
    people = load(frame(("x", "a", "1", "2"), ("x", "nosuch", "1", "1"), ("nobody", "a", "1", "0")), listed)
    assert asked(people) == {"x": 1}


@pytest.mark.parametrize("name", ["personal_epsilon", "Epsilon", "privacy", "PRIVACY"])
def test_the_column_is_recognised(domain, tmp_path, name):
    table = frame(("x", "a", "1", "default"), epsilon=name)
    table.write_csv(tmp_path / "r.csv")
    table.write_parquet(tmp_path / "r.parquet")
    for source in (table, table.to_pandas(), tmp_path / "r.csv", tmp_path / "r.parquet"):
        assert asked(load(source, domain)) == {"x": 2}


def test_the_column_may_be_mapped_and_is_never_guessed_from_a_position(domain, tmp_path):
    table = frame(("x", "a", "1", "0.5"), epsilon="wish")
    (tmp_path / "r.dat").write_text("x::a::1::9::0.5\n")
    positions = {"user_id": 0, "item_id": 1, "rating": 2, "personal_epsilon": 4}
    for source, columns in ((table, {"personal_epsilon": "wish"}), (tmp_path / "r.dat", positions)):
        assert load(source, domain).personal_epsilon is None
        assert asked(load(source, domain, Reading(columns=columns))) == {"x": 0.5}


def test_a_decimal_comma_is_one_in_epsilons_too(tmp_path):
    domain = Domain(["a"], scale=(1, 5, 1), max_users=9, personal_epsilon={"v1.0": 3, "a,b": 4})
    lines = ["user;item;rating;epsilon", "w;a;1;v1.0", 'x;a;1;"a,b"', "y;a;1;0,5", "z;a;1;0.5"]
    (tmp_path / "r.csv").write_text("\n".join(lines) + "\n")
    people = load(tmp_path / "r.csv", domain, Reading(separator=";", decimal=","))
    assert asked(people) == {"w": 3, "x": 4, "y": 0.5}
    assert people.dropped.personal_epsilon == 1


def test_numbers_may_be_of_any_type_of_number(domain):
    one, epsilon = frame(("x", "a", "1", "2")), pl.col("personal_epsilon")
    for dtype in (pl.Int32, pl.Float32, pl.UInt8):
        assert asked(load(one.with_columns(epsilon.cast(dtype)), domain)) == {"x": 2}
    cells = ("0.25", "strict", "", "much", None)
    several = frame(*((user, "a", "1", cell) for user, cell in zip("vwxyz", cells, strict=True)))
    for dtype in (pl.Categorical, pl.Enum(cells[:4])):
        assert asked(load(several.with_columns(epsilon.cast(dtype)), domain)) == {"v": 0.25, "w": 0.5}
    with pytest.raises(DataError, match="column personal_epsilon is of type bool"):
        load(one.with_columns(pl.lit(True).alias("personal_epsilon")), domain)


def test_whether_people_were_asked_does_not_depend_on_whether_there_are_any(domain, tmp_path):
    (tmp_path / "r.csv").write_text("user_id,item_id,rating,epsilon\n")
    for source in (tmp_path / "r.csv", frame(("x", "nosuch", "1", "2")), frame()):
        found = load(source, domain)
        assert (found.has_personal_epsilon, found.timestamps) == (True, None)
        assert (found.personal_epsilon.dtype, found.personal_epsilon.shape) == (np.float64, (0,))
    timed = frame().with_columns(timestamp=pl.lit(7))
    assert load(timed, domain).timestamps.shape == (0,)
    assert not load(frame().drop("personal_epsilon"), domain).has_personal_epsilon


def test_every_part_of_people_carries_it(domain):
    users = [f"u{u:02}" for u in range(20)]
    rows = [(user, item, "3", str(u / 4)) for u, user in enumerate(users) for item in ("a", "b", "007")]
    people, mask = load(frame(*rows), domain), np.random.default_rng(0).random(60) < 0.2
    wanted = {user: u / 4 for u, user in enumerate(users)}
    assert asked(people) == wanted
    assert str(wanted["u19"]) not in repr(people) + str(people)
    parts = [*holdout(people, 0.8, seed=0), *next(kfold(people, 3, seed=0)), people.capped(2)]
    for part in (*parts, people.slice(3, 7), people.select(mask), load(people.table(), domain)):
        assert asked(part) == {user: wanted[user] for user in part.users.to_pylist()}
        assert part.n_users > 0


def test_experiments_say_what_people_ask_for(domain):
    people = load(frame(("x", "a", "1", "1"), ("y", "a", "1", "1")).drop("personal_epsilon"), domain)
    assert asked(people.with_personal_epsilon({"y": 2.0, "x": 0, "z": 5})) == {"x": 0, "y": 2}
    mine = np.array([1.0, 3.0])
    made = people.with_personal_epsilon(mine)
    mine[0] = 9
    assert asked(made) == {"x": 1, "y": 3}
    for wrong in ({"x": 1.0}, [1.0], [1.0, -1], [1.0, np.inf], ["1", "2"], [True, False]):
        with pytest.raises(DataError, match=r"for each user|each user an ε that is a number"):
            people.with_personal_epsilon(wrong)


ITEMS = ("1", "007", "3")


@pytest.mark.parametrize(
    "given",
    [{1: "Alien", "007": " Bond ", "9": "elsewhere"}, ["Alien", "Bond", ""], iter(["Alien", "Bond", None])],
)
def test_texts_are_one_for_each_item(given):
    assert texts_of(given, ITEMS, "titles") == ("Alien", "Bond", "")


def test_texts_that_are_all_missing_are_none():
    assert texts_of(["", "", " "], ITEMS, "titles") is None
    assert texts_of({}, ITEMS, "titles") is None
    assert features_of({"genres": {}}, ITEMS) is None


@pytest.mark.parametrize(
    ("given", "message"),
    [
        ("abc", "by id"),
        (["a", "b"], "2 titles are given for 3 items"),
        ({"9": "a"}, "no id of the titles is in the catalogue"),
        ([1, 2, 3], "must be text"),
        (["abc", "def", "gh"], "longer than"),
    ],
)
def test_texts_that_do_not_fit_are_refused(monkeypatch, given, message):
    monkeypatch.setattr("hushrec.data.declarations.MAX_TEXT_BYTES", 7)
    with pytest.raises(ValueError, match=message):
        texts_of(given, ITEMS, "titles")


@pytest.mark.parametrize("name", ["", 3, "two\nlines", "a\x1b"])
def test_names_of_features_are_lines(name):
    with pytest.raises(ValueError, match="name of a feature"):
        features_of({name: ["a", "b", "c"]}, ITEMS)
    with pytest.raises(ValueError, match="by name"):
        features_of(["a"], ITEMS)
