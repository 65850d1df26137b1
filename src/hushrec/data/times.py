"""Cells of a column as Unix seconds, whatever the source has in it: numbers, dates, or ISO 8601 text.

Privacy: private in, private out; a mask marks the cells that hold a time, and nothing is raised.
"""

import numpy as np
import polars as pl

from hushrec.arrays import Bools, Ints

MAX_TIMESTAMP = 1 << 40  # Unix seconds, some 35,000 years: chosen by hand
_DAY = 86_400  # seconds
_PER_SECOND = {"ms": 10**3, "us": 10**6, "ns": 10**9}  # units of polars
_ISO = (
    r"^[0-9]{4}-[0-9]{2}-[0-9]{2}"
    r"(?:[Tt ](?:[01][0-9]|2[0-3]):[0-5][0-9](?::(?:[0-5][0-9]|60)(?:[.,][0-9]+)?)?"
    r" ?(?:[Zz]|[+-](?:[01][0-9]|2[0-3])(?::?[0-5][0-9])?)?)?$"
)
_ZONE = r":[0-9]{2}(?:[.,][0-9]+)? ?([+-])([0-9]{2}):?([0-9]{2})?$"

__all__ = ["MAX_TIMESTAMP", "seconds"]


def seconds(column: pl.Series) -> tuple[Ints, Bools]:
    """Return Unix seconds, clamped to [0, 2^40], and a mask of cells that hold a time within these bounds.

    Fractions of a second are cut off. Text holds a number of seconds; or a date, ``2024-01-31``; or a date
    and time, ``2024-01-31T12:30[:59[.9]][Z|+01:00|+0100|+01]``, with ``T`` or a blank between. A time without
    a zone is UTC. A cell that is empty or holds no time is 0.
    """
    dtype = column.dtype
    if dtype == pl.Date:
        column = column.to_physical().cast(pl.Int64) * _DAY
    elif isinstance(dtype, pl.Datetime):
        column = column.to_physical() // _PER_SECOND[dtype.time_unit]
    elif dtype == pl.String:
        column = column.str.strip_chars(" \t")
    numbers = column.cast(pl.Float64, strict=False)
    if dtype == pl.String and numbers.null_count() > column.null_count():
        rest = numbers.is_null() & column.is_not_null()
        moments = numbers.fill_null(np.nan).to_numpy().copy()
        moments[rest.to_numpy()] = _from_iso(column.filter(rest)).fill_null(np.nan).to_numpy()
    else:
        moments = numbers.fill_null(np.nan).to_numpy()
    read = (moments >= 0) & (moments <= MAX_TIMESTAMP)
    return np.clip(np.nan_to_num(moments, nan=0.0), 0, MAX_TIMESTAMP).astype(np.int64), read


def _from_iso(text: pl.Series) -> pl.Series:
    """Read ISO 8601 as Unix seconds, null where it is none; floats are exact for all its years."""
    cell = pl.col("text")
    days = cell.str.head(10).str.to_date("%Y-%m-%d", strict=False, cache=False).cast(pl.Int32).cast(pl.Int64)
    hour, minute = _number(cell.str.slice(11, 2)), _number(cell.str.slice(14, 2))
    # A zone may follow the minutes at once: only what follows a second colon is seconds.
    second = pl.when(cell.str.slice(16, 1) == ":").then(_number(cell.str.slice(17, 2))).otherwise(0)
    sign, hours, minutes = (cell.str.extract(_ZONE, group) for group in (1, 2, 3))
    ahead = 3600 * _number(hours) + 60 * _number(minutes)
    ahead = pl.when(sign == "-").then(-ahead).otherwise(ahead)
    total = _DAY * days + 3600 * hour + 60 * minute + second - ahead
    moment = pl.when(cell.str.contains(_ISO)).then(total).cast(pl.Float64)
    return text.to_frame("text").select(moment).to_series()


def _number(digits: pl.Expr) -> pl.Expr:
    return digits.cast(pl.Int32, strict=False).fill_null(0)
