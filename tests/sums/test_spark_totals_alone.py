"""What Spark's tasks do, run here without Spark: every block is added exactly once, capped, in any tasks.

The tests of ``test_spark_totals`` need Java and a cluster, and are left to ``make test-spark``.
"""

import numpy as np
import pytest

from hushrec.data.dropped import Dropped
from hushrec.data.people import FULL, People
from hushrec.data.spark import people as on_spark
from hushrec.data.spark.people import ARRAYS, CHUNK, SparkPeople, StoredBlock, table_of, to_row
from hushrec.data.synthetic import netflix_like
from hushrec.errors import DataError

N_ITEMS = 30
WIDE = CHUNK + 17
"""Entries of a sum of two rows."""
SHAPES = ((2, N_ITEMS), WIDE, 1)
MADE = netflix_like(90, N_ITEMS, 900, seed=3)
RATINGS = MADE.with_personal_epsilon(np.arange(MADE.n_users) % 3 / 2)


def add(block: People, by_item, wide, people):
    by_item[0] += np.bincount(block.items, block.values, N_ITEMS).astype(np.int64)
    by_item[1] += np.bincount(block.items, minlength=N_ITEMS)
    wide[[0, -1]] += 123_456_789 * int(block.values.sum())
    people += block.n_users


def weigh(requested):
    return (requested * FULL).astype(np.int64)


def add_weights(block: People, weights):
    weights += block.weights.sum()


def batches(n_blocks=9):
    """A batch of each block, as Spark hands them to a task."""
    blocks = [*RATINGS.cuts(len(RATINGS.items) // n_blocks)]
    table = table_of(to_row(block, number) for number, block in enumerate(blocks))
    table = table.rename_columns({"part": "block"}).select(["block", *ARRAYS])
    return table.to_batches(max_chunksize=1)


class Rows:
    """The driver's end of a frame."""

    def __init__(self, found):
        self.found = found

    def toLocalIterator(self):  # as Spark calls it
        return (row for batch in self.found for row in batch.to_pylist())


@pytest.fixture
def there(monkeypatch):
    """Rows of a cluster of so many tasks, which run one after the other."""

    def of(tasks, given=None, max_per_user=None):
        given = batches() if given is None else given

        def added_up(frame, work, size):
            found = [batch for task in range(tasks) for batch in work(given[task::tasks])]
            return Rows([*on_spark._add_same_places(found)])

        monkeypatch.setattr(on_spark, "_add_up", added_up)
        parts = (StoredBlock(0, 0, {}),) * len(batches())
        return SparkPeople(RATINGS.domain, None, Dropped(), True, None, parts, max_per_user)

    return of


def same(one, other):
    return all(np.array_equal(a, b) and a.shape == b.shape for a, b in zip(one, other, strict=True))


@pytest.mark.parametrize("tasks", [1, 4, 20])
def test_each_block_is_added_once(there, tasks):
    assert same(RATINGS.total(add, *SHAPES), there(tasks).total(add, *SHAPES))


def test_tasks_apply_cap_and_weights(there):
    capped = RATINGS.capped(4).total(add, *SHAPES)
    assert same(capped, there(3, max_per_user=4).total(add, *SHAPES))
    assert not same(capped, RATINGS.total(add, *SHAPES))
    found = there(3).with_weights(weigh).total(add_weights, 1, weighted=True)
    assert same(found, RATINGS.with_weights(weigh).total(add_weights, 1, weighted=True))
    assert 0 < found[0] < FULL * RATINGS.n_users
    with pytest.raises(ValueError, match="takes no weights"):
        there(3).with_weights(weigh).total(add, *SHAPES)


@pytest.mark.parametrize(
    "broken", [lambda given: [*given, given[2]], lambda given: given[1:]], ids=["twice", "lost"]
)
def test_a_block_that_is_not_added_exactly_once_is_noticed(there, broken):
    with pytest.raises(DataError, match="every block of people exactly once"):
        there(3, broken(batches())).total(add, *SHAPES)
