"""The statement around a query, and failures of libraries, of which nothing is shown."""

import pyarrow as pa
import pytest

from hushrec.data.readers.databases import selection
from hushrec.data.readers.databases.selection import Column
from hushrec.errors import DataError


def test_names_are_quoted_and_times_become_seconds():
    selected = {
        "user_id": Column('a"b'),
        "rating": Column("r", floating=True),
        "timestamp": Column("t", temporal=True),
    }
    made = selection.of_roles("SELECT 1 -- x", selected, "db")
    assert 'CAST("a""b" AS TEXT), \'\') AS "user_id"' in made
    assert 'CAST(EXTRACT(epoch FROM "t") AS TEXT), \'\') AS "timestamp"' in made
    assert "-- x\n) AS ratings" in made
    assert "EXTRACT" not in selection.of_roles("SELECT 1", {"user_id": Column("t", temporal=True)}, "db")


@pytest.mark.parametrize("role", ["user_id", "item_id"])
def test_ids_that_were_merged_already_are_refused(role):
    with pytest.raises(DataError, match=f"db: column {role} is of floating-point numbers"):
        selection.of_roles("SELECT 1", {role: Column("x", floating=True)}, "db")


def test_a_failure_is_told_and_nothing_hangs_on_it():
    def fails():
        raise ValueError("SECRET")

    with pytest.raises(DataError, match=r"^db: it failed$") as caught:
        selection.contained(fails, lambda error: f"db: it failed{'' if 'SECRET' in str(error) else '?'}")
    assert caught.value.__cause__ is caught.value.__context__ is None


def test_a_stream_that_breaks_off_is_told(monkeypatch):
    monkeypatch.setattr("hushrec.data.readers.dataframes._ROWS", 1)

    def batches():
        yield pa.record_batch({"user_id": ["a", "", None]})
        raise OSError("SECRET")

    stream = selection.streamed(batches(), "db", lambda _: "db: cut")
    assert next(stream)["user_id"].to_list() == ["a", None, None]
    with pytest.raises(DataError, match=r"^db: cut$"):
        next(stream)


def test_small_batches_are_read_as_one_table():
    batch = pa.record_batch({"user_id": ["a"]})
    assert [len(table) for table in selection.streamed([batch] * 5, "db", str)] == [5]


def test_text_that_is_not_utf_8_is_refused():
    offsets = pa.py_buffer(b"\0\0\0\0\2\0\0\0")
    broken = pa.StringArray.from_buffers(1, offsets, pa.py_buffer(b"\xffA"))
    with pytest.raises(DataError, match="not UTF-8"):
        list(selection.streamed([pa.record_batch({"user_id": broken})], "db", str))


def test_without_the_library_it_is_said_what_to_install():
    with pytest.raises(DataError, match=r"db: .* needs pip install 'hushrec\[databases\]'"):
        selection.library("adbc_driver_nowhere", "db")
