"""The ε that each person asks for: read, dropped, carried along; never guessed."""

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
from hushrec.data.readers.columns import by_name
from hushrec.data.reading import Reading
from hushrec.data.split import holdout, kfold
from hushrec.errors import DataError, DomainError

LEVELS = {"strict": 0.5, "default": 2, "caf\u00e9": 8.0}


@pytest.fixture
def domain():
    return Domain(["a", "b", "007"], scale=(1, 5, 1), max_per_user=2, max_users=3, personal_epsilon=LEVELS)


def frame(*rows, epsilon="personal_epsilon"):
    names = ["user_id", "item_id", "rating", epsilon]
    return pl.DataFrame(rows, schema=dict.fromkeys(names, pl.String), orient="row")


def asked(ratings):
    return dict(zip(ratings.users.to_list(), ratings.personal_epsilon.tolist(), strict=True))


def test_classes_are_public_and_in_the_digest_only_when_given(domain, tmp_path):
    plain = Domain(["a", "b", "007"], scale=(1, 5, 1), max_per_user=2, max_users=3)
    assert plain.digest == "bba27d50771607632f660d71fbdf7b61bb7031ce3b562ff41e40a00ae99386cf"
    assert plain.digest != domain.digest
    assert domain.personal_epsilon == {"strict": 0.5, "default": 2.0, "caf\u00e9": 8.0}
    assert "classes strict ε = 0.5, default ε = 2" in repr(domain)
    domain.save(tmp_path / "d.json")
    again = Domain.open(tmp_path / "d.json")
    assert again == domain
    assert again.digest == domain.digest
    assert {again: 1}[domain] == 1
    assert "personal_epsilon" not in json.dumps(plain.model_dump(mode="json", exclude_none=True))


@pytest.mark.parametrize(
    ("personal_epsilon", "problem"),
    [
        ({}, "leave them out"),
        (["strict"], "give classes as"),
        ({"": 1}, "not a name of a class"),
        ({"0.5": 1}, "not a number"),
        ({"inf": 1}, "not a number"),
        ({" x": 1}, "blanks"),
        ({7: 1}, "text"),
        ({"x" * 257: 1}, "bytes"),
        ({"x\0": 1}, "printable"),
        ({"a\nb": 1}, "printable"),
        ({"a\x1b[2Jb": 1}, "printable"),
        ({"a\u200bb": 1}, "printable"),
        ({"a\u202eb": 1}, "printable"),
        ({"a\ud800": 1}, "printable"),
        ({"caf\u00e9": 1, "cafe\u0301": 2}, "the same text"),
        ({"x": -0.1}, "0 or more"),
        ({"x": math.inf}, "0 or more"),
        ({"x": math.nan}, "0 or more"),
        ({"x": "1"}, "0 or more"),
        ({"x": True}, "0 or more"),
    ],
)
def test_what_is_no_class_is_refused(personal_epsilon, problem):
    with pytest.raises(DomainError, match=problem):
        Domain(["a"], scale=(1, 5, 1), max_users=3, personal_epsilon=personal_epsilon)


def test_numbers_and_names_of_classes(domain):
    rows = [("x", "a", "1", "strict"), ("y", "a", "1", " 0.25\t"), ("z", "a", "1", "cafe\u0301")]
    rows += [("w", "a", "1", "0")]
    found = asked(load(frame(*rows), domain))
    assert found == {"x": 0.5, "y": 0.25, "z": 8, "w": 0}


@pytest.mark.parametrize(
    "cell", ["", None, "nan", "inf", "-1", "-0.1", "Strict", "generous", "much", "1e400"]
)
@pytest.mark.parametrize(("item", "rating"), [("a", "1"), ("nosuch", "1"), ("a", "none")])
def test_nobody_is_used_at_an_epsilon_that_he_has_not_asked_for(domain, cell, item, rating):
    """One record without a readable ε, a dropped one too, and all of a person's ask for 0."""
    rows = [("x", item, rating, cell), ("x", "b", "2", "3"), ("y", item, rating, cell), ("z", "a", "1", "3")]
    for table in (frame(*rows), frame(*rows[::-1])):
        ratings = load(table, domain)
        assert asked(ratings) == {"x": 0, "z": 3}
        assert ratings.n_ratings == 2
        # Counted whatever else is wrong with them: it may be a slip of the pen that leaves people out.
        assert ratings.dropped == Dropped(personal_epsilon=2, records=4)


def test_the_least_of_several_counts_whatever_the_order_and_the_tables(domain, tmp_path):
    rows = [("x", "a", "1", "3"), ("x", "b", "2", "default"), ("x", "a", "5", "9"), ("y", "a", "1", "1")]
    rows += [("y", "b", "1", "0.5"), ("y", "nosuch", "1", "0.1"), ("y", "b", "none", "0.1")]
    rng = Random(0)
    for _ in range(5):
        rng.shuffle(rows)
        ratings = load(frame(*rows), domain)
        # The two records that are dropped for their item and their rating are heard.
        assert asked(ratings) == {"x": 2, "y": 0.1}
        assert ratings.dropped == Dropped(item_id=1, rating=1, duplicate=1, records=7)


