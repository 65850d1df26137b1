"""What Spark reads becomes the people that ``load`` finds, however Spark cuts and repeats its tasks."""

import datetime
import gzip
from pathlib import Path

import numpy as np
import polars as pl
import pyarrow as pa
import pytest

from hushrec.data.domain import Domain
from hushrec.data.dropped import Dropped
from hushrec.data.load import load
from hushrec.data.readers.columns import RATED
from hushrec.data.reading import Reading
from hushrec.data.spark import records
from hushrec.data.spark.people import counts_in
from hushrec.data.spark.records import Records, load_spark, of_roles, opened
from hushrec.errors import DataError

pytestmark = pytest.mark.spark

FULL = pytest.mark.full
CLASSES = {"strict": 0.5, "loose": 9}
DOMAIN = Domain(range(12), scale=(1, 5, 0.5), max_users=99)


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


def domain(**facts):
    return Domain(range(30), max_users=200, max_per_user=9, **facts)


ASKING = domain(scale=(1, 5, 0.5), personal_epsilon=CLASSES)
KINDS = {
    "ratings": (domain(scale=(1, 5, 0.5)), ["timestamp", "personal_epsilon"]),
    "interactions": (domain(personal_epsilon=CLASSES), []),
    "counts": (domain(counts=9), ["personal_epsilon", "timestamp"]),
    "likes": (domain(scale=(1, 5, 1), likes=4), ["personal_epsilon"]),
    "roster": (domain(scale=(1, 5, 1), users=[f"caf\u00e9{u}" for u in range(40)]), ["personal_epsilon"]),
}
"""What people may give, each with the columns that its records lack."""


def require_same(made, ratings):
    """The same people with the same rows, and the same counts."""
    blocks = [block.table() for block in made.blocks()]
    rows = pl.from_arrow(pa.concat_tables([ratings.table()[:0], *blocks]))
    assert rows.sort("user_id", maintain_order=True).equals(pl.from_arrow(ratings.table()))
    assert made.dropped == ratings.dropped
    assert made.has_personal_epsilon == ratings.has_personal_epsilon
    assert (made.n_users, made.n_entries) == (ratings.n_users, len(ratings.items))


@pytest.mark.parametrize("kind", [*list(KINDS)[:3], *(pytest.param(k, marks=FULL) for k in list(KINDS)[3:])])
def test_they_are_what_load_finds(spark, table, kind):
    domain, absent = KINDS[kind]
    records = table.drop(absent)
    ratings = load(records, domain)
    assert ratings.dropped != Dropped(records=len(table))
    with load_spark(spark.createDataFrame(records.to_arrow()), domain, parts=3) as made:
        require_same(made, ratings)


@pytest.mark.parametrize(
    ("partitions", "parts"),
    [(1, 1), (2, 7), pytest.param(7, 64, marks=FULL), pytest.param(64, 2, marks=FULL)],
)
def test_however_they_are_cut_and_ordered(spark, table, partitions, parts):
    ratings = load(table, ASKING)
    shuffled = table.sample(fraction=1.0, shuffle=True, seed=partitions)
    frame = spark.createDataFrame(shuffled.to_arrow()).repartition(partitions)
    with load_spark(frame, ASKING, parts=parts) as made:
        require_same(made, ratings)
        assert made.n_blocks == {64: 54}.get(parts, parts), "of 64 parts, ten have nobody"


def test_without_parts_the_records_are_counted(spark, table, monkeypatch):
    monkeypatch.setattr(records, "_RECORDS", 1000)
    frame = spark.createDataFrame(table.to_arrow())
    with load_spark(frame, ASKING) as made:
        assert made.n_blocks == 4
        digest = made.digest()
    with load_spark(frame.repartition(3), ASKING) as again:
        assert again.digest() == digest, "a digest depends on the records, not on the cluster"


def test_small_batches_of_a_task_make_few_pieces(table):
    """Each piece is a row of the shuffle: a piece of every batch for every part took four times as long."""
    batches = table.to_arrow().to_batches(max_chunksize=10)
    assert len(batches) == 300
    pieces = list(records._cleaned(iter(batches), ASKING, 7, text=False))
    assert sum(len(piece) for piece in pieces) == 7 + 1, "and one of counts"


