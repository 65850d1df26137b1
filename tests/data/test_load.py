"""Any content, loaded: what the rules give read one record at a time, whatever the order and the others."""

import math
import unicodedata
from pathlib import Path

import pandas as pd
import polars as pl
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from hushrec.data.blocks import Blocks
from hushrec.data.cleaning import Cleaner
from hushrec.data.domain import Domain
from hushrec.data.dropped import Dropped
from hushrec.data.feedback import Ratings
from hushrec.data.load import load
from hushrec.data.pack import load_blocks
from hushrec.data.readers.dataframes import from_table
from hushrec.data.reading import Reading
from hushrec.errors import DataError

COLUMNS = ["user_id", "item_id", "rating", "timestamp"]


def frame(*rows):
    return pl.DataFrame(rows, schema=dict.fromkeys(COLUMNS, pl.String), orient="row")


def rows(ratings):
    return ratings.to_polars().rows()


def test_an_empty_table_is_valid(domain):
    ratings = load(frame(), domain)
    assert (ratings.n_users, ratings.n_ratings, ratings.indptr.tolist()) == (0, 0, [0])
    assert ratings.timestamps.tolist() == []
    assert rows(ratings) == []


def test_a_table_of_nothing_but_rubbish_is_as_valid(domain):
    assert load(frame(("", "z", "?", "!"), (None, None, None, None)), domain).n_users == 0


# What may stand in a cell, with everything that goes wrong in practice.
CELLS = st.tuples(
    st.sampled_from(["x", "y", "z", "e\u0301", "\u00e9", "", "a\0", "u" * 300, None]),
    st.sampled_from(["a", "b", "007", "7", "", None]),
    st.sampled_from(["1", "2", "3.5", "4.2", "5", "9", "-1", "nan", "inf", "1e999", "x", "", None]),
    st.sampled_from(["0", "5", "5", "7", "-3", "1e40", "", "x", None]),
)


def by_hand(records):
    """The rules once more, a record at a time."""

    def number(text):
        try:
            return float(text)
        except (TypeError, ValueError):
            return math.nan

    best = {}
    for user, item, rating, stamp in records:
        user = unicodedata.normalize("NFC", user or "")
        value, time = number(rating), number(stamp)
        if not 1 <= len(user.encode()) <= 256 or "\0" in user:
            continue
        if item not in ("a", "b", "007") or not math.isfinite(value):
            continue
        value = math.floor(min(max(value, 1), 5) + 0.5)
        time = 0 if math.isnan(time) else int(min(max(time, 0), 2**40))
        best[user, item] = max(best.get((user, item), (-1, 0)), (time, value))
    order = {"a": 0, "b": 1, "007": 2}
    ordered = sorted(best.items(), key=lambda entry: (entry[0][0].encode(), order[entry[0][1]]))
    return [(user, item, float(value), time) for (user, item), (time, value) in ordered]


@settings(derandomize=True, max_examples=120, deadline=None)
@given(st.lists(CELLS, max_size=40))
def test_any_content_is_cleaned_as_by_hand(records):
    """Nothing is ever raised, and the result is that of the rules read off TRUST, one record at a time."""
    domain = Domain(["a", "b", "007"], scale=(1, 5, 1), max_per_user=2, max_users=3)
    assert rows(load(frame(*records), domain)) == by_hand(records)


def interactions_by_hand(records, domain):
    """The rules of interactions once more, a record at a time; the third cell is a rating or a count."""

    def number(text):
        try:
            return float(text)
        except (TypeError, ValueError):
            return math.nan

    found = {}
    for user, item, value, stamp in records:
        user, value, time = unicodedata.normalize("NFC", user or ""), number(value), number(stamp)
        if not 1 <= len(user.encode()) <= 256 or "\0" in user or item not in ("a", "b", "007"):
            continue
        if (domain.counts or domain.likes) and not math.isfinite(value):
            continue
        if domain.counts and value < 0.5:
            continue
        time = 0 if math.isnan(time) else int(min(max(time, 0), 2**40))
        found.setdefault((user, item), []).append((time, value))
    order = {"a": 0, "b": 1, "007": 2}
    listed = []
    for user, item in sorted(found, key=lambda pair: (pair[0].encode(), order[pair[1]])):
        given = found[user, item]
        time, value = max(given, key=lambda one: one[0]) if not domain.likes else max(given)
        if domain.counts:
            total = sum(min(math.floor(count + 0.5), domain.counts) for _, count in given)
            listed.append((user, item, min(total, domain.counts), time))
        elif not domain.likes or math.floor(min(max(value, 1), 5) + 0.5) >= domain.likes:
            listed.append((user, item, time))
    return listed


