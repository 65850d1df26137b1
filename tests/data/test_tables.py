"""Tables, and the types of their columns, in memory and in Parquet: the same people from each."""

import datetime
import struct
from decimal import Decimal
from types import SimpleNamespace
from uuid import UUID

import duckdb
import numpy as np
import pandas as pd
import polars as pl
import pyarrow as pa
import pyarrow.parquet as pq
import pytest
from pyarrow import dataset

from hushrec.data.domain import Domain
from hushrec.data.dropped import Dropped
from hushrec.data.load import load
from hushrec.data.readers.duck import connect
from support.refusals import refused, rows, rows_of

DOMAIN = Domain(["7", "8"], scale=(1, 5, 1), max_users=99, personal_epsilon={"strict": 0.5})
GIVEN = Domain(["7", "8"], max_users=99)
PLAIN = {"user": [2, 1, 1], "item": [7, 7, 8], "rating": [5.0, 1.0, 3.0], "timestamp": [3, 2, 1]}
PLAIN |= {"epsilon": [2, 1, 1]}
TEXT = {name: [str(cell) for cell in cells] for name, cells in PLAIN.items()}
WANTED = [("1", "7", 1.0, 2, 1), ("1", "8", 3.0, 1, 1), ("2", "7", 5.0, 3, 2)]
POLARS, PANDAS, ARROW = pl.DataFrame(PLAIN), pd.DataFrame(PLAIN), pa.table(PLAIN)


def duck(data):
    """A relation of DuckDB."""
    values = ", ".join(str(row) for row in zip(*data.values(), strict=True))
    return duckdb.connect().sql(f"select * from (values {values}) as t({', '.join(data)})")


def texts(type):
    return pa.table({name: pa.array(cells, pa.string()).cast(type) for name, cells in TEXT.items()})


TABLES = {
    "polars": POLARS,
    "polars, categorical": pl.DataFrame(TEXT).with_columns(pl.col("user", "item").cast(pl.Categorical)),
    "polars, enum": pl.DataFrame(TEXT).with_columns(pl.col("item").cast(pl.Enum(["8", "7"]))),
    "polars, decimal": POLARS.with_columns(pl.all().cast(pl.Decimal(20, 2))),
    "polars, a query": POLARS.lazy().with_columns(pl.col("user") + 1).with_columns(pl.col("user") - 1),
    "pandas": PANDAS,
    "pandas, text": PANDAS.astype(str),
    "pandas, objects": PANDAS.astype(object),
    "pandas, category": PANDAS.astype({"user": "category", "rating": "float32"}),
    "pandas, category of text": pd.DataFrame(TEXT).astype("category"),
    "pandas, nullable": PANDAS.convert_dtypes(),
    "pandas, Arrow": PANDAS.convert_dtypes(dtype_backend="pyarrow"),
    "pandas, string": pd.DataFrame(TEXT).astype("string"),
    "pandas, unsigned": PANDAS.astype({"user": "uint64", "item": "int8"}),
    "Arrow": ARROW,
    "Arrow, a batch": ARROW.to_batches()[0],
    "Arrow, a dataset": dataset.dataset(ARROW),
    "Arrow, large text": texts(pa.large_string()),
    "Arrow, views of text": texts(pa.string_view()),
    "Arrow, dictionaries": pa.table({name: ARROW[name].dictionary_encode() for name in PLAIN}),
    "DuckDB": lambda: duck(PLAIN),
    "DuckDB, a query": lambda: duck(PLAIN).filter("rating > 0").order("rating"),
    "DuckDB, a stream": lambda: duck(PLAIN).to_arrow_reader(),
    "anything that speaks Arrow": SimpleNamespace(__arrow_c_stream__=ARROW.__arrow_c_stream__),
}


@pytest.mark.parametrize("kind", TABLES)
def test_any_table_gives_the_same_people(kind):
    for where in ("memory", "disk"):
        people = load(TABLES[kind]() if callable(TABLES[kind]) else TABLES[kind], DOMAIN, where=where)
        assert rows_of(people) == WANTED
        assert people.dropped == Dropped(records=3)


