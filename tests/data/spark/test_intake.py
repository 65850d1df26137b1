"""Records in Spark become the people that ``load`` finds, however Spark cuts and repeats its tasks."""

import datetime

import numpy as np
import polars as pl
import pyarrow as pa
import pytest

from hushrec.data.domain import Domain
from hushrec.data.dropped import Dropped
from hushrec.data.load import load
from hushrec.data.spark import records
from hushrec.data.spark.people import counts_in
from hushrec.data.spark.records import load_spark
from hushrec.errors import DataError

pytestmark = pytest.mark.spark

FULL = pytest.mark.full
CLASSES = {"strict": 0.5, "loose": 9}


@pytest.fixture(scope="module")
def table():
    """Records of every kind: good, odd and bad, people's own in all places, some twice."""
    rng = np.random.default_rng(3)
    n = 3000
    users = [f"caf\u00e9{u}" if u % 2 else f"cafe\u0301{u}" for u in rng.integers(0, 99, n)]
    users = np.where(rng.random(n) < 0.5, users, [user.replace("e\u0301", "\u00e9") for user in users])
    users[rng.random(n) < 0.01] = "nul\0"
    users[rng.random(n) < 0.01] = "long" * 80
    cells = {
        "user_id": pl.Series(users).set(pl.Series(rng.random(n) < 0.01), None),
        "item_id": rng.integers(0, 32, n).astype(str),
        "rating": rng.choice(["1", "2.5", "4.4", "5", "9", "none", " 3 ", "inf", ""], n),
        "count": rng.choice(["1", "2", "0", "300", "x"], n),
        "timestamp": rng.integers(0, 50, n).astype(str),
        "personal_epsilon": rng.choice(["strict", "loose", "1.5", "3", "0", "often", "-1"], n),
    }
    return pl.DataFrame(cells)


def domains():
    """What people may give, each with the columns that its records have."""
    people = {"max_users": 200, "max_per_user": 9}
    asking = {"personal_epsilon": CLASSES, **people}
    yield "ratings that ask", Domain(range(30), scale=(1, 5, 0.5), **asking), []
    yield "ratings", Domain(range(30), scale=(1, 5, 0.5), **people), ["timestamp", "personal_epsilon"]
    roster = [f"caf\u00e9{u}" for u in range(40)]
    yield "roster", Domain(range(30), scale=(1, 5, 1), users=roster, **people), ["personal_epsilon"]
    yield "likes", Domain(range(30), scale=(1, 5, 1), likes=4, **people), ["personal_epsilon"]
    yield "interactions", Domain(range(30), **asking), []
    yield "counts", Domain(range(30), counts=9, **people), ["personal_epsilon", "timestamp"]


def same(made, ratings):
    """The same people with the same rows, and the same counts."""
    blocks = [block.table() for block in made.blocks()]
    rows = pl.from_arrow(pa.concat_tables([ratings.table()[:0], *blocks]))
    assert rows.sort("user_id", maintain_order=True).equals(pl.from_arrow(ratings.table()))
    assert made.dropped == ratings.dropped
    assert made.has_personal_epsilon == ratings.has_personal_epsilon
    assert (made.n_users, made.n_entries) == (ratings.n_users, len(ratings.items))
    return True


@pytest.mark.parametrize(
    "name", [pytest.param(name, marks=[FULL] * (name in ("roster", "likes"))) for name, *_ in domains()]
)
def test_they_are_what_load_finds(spark, table, name):
    domain, absent = next((domain, absent) for other, domain, absent in domains() if other == name)
    records = table.drop(absent)
    ratings = load(records, domain)
    assert ratings.dropped != Dropped(records=len(table))
    with load_spark(spark.createDataFrame(records.to_arrow()), domain, parts=3) as made:
        assert same(made, ratings)


@pytest.mark.parametrize(
    ("partitions", "parts"),
    [(1, 1), (2, 7), pytest.param(7, 64, marks=FULL), pytest.param(64, 2, marks=FULL)],
)
def test_however_they_are_cut_and_ordered(spark, table, partitions, parts):
    _, domain, _ = next(domains())
    ratings = load(table, domain)
    shuffled = table.sample(fraction=1.0, shuffle=True, seed=partitions)
    frame = spark.createDataFrame(shuffled.to_arrow()).repartition(partitions)
    with load_spark(frame, domain, parts=parts) as made:
        assert same(made, ratings)
        assert made.n_blocks == parts


def test_without_parts_the_records_are_counted(spark, table, monkeypatch):
    _, domain, _ = next(domains())
    monkeypatch.setattr(records, "_RECORDS", 1000)
    frame = spark.createDataFrame(table.to_arrow())
    with load_spark(frame, domain) as made:
        assert made.n_blocks == 4
        digest = made.digest()
    with load_spark(frame.repartition(3), domain) as again:
        assert again.digest() == digest, "a digest depends on the records, not on the cluster"


def test_small_batches_of_a_task_make_few_pieces(table):
    """Each piece is a row of the shuffle: a piece of every batch for every part took four times as long."""
    _, domain, _ = next(domains())
    batches = table.to_arrow().to_batches(max_chunksize=10)
    assert len(batches) == 300
    pieces = list(records._cleaned(iter(batches), domain, 7, text=False))
    assert sum(len(piece) for piece in pieces) == 7 + 1, "and one of counts"


