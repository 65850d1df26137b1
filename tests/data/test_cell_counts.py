"""What the cells of a source look like, counted table by table."""

import datetime

import polars as pl

from hushrec.data import hints
from hushrec.data.hints import CellCounts


def seen(*tables):
    found = CellCounts()
    for table in tables:
        found.see(pl.DataFrame(table))
    return found


def counts(table):
    return dict(table.sort("text").rows())


def test_ids_are_counted_over_tables_as_normalised_text():
    found = seen(
        {"user_id": ["x", "y"], "item_id": [7, 7]},
        {"user_id": ["x", None], "item_id": [7, 8]},
        {"user_id": ["caf\u00e9", "cafe\u0301"], "item_id": [9, 9]},
    )
    assert counts(found.ids["item_id"]) == {"7": 3, "8": 1, "9": 2}
    assert counts(found.ids["user_id"]) == {"x": 2, "y": 1, "caf\u00e9": 2}
    assert found.values is None


def test_values_are_counted_as_written_until_there_are_too_many(monkeypatch):
    rated = {"user_id": ["x", "y"], "item_id": ["a", "b"], "rating": ["3,5", "3,5"]}
    assert counts(seen(rated, rated).values) == {"3,5": 4}
    assert counts(seen({"user_id": ["x"], "item_id": ["a"], "count": [2]}).values) == {"2": 1}
    monkeypatch.setattr(hints, "MOST_VALUES", 1)
    assert counts(seen(rated).values) == {"3,5": 2}
    assert seen(rated | {"rating": ["1", "2"]}, rated).values is None


def test_a_header_that_was_read_as_a_record_is_seen_at_the_top_alone():
    head, record = {"user_id": ["userId"], "item_id": ["movieId"]}, {"user_id": ["x"], "item_id": ["a"]}
    assert seen(head, record).headed
    assert not seen(record, head).headed
    assert not seen({"user_id": ["user"], "item_id": ["a"]}).headed  # somebody may be called so
    assert seen(pl.DataFrame(head).clear(), head).headed


def test_timestamps_in_milliseconds_are_counted():
    row = {"user_id": ["x"] * 3, "item_id": ["a"] * 3}
    assert seen(row | {"timestamp": ["1700000000000", "1700000000", "soon"]}).milliseconds == 1
    assert seen(row | {"timestamp": [1_700_000_000_000] * 3}).milliseconds == 3
    assert seen(row | {"timestamp": [datetime.datetime(2024, 1, 1)] * 3}).milliseconds == 0