INTERACTIONS = {
    "given": Domain(["a", "b", "007"], max_users=3),
    "counted": Domain(["a", "b", "007"], counts=6, max_users=3),
    "likes": Domain(["a", "b", "007"], scale=(1, 5, 1), likes=4, max_users=3),
}


@pytest.mark.parametrize("kind", list(INTERACTIONS))
@settings(derandomize=True, max_examples=80, deadline=None)
@given(records=st.lists(CELLS, max_size=40))
def test_any_interactions_are_cleaned_as_by_hand(kind, records):
    domain = INTERACTIONS[kind]
    table = frame(*records)
    if kind == "counted":
        table = table.rename({"rating": "count"})
    assert rows(load(table, domain)) == interactions_by_hand(records, domain)


def test_records_without_a_column_of_counts_count_one_each():
    table = pl.DataFrame([("x", "a")] * 3 + [("x", "b"), ("y", "a")], schema=["user", "item"], orient="row")
    assert rows(load(table, INTERACTIONS["counted"])) == [("x", "a", 3), ("x", "b", 1), ("y", "a", 1)]
    assert rows(load(table, INTERACTIONS["given"])) == [("x", "a"), ("x", "b"), ("y", "a")]


def test_a_rating_is_needed_for_likes_and_ignored_without_a_scale(tmp_path):
    (tmp_path / "r.csv").write_text("user,item,rating\nx,a,5\nx,b,3\nx,007,none\n")
    assert rows(load(tmp_path / "r.csv", INTERACTIONS["likes"])) == [("x", "a")]
    assert rows(load(tmp_path / "r.csv", INTERACTIONS["given"])) == [("x", "a"), ("x", "b"), ("x", "007")]
    (tmp_path / "r.csv").write_text("user,item\nx,a\n")
    assert rows(load(tmp_path / "r.csv", INTERACTIONS["given"])) == [("x", "a")]
    with pytest.raises(DataError, match="no column for rating"):
        load(tmp_path / "r.csv", INTERACTIONS["likes"])


@pytest.mark.parametrize("name", ["u.data", "r.dat", "r.txt"])
def test_files_without_a_header_may_end_after_the_item(name, tmp_path):
    separator = {"u.data": "\t", "r.dat": "::", "r.txt": " "}[name]
    (tmp_path / name).write_text(separator.join(["x", "a"]) + "\n" + separator.join(["y", "b"]) + "\n")
    assert rows(load(tmp_path / name, INTERACTIONS["given"])) == [("x", "a"), ("y", "b")]
    (tmp_path / name).write_text(separator.join(["x", "a", "4", "77"]) + "\n")
    assert rows(load(tmp_path / name, INTERACTIONS["given"])) == [("x", "a", 77)]
    positions = {"user_id": 0, "item_id": 1, "count": 2}
    assert rows(load(tmp_path / name, INTERACTIONS["counted"], Reading(columns=positions))) == [("x", "a", 4)]


def test_what_was_dropped_or_changed_is_counted_confidentially():
    table = frame(("x", "a", "2", "0"), ("x", "a", "7.4", "0"), ("x", "b", "0", "0"), ("x", "b", "?", "0"))
    counted = load(table.rename({"rating": "count"}), INTERACTIONS["counted"])
    assert rows(counted) == [("x", "a", 6, 0)]
    assert counted.dropped == Dropped(rating=2, clamped=2, records=4)  # a record and a total
    assert load(table, INTERACTIONS["given"]).dropped == Dropped(duplicate=2, records=4, unused=4)
    liked = load(
        frame(("x", "a", "2", "1"), ("x", "a", "5", "0"), ("y", "a", "3.6", "0")), INTERACTIONS["likes"]
    )
    assert rows(liked) == [("y", "a", 0)]
    assert liked.dropped == Dropped(duplicate=1, rounded=1, records=3)  # what is not liked is not counted


