"""From tables of records, as they come, to clean compressed rows.

Content never changes control flow here: whatever a record holds, it is kept, mended or dropped by a rule that
looks at its own user alone, and nothing is raised, printed or logged.
"""

from dataclasses import replace
from typing import Any, NamedTuple

import numpy as np
import polars as pl

from hushrec.arrays import Bytes, Floats, Ints, Ints32
from hushrec.data.domain import MAX_ID_BYTES, Domain
from hushrec.data.ratings import Dropped, Ratings
from hushrec.errors import DataError

MAX_TIMESTAMP = 1 << 40
_SLICE = 1 << 22  # rows cleaned at once: bounds the memory for text

__all__ = ["MAX_TIMESTAMP", "Intake"]


class _Batch(NamedTuple):
    names: pl.Series  # user ids, each at least once in users
    users: Ints32  # positions in names
    items: Ints32
    steps: Bytes
    timestamps: Ints | None


class Intake:
    """Collects tables ``user_id, item_id, rating[, timestamp]`` and makes ratings of them.

    Args:
        domain: the public frame.

    Privacy: private.
    """

    def __init__(self, domain: Domain) -> None:
        self._domain = domain
        self._catalogue = _index(pl.Series(domain.items, dtype=pl.String))
        self._roster = None if domain.users is None else _index(pl.Series(domain.users, dtype=pl.String))
        self._batches: list[_Batch] = []
        self._dropped = Dropped()
        self._timed = True

    def add(self, table: pl.DataFrame, source: str) -> None:
        """Clean a table and keep what is left of it.

        Raises:
            DataError: a column's type can hold no ids, or no ratings. A type is structure, not content.
        """
        for role, dtype in table.schema.items():
            _check_type(role, dtype, source)
        self._timed &= "timestamp" in table.columns
        for part in table.iter_slices(_SLICE):
            self._batches.append(self._cleaned(part))

    def ratings(self) -> Ratings:
        """All that was kept: one rating for each user and item, the last by timestamp, then the largest."""
        batches, self._batches = self._batches, []
        names = pl.concat([pl.Series(dtype=pl.String), *(batch.names for batch in batches)]).unique().sort()
        index = _index(names)
        users = _joined([_codes(batch.names, index)[batch.users] for batch in batches], np.int32)
        items = _joined([batch.items for batch in batches], np.int32)
        steps = _joined([batch.steps for batch in batches], np.uint8)
        times = None
        if self._timed:
            times = _joined([batch.timestamps for batch in batches if batch.timestamps is not None], np.int64)
        del batches
        order = _last_of_each(users.astype(np.int64) * self._domain.n_items + items, times, steps)
        counts = np.bincount(users[order], minlength=len(names))
        return Ratings(
            self._domain,
            names,
            np.concatenate([[0], np.cumsum(counts)]),
            items[order],
            steps[order],
            None if times is None else times[order],
            replace(self._dropped, duplicate=len(items) - len(order)),
        )

    def _cleaned(self, table: pl.DataFrame) -> _Batch:
        scale = self._domain.scale
        names, users = _users(table["user_id"], self._roster)
        items = _codes(table["item_id"], self._catalogue)
        values = _numbers(table["rating"])
        finite = np.isfinite(values)
        known = (users >= 0) & (items >= 0)
        keep = known & finite
        times = _seconds(table["timestamp"])[keep] if "timestamp" in table.columns else None

        values = values[keep]
        inside = (values >= scale.lo) & (values <= scale.hi)
        steps = scale.nearest(values)
        off = np.abs(scale.lo + scale.step * steps - values) > 1e-6 * scale.step
        before = self._dropped
        self._dropped = Dropped(
            user_id=before.user_id + int((users < 0).sum()),
            item_id=before.item_id + int(((users >= 0) & (items < 0)).sum()),
            rating=before.rating + int((known & ~finite).sum()),
            clamped=before.clamped + int((~inside).sum()),
            rounded=before.rounded + int((inside & off).sum()),
        )
        return _Batch(*_present(names, users[keep]), items[keep], steps, times)