@pytest.mark.parametrize(
    "last", [("x", "nosuch", "1", "0"), ("x", "a", "none", "0"), ("x", "a", "1", "strct")]
)
def test_an_opt_out_in_another_table_counts(domain, monkeypatch, last):
    """Cleaned one by one: of the table that holds the opt-out nothing is left but that."""
    monkeypatch.setattr("hushrec.data.cleaning._SLICE", 1)
    for rows in ([("x", "b", "5", "4"), last], [last, ("x", "b", "5", "4")]):
        assert asked(load(frame(*rows), domain)) == {"x": 0}


def test_who_has_no_rating_left_is_not_there(domain):
    ratings = load(frame(("w", "nosuch", "1", "1"), ("x", "a", "1", "1"), ("y", "a", "", "0")), domain)
    assert asked(ratings) == {"x": 1}
    assert ratings.indptr.tolist() == [0, 1]
    assert load(frame(("w", "nosuch", "1", "1")), domain).n_users == 0


def test_a_roster_takes_nobody_in_for_what_he_asks(domain):
    listed = Domain(["a", "b"], scale=(1, 5, 1), max_users=3, users=["v", "w", "x"])
    ratings = load(frame(("x", "a", "1", "2"), ("x", "nosuch", "1", "1"), ("nobody", "a", "1", "0")), listed)
    assert asked(ratings) == {"x": 1}


def test_two_columns_that_may_be_the_wish_are_not_chosen_between():
    with pytest.raises(DataError, match="more than one column for personal_epsilon"):
        by_name({}, ["user_id", "item_id", "rating", "personal_epsilon", "privacy"], "the table")
    named = {"personal_epsilon": "privacy"}
    assert (
        by_name(named, ["user_id", "item_id", "rating", "personal_epsilon", "privacy"], "the table")[
            "personal_epsilon"
        ]
        == 4
    )


@pytest.mark.parametrize("name", ["personal_epsilon", "Epsilon", "privacy", "PRIVACY"])
def test_the_column_is_recognised(domain, tmp_path, name):
    table = frame(("x", "a", "1", "default"), epsilon=name)
    assert asked(load(table, domain)) == {"x": 2}
    table.write_csv(tmp_path / "r.csv")
    table.write_parquet(tmp_path / "r.parquet")
    table.write_ipc(tmp_path / "r.arrow")
    for file in ("r.csv", "r.parquet", "r.arrow"):
        assert asked(load(tmp_path / file, domain)) == {"x": 2}
    assert asked(load(table.to_pandas(), domain)) == {"x": 2}


def test_the_column_may_be_mapped_and_is_never_guessed_from_a_position(domain, tmp_path):
    table = frame(("x", "a", "1", "0.5"), epsilon="wish")
    assert load(table, domain).personal_epsilon is None
    assert asked(load(table, domain, Reading(columns={"personal_epsilon": "wish"}))) == {"x": 0.5}
    (tmp_path / "r.dat").write_text("x::a::1::9::0.5\n")
    assert load(tmp_path / "r.dat", domain).personal_epsilon is None
    columns = {"user_id": 0, "item_id": 1, "rating": 2, "personal_epsilon": 4}
    assert asked(load(tmp_path / "r.dat", domain, Reading(columns=columns))) == {"x": 0.5}


def test_a_decimal_comma_is_one_in_epsilons_too(tmp_path):
    domain = Domain(["a"], scale=(1, 5, 1), max_users=9, personal_epsilon={"v1.0": 3, "a,b": 4})
    lines = ["user;item;rating;epsilon", "w;a;1;v1.0", 'x;a;1;"a,b"', "y;a;1;0,5", "z;a;1;0.5"]
    (tmp_path / "r.csv").write_text("\n".join(lines) + "\n")
    ratings = load(tmp_path / "r.csv", domain, Reading(separator=";", decimal=","))
    assert asked(ratings) == {"w": 3, "x": 4, "y": 0.5}
    assert ratings.dropped.personal_epsilon == 1


def test_numbers_may_be_of_any_type_of_number(domain):
    for dtype in (pl.Int32, pl.Float32, pl.UInt8):
        table = frame(("x", "a", "1", "2")).with_columns(pl.col("personal_epsilon").cast(dtype))
        assert asked(load(table, domain)) == {"x": 2}
    for cells in (pl.Categorical, pl.Enum(["0.25", "strict", "", "much"])):
        rows = [
            (user, "a", "1", cell) for user, cell in zip("wxyz", ("0.25", "strict", "", "much"), strict=True)
        ]
        table = frame(*rows, ("y", "b", "1", None)).with_columns(pl.col("personal_epsilon").cast(cells))
        assert asked(load(table, domain)) == {"w": 0.25, "x": 0.5}
    wrong = frame(("x", "a", "1", "2")).with_columns(pl.lit(True).alias("personal_epsilon"))
    with pytest.raises(DataError, match="column personal_epsilon is of type Boolean"):
        load(wrong, domain)


