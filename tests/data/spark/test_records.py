"""Whatever Spark can read becomes a DataFrame of roles: files, folders, tables, databases."""

import gzip
from pathlib import Path

import polars as pl
import pytest

from hushrec.data.domain import Domain
from hushrec.data.load import load
from hushrec.data.readers.columns import RATED
from hushrec.data.reading import Reading
from hushrec.data.spark.records import Records, load_spark, of_roles, opened
from hushrec.errors import DataError

pytestmark = pytest.mark.spark

LONGER = [pytest.param(name, marks=pytest.mark.full) for name in ("r.tsv", "r.csv.gz", "several")]
DOMAIN = Domain(range(12), scale=(1, 5, 0.5), max_users=99)


@pytest.fixture(scope="module")
def table():
    users = ["007", "7", "NA", "null", 'say "so"', "a, b", "", " b ", "\\", "café"]
    return pl.DataFrame(
        {
            "userId": [users[n % 10] for n in range(60)],
            "movieId": [str(n % 13) for n in range(60)],
            "rating": [str(n % 9 / 2 + 1) for n in range(60)],
            "timestamp": [str(n) for n in range(60)],
        }
    )


def check(made, ratings):
    with made:
        blocks = [pl.from_arrow(block.table()) for block in made.blocks()]
        rows = pl.concat(blocks).sort("user_id", maintain_order=True)
        assert rows.equals(pl.from_arrow(ratings.table()))
        assert made.dropped == ratings.dropped


@pytest.mark.parametrize(
    "name",
    ["r.csv", "folder", *LONGER],
)
def test_files_are_what_load_reads(spark, table, tmp_path, name):
    path = tmp_path / name
    if name == "r.csv.gz":
        path.write_bytes(gzip.compress(table.write_csv().encode()))
    elif name == "folder":
        path.mkdir()
        table[:30].write_parquet(path / "a.parquet")
        table[30:].write_parquet(path / "b.parquet")
    elif name == "several":
        path = [tmp_path / "a.csv", str(tmp_path / "b.csv")]
        table[:30].write_csv(path[0])
        table[30:].write_csv(path[1])
    else:
        table.write_csv(path, separator="\t" if name == "r.tsv" else ",")
    check(load_spark(path, DOMAIN, parts=2), load(path, DOMAIN))


def test_names_of_folders_are_columns_of_text(spark, table, tmp_path):
    """Spark alone would read ``007`` and ``7`` as one number, and merge two people."""
    good = table.filter(pl.col("userId").is_in(["007", "7", "café"]))
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


def test_an_opt_out_in_one_file_alone_is_seen(spark, table, tmp_path):
    """Spark would take the columns of one file, and might not see that another has a column of opt-outs."""
    plain = table.filter(pl.col("userId") == "café")
    for name in ("a", "c"):
        plain.write_parquet(tmp_path / f"{name}.parquet")
    plain.with_columns(personal_epsilon=pl.lit("0")).write_parquet(tmp_path / "b.parquet")
    with load_spark(tmp_path, DOMAIN, parts=1) as made:
        assert made.has_personal_epsilon
        assert [block.personal_epsilon.tolist() for block in made.blocks()] == [[0.0]]


def test_headers_that_differ_are_refused(spark, table, tmp_path):
    """Spark would read the second file by the header of the first."""
    table.write_csv(tmp_path / "a.csv")
    table.select("movieId", "userId", "rating", "timestamp").write_csv(tmp_path / "b.csv")
    with pytest.raises(DataError, match="Spark failed"):
        load_spark([tmp_path / "a.csv", tmp_path / "b.csv"], DOMAIN, parts=1)


def test_tables_and_views(spark, table, tmp_path):
    ratings = load(table, DOMAIN)
    frame = spark.createDataFrame(table.to_arrow())
    frame.createOrReplaceTempView("seen_ratings")
    check(load_spark("seen_ratings", DOMAIN, parts=1), ratings)
    frame.write.saveAsTable("kept_ratings")
    try:
        check(load_spark("kept_ratings", DOMAIN, parts=1), ratings)
    finally:
        spark.sql("DROP TABLE kept_ratings")


def test_a_database_through_sparks_own_reader(spark, table):
    """Derby, which comes with Spark."""
    url = "jdbc:derby:memory:hushrec;create=true"
    spark.createDataFrame(table.to_arrow()).write.jdbc(url, "ratings")
    frame = spark.read.jdbc(url, "ratings")
    check(load_spark(frame, DOMAIN, parts=2), load(table, DOMAIN))


def test_a_dataframe_of_spark_stays_there(spark, table, tmp_path):
    frame = spark.createDataFrame(table.rename({"userId": "who"}).to_arrow())
    named = Reading(columns={"user_id": "who"})
    for where in ("memory", "auto", "spark"):
        check(load(frame, DOMAIN, named, where=where), load(table, DOMAIN))
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


@pytest.mark.parametrize("source", [[], 5, [5], pl.DataFrame(), {"a": 1}])
def test_other_sources_are_refused(spark, source):
    with pytest.raises(DataError, match=r"or paths; load others with another where="):
        opened(source)


def test_what_cannot_be_opened_is_named(spark, table, tmp_path):
    with pytest.raises(DataError, match=r"nowhere\.csv is neither a table .* nor readable as text"):
        opened(str(tmp_path / "nowhere.csv"))
    with pytest.raises(DataError, match=r"nowhere and 1 more is neither a table .* nor readable as Parquet"):
        opened([tmp_path / "nowhere", tmp_path / "else"])
    with pytest.raises(DataError, match="files of several formats"):
        opened(["a.csv", "b.parquet"])
    (tmp_path / "_delta_log").mkdir()
    with pytest.raises(DataError, match="whose files also hold deleted rows"):
        opened(tmp_path)
    with pytest.raises(DataError, match="a stream, which has no end"):
        opened(spark.readStream.format("rate").load())
    assert not [
        file for file in Path().iterdir() if file.name.startswith(("metastore_db", "spark-warehouse"))
    ]
