"""Lists made on Spark: those that are made here, however the people are parted."""

from dataclasses import replace

import pyarrow as pa
import pytest
from pyarrow import parquet

import hushrec as hr
from hushrec.curator.recommend_all import recommend_all, recommend_on_spark, write_folder
from hushrec.data.synthetic import interactions, netflix_like
from hushrec.errors import ConfigError, DataError
from support.spark import sent

pytestmark = pytest.mark.spark

MODELS = {
    "factors": hr.CovarianceSVD(rank=3),
    "no factors": hr.GlobalEffects(),
    "factors and people": hr.MatrixFactorization(rank=3, epochs=2),
    "neighbours": hr.CovarianceKNN(),
    "people's rows": hr.UserKNN(n_neighbours=3),
    "item neighbours": hr.ItemKNN(n_neighbours=3),
    "item scores": hr.Popularity(),
    "linear items": hr.PrivateEASE(rank=3),
}


@pytest.fixture(scope="module")
def rated():
    return netflix_like(80, 60, 1500, 0)


@pytest.fixture(scope="module")
def given():
    return interactions(80, 60, 1500, 0)


@pytest.fixture(scope="module")
def release(rated):
    return hr.baseline(rated, hr.CovarianceSVD(rank=3))


@pytest.fixture(scope="module")
def kept(spark, rated):
    with sent(spark, rated, n_blocks=7) as kept:
        yield kept


def here(release, people, n, **more):
    return pa.concat_tables(recommend_all(release, people, n, **more)).to_pylist()


def collected(lists):
    """The rows of a DataFrame or a table, those of each user as they come."""
    table = lists if isinstance(lists, pa.Table) else lists.toArrow()
    return sorted(table.to_pylist(), key=lambda row: row["user_id"])


@pytest.mark.parametrize("kind", MODELS)
def test_every_kind_of_release_lists_the_same(spark, rated, given, kind):
    people = given if MODELS[kind].feedback == "interactions" else rated
    release = hr.baseline(people, MODELS[kind])
    with sent(spark, people, n_blocks=2) as kept:
        found = collected(recommend_on_spark(release, kept, 5))
    assert found == here(release, people, 5)


@pytest.mark.parametrize("n_blocks", [1, 2, 7])
def test_partitions_change_nothing(spark, release, rated, n_blocks, monkeypatch):
    backwards = [rated.slice(50, 80), rated.slice(0, 50)]
    with sent(spark, backwards, n_blocks=n_blocks) as kept:
        lists = recommend_on_spark(release, kept, 7)
        assert lists.rdd.getNumPartitions() >= n_blocks
        shuffled = kept.frame.orderBy("items").repartition(3)
        moved = replace(kept, frame=shuffled)
        for found in (lists, recommend_on_spark(release, moved, 7)):
            assert collected(found) == here(release, rated, 7)


def test_a_cap_and_what_is_allowed_count(kept, release, rated):
    allowed = ["i00003", "i00017", "i00040", "not in the catalogue"]
    found = collected(recommend_on_spark(release, kept.capped(3), 2, allowed=iter(allowed)))
    assert found == here(release, rated.capped(3), 2, allowed=allowed)
    assert {row["item_id"] for row in found} <= set(allowed)


def test_what_is_wrong_is_said_before_anything_runs(kept, release):
    with pytest.raises(ConfigError, match="n must be a whole number, 1 or more"):
        recommend_on_spark(release, kept, 0)
    with pytest.raises(DataError, match="give the ids as a list"):
        recommend_on_spark(release, kept, allowed="i00003")
    other = hr.baseline(netflix_like(80, 61, 1500, 0), hr.GlobalEffects())
    with pytest.raises(DataError, match="different catalogues, scales or kinds"):
        recommend_on_spark(other, kept)


def test_nothing_but_release_and_domain_travels(kept, release, monkeypatch):
    """What executors are sent is a release, a domain, a length and public ids."""
    sent, context = [], kept.frame.sparkSession.sparkContext
    monkeypatch.setattr(context, "broadcast", lambda facts: sent.append(facts))
    made = recommend_on_spark(release, kept, 5, allowed=["i00003"])
    assert made.columns == ["user_id", "item_id", "score", "rank"]
    ((as_bytes, domain, n, allowed),) = sent
    assert (as_bytes, domain, n, allowed) == (release.to_bytes(), kept.domain, 5, ["i00003"])


def test_a_folder_appears_for_its_owner_once_it_is_complete(kept, release, rated, tmp_path):
    folder = tmp_path / "lists"
    write_folder(recommend_on_spark(release, kept, 4), str(folder))
    assert collected(parquet.read_table(folder)) == here(release, rated, 4)
    assert folder.stat().st_mode & 0o777 == 0o700
    assert [*tmp_path.iterdir()] == [folder]
    with pytest.raises(DataError, match="exists; choose another folder"):
        write_folder(recommend_on_spark(release, kept, 4), str(folder))


def test_a_uri_is_written_by_spark(kept, release, rated, tmp_path):
    uri = (tmp_path / "lists").as_uri()
    write_folder(recommend_on_spark(release, kept, 4), uri)
    assert collected(parquet.read_table(tmp_path / "lists")) == here(release, rated, 4)
    assert (tmp_path / "lists" / "_SUCCESS").exists()
    with pytest.raises(DataError, match="exists; choose another folder"):
        write_folder(recommend_on_spark(release, kept, 4), uri)


def test_a_failed_job_leaves_nothing(spark, tmp_path):
    wrong = spark.range(4).selectExpr("assert_true(id < 2, 'secret-cell') as broken")
    with pytest.raises(DataError, match="Spark failed") as failed:
        write_folder(wrong, str(tmp_path / "lists"))
    assert "secret-cell" not in str(failed.value)
    assert [*tmp_path.iterdir()] == []
    with pytest.raises(DataError, match="cannot be written: No such file"):
        write_folder(wrong, str(tmp_path / "nowhere" / "lists"))


def test_what_is_not_in_spark_is_refused(release, rated, spark):
    for given in (rated, spark.range(3)):
        with pytest.raises(DataError, match=r"takes what hushrec\.load keeps in Spark"):
            recommend_on_spark(release, given)
