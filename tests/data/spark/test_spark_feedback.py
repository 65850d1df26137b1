"""People in a cluster are the people that were sent there."""

import dataclasses

import numpy as np
import polars as pl
import pytest

from hushrec.data import synthetic
from hushrec.data.domain import Domain
from hushrec.data.dropped import Dropped
from hushrec.data.feedback import Ratings
from hushrec.data.spark.spark_feedback import SparkFeedback
from hushrec.errors import DataError

pytestmark = pytest.mark.spark


@pytest.fixture(scope="module")
def people():
    made = synthetic.netflix_like(60, 12, 400, 7)
    return Ratings(
        made.domain,
        made.users,
        made.indptr,
        made.items,
        steps=made.steps,
        dropped=Dropped(item_id=3, records=9),
    )


@pytest.fixture(scope="module")
def kept(spark, people):
    with SparkFeedback.of(spark, people, n_blocks=5) as kept:
        yield kept


def rows(blocks):
    return pl.concat([block.to_polars() for block in blocks]).sort("user_id", maintain_order=True)


def test_it_is_the_same_people(kept, people):
    assert rows(kept.blocks()).equals(people.to_polars())
    assert (kept.n_users, kept.n_entries) == (people.n_users, len(people.items))
    assert kept.dropped == people.dropped
    assert kept.domain is people.domain
    assert not kept.has_personal_epsilon
    assert not kept.exceeds_declared_users
    assert kept.frame.columns == [
        "block",
        "users",
        "indptr",
        "items",
        "values",
        "timestamps",
        "personal_epsilon",
    ]
    assert sorted(row.block for row in kept.frame.select("block").collect()) == [*range(kept.n_blocks)]
    assert kept.n_blocks >= 5


def test_several_go_together_if_they_fit(spark, people):
    halves = [people.slice(0, 20), people.slice(20, people.n_users)]
    with SparkFeedback.of(spark, halves) as kept:
        assert kept.n_blocks == 2
        assert rows(kept.blocks()).equals(people.to_polars())
    asking = people.with_personal_epsilon(np.ones(people.n_users))
    with SparkFeedback.of(spark, asking) as kept:
        assert kept.has_personal_epsilon
        assert rows(kept.blocks()).equals(asking.to_polars())
    for wrong in ([], [people, synthetic.netflix_like(60, 13, 400, 7)], [halves[0], asking.slice(20, 60)]):
        with pytest.raises(DataError, match="all loaded with one domain and the same columns"):
            SparkFeedback.of(spark, wrong)


def test_a_person_in_two_tables_is_refused(spark, people):
    for twice in ([people, people], [people.slice(0, 20), people.slice(19, 60)]):
        with pytest.raises(DataError, match="the same person is in two of the ratings"):
            SparkFeedback.of(spark, twice)


def test_nobody_is_sent_as_well(spark):
    domain = Domain(range(4), scale=(1, 5, 1), max_users=9)
    nobody = Ratings(domain, pl.Series([], dtype=pl.String), np.zeros(1), np.zeros(0), steps=np.zeros(0))
    with SparkFeedback.of(spark, nobody) as kept:
        assert [*kept.blocks()] == []
        assert (kept.n_blocks, kept.n_users, kept.n_entries) == (0, 0, 0)
        kept.verify()


def test_caps_are_applied_as_blocks_are_read(kept, people):
    capped = kept.capped(4)
    assert rows(capped.capped(9).blocks()).equals(people.capped(4).to_polars())
    assert capped.frame is kept.frame
    assert capped.digest() != kept.digest()
    with pytest.raises(DataError, match="cap must be 1 or more"):
        kept.capped(0)


def test_a_digest_is_of_content(spark, kept, people):
    with SparkFeedback.of(spark, people, n_blocks=5) as again:
        assert again.digest() == kept.digest()
    other = people.select(np.arange(len(people.items)) != 7)
    with SparkFeedback.of(spark, other, n_blocks=5) as changed:
        assert changed.digest() != kept.digest()


def test_it_notices_that_a_lost_part_was_read_from_a_source_that_changed(spark, kept, people, tmp_path):
    mark = tmp_path / "changed"

    def read(batches):
        for batch in batches:
            yield batch.slice(0, 0 if mark.exists() else None)

    rows_of = kept._kept.coalesce(2)
    with SparkFeedback.keeping(
        rows_of.mapInArrow(read, rows_of.schema), people.domain, personal_epsilon=False
    ) as made:
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
    held = spark.sparkContext._jsc.sc().getPersistentRDDs
    before = held().size()
    with SparkFeedback.of(spark, people) as kept:
        assert kept.n_users
        assert held().size() == before + 1
    assert held().size() == before


def test_a_cluster_that_is_gone_holds_nothing_to_let_go_of(kept):
    class Gone:
        def unpersist(self):
            raise ConnectionError("what it held: alice")

    with dataclasses.replace(kept, _kept=Gone()):
        pass