@settings(derandomize=True, max_examples=50, deadline=None)
@given(st.lists(CELLS, max_size=30), st.randoms(use_true_random=False), st.integers(1, 9))
def test_neither_order_nor_slices_of_rows_matter(records, random, size):
    domain = Domain(["a", "b", "007"], scale=(1, 5, 1), max_per_user=2, max_users=3)
    mixed = random.sample(records, len(records))
    with pytest.MonkeyPatch.context() as patch:
        patch.setattr("hushrec.data.cleaning._SLICE", size)
        sliced = load(frame(*mixed), domain)
    whole = load(frame(*records), domain)
    assert rows(sliced) == rows(whole)
    assert sliced.dropped == whole.dropped


@settings(derandomize=True, max_examples=30, deadline=None)
@given(st.lists(CELLS, max_size=30))
def test_a_users_rows_do_not_depend_on_other_users(records):
    domain = Domain(["a", "b", "007"], scale=(1, 5, 1), max_per_user=2, max_users=3)
    of_x = [record for record in records if record[0] == "x"]
    assert rows(load(frame(*of_x), domain)) == [
        row for row in rows(load(frame(*records), domain)) if row[0] == "x"
    ]


def listing(*users):
    return Domain(["a", "b", "007"], scale=(1, 5, 1), max_per_user=2, max_users=30, users=users)


@settings(derandomize=True, max_examples=60, deadline=None)
@given(st.lists(CELLS, max_size=40), st.integers(1, 9))
def test_a_roster_drops_whole_people_and_changes_no_other(records, size):
    listed = {"x", "007", "caf\u00e9"}
    wanted = [row for row in by_hand(records) if row[0] in listed]
    with pytest.MonkeyPatch.context() as patch:
        patch.setattr("hushrec.data.cleaning._SLICE", size)
        assert rows(load(frame(*records), listing(*listed))) == wanted


CLEAN = {"user": [2, 1, 1], "item": [7, 7, 8], "rating": [5.0, 1.0, 3.0], "timestamp": [3, 2, 1]}


def test_options_of_files_do_not_go_with_tables(domain):
    with pytest.raises(DataError, match="go with a file"):
        load(pl.DataFrame(CLEAN), domain, Reading(decimal=","))


TIMES = ["2024-06-01T00:00:00Z", "2024-01-01 01:00:00+01:00", "2024-06-02", None, "2024-06-02T00:00:00.5"]


def _sources(folder):
    """The same records with times as text, dates or numbers, in whatever holds them; each with a name."""
    text = pl.DataFrame(
        {"user": ["x", "x", "y", "y", "z"], "item": ["a"] * 5, "rating": [1, 5, 2, 4, 3], "timestamp": TIMES}
    )
    seconds = pl.Series([1717200000, 1704067200, 1717286400, None, 1717286400])
    moments = pl.from_epoch(seconds).cast(pl.Datetime("us"))
    forms = {"text": text, "seconds": text.with_columns(timestamp=seconds)}
    forms["moments"] = text.with_columns(timestamp=moments)
    forms["zoned"] = text.with_columns(timestamp=moments.dt.replace_time_zone("UTC"))
    for form, table in forms.items():
        table.write_csv(folder / f"{form}.csv")
        table.write_parquet(folder / f"{form}.parquet")
        table.write_ipc(folder / f"{form}.arrow")
        for ending in ("csv", "parquet", "arrow"):
            yield f"{form} {ending}", folder / f"{form}.{ending}"
        yield f"{form} polars", table
        yield f"{form} lazy", table.lazy()
        yield f"{form} pandas", table.to_pandas()
        yield f"{form} arrow table", table.to_arrow()
    yield "objects of pandas", text.to_pandas().assign(timestamp=pd.Series(moments.to_list(), dtype=object))


def test_times_are_the_same_from_every_source(tmp_path):
    domain = Domain(["a"], scale=(1, 5, 1), max_users=9)
    for name, source in _sources(tmp_path):
        read = load(source, domain)
        assert read.to_polars().select("user_id", "rating", "timestamp").rows() == [
            ("x", 1.0, 1717200000), ("y", 2.0, 1717286400), ("z", 3.0, 1717286400)
        ], name  # fmt: skip
        assert (read.dropped.timestamp, read.dropped.duplicate) == (1, 2), name
        if not isinstance(source, pl.LazyFrame):
            with load_blocks(source, domain) as blocks:
                assert blocks.dropped == read.dropped, name
                assert [block.timestamps.tolist() for block in blocks.blocks()] == [read.timestamps.tolist()]