def test_whether_people_were_asked_does_not_depend_on_whether_there_are_any(domain, tmp_path):
    (tmp_path / "r.csv").write_text("user_id,item_id,rating,epsilon\n")
    for source in (tmp_path / "r.csv", frame(("x", "nosuch", "1", "2")), frame()):
        found = load(source, domain)
        assert found.has_personal_epsilon
        assert (found.personal_epsilon.dtype, found.personal_epsilon.shape, found.timestamps) == (
            np.float64,
            (0,),
            None,
        )
        timed = source if isinstance(source, pl.DataFrame) else pl.read_csv(source)
        assert load(timed.with_columns(timestamp=pl.lit(7)), domain).timestamps.shape == (0,)
    assert not load(frame().drop("personal_epsilon"), domain).has_personal_epsilon


def test_every_part_of_ratings_carries_it(domain):
    rng = np.random.default_rng(0)
    rows = [(f"u{u:02}", item, "3", str(u / 4)) for u in range(20) for item in ("a", "b", "007")]
    ratings = load(frame(*rows), domain)
    wanted = {f"u{u:02}": u / 4 for u in range(20)}
    assert asked(ratings) == wanted
    parts = [*holdout(ratings, 0.8, seed=0), *next(kfold(ratings, 3, seed=0)), ratings.capped(2)]
    parts += [ratings.slice(3, 7), ratings.select(rng.random(60) < 0.2), load(ratings.to_polars(), domain)]
    for part in parts:
        assert asked(part) == {user: wanted[user] for user in part.users.to_list()}
        assert part.n_users > 0


def test_a_slice_is_those_people(domain):
    ratings = load(frame(*((user, item, "3", "1") for user in "xyz" for item in "ab")), domain)
    part = ratings.slice(1, 2)
    assert (part.users.to_list(), part.indptr.tolist(), part.items.tolist()) == (["y"], [0, 2], [0, 1])
    assert ratings.slice(1, 1).n_users == 0
    for start, stop in ((-1, 2), (2, 1), (0, 4)):
        with pytest.raises(DataError, match=r"a slice goes|start must be"):
            ratings.slice(start, stop)


def test_experiments_say_what_people_ask_for(domain):
    ratings = load(frame(("x", "a", "1", "1"), ("y", "a", "1", "1")).drop("personal_epsilon"), domain)
    assert asked(ratings.with_personal_epsilon({"y": 2.0, "x": 0, "z": 5})) == {"x": 0, "y": 2}
    mine = np.array([1.0, 3.0])
    made = ratings.with_personal_epsilon(mine)
    mine[0] = 9
    assert asked(made) == {"x": 1, "y": 3}
    for wrong in ({"x": 1.0}, np.array([1.0]), np.array([1.0, -1]), np.array([1.0, np.inf])):
        with pytest.raises(DataError, match="for each user"):
            ratings.with_personal_epsilon(wrong)


def test_no_repr_tells_it(domain):
    ratings = load(frame(("x", "a", "1", "0.123")), domain)
    assert "0.123" not in repr(ratings) + str(ratings)


def test_the_digest_sees_every_part(domain):
    table = frame(("x", "a", "1", "1"), ("x", "b", "2", "1"), ("y", "a", "1", "2"))
    ratings = load(table, domain)
    others = [
        load(table.drop("personal_epsilon"), domain),
        load(table, Domain(domain.items, scale=(1, 5, 1), max_per_user=3, max_users=3)),
        load(table[:2], domain),
        load(table.with_columns(pl.lit("5").alias("rating")), domain),
        load(table.with_columns(user_id=pl.Series(["x", "x", "z"])), domain),
        load(table.with_columns(item_id=pl.Series(["a", "b", "b"])), domain),
        load(table.with_columns(item_id=pl.Series(["a", "b", "b"])), domain),
        ratings.with_personal_epsilon(np.array([1.0, 2.5])),
        ratings.with_personal_epsilon(np.zeros(2)),
    ]
    assert ratings.digest() == load(table[::-1], domain).digest()
    digests = {other.digest() for other in others}
    assert len(digests) == len(others) - 1  # two of them are alike
    assert ratings.digest() not in digests
    assert list(ratings.blocks()) == [ratings]


ITEMS = ("1", "007", "3")


@pytest.mark.parametrize(
    "given",
    [
        {1: "Alien", "007": " Bond ", "9": "elsewhere"},
        ["Alien", "Bond", ""],
        iter(["Alien", "Bond", None]),
    ],
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
    ],
)
def test_texts_that_do_not_fit_are_refused(given, message):
    with pytest.raises(ValueError, match=message):
        texts_of(given, ITEMS, "titles")


def test_texts_are_limited_together(monkeypatch):
    monkeypatch.setattr("hushrec.data.declarations.MAX_TEXT_BYTES", 7)
    with pytest.raises(ValueError, match="longer than"):
        texts_of(["abc", "def", "gh"], ITEMS, "titles")


@pytest.mark.parametrize("name", ["", 3, "two\nlines", "a\x1b"])
def test_names_of_features_are_lines(name):
    with pytest.raises(ValueError, match="name of a feature"):
        features_of({name: ["a", "b", "c"]}, ITEMS)
    with pytest.raises(ValueError, match="by name"):
        features_of(["a"], ITEMS)
