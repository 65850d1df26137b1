"""A block of people becomes a row of bytes, and the row the same block again."""

import dataclasses

import numpy as np
import pyarrow as pa
import pytest

from hushrec.data.domain import Domain
from hushrec.data.dropped import Dropped
from hushrec.data.people import People
from hushrec.data.spark import people
from hushrec.data.spark.people import blocks_in, counted, counts_in, from_row, table_of, to_row
from hushrec.errors import DataError

ITEMS = Domain(range(5), scale=(1, 5, 1), max_users=10)
COUNTED = Domain(range(5), counts=9, max_users=10)
USERS = pa.array(["a", "café", "\u2028"], pa.large_string())
INDPTR, GIVEN = np.array([0, 2, 3, 6]), np.array([1, 4, 0, 0, 2, 3])
TIMES, ASKED = np.arange(6) << 33, np.array([0, 0.25, 3])


def kinds():
    """Blocks with and without each array that may be absent."""
    rated = People(ITEMS, USERS, INDPTR, GIVEN, values=np.arange(6) % 5)
    yield rated
    yield dataclasses.replace(rated, timestamps=TIMES, personal_epsilon=ASKED)
    yield People(COUNTED, USERS, INDPTR, GIVEN, values=np.arange(1, 7), timestamps=TIMES)
    yield People(Domain(range(5), max_users=10), USERS, INDPTR, GIVEN, personal_epsilon=ASKED)
    yield People(ITEMS, USERS[:0], np.zeros(1), GIVEN[:0], values=GIVEN[:0])


@pytest.mark.parametrize("number", range(5))
def test_a_row_holds_a_block(number):
    block = [*kinds()][number]
    row = to_row(block, 3, 1)
    assert (row["part"], row["cut"], row["dropped"]) == (3, 1, None)
    again = from_row(row, block.domain)
    assert again.table().equals(block.table())
    assert again.digest() == block.digest()


def test_a_batch_of_rows_wherever_they_begin_in_memory():
    """Numbers in Arrow's buffers need not be aligned; those of a block are, as compiled loops expect."""
    blocks = [*kinds()][:2]
    table = table_of(to_row(block, 0, cut) for cut, block in enumerate(blocks))
    batch = table.rename_columns(["part", "block", *table.column_names[2:]]).to_batches()[0]
    for number, block in blocks_in(batch, ITEMS):
        assert block.digest() == blocks[number].digest()
        assert all(array.flags.aligned for array in (block.indptr, block.items, block.values))
    assert number == 1


def test_the_schema_is_that_of_the_rows():
    table = table_of([to_row(next(kinds()), 0)])
    spelled = ", ".join(f"{field.name} {str(field.type).removesuffix('32')}" for field in table.schema)
    assert spelled == people.SCHEMA
    assert set(people.ARRAYS) < set(table.column_names)


def test_counts_of_what_was_dropped_survive():
    dropped = Dropped(*range(1, 1 + len(dataclasses.fields(Dropped))))
    assert counts_in(counted(dropped)) == dropped
    assert counts_in(None) == Dropped()


DAMAGE = [
    *({"items": wrong} for wrong in (b"123", None, b"\xff" * 24)),
    *({"users": wrong} for wrong in (None, b"\xff" * 9)),
    *({"user_ends": b"\xff" * 32}, {"indptr": b""}, {"values": b"\xff" * 6}),
    {"personal_epsilon": b"\xff" * 24},
]


@pytest.mark.parametrize("damage", DAMAGE, ids=str)
def test_a_damaged_row_is_refused_without_its_content(damage):
    row = to_row(next(kinds()), 0) | damage
    with pytest.raises(DataError, match="a row of people is damaged") as refused:
        from_row(row, ITEMS)
    assert refused.value.__cause__ is None
    assert refused.value.__context__ is None
