"""What Spark's tasks do, run here without Spark: every block is added exactly once, capped, in any tasks.

The tests of ``test_spark_engine`` need Java and a cluster, and are left to ``make test-spark``.
"""

from functools import reduce
from types import SimpleNamespace

import numpy as np
import pytest

from hushrec.data.people import People
from hushrec.data.spark.people import ARRAYS, table_of, to_row
from hushrec.data.synthetic import netflix_like
from hushrec.errors import DataError
from hushrec.sums import spark_engine
from hushrec.sums.population import engine_of
from hushrec.sums.spark_engine import CHUNK, SparkRows
from support.packed import packed

N_ITEMS = 30
WIDE = CHUNK + 17
"""Entries of a sum of two rows."""
SHAPES = ((2, N_ITEMS), WIDE, 1)
RATINGS = netflix_like(90, N_ITEMS, 900, seed=3)


def add(block: People, by_item, wide, people):
    by_item[0] += np.bincount(block.items, block.values, N_ITEMS).astype(np.int64)
    by_item[1] += np.bincount(block.items, minlength=N_ITEMS)
    wide[[0, -1]] += 123_456_789 * int(block.values.sum())
    people += block.n_users


def half(block):
    return block.slice(0, block.n_users // 2)


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
            return Rows([*spark_engine._add_same_places(found)])

        monkeypatch.setattr(spark_engine, "_add_up", added_up)
        source = SimpleNamespace(
            domain=RATINGS.domain, max_per_user=max_per_user, frame=None, n_blocks=len(batches())
        )
        return SparkRows(source)

    return of


def same(one, other):
    return all(np.array_equal(a, b) and a.shape == b.shape for a, b in zip(one, other, strict=True))


@pytest.mark.parametrize("tasks", [1, 4, 20])
def test_each_block_is_added_once(there, tasks):
    assert same(engine_of(RATINGS).total(add, *SHAPES), there(tasks).total(add, *SHAPES))


def test_tasks_apply_the_cap_and_what_is_mapped(there, tmp_path):
    capped = engine_of(RATINGS.capped(4)).total(add, *SHAPES)
    assert same(capped, there(3, max_per_user=4).total(add, *SHAPES))
    assert not same(capped, engine_of(RATINGS).total(add, *SHAPES))
    files = packed(RATINGS, tmp_path / "b", len(RATINGS.items) // 9)
    here, far = (reduce(type(rows).map, [half, half], rows) for rows in (engine_of(files), there(3)))
    assert same(here.total(add, *SHAPES), far.total(add, *SHAPES))


@pytest.mark.parametrize(
    "broken", [lambda given: [*given, given[2]], lambda given: given[1:]], ids=["twice", "lost"]
)
def test_a_block_that_is_not_added_exactly_once_is_noticed(there, broken):
    with pytest.raises(DataError, match="every block of people exactly once"):
        there(3, broken(batches())).total(add, *SHAPES)