def test_tasks_that_fail_or_run_again_count_once(spark, table, tmp_path):
    """Planted beside it: an accumulator, which counts again what is lost and computed again."""
    ratings = load(table, ASKING)
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
    with load_spark(frame.mapInArrow(failing_once, frame.schema), ASKING, parts=2) as made:
        require_same(made, ratings)
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
    plain = {"user_id": list("abcab"), "item_id": list("00112"), "rating": [1, 2, 3, 4, 5]}
    records = pl.DataFrame(plain | {role: cells})
    with load_spark(spark.createDataFrame(records.to_arrow()), DOMAIN, parts=2) as made:
        require_same(made, load(records, DOMAIN))


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
    def never(batches):
        raise RuntimeError("a job runs")
        yield from batches

    frame = spark.createDataFrame(table.drop("personal_epsilon").to_arrow())
    frame = frame.mapInArrow(never, frame.schema).selectExpr(*select.split(", "))
    if "Rating_" in select:
        frame = frame.toDF("user_id", "item_id", "Rating", "rating_")
    with pytest.raises(DataError, match=told):
        load_spark(frame, DOMAIN)


def test_a_failure_in_spark_tells_no_cell(spark, capfd):
    columns = "user_id string, item_id string, rating string"
    frame = spark.createDataFrame([("secret-7", "1", "secret-8")], columns)
    with pytest.raises(DataError, match="keep them private") as refused:
        load_spark(frame.selectExpr("user_id", "item_id", "CAST(rating AS INT) AS rating"), DOMAIN)
    assert "secret" not in str(refused.value)
    assert refused.value.__context__ is None
    assert "secret" not in "".join(capfd.readouterr())


def test_nothing_at_all(spark):
    frame = spark.createDataFrame([], "user_id string, item_id string, rating double, epsilon double")
    with load_spark(frame, DOMAIN) as made:
        assert (made.n_blocks, made.n_users, made.dropped) == (0, 0, Dropped())
        assert made.has_personal_epsilon, "which columns there are is known without a record"
    for parts in (0, -1, 4097):
        with pytest.raises(DataError, match="1 to 4,096 parts"):
            load_spark(frame, DOMAIN, parts=parts)


# -- files, tables, databases ------------------------------------------------------------------------------

USERS = ["007", "7", "NA", "null", 'say "so"', "a, b", "", " b ", "\\", "café"]


@pytest.fixture(scope="module")
def written():
    """Records as files hold them."""
    rows = [(USERS[n % 10], str(n % 13), str(n % 9 / 2 + 1), str(n)) for n in range(60)]
    return pl.DataFrame(rows, schema=["userId", "movieId", "rating", "timestamp"], orient="row")


def check(made, ratings):
    with made:
        require_same(made, ratings)


@pytest.mark.parametrize(
    "name",
    ["r.csv", "folder", *(pytest.param(name, marks=FULL) for name in ("r.tsv", "r.csv.gz", "several"))],
)
def test_files_are_what_load_reads(spark, written, tmp_path, name):
    path = tmp_path / name
    if name == "r.csv.gz":
        path.write_bytes(gzip.compress(written.write_csv().encode()))
    elif name == "folder":
        path.mkdir()
        written[:30].write_parquet(path / "a.parquet")
        written[30:].write_parquet(path / "b.parquet")
    elif name == "several":
        path = [tmp_path / "a.csv", str(tmp_path / "b.csv")]
        written[:30].write_csv(path[0])
        written[30:].write_csv(path[1])
    else:
        written.write_csv(path, separator="\t" if name == "r.tsv" else ",")
    check(load_spark(path, DOMAIN, parts=2), load(path, DOMAIN))


def test_names_of_folders_are_columns_of_text(spark, written, tmp_path):
    """Spark alone would read ``007`` and ``7`` as one number, and merge two people."""
    good = written.filter(pl.col("userId").is_in(["007", "7", "café"]))
    for (user,), part in good.group_by("userId"):
        folder = tmp_path / "all" / f"userId={user}"
        folder.mkdir(parents=True)
        part.drop("userId").write_parquet(folder / "part.parquet")
    before = dict(spark.sparkContext.getConf().getAll())
    inference = spark.conf.get("spark.sql.sources.partitionColumnTypeInference.enabled")
    made = load_spark(tmp_path / "all", DOMAIN, parts=2)
    assert made.n_users == 3
    check(made, load(tmp_path / "all", DOMAIN))
    assert spark.conf.get("spark.sql.sources.partitionColumnTypeInference.enabled") == inference
    assert dict(spark.sparkContext.getConf().getAll()) == before


