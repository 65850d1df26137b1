"""People in a cluster are the people that were sent there."""

import dataclasses

import numpy as np
import polars as pl
import pytest

from hushrec.data import synthetic
from hushrec.data.dropped import Dropped
from hushrec.data.spark.people import SparkPeople
from hushrec.data.spark.records import load_spark
from hushrec.errors import DataError

pytestmark = pytest.mark.spark


@pytest.fixture(scope="module")
def people():
    return synthetic.netflix_like(60, 12, 400, 7)


def put(spark, people, parts=1):
    return load_spark(spark.createDataFrame(people.table()), people.domain, parts=parts)


@pytest.fixture(scope="module")
def kept(spark, people):
    with put(spark, people, 5) as kept:
        yield kept


def rows(blocks):
    tables = [pl.from_arrow(block.table()) for block in blocks]
    return pl.concat(tables).sort("user_id", maintain_order=True)


def test_it_is_the_same_people(kept, people):
    assert rows(kept.blocks()).equals(pl.from_arrow(people.table()))
    assert (kept.n_users, kept.n_entries) == (people.n_users, len(people.items))
    assert kept.dropped == Dropped(records=people.n_entries)
    assert kept.domain is people.domain
    assert not kept.has_personal_epsilon
    names = "block users user_ends indptr items values timestamps personal_epsilon"
    assert kept.frame.columns == names.split()
    assert sorted(row.block for row in kept.frame.select("block").collect()) == [*range(kept.n_blocks)]
    assert kept.n_blocks == 5


def test_caps_are_applied_as_blocks_are_read(kept, people):
    capped = kept.capped(4)
    assert rows(capped.capped(9).blocks()).equals(pl.from_arrow(people.capped(4).table()))
    assert capped.frame is kept.frame
    assert capped.digest() != kept.digest()
    with pytest.raises(DataError, match="cap must be a whole number, 1 or more"):
        kept.capped(0)


def test_a_digest_is_of_content(spark, kept, people):
    with put(spark, people, 5) as again:
        assert again.digest() == kept.digest()
    other = people.select(np.arange(len(people.items)) != 7)
    with put(spark, other, 5) as changed:
        assert changed.digest() != kept.digest()


def test_it_notices_that_a_lost_part_was_read_from_a_source_that_changed(spark, kept, people, tmp_path):
    mark = tmp_path / "changed"

    def read(batches):
        for batch in batches:
            yield batch.slice(0, 0 if mark.exists() else None)

    rows = kept._kept.coalesce(2)
    read_again = rows.mapInArrow(read, rows.schema)
    with SparkPeople.keeping(read_again, people.domain, personal_epsilon=False) as made:
        made._kept.unpersist(True)  # as if its executors were lost
        made.verify()
        mark.touch()
        with pytest.raises(DataError, match="their source has changed"):
            made.verify()


def test_they_are_not_gathered_and_not_shown(kept):
    with pytest.raises(DataError, match=r"in the memory of one machine.*hushrec\.load"):
        kept.gathered()
    shown = repr(kept) + kept._repr_html_()
    assert "private" in shown
    assert str(kept.n_users) not in repr(kept).replace(repr(kept.domain), "")


def test_the_cluster_lets_go_of_them_at_the_end(spark, people):
    class Gone:
        def unpersist(self):
            raise ConnectionError("what it held: alice")

    held = spark.sparkContext._jsc.sc().getPersistentRDDs
    before = held().size()
    with put(spark, people) as kept:
        assert kept.n_users
        assert held().size() == before + 1
    assert held().size() == before
    with dataclasses.replace(kept, _kept=Gone()):
        pass
