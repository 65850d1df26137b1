"""A fault of a source is named with its fix; a source without fault has no hint; no id is ever shown."""

import datetime

import polars as pl
import pytest

import hushrec as hr

RECORDS = 400
ITEMS = [str(k) for k in range(100, 140)]


def records(**changed):
    """Records of 50 users, without fault but for the changed columns."""
    made = {
        "user_id": [f"SECRET{k % 50}" for k in range(RECORDS)],
        "item_id": [ITEMS[k // 50 + 8 * (k % 5)] for k in range(RECORDS)],
        "rating": [str(1 + k % 5) for k in range(RECORDS)],
        "timestamp": ["1700000000"] * RECORDS,
    }
    return pl.DataFrame(made | changed)


def domain(items=ITEMS, **declared):
    return hr.Domain(items, **{"scale": (1, 5, 1), "max_users": 60} | declared)


def hints(table, declared=None, **options):
    found = hr.check(table, declared or domain(), hr.Reading(**options))
    assert "SECRET" not in str(found)
    return found.hints


def only(table, declared=None, **options):
    """The hint, if it is the only one."""
    (hint,) = hints(table, declared, **options)
    return hint


def ids(table, form):
    return table.with_columns(item_id=form(pl.col("item_id")))


def test_what_is_right_has_no_hint():
    assert hints(records()) == ()
    assert hints(records().drop("rating"), domain(scale=None)) == ()
    assert hints(records(rating=["1", "1.0"] * (RECORDS // 2)), domain(scale=None)) == ()
    assert hints(records(), domain(likes=4)) == ()
    assert hints(records().clear()) == ()
    assert hints(records(), domain(users=[f"SECRET{k}" for k in range(50)])) == ()


def test_a_wide_sheet_that_is_read_by_position_is_named(tmp_path):
    lines = ["user,100,101,102", *(f"SECRET{k},{'' if k % 3 else 1 + k % 5},4," for k in range(60))]
    (tmp_path / "wide.csv").write_text("\n".join(lines) + "\n")
    found = hr.check(
        tmp_path / "wide.csv", domain(), hr.Reading(columns={"user_id": 0, "item_id": 1, "rating": 2})
    )
    assert "wide sheet with one column per item" in found.hints[0]
    unknown = records(item_id=[str(k % 5 + 1) for k in range(RECORDS)])
    assert not any("wide sheet" in hint for hint in hints(unknown))


@pytest.mark.parametrize(
    ("table", "declared", "hint"),
    [
        (ids(records(), lambda i: pl.concat_str(i, pl.lit(".0"))), None, "except for a trailing .0: "),
        (records(), [f"{item}.0" for item in ITEMS], "except for a trailing .0: "),
        (ids(records(), lambda i: pl.concat_str(pl.lit(" "), i)), None, "except for blanks around them: "),
        (records(), [f"00{item}" for item in ITEMS], "except for leading zeros: "),
        (ids(records(), lambda i: i.str.zfill(9)), None, "except for leading zeros: "),
        (
            ids(records(), lambda i: pl.concat_str(pl.lit("tt"), i)),
            [f"TT{i}" for i in ITEMS],
            "lower case: ",
        ),
        (ids(records(), lambda i: pl.concat_str(pl.lit("'"), i, pl.lit("'"))), None, "except for quotes: "),
    ],
    ids=["the file's .0", "the catalogue's .0", "blanks", "zeros lost", "zeros added", "case", "quotes"],
)
def test_ids_that_are_written_differently(table, declared, hint):
    told = only(table, None if declared is None else domain(declared))
    assert told.startswith("400 records (100.0 %) name items of the catalogue except for")
    assert hint in told


def test_one_slip_among_many_strange_ids_is_not_the_fault():
    table = ids(records(), lambda i: pl.concat_str(pl.lit("x"), i))
    table[0, "item_id"] = " 100"
    assert "mostly look like «a9», those of the catalogue like «9»" in only(table)


def test_people_who_are_written_differently():
    listed = domain(users=[f"secret{k}" for k in range(50)])
    assert "name people on the roster except for upper and lower case" in only(records(), listed)


def test_columns_that_are_exchanged():
    swapped = records().rename({"user_id": "item_id", "item_id": "user_id"})
    told = hints(swapped)
    assert told[0].startswith("The columns user_id and item_id may be exchanged: 100.0 % ")
    assert "Only 0.0 % of the records are of items" in told[1]


def test_columns_that_are_exchanged_where_all_ids_are_small_numbers():
    small = domain([str(k) for k in range(40)])
    right = records(
        user_id=[str(k % 20) for k in range(RECORDS)], item_id=[str(k % 40) for k in range(RECORDS)]
    ).unique(["user_id", "item_id"])
    assert hints(right, small) == ()
    told = only(right.rename({"user_id": "item_id", "item_id": "user_id"}), small)
    assert "may be exchanged" in told
    assert "(40 different ones), and 100.0 % an item id that is one (20 different ones)" in told


@pytest.mark.parametrize(
    ("rating", "hint"),
    [
        (
            lambda k: 2 * (1 + k % 5),
            "60.0 % of the ratings are written outside the scale 1 to 5 by 1; the scale 2 to 10",
        ),
        (
            lambda k: (1 + k % 5) / 2,
            "20.0 % of the ratings are written outside the scale 1 to 5 by 1; the scale 0.5 to",
        ),
        (
            lambda k: 1 + k % 5 / 2,
            "between the values of the scale 1 to 5 by 1; the scale 1 to 3 by 0.5",
        ),
        (lambda k: 99 if k % 8 == 0 else 1 + k % 5, "If 99 stands for «not rated», leave out those records"),
        (lambda k: 1.7e9 + k, "and there are 400 different ones: is rating the right column"),
        (lambda k: 0.1 + k % 7 / 9, "no usual scale holds them all"),
        (lambda k: 4, "All ratings are 4: if the records are clicks"),
        (lambda k: f"{k % 5},5", '400 ratings hold a decimal comma: give decimal=","'),
        (lambda k: "good", "Many ratings are missing or not numbers: is rating the right column"),
    ],
)
def test_ratings_that_are_not_on_the_scale(rating, hint):
    assert hint in only(records(rating=[str(rating(k)) for k in range(RECORDS)]))


def test_the_fix_of_a_scale_is_public_knowledge():
    for declared in (domain(scale=(1, 3, 1)), domain(scale=(0, 100, 1))):
        told = only(records(), declared)
        assert "only if it is known publicly" in told
    assert "less than half of the scale 0 to 100 by 1" in told


def test_ratings_that_are_thousands_of_numbers():
    many = pl.DataFrame(
        {"user_id": range(20_000), "item_id": ["100"] * 20_000, "rating": [float(k) for k in range(20_000)]}
    )
    assert "thousands of different values" in only(many, domain(max_users=20_000))


def test_a_single_rating_off_the_scale_is_no_hint():
    assert hints(records(rating=["77", *(str(1 + k % 5) for k in range(RECORDS - 1))])) == ()


def test_a_header_that_is_read_as_a_record(tmp_path):
    records().write_csv(tmp_path / "r.csv")
    positions = {"user_id": 0, "item_id": 1, "rating": 2}
    assert "The first record holds names of columns" in only(tmp_path / "r.csv", columns=positions)


def test_a_column_of_users_that_is_another():
    told = only(records(user_id=["SECRET", "SECRETS"] * 200))
    assert "there are 2 users: is user_id the column of users" in told
    clicks = records(user_id=["SECRET"] * 400).drop("rating")
    assert hints(clicks, domain(scale=None)) == ()  # a log of clicks repeats


def test_more_users_than_declared():
    assert "There are 50 users, and the domain declares at most 49" in only(records(), domain(max_users=49))


def test_timestamps_in_milliseconds():
    assert "divide them by 1000" in only(records(timestamp=["1700000000000"] * RECORDS))


def test_timestamps_that_are_no_times():
    assert "is timestamp the right column" in only(records(timestamp=["01.02.2024"] * RECORDS))
    assert hints(records(timestamp=["2024-02-01"] * RECORDS)) == ()


@pytest.mark.parametrize(
    ("name", "cells"),
    [
        ("Zeitpunkt", "2024-01-31T13:45:00Z"),
        ("created_at", "1700000000"),
        ("ratedAt", 1_700_000_000_000),
        ("wann", datetime.date(2024, 1, 31)),
        ("wann", datetime.datetime(2024, 1, 31)),
    ],
)
def test_a_column_of_times_that_is_not_read_is_named(tmp_path, name, cells):
    table = records(**{name: [cells] * RECORDS}).drop("timestamp")
    told = only(table)
    assert f"column {name} looks like times" in told
    assert f"--column timestamp={name}" in told
    assert "the last of repeated ratings counts" in told
    assert "most recent interactions" in only(table.drop("rating"), domain(scale=None))
    assert hints(table, columns={"timestamp": name}) == () or name == "ratedAt"  # milliseconds have their own
    table.write_parquet(tmp_path / "r.parquet")
    table.write_csv(tmp_path / "r.csv")
    assert only(tmp_path / "r.parquet") == only(tmp_path / "r.csv") == only(table.lazy()) == told
    assert only(table.to_arrow()) == only(table.to_pandas()) == told
    assert hints(records(**{name: [cells] * RECORDS})) == ()  # there is a timestamp


def test_in_text_the_cells_tell_whatever_the_column_is_called(tmp_path):
    records(wann=["2024-01-31"] * RECORDS).drop("timestamp").write_csv(tmp_path / "r.csv")
    assert "column wann looks like times" in only(tmp_path / "r.csv")


def test_a_column_of_times_in_another_form_is_named():
    told = only(records(Datum=["31.01.2024"] * RECORDS).drop("timestamp"))
    assert "column Datum may hold times" in told
    assert "write it as ISO 8601" in told


@pytest.mark.parametrize(
    ("name", "cells"),
    [("watch_time", "35"), ("note", "SECRET"), ("shelf", "1700000000"), ("time", None), ("update", "x")],
)
def test_a_column_of_something_else_is_no_hint(name, cells):
    assert hints(records(**{name: [cells] * RECORDS}).drop("timestamp")) == ()


def test_a_column_privacy_that_means_something_else():
    table = records(privacy=["yes"] * RECORDS).with_columns(pl.col("rating").cast(pl.Float64))
    assert any("neither a number nor a class" in hint for hint in hints(table))


def test_counts_that_are_not_counts():
    counted = domain(scale=None, counts=9)
    table = records().rename({"rating": "count"})
    assert hints(table, counted) == ()
    assert "is count the right column" in only(table.with_columns(count=pl.lit("often")), counted)


# -- columns that interactions do not use -----------------------------------------------------------------


@pytest.mark.parametrize(
    ("name", "cells"),
    [
        ("is_recommended", ["True", "False"]),
        ("clicked", [1, 0]),
        ("clicked", [1, None]),
        ("event", ["SECRET purchase", "return"]),
        ("Liked", [True, False]),
        ("count", [1, 0]),
    ],
)
@pytest.mark.parametrize("timed", [True, False])
def test_a_column_that_interactions_do_not_use_is_named_in_everybodys_files(tmp_path, name, cells, timed):
    table = records(**{name: cells * (RECORDS // 2)}).drop("rating", *["timestamp"] * (not timed))
    given = domain(scale=None)
    said = only(table, given)
    assert said.startswith(f"The column {name} is not read, and its cells differ: every record counts as")
    table.write_parquet(tmp_path / "r.parquet")
    table.write_csv(tmp_path / "r.csv")
    for source in (
        tmp_path / "r.parquet",
        tmp_path / "r.csv",
        table.lazy(),
        table.to_arrow(),
        table.to_pandas(),
    ):
        assert only(source, given) == said
    alike = records(**{name: cells[:1] * RECORDS}).drop("rating")
    assert hints(alike, given) == ()


def test_a_sorted_file_has_its_dislikes_at_the_end():
    halves = [records(clicked=[clicked] * RECORDS).drop("rating") for clicked in (1, 0)]
    found = hr.check(halves, domain(scale=None))
    assert found.hints[0].startswith("The column clicked is not read")


def test_columns_beside_ratings_are_not_named():
    assert hints(records(clicked=[1, 0] * (RECORDS // 2))) == ()
    assert hints(records(clicked=[1, 0] * (RECORDS // 2)), domain(likes=4)) == ()


@pytest.mark.parametrize(
    "cells", [["1", "-1"], ["5", "2"], ["5", "5"], ["up", "down"], ["1", "0"], [True, False]]
)
def test_ratings_that_interactions_do_not_use_are_named(tmp_path, cells):
    table = records(rating=cells * (RECORDS // 2))
    for given in (domain(scale=None), domain(scale=None, counts=9)):
        found = hr.check(table, given)
        other = RECORDS // 2 if cells[0] in ("1", True) else RECORDS
        assert found.refused == ("rating",)
        assert found.dropped.unused == other
        assert found.hints[0].startswith(
            f"{other} records ({other / 4:.1f} %) have a rating other than 1, and inter"
        )
        assert "accept it: --accept rating, accept='rating'" in str(found)
    table.write_csv(tmp_path / "r.csv")
    assert hr.check(tmp_path / "r.csv", given).dropped == found.dropped


def test_a_rating_of_one_or_none_says_no_more_than_its_record():
    same = hr.check(records(rating=["1", " 1.0", "", "nan"] * (RECORDS // 4)), domain(scale=None))
    assert (same.refused, same.hints, same.dropped.unused) == ((), (), 0)
    assert hr.check(records(rating=[1.0, None] * (RECORDS // 2)), domain(scale=None)).refused == ()


def test_a_rating_whose_meaning_is_said_is_used():
    counted = hr.check(records(), domain(scale=None, counts=9), hr.Reading(columns={"count": "rating"}))
    assert (counted.refused, counted.hints) == ((), ())
    assert hr.check(records(), domain(likes=4)).refused == ()