def test_people_are_kept_where_they_are_wanted(tmp_path, monkeypatch):
    source, domain = tmp_path / "r.csv", Domain(["10", "20"], scale=(1, 5, 1), max_users=9)
    source.write_text("user_id,item_id,rating\nx,10,1\ny,20,5\n")
    loaded = load(source, domain)
    assert isinstance(loaded, Ratings)
    assert isinstance(load(source, domain, where="auto"), Ratings)
    monkeypatch.setattr("hushrec.data.load.machine", lambda: (0, 0))
    kinds = ("disk", "auto", tmp_path / "packed")
    for where in kinds:
        with load(source, domain, where=where) as blocks:
            assert isinstance(blocks, Blocks), where
            assert blocks.gathered().to_polars().equals(loaded.to_polars()), where
    packed = tmp_path / "packed"
    for where in ("memory", "disk", "auto"):
        assert load([str(packed)], domain, where=where).folder == packed, "which is opened where it is"


def test_a_place_that_is_none_is_refused_and_nothing_is_written(tmp_path, monkeypatch):
    monkeypatch.chdir(tmp_path)
    domain = Domain(["10"], scale=(1, 5, 1), max_users=9)
    table = pl.DataFrame({"user_id": ["x"], "item_id": ["10"], "rating": [1]})
    with pytest.raises(DataError, match=r"where='Memory' is not a place; give 'memory'.* or the Path"):
        load(table, domain, where="Memory")
    with pytest.raises(DataError, match=r"Spark does not take format= and decimal=: it reads Parquet"):
        load("r.csv", domain, Reading(format="csv", decimal=","), where="spark")
    assert not [*tmp_path.iterdir()]
    load(table, domain, where=tmp_path / "packed")
    with pytest.raises(DataError, match=r"holds packed records, whose format is known: leave out columns="):
        load("packed", domain, Reading(columns={"user_id": "who"}))
    with pytest.raises(DataError, match="holds packed records already; leave out the other folder, again"):
        load("packed", domain, where=Path("again"))


def test_every_reader_sees_a_rating_that_interactions_do_not_use(tmp_path):
    """Where a file has no header, the third field is a rating, unless the columns are named."""
    given, table = (
        INTERACTIONS["given"],
        frame(("x", "a", "1", "0"), ("x", "b", "-1", "0"), ("y", "a", "4", "0")),
    )
    table.write_csv(tmp_path / "r.csv")
    table.write_parquet(tmp_path / "r.parquet")
    table.write_csv(tmp_path / "u.data", separator="\t", include_header=False)
    (tmp_path / "parts/rating=3").mkdir(parents=True)
    table.drop("rating").write_csv(tmp_path / "parts/rating=3/part.csv")
    seen = {tmp_path / "parts": 3}
    files = [tmp_path / "r.csv", tmp_path / "r.parquet", tmp_path / "u.data"]
    for source, unused in {**dict.fromkeys(files, 2), **seen}.items():
        for where in ("memory", "disk"):
            assert load(source, given, where=where).dropped.unused == unused, source
    for source in (table.lazy(), table.to_arrow(), table.to_pandas()):
        assert load(source, given).dropped.unused == 2
    assert load(files[2], given, Reading(columns={"user_id": 0, "item_id": 1})).dropped.unused == 0
    mixed = load([files[0], table.drop("rating")], given)
    assert mixed.dropped.unused == 2
    with pytest.raises(DataError, match="unknown key 'unused_rating'; the keys for this domain are user_id"):
        load(table, given, Reading(columns={"unused_rating": "rating"}))


def test_a_table_of_roles_is_read_again_as_spark_does():
    """Spark renames the columns to their roles, and its tasks recognise them once more."""
    intake = Cleaner(INTERACTIONS["given"])
    table = pl.DataFrame({"user_id": ["x"], "item_id": ["a"], "unused_rating": [-1]})
    for read in from_table(table.to_arrow(), {}, intake.roles):
        list(intake.batches(read, "the table"))
    assert intake.dropped == Dropped(records=1, unused=1)
