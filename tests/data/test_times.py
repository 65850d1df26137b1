"""Cells as Unix seconds: numbers as ever, ISO 8601 text, dates; a cell without a time never raises."""

from datetime import UTC, date, datetime, timedelta
from zoneinfo import ZoneInfo

import numpy as np
import polars as pl
import pytest

from hushrec.data.cleaning import MAX_TIMESTAMP, seconds

NEW_YEAR = 1704067200


def of(cells, dtype=pl.String):
    found, told = seconds(pl.Series(cells, dtype=dtype))
    assert (found.dtype, told.dtype) == (np.int64, np.bool_)
    return found.tolist(), told.tolist()


@pytest.mark.parametrize(
    "cell",
    [
        *("2024-01-01", " 2024-01-01\t", "2024-01-01T00:00", "2024-01-01 00:00", "2024-01-01t00:00:00z"),
        *("2024-01-01T00:00:00", "2024-01-01T00:00:00Z", "2024-01-01 00:00:00.999999Z", "2024-01-01T00:00Z"),
        *("2024-01-01T01:00:00+01:00", "2024-01-01 01:00+0100", "2024-01-01 01:00:00,5+01"),
        *("2023-12-31T23:30:00-00:30", "2023-12-31 18:30:00 -0530", "2023-12-31T23:59:60Z"),
        *("1704067200", "1704067200.9", "+1704067200", "1.7040672e9"),
    ],
)
def test_one_moment_is_written_in_many_ways(cell):
    assert of([cell]) == ([NEW_YEAR], [True])
    assert of(["7", cell, "soon"]) == ([7, NEW_YEAR, 0], [True, True, False])


@pytest.mark.parametrize(
    "cell",
    [
        *("", None, "soon", "nan", "2024", "01.02.2024", "2024-1-1", "2024-01-01T", "2024-01-01T1:00"),
        *("2024-13-45", "2024-02-30", "2023-02-29", "99999-01-01", "-2024-01-01", "0000-01-01", "1969-12-31"),
        *("2024-01-01T24:00", "2024-01-01T00:60", "2024-01-01T00:00:61", "2024-01-01T00:00:00+99:00"),
        *("2024-01-01T00:00:00+01:00x", "2024-01-01\n", "\u0662\u0660\u0662\u0664-01-01", "\ufeff2024-01-01"),
        *("1969-12-31T23:59:59.9Z", "-5", "9" * 400, "1700000000000", "inf", "2024-01-01" + "0" * 9999, "\0"),
    ],
)
def test_what_is_no_time_is_told_and_never_raises(cell):
    (found,), (told,) = of([cell])
    assert told == (cell == "2024")  # a number of seconds like any other
    assert found in ((0, MAX_TIMESTAMP) if not told else (2024,))


def test_text_agrees_with_the_standard_library():
    rng = np.random.default_rng(3)
    moments = [datetime.fromtimestamp(int(n), UTC) for n in rng.integers(0, 4e9, 500)]
    for zone in ("UTC", "Asia/Kolkata", "America/St_Johns"):
        local = [moment.astimezone(ZoneInfo(zone)) for moment in moments]
        wanted = [int(moment.timestamp()) for moment in moments]
        assert of([moment.strftime("%Y-%m-%dT%H:%M:%S%z") for moment in local])[0] == wanted
        assert of([moment.isoformat(" ", "microseconds") for moment in local])[0] == wanted


@pytest.mark.parametrize("unit", ["ms", "us", "ns"])
@pytest.mark.parametrize("zone", [None, "Europe/Berlin"])
def test_dates_and_times_of_every_type(unit, zone):
    hour = 3600 if zone else 0
    moments = [datetime(2024, 1, 1), None, datetime(1969, 12, 31, 20)]
    cells = pl.Series(moments, dtype=pl.Datetime(unit)).dt.replace_time_zone(zone)
    assert of(cells, None) == ([NEW_YEAR - hour, 0, 0], [True, False, False])
    assert of([date(2024, 1, 1), None], pl.Date) == ([NEW_YEAR, 0], [True, False])


def test_moments_that_no_calendar_holds_are_clamped():
    last = pl.Series([2**63 - 1]).cast(pl.Datetime("ms"))
    assert of(last, None) == ([MAX_TIMESTAMP], [False])
    assert of(pl.Series([2**31 - 1], dtype=pl.Int32).cast(pl.Date), None) == ([MAX_TIMESTAMP], [False])


def test_numbers_are_what_they_were():
    numbers = [-5, 0, 7.9, 1e30, float("inf"), float("nan"), None, 2.0**40]
    expected = [0, 0, 7, MAX_TIMESTAMP, MAX_TIMESTAMP, 0, 0, MAX_TIMESTAMP]
    told = [False, True, True, False, False, False, False, True]
    assert of(numbers, pl.Float64) == (expected, told)
    assert of([None if n is None else str(n) for n in numbers]) == (expected, told)
    assert of([2**63], pl.UInt64) == ([MAX_TIMESTAMP], [False])
    assert of([]) == ([], [])
    assert timedelta(seconds=MAX_TIMESTAMP) > timedelta(days=365 * 8000)