def test_a_missing_cell_loses_its_own_record_in_every_column_of_pandas():
    kinds = [(int, kind) for kind in ("Int64", "int64[pyarrow]", "uint8[pyarrow]", object)]
    kinds += [(str, kind) for kind in (object, "string", "string[pyarrow]", "category")]
    numbers = [(int, kind) for kind in ("float64", "Float64", "double[pyarrow]")]
    for column, reason in zip(PLAIN, RULES, strict=True):
        for first, kind in kinds + numbers * (column not in ("user", "item")):
            table = PANDAS.astype({column: int}).astype({column: first}).astype({column: kind})
            table.loc[1, column] = None
            people = load(table, DOMAIN)
            assert people.dropped == Dropped(records=3, **{reason: 1}), (column, kind)
            assert people.n_entries == (3 if column == "timestamp" else 2)


# -- cells of object columns of pandas ---------------------------------------------------------------------

NO_IDS = [7.0, np.float64(7), np.float32(7), True, np.True_, *map(Decimal, ("7.5", "nan", "inf"))]
NO_IDS += [datetime.date(2024, 1, 1), pd.Timestamp("2024"), np.datetime64("2024"), b"7", [7], (7,), {}, 7j]
EMPTY = [None, float("nan"), pd.NA, pd.NaT]


def of_objects(name, cells, domain=DOMAIN):
    """What became of the cells of a column, and what was lost."""
    made = {"user_id": range(len(cells)), "item_id": "7", "rating": 3, name: pd.Series(cells, dtype=object)}
    people = load(pd.DataFrame(made), domain)
    return [row[name] for row in people.table().sort_by("user_id").to_pylist()], people.dropped


def test_an_object_is_an_id_or_of_another_type():
    """7 and 7.0 would be one person counted twice, and above 2^53 two would be one."""
    sevens = [7, np.int8(7), np.uint64(7), Decimal(7), Decimal("7.00"), "7", np.str_("7")]
    others = {2**70: str(2**70), np.int64(2**53 + 1): "9007199254740993", "007": "007", -1: "-1"}
    others |= {UUID(int=5): str(UUID(int=5)), Decimal("1e3"): "1000"}
    found, dropped = of_objects("user_id", [*sevens, *others])
    assert (set(found), dropped) == ({"7", *others.values()}, Dropped(records=13, duplicate=6))
    for role in ("user_id", "item_id"):
        assert of_objects(role, NO_IDS) == ([], Dropped(records=len(NO_IDS), other_type=len(NO_IDS)))
        assert of_objects(role, [*EMPTY, ""]) == ([], Dropped(records=5, **{role: 5}))


def test_an_object_is_a_number_or_a_time():
    threes = ["3", 3, 3.0, np.int64(3), np.float32(3), Decimal("3.0")]
    nothing = [True, np.False_, *EMPTY, b"3", [3], {}, 3j]
    found, dropped = of_objects("rating", [*threes, *nothing, datetime.date(2024, 1, 1)])
    assert (found, dropped) == ([3.0] * 6, Dropped(records=17, rating=11))
    noon = datetime.datetime(2024, 1, 1, 12)
    moments = [noon, noon.replace(tzinfo=datetime.UTC), pd.Timestamp(noon), noon.isoformat(), 1704110400]
    moments += [pd.Timestamp(noon, tz="UTC").tz_convert("Asia/Tokyo"), 1704110400.9, Decimal(1704110400)]
    found, dropped = of_objects("timestamp", [*moments, *nothing, noon.date()])
    assert sorted(found) == [0] * 10 + [1704067200] + [1704110400] * 8
    assert dropped == Dropped(records=19, timestamp=10)
    found, dropped = of_objects("personal_epsilon", [1, "0.25", "strict", np.float32(2), None, True, b"1"])
    assert (found, dropped.personal_epsilon) == ([1, 0.25, 0.5, 2], 3)
    users = [True, 1, "1.0", "", None, [3], "up", False]
    assert load(pd.DataFrame({"user": range(8), "item": "7", "rating": users}), GIVEN).dropped.unused == 3