def _check_type(role: str, dtype: pl.DataType, source: str) -> None:
    if dtype in (pl.String, pl.Null) or dtype.is_integer():
        return
    if role in ("user_id", "item_id"):
        fits = dtype in (pl.Categorical, pl.Enum)
        wanted = (
            "ids are text or integers, because other types merge ids; cast the column where it comes from"
        )
    elif role == "rating":
        fits = dtype.is_numeric()
        wanted = "ratings are numbers, or text that holds them"
    else:
        fits = dtype.is_numeric() or dtype in (pl.Date, pl.Datetime)
        wanted = "timestamps are dates or Unix seconds"
    if not fits:
        raise DataError(f"{source}: column {role} is of type {dtype}; {wanted}")


def _index(texts: pl.Series) -> pl.DataFrame:
    return pl.DataFrame({"text": texts, "code": np.arange(len(texts), dtype=np.int32)})


def _distinct(column: pl.Series) -> tuple[pl.Series, pl.Series]:
    """The different ids of a column, as they stand and as text in Unicode's form NFC."""
    raw = column.drop_nulls().unique()
    return raw, raw.cast(pl.String).str.normalize("NFC")


def _codes(column: pl.Series, index: pl.DataFrame) -> Ints32:
    """The code in ``index`` of every id, −1 where it has none. Only different ids are compared as text."""
    column = _plain(column)
    raw, text = _distinct(column)
    found = text.to_frame("text").join(index, on="text", how="left", maintain_order="left")["code"]
    return _spread(column, raw, found.fill_null(-1))


def _users(column: pl.Series, roster: pl.DataFrame | None) -> tuple[pl.Series, Ints32]:
    """The user ids there are, and the position of every row's in them, −1 where it is none of them."""
    if roster is not None:
        return roster["text"], _codes(column, roster)
    column = _plain(column)
    raw, text = _distinct(column)
    good = text.str.len_bytes().is_between(1, MAX_ID_BYTES) & ~text.str.contains("\0", literal=True)
    code = pl.select(pl.when(good).then(good.cum_sum().cast(pl.Int32) - 1).otherwise(-1)).to_series()
    return text.filter(good), _spread(column, raw, code)


def _plain(column: pl.Series) -> pl.Series:
    return column if column.dtype.is_integer() else column.cast(pl.String)


def _spread(column: pl.Series, raw: pl.Series, code: pl.Series) -> Ints32:
    index = pl.DataFrame({"raw": raw, "code": code.cast(pl.Int32)})
    rows = column.to_frame("raw").join(index, on="raw", how="left", maintain_order="left")
    return rows["code"].fill_null(-1).to_numpy()


def _present(names: pl.Series, users: Ints32) -> tuple[pl.Series, Ints32]:
    """Names without those that no row has any more."""
    used = np.zeros(len(names), dtype=np.bool_)
    used[users] = True
    return names.filter(pl.Series(used)), (np.cumsum(used, dtype=np.int32) - 1)[users]


def _numbers(column: pl.Series) -> Floats:
    """Cells as numbers, NaN where there is none."""
    if column.dtype == pl.String:
        column = column.str.strip_chars(" \t")
    return column.cast(pl.Float64, strict=False).fill_null(np.nan).to_numpy()


def _seconds(column: pl.Series) -> Ints:
    """Unix seconds in [0, 2^40], 0 where there are none."""
    if column.dtype in (pl.Date, pl.Datetime):
        column = column.cast(pl.Datetime("us")).dt.epoch("s")
    return np.clip(np.nan_to_num(_numbers(column), nan=0.0), 0, MAX_TIMESTAMP).astype(np.int64)


def _joined(parts: list[Any], dtype: Any) -> Any:
    return np.concatenate([np.zeros(0, dtype=dtype), *parts])


def _last_of_each(pairs: Ints, times: Ints | None, steps: Bytes) -> Ints:
    """Rows in ascending order of ``pairs``, of equal pairs the one with the largest (timestamp, rating)."""
    order = np.argsort(pairs)
    pairs = pairs[order]
    again = pairs[1:] == pairs[:-1]
    if again.any():
        group = np.append(again, False) | np.append(False, again)
        rows = order[group]
        keys = (steps[rows], pairs[group]) if times is None else (steps[rows], times[rows], pairs[group])
        order[group] = rows[np.lexsort(keys)]
    return order[~np.append(again, False)] if len(order) else order