def test_an_opt_out_in_one_file_alone_is_seen(spark, written, tmp_path):
    """Spark would take the columns of one file, and might not see that another has a column of opt-outs."""
    plain = written.filter(pl.col("userId") == "café")
    for name in ("a", "c"):
        plain.write_parquet(tmp_path / f"{name}.parquet")
    plain.with_columns(personal_epsilon=pl.lit("0")).write_parquet(tmp_path / "b.parquet")
    with load_spark(tmp_path, DOMAIN, parts=1) as made:
        assert made.has_personal_epsilon
        assert [block.personal_epsilon.tolist() for block in made.blocks()] == [[0.0]]


def test_headers_that_differ_are_refused(spark, written, tmp_path):
    """Spark would read the second file by the header of the first."""
    written.write_csv(tmp_path / "a.csv")
    written.select("movieId", "userId", "rating", "timestamp").write_csv(tmp_path / "b.csv")
    with pytest.raises(DataError, match="Spark failed"):
        load_spark([tmp_path / "a.csv", tmp_path / "b.csv"], DOMAIN, parts=1)


def test_tables_and_views(spark, written, tmp_path):
    ratings = load(written, DOMAIN)
    frame = spark.createDataFrame(written.to_arrow())
    frame.createOrReplaceTempView("seen_ratings")
    check(load_spark("seen_ratings", DOMAIN, parts=1), ratings)
    frame.write.saveAsTable("kept_ratings")
    try:
        check(load_spark("kept_ratings", DOMAIN, parts=1), ratings)
    finally:
        spark.sql("DROP TABLE kept_ratings")


def test_a_database_through_sparks_own_reader(spark, written):
    """Derby, which comes with Spark."""
    url = "jdbc:derby:memory:hushrec;create=true"
    spark.createDataFrame(written.to_arrow()).write.jdbc(url, "ratings")
    frame = spark.read.jdbc(url, "ratings")
    check(load_spark(frame, DOMAIN, parts=2), load(written, DOMAIN))


def test_a_dataframe_of_spark_stays_there(spark, written, tmp_path):
    frame = spark.createDataFrame(written.rename({"userId": "who"}).to_arrow())
    named = Reading(columns={"user_id": "who"})
    for where in ("memory", "auto", "spark"):
        check(load(frame, DOMAIN, named, where=where), load(written, DOMAIN))
    for where in ("disk", tmp_path / "packed"):
        with pytest.raises(DataError, match="a DataFrame of Spark stays in Spark; write it to files"):
            load(frame, DOMAIN, where=where)
    with pytest.raises(DataError, match="Spark does not take separator=: it reads Parquet"):
        load(frame, DOMAIN, Reading(separator=";"))


def test_columns_are_found_by_position(spark):
    """Spark takes ``a.b`` for a field and ``USER`` for ``user``; here each is the column of its name."""
    frame = spark.createDataFrame(
        [("1", "2", "3", "4")], "`a.b` string, `x``y` string, Stars string, stars string"
    )
    columns = {"user_id": "a.b", "item_id": "x`y", "rating": "stars"}
    found = of_roles(Records(frame, "the table"), columns, RATED)
    assert found.columns == ["user_id", "item_id", "rating"]
    assert found.collect()[0].asDict() == {"user_id": "1", "item_id": "2", "rating": "4"}
    with pytest.raises(DataError, match="the table: no column for user_id"):
        of_roles(Records(frame, "the table"), {"user_id": "A.B"}, RATED)


def test_what_cannot_be_opened_is_named(spark, tmp_path):
    for source in ([], 5, [5], pl.DataFrame(), {"a": 1}):
        with pytest.raises(DataError, match="or paths; load others with another where="):
            opened(source)
    (tmp_path / "_delta_log").mkdir()
    for source, message in (
        (str(tmp_path / "nowhere.csv"), r"nowhere\.csv is neither a table .* nor readable as text"),
        ([tmp_path / "nowhere", tmp_path / "else"], "nowhere and 1 more is neither a table .* as Parquet"),
        (["a.csv", "b.parquet"], "files of several formats"),
        (tmp_path, "whose files also hold deleted rows"),
        (spark.readStream.format("rate").load(), "a stream, which has no end"),
    ):
        with pytest.raises(DataError, match=message):
            opened(source)
    left = [file.name for file in Path().iterdir()]
    assert not [name for name in left if name.startswith(("metastore_db", "spark-warehouse"))]