def test_ids_that_a_join_made_floating_point_are_no_ids():
    joined = PANDAS.assign(user=[2**53 + 1, None, 5])
    assert "user_id is of type double; ids must be text or integers" in refused(joined, DOMAIN)
    both = load([joined.astype(object), PANDAS], DOMAIN)
    assert both.users.to_pylist() == ["1", "2"]
    assert both.dropped == Dropped(records=6, other_type=2, user_id=1)


# -- types of columns --------------------------------------------------------------------------------------


@pytest.fixture(params=["Arrow", "Parquet"])
def held(request, tmp_path):
    """Makes a table of records that are right but for some cells, and holds it in memory or in Parquet."""

    def make(**cells):
        n = len(next(iter(cells.values())))
        made = pa.table(
            {"user_id": [str(k) for k in range(n)], "item_id": ["7"] * n, "rating": [3] * n} | cells
        )
        if request.param == "Arrow":
            return made
        pq.write_table(made, tmp_path / "r.parquet")
        return tmp_path / "r.parquet"

    make.types = ODD if request.param == "Arrow" else STORED
    return make


@pytest.mark.parametrize("zone", [None, "Europe/Berlin"])
def test_moments_are_seconds_whatever_their_unit(held, zone):
    """Also those that no calendar holds, over which DuckDB gives up."""
    for unit, each in {"s": 1, "ms": 10**3, "us": 10**6, "ns": 10**9}.items():
        cells = [1704067200 * each + each - 1, None, -1, 0, 2**53, -(2**53)]
        moments = pa.array(cells, pa.timestamp(unit, zone))
        people = load(held(timestamp=moments), DOMAIN)
        assert people.timestamps.tolist() == [1704067200, 0, 0, 0, min(2**53 // each, 2**40), 0]
        assert people.dropped.timestamp == 3 + (2**53 // each > 2**40)
        assert load(held(rating=moments), GIVEN).dropped.unused == 5
    for type, day in ((pa.date32(), 1), (pa.date64(), 86_400_000)):
        people = load(held(timestamp=pa.array([19723 * day, None, -day], type)), DOMAIN)
        assert people.timestamps.tolist() == [1704067200, 0, 0]
    for cells, found in (([7.9, -0.5, np.nan], [7, 0, 0]), ([np.nan, np.inf, 5], [0, 2**40, 5])):
        assert load(held(timestamp=np.array(cells)), DOMAIN).timestamps.tolist() == found


def test_numbers_of_single_precision_are_on_their_scale_and_are_no_times(held):
    for lo, hi, step in ((1, 10, 0.1), (0, 1, 0.01), (-10, 10, 0.1), (1, 5, 0.5)):
        n = round((hi - lo) / step) + 1
        domain = Domain(["7"], scale=(lo, hi, step), max_users=500)
        for type in ("f8", "f4"):
            people = load(held(rating=(lo + step * np.arange(n)).astype(type)), domain)
            assert sorted(people.values) == list(range(n))
            assert people.dropped == Dropped(records=n)
        beside = load(held(rating=np.float32(lo + step / 3 + step * np.arange(n - 1))), domain)
        assert beside.dropped.rounded == n - 1
    said = refused(held(timestamp=np.float32([978300760])), DOMAIN)
    assert "timestamp is of type float; " in said
    assert said.endswith("a number of this type rounds them by a minute or more")


def test_integers_decimals_and_uuids_are_not_merged(held):
    large = pa.array([2**53, 2**53 + 1, 2**63 - 1])
    for type in (pa.int64(), pa.uint64(), pa.decimal128(38, 0), pa.decimal128(38, 3), pa.string()):
        users = load(held(user_id=large.cast(type)), DOMAIN).users.to_pylist()
        assert users == [str(one) for one in large.to_pylist()]
    halves = load(held(user_id=[Decimal("1.5"), Decimal("2.00"), None]), DOMAIN)
    assert (halves.users.to_pylist(), halves.dropped) == (["2"], Dropped(records=3, other_type=1, user_id=1))
    uuids = pa.array([UUID(int=k).bytes for k in (1, 2)], pa.uuid())
    assert load(held(user_id=uuids), DOMAIN).users.to_pylist() == [str(UUID(int=k)) for k in (1, 2)]


def test_numbers_may_be_text_decimals_or_missing(held):
    for cells in (["4", "x", None], [Decimal("4.0"), None, None], [4.0, np.nan, np.inf]):
        assert load(held(rating=pa.array(cells)), DOMAIN).dropped == Dropped(records=3, rating=2)
    odd = pa.array([0.5, None, -1, np.inf, np.nan])
    for cells, kept in ((odd, [0.5]), (pa.array(["strict", "2", "no"]).dictionary_encode(), [0.5, 2])):
        people = load(held(personal_epsilon=cells), DOMAIN)
        assert people.personal_epsilon.tolist() == kept
        assert people.dropped.personal_epsilon == len(cells) - len(kept)


ODD = {
    "bool": pa.array([True, False]),
    "double": pa.array([1.0, 2.0]),
    "double ": pa.array([1.0, 2.0]).dictionary_encode(),
    "halffloat": pa.array([1, 2], pa.float16()),
    "binary": pa.array([b"SECRET", b"y"]),
    "list": pa.array([["SECRET"], None]),
    "struct": pa.array([{"SECRET": 1}, None]),
    "date32[day]": pa.array([1, 2], pa.date32()),
    "duration[s]": pa.array([1, 2], pa.duration("s")),
    "decimal256(50, 0)": pa.array([Decimal(1), Decimal(2)], pa.decimal256(50, 0)),
    "decimal128(5, -2)": pa.array([Decimal(100), Decimal(200)], pa.decimal128(5, -2)),
    "run_end_encoded": pa.RunEndEncodedArray.from_arrays(pa.array([2], pa.int32()), pa.array([7])),
    "sparse_union": pa.UnionArray.from_sparse(pa.array([0, 0], pa.int8()), [pa.array([7, 8])]),
    "extension": pa.array(pd.period_range("2024", periods=2, freq="D")),
}
STORED = ("bool", "double", "binary", "list", "struct", "date32[day]", "decimal256(50, 0)")
_IDS = "ids must be text or integers, because other types merge ids; cast the column at its source"
RULES = {
    "user_id": _IDS,
    "item_id": _IDS,
    "rating": "ratings must be numbers, or text that holds numbers",
    "timestamp": "timestamps must be dates, ISO 8601 text or Unix seconds",
    "personal_epsilon": "each person's ε must be a number, or the name of one of the domain's classes",
}


def test_a_column_of_another_type_is_refused_unless_nothing_is_read_of_it(held):
    fits = {"double": [*RULES][2:], "date32[day]": ["timestamp"]}
    for type, told in zip(held.types, map(str.strip, held.types), strict=True):
        for role in set(RULES) - {*fits.get(told, [])}:
            said = refused(held(**{role: ODD[type]}), DOMAIN)
            assert said.partition(": ")[2] == f"column {role} is of type {told}; {RULES[role]}"
        says_more = 1 if told in ("bool", "double", "list", "struct") else 2
        assert load(held(rating=ODD[type]), GIVEN).dropped == Dropped(records=2, unused=says_more), type


def test_two_columns_of_one_name_are_a_fault_only_if_they_are_read(tmp_path):
    cells = [*map(pa.array, PLAIN.values()), pa.array([1, 2, 3]), pa.array(["x", "SECRET", "z"])]

    def made(*names):
        table = pa.table(cells, names=[*PLAIN, *names])
        pq.write_table(table, tmp_path / "r.parquet")
        return table, table.to_pandas(), tmp_path / "r.parquet"

    for names in (("note", "note"), ("Rating", "RATING")):
        assert [rows(source, DOMAIN) for source in made(*names)] == [WANTED] * 3
    for source in made("note", "rating"):
        assert "more than one column for rating" in refused(source, DOMAIN)


# -- structure ---------------------------------------------------------------------------------------------


def test_what_is_no_table_is_refused():
    others = [None, 7, [1, 2], PLAIN, np.zeros((2, 2)), b"r.csv", duckdb, duckdb.connect(), pa.array([1])]
    for source in others:
        message = "path, or from a table of polars, pandas, pyarrow or DuckDB, not from"
        assert message in refused(source, DOMAIN)
    for source in (pl.Series([1]), pa.chunked_array([[1]]), pl.DataFrame):
        assert "the table cannot be read" in refused(source, DOMAIN)
    likes = Domain(["7"], scale=(1, 5, 1), likes=4, max_users=9)
    assert "no column for rating; it has user, item; " in refused(POLARS[["user", "item"]], likes)
    assert "give names" in refused(POLARS, DOMAIN, columns={"user_id": 0})
    assert "decimal= and quotes= go with a file, not with a table" in refused(POLARS, DOMAIN, decimal=",")


def test_batches_are_read_one_at_a_time(monkeypatch):
    """The later record of a pair counts, whichever batch it is in; each may have dictionaries of its own."""
    monkeypatch.setattr("hushrec.data.readers.frames._ROWS", 7)
    n = 50
    data = {"user_id": [f"u{row % 3}" for row in range(n)], "item_id": ["7"] * n, "more": ["x"] * n}
    data |= {"rating": [1 + row % 5 for row in range(n)], "timestamp": [row * 7 % n for row in range(n)]}
    table = pa.table(data)
    own = [part.set_column(0, "user_id", part.column(0).dictionary_encode()) for part in table.to_batches(9)]
    streams = [table.to_reader(9), pa.RecordBatchReader.from_batches(own[0].schema, own)]
    for source in (pl.LazyFrame(data), dataset.dataset(table), duck(data), *streams):
        assert rows(source, DOMAIN) == rows(pl.DataFrame(data), DOMAIN)
    empty = table.slice(0, 0)
    for source in (empty.to_reader(), dataset.dataset(empty), duck(data).filter("rating > 9")):
        assert rows(source, DOMAIN) == []


def test_what_fails_says_nothing_of_its_cells():
    class Cell(int):
        def __int__(self):
            raise ValueError("SECRET")

    def stream(failure):
        def batches():
            yield pa.record_batch(cells)
            raise failure

        return pa.RecordBatchReader.from_batches(pa.record_batch(cells).schema, batches())

    cells = {"user_id": ["x"], "item_id": ["7"], "rating": ["SECRET"]}
    broken = pa.StringArray.from_buffers(
        1, pa.py_buffer(struct.pack("<ii", 0, 8)), pa.py_buffer(b"SECRET\xff7")
    )
    for source in (
        pl.LazyFrame(cells).with_columns(pl.col("rating").cast(pl.Float64)),
        pl.LazyFrame(cells).map_batches(lambda frame: 1 / 0),
        duck(cells).project("user_id, item_id, rating::int as rating"),
        stream(ValueError("SECRET")),
        stream(pa.ArrowInvalid("SECRET")),
        pd.DataFrame(cells).assign(user_id=pd.Series([Cell(1)], dtype=object)),
        pd.DataFrame(cells).assign(user_id=pd.Series(["SECRET\ud800"], dtype=object)),
        *(pa.table(cells | {role: broken}) for role in RULES),
        pa.table(cells | {"user_id": broken.dictionary_encode()}),
    ):
        assert "the table cannot be read, or its query fails" in refused(source, DOMAIN)
    assert rows(ARROW, DOMAIN) == WANTED  # DuckDB is as it was


def test_a_fault_inside_duckdb_ends_one_load_alone():
    """Text that is not UTF-8 ends DuckDB's instance if nobody looks at it before."""
    broken = pa.Array.from_buffers(
        pa.string(), 1, [None, pa.py_buffer(b"\0\0\0\0\1\0\0\0"), pa.py_buffer(b"\xff")]
    )
    db = connect()
    db.register("broken", pa.table({"text": broken}))
    with pytest.raises(duckdb.Error):
        db.execute("SELECT nfc_normalize(text) FROM broken").fetchall()
    assert load(pa.table({"user_id": ["a"], "item_id": ["7"], "rating": [3]}), DOMAIN).n_users == 1