def test_tasks_that_fail_or_run_again_count_once(spark, table, tmp_path):
    """Planted beside it: an accumulator, which counts again what is lost and computed again."""
    _, domain, _ = next(domains())
    ratings = load(table, domain)
    counter = spark.sparkContext.accumulator(0)
    folder = str(tmp_path)

    def failing_once(batches):
        import os

        from pyspark import TaskContext

        first = os.path.join(folder, str(TaskContext.get().partitionId()))
        for batch in batches:
            counter.add(len(batch))
            yield batch
        if not os.path.exists(first):
            open(first, "x").close()
            raise RuntimeError("this executor is lost")

    frame = spark.createDataFrame(table.to_arrow()).repartition(2)
    with load_spark(frame.mapInArrow(failing_once, frame.schema), domain, parts=2) as made:
        assert same(made, ratings)
        assert len([*tmp_path.iterdir()]) == 2, "every task failed once"
        made._kept.unpersist(True)  # as if its executors were lost
        made.verify()
        rows = made._kept.select("dropped").collect()
        assert sum((counts_in(row.dropped) for row in rows), Dropped()) == ratings.dropped
    assert counter.value > len(table), "the fault is seen"


@pytest.mark.parametrize(
    ("role", "cells"),
    [
        ("user_id", pl.Series([7, None, 2**53 + 1, 7, 3])),
        ("user_id", pl.Series(["007", "7", "", "NA", "a"])),
        ("item_id", pl.Series([0, 1, 2, None, 9], dtype=pl.Int8)),
        ("rating", pl.Series([1.5, None, float("nan"), 5, 4.0])),
        ("rating", pl.Series(["1.50", "2", "4.5", None, "5"]).cast(pl.Decimal(10, 2))),
        ("timestamp", pl.Series([datetime.datetime(2020, 1, day, 5) for day in range(1, 6)])),
        ("timestamp", pl.Series([datetime.date(2020, 1, day) for day in range(1, 6)])),
        ("timestamp", pl.Series([1.5, -1, None, 1e300, 9])),
        ("timestamp", pl.Series(["2020-01-01T05:00+01:00", "soon", None, "2020-01-02", "9"])),
    ],
    ids=lambda value: value if isinstance(value, str) else str(value.dtype),
)
def test_columns_of_every_type(spark, role, cells):
    domain = Domain(range(10), scale=(1, 5, 0.5), max_users=9)
    plain = {"user_id": list("abcab"), "item_id": list("00112"), "rating": [1, 2, 3, 4, 5]}
    records = pl.DataFrame(plain | {role: cells})
    with load_spark(spark.createDataFrame(records.to_arrow()), domain, parts=2) as made:
        assert same(made, load(records, domain))


@pytest.mark.parametrize(
    ("select", "told"),
    [
        ("user_id, item_id", "no column for rating"),
        ("user_id, item_id, rating, rating AS Rating_", "more than one|no column"),
        ("DOUBLE(1) AS user_id, item_id, rating", "column user_id is of type double; ids must be text"),
        (
            "DATE'2020-01-01' AS user_id, item_id, rating",
            "column user_id is of type date32.*; ids must be text",
        ),
        ("user_id, item_id, TRUE AS rating", "column rating is of type bool; ratings must be numbers"),
        ("user_id, item_id, ARRAY(1) AS rating", "column rating is of type list.*; ratings must be numbers"),
        ("user_id, item_id, INTERVAL 1 MONTH AS rating", "column is of a type that Arrow lacks"),
    ],
)
def test_structure_is_refused_before_any_job(spark, table, select, told):
    domain = Domain(range(30), scale=(1, 5, 0.5), max_users=200)

    def never(batches):
        raise RuntimeError("a job runs")
        yield from batches

    frame = spark.createDataFrame(table.drop("personal_epsilon").to_arrow())
    frame = frame.mapInArrow(never, frame.schema).selectExpr(*select.split(", "))
    if "Rating_" in select:
        frame = frame.toDF("user_id", "item_id", "Rating", "rating_")
    with pytest.raises(DataError, match=told):
        load_spark(frame, domain)


def test_a_failure_in_spark_tells_no_cell(spark, capfd):
    domain = Domain(range(3), scale=(1, 5, 1), max_users=9)
    frame = spark.createDataFrame(
        [("secret-7", "1", "secret-8")], "user_id string, item_id string, rating string"
    )
    with pytest.raises(DataError, match="keep them private") as refused:
        load_spark(frame.selectExpr("user_id", "item_id", "CAST(rating AS INT) AS rating"), domain)
    assert "secret" not in str(refused.value)
    assert refused.value.__context__ is None
    assert "secret" not in "".join(capfd.readouterr())


def test_nothing_at_all(spark):
    domain = Domain(range(3), scale=(1, 5, 1), max_users=9)
    frame = spark.createDataFrame([], "user_id string, item_id string, rating double, epsilon double")
    with load_spark(frame, domain) as made:
        assert (made.n_blocks, made.n_users, made.dropped) == (0, 0, Dropped())
        assert made.has_personal_epsilon, "which columns there are is known without a record"


def test_parts_are_as_many_as_they_can_be(spark):
    domain = Domain(range(3), scale=(1, 5, 1), max_users=9)
    for parts in (0, -1, 4097):
        with pytest.raises(DataError, match="1 to 4,096 parts"):
            load_spark(spark.range(1), domain, parts=parts)
