"""The cleaning of tables of raw records into compressed rows.

Content never changes control flow here: each record is kept, repaired or dropped by a rule that looks at its
own user alone, and nothing is raised, printed or logged. Times are Unix seconds,
whatever the source has: numbers, dates, or ISO 8601 text.

Privacy: private.
"""

from collections.abc import Iterator, Mapping
from contextlib import suppress
from dataclasses import replace
from typing import Any, NamedTuple

import numpy as np
import polars as pl

from hushrec.arrays import Bools, Bytes, Floats, Ints, Ints32
from hushrec.data.declarations import MAX_ID_BYTES, Scale
from hushrec.data.domain import Domain
from hushrec.data.dropped import Dropped
from hushrec.data.feedback import Feedback, Interactions, Ratings
from hushrec.data.readers.columns import COUNTED, RATED, UNRATED, UNUSED, Roles
from hushrec.data.readers.quiet import GIVEN_UP, quiet
from hushrec.errors import DataError

MAX_TIMESTAMP = 1 << 40  # Unix seconds, some 35,000 years: chosen by hand
_DAY = 86_400  # seconds
_PER_SECOND = {"ms": 10**3, "us": 10**6, "ns": 10**9}  # units of polars
_ISO = (
    r"^[0-9]{4}-[0-9]{2}-[0-9]{2}"
    r"(?:[Tt ](?:[01][0-9]|2[0-3]):[0-5][0-9](?::(?:[0-5][0-9]|60)(?:[.,][0-9]+)?)?"
    r" ?(?:[Zz]|[+-](?:[01][0-9]|2[0-3])(?::?[0-5][0-9])?)?)?$"
)
_ZONE = r":[0-9]{2}(?:[.,][0-9]+)? ?([+-])([0-9]{2}):?([0-9]{2})?$"


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


_SLICE = 1 << 22  # rows cleaned at once: bounds the memory for text; chosen by hand


class Batch(NamedTuple):
    """Clean records of one part of a source.

    Attributes:
        names: user ids; if users request their own ε, also those of users without a clean record.
        users: position in ``names`` of each record's user, int32.
        items: index in the catalogue, int32.
        values: rating in steps above the bottom of the scale, or count less 1, uint8.
        timestamps: Unix seconds, int64, or None.
        personal_epsilon: the smallest ε that each of ``names`` requests in any record, float64, or None.
    """

    names: pl.Series
    users: Ints32
    items: Ints32
    values: Bytes
    timestamps: Ints | None = None
    personal_epsilon: Floats | None = None


class Cleaner:
    """A cleaner of tables of records: of ratings if the domain has a scale, else of interactions.

    Attributes:
        roles: the columns that are read, whether or not a table must have them.
        dropped: how many records were read so far, and what was dropped or changed.
    """

    def __init__(self, domain: Domain) -> None:
        self._domain = domain
        self._catalogue = _index(pl.Series(domain.items, dtype=pl.String))
        self._roster = None if domain.users is None else _index(pl.Series(domain.users, dtype=pl.String))
        self._roles: set[str] | None = None
        self.roles: Roles = RATED
        if domain.rating_scale is None:
            self.roles = (*(UNRATED if domain.counts is None else COUNTED), UNUSED)
        # Counts are read as ratings on a scale from 1.
        self._scale = domain.rating_scale or Scale(1, domain.counts or 1, 1)
        self.dropped = Dropped()

    @property
    def has_personal_epsilon(self) -> bool:
        """True if the tables have a column of the ε that each user requests."""
        return "personal_epsilon" in (self._roles or ())

    @property
    def timed(self) -> bool:
        return "timestamp" in (self._roles or ())

    def batches(self, table: pl.DataFrame, source: str) -> Iterator[Batch]:
        """Clean a table and yield its clean records."""
        for role, dtype in table.schema.items():
            if role in self.roles and role != UNUSED:
                _check_type(role, dtype, source)
        roles = set(table.columns) & set(self.roles) - {UNUSED}
        self._roles = self._roles or roles
        if other := self._roles ^ roles:
            raise DataError(
                f"{source}: some files lack the column {min(other)}; give all files the same columns"
            )
        return (self._contained(part, source) for part in table.iter_slices(_SLICE))

    def _contained(self, table: pl.DataFrame, source: str) -> Batch:
        with suppress(*GIVEN_UP), quiet():
            return self._cleaned(table)
        raise DataError(f"{source}: polars cannot process its columns; write ids as text, ratings as numbers")

    def _cleaned(self, table: pl.DataFrame) -> Batch:
        scale = self._scale
        names, users = _users(table["user_id"], self._roster)
        items = _codes(table["item_id"], self._catalogue)
        values, valid = self._values(table)
        person = users >= 0
        personal_epsilon = (
            _epsilons(table["personal_epsilon"], self._domain.personal_epsilon)
            if self.has_personal_epsilon
            else None
        )
        valid_epsilon = (
            np.ones_like(valid)
            if personal_epsilon is None
            else (personal_epsilon >= 0) & (personal_epsilon < np.inf)
        )
        identified = person & valid_epsilon & (items >= 0)
        keep = identified & valid
        times: Ints | None = None
        untimed = 0
        if self.timed:
            moments, is_time = seconds(table["timestamp"])
            times, untimed = moments[keep], int((keep & ~is_time).sum())

        values = values[keep]
        inside = (values >= scale.lo) & (values <= scale.hi)
        steps = scale.nearest(values)
        off = np.abs(scale.lo + scale.step * steps - values) > 1e-6 * scale.step
        before = self.dropped
        self.dropped = Dropped(
            user_id=before.user_id + int((~person).sum()),
            item_id=before.item_id + int((person & valid_epsilon & (items < 0)).sum()),
            rating=before.rating + int((identified & ~valid).sum()),
            personal_epsilon=before.personal_epsilon + int((person & ~valid_epsilon).sum()),
            clamped=before.clamped + int((~inside).sum()),
            rounded=before.rounded + int((inside & off).sum()),
            timestamp=before.timestamp + untimed,
            records=before.records + table.height,
            unused=before.unused + int((keep & self._unused(table)).sum()),
        )
        least = None
        if personal_epsilon is not None:
            # An opt-out (ε = 0) counts even in a dropped record, and an unreadable ε may be an opt-out.
            least = np.full(len(names), np.inf)
            np.minimum.at(least, users[person], np.where(valid_epsilon, personal_epsilon, 0)[person])
        used = np.zeros(len(names), dtype=np.bool_)
        used[users[keep if personal_epsilon is None else person]] = True
        places = np.cumsum(used, dtype=np.int32) - 1
        return Batch(
            names.filter(pl.Series(used)),
            places[users[keep]],
            items[keep],
            steps,
            times,
            None if least is None else least[used],
        )

    def _unused(self, table: pl.DataFrame) -> Bools:
        """Mark the records whose rating is not used and says more than the record itself."""
        columns = {"rating", UNUSED} & set(table.columns)
        if "rating" in self.roles or not columns:
            return np.zeros(table.height, dtype=np.bool_)
        column = table[columns.pop()]
        text = column.cast(pl.String).str.strip_chars(" \t").str.to_lowercase()
        says = text.is_not_null() & ~text.is_in(["", "1", "true", "nan"])
        return np.asarray(says.to_numpy() & (_numbers(text) != 1))

    def _values(self, table: pl.DataFrame) -> tuple[Floats, Bools]:
        """Return the rating or count of each record, 1 if the table has neither, and a mask of valid ones."""
        columns = {"rating", "count"} & set(self.roles) & set(table.columns)
        values = _numbers(table[columns.pop()]) if columns else np.ones(table.height)
        valid = np.isfinite(values)
        return values, valid if "rating" in self.roles else valid & (values >= 0.5)


def assemble(
    batches: list[Batch], domain: Domain, dropped: Dropped, *, personal_epsilon: bool, timed: bool
) -> Feedback:
    """Compress clean records into rows, one entry per user and item.

    The latest record by timestamp counts, then the largest; counts add up. A rating that is not a like is
    left out where the domain declares likes. Users without an entry are left out.

    Args:
        batches: the records; removed from the list to free their memory while rows are sorted.
        dropped: what was dropped from their sources.
        personal_epsilon: whether users request their own ε; must not depend on whether there are any users.
        timed: whether there are timestamps; likewise.
    """
    all_names = pl.concat([pl.Series(dtype=pl.String), *(batch.names for batch in batches)])
    names = all_names.unique().sort()
    # All at once: there may be thousands of small batches.
    ends = np.cumsum([len(batch.names) for batch in batches])
    codes = np.split(_codes(all_names, _index(names)), ends[:-1])[: len(batches)]
    smallest = np.full(len(names), np.inf)
    for code, batch in zip(codes, batches, strict=True):
        np.minimum.at(smallest, code, np.inf if batch.personal_epsilon is None else batch.personal_epsilon)
    users = _joined([code[batch.users] for code, batch in zip(codes, batches, strict=True)], np.int32)
    items = _joined([batch.items for batch in batches], np.int32)
    values = _joined([batch.values for batch in batches], np.uint8)
    times = None
    if timed:
        times = _joined([batch.timestamps for batch in batches if batch.timestamps is not None], np.int64)
    batches.clear()
    pairs = users.astype(np.int64) * domain.n_items + items
    order = _last_of_each(pairs, times, values)
    n_repeats = len(items) - len(order)
    occurrences = None
    if domain.counts is not None:
        totals = np.bincount(np.searchsorted(pairs[order], pairs), values + 1.0, minlength=len(order))
        occurrences, n_repeats = np.minimum(totals, domain.counts).astype(np.uint8), 0
        dropped = replace(dropped, clamped=dropped.clamped + int((totals > domain.counts).sum()))
    del pairs  # eight bytes a record
    if domain.rating_scale is not None and domain.likes is not None:
        order = order[values[order] >= domain.rating_scale.nearest(np.array(domain.likes))]
    counts = np.bincount(users[order], minlength=len(names))
    present = counts > 0
    rows: dict[str, Any] = {
        "domain": domain,
        "users": names.filter(pl.Series(present)),
        "indptr": np.concatenate([[0], np.cumsum(counts[present])]),
        "items": items[order],
        "timestamps": None if times is None else times[order],
        "dropped": replace(dropped, duplicate=n_repeats),
        "personal_epsilon": smallest[present] if personal_epsilon else None,
    }
    kind = kind_of(domain)
    rows[kind.VALUES] = values[order] if kind is Ratings else occurrences
    return kind(**rows)


def kind_of(domain: Domain) -> type[Feedback]:
    """Return ``Ratings`` or ``Interactions``, as the domain declares."""
    return Ratings if domain.feedback == "ratings" else Interactions


def _check_type(role: str, dtype: pl.DataType, source: str) -> None:
    if dtype in (pl.String, pl.Null) or dtype.is_integer():
        return
    if role in ("user_id", "item_id"):
        fits = dtype in (pl.Categorical, pl.Enum)
        rule = "ids must be text or integers, because other types merge ids; cast the column at its source"
    elif role == "personal_epsilon":
        fits = dtype.is_numeric() or dtype in (pl.Categorical, pl.Enum)
        rule = "each person's ε must be a number, or the name of one of the domain's classes"
    elif role in ("rating", "count"):
        fits = dtype.is_numeric()
        rule = f"{role}s must be numbers, or text that holds numbers"
    else:
        fits = dtype.is_numeric() or dtype in (pl.Date, pl.Datetime)
        rule = "timestamps must be dates, ISO 8601 text or Unix seconds"
    if not fits:
        raise DataError(f"{source}: column {role} is of type {dtype.base_type()}; {rule}")


def _index(texts: pl.Series) -> pl.DataFrame:
    return pl.DataFrame({"text": texts, "code": np.arange(len(texts), dtype=np.int32)})


def _distinct(column: pl.Series) -> tuple[pl.Series, pl.Series]:
    """Return the distinct ids of a column, as written and as text in Unicode NFC."""
    raw = column.drop_nulls().unique()
    return raw, raw.cast(pl.String).str.normalize("NFC")


def _codes(column: pl.Series, index: pl.DataFrame) -> Ints32:
    """Return the code in ``index`` of each id, −1 if it has none; only distinct ids are compared as text."""
    column = _plain(column)
    raw, text = _distinct(column)
    codes = text.to_frame("text").join(index, on="text", how="left", maintain_order="left")["code"]
    return _spread(column, raw, codes.fill_null(-1))


def _users(column: pl.Series, roster: pl.DataFrame | None) -> tuple[pl.Series, Ints32]:
    """Return the valid user ids, and the position of each row's user in them, −1 if its id is not valid."""
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


def _numbers(column: pl.Series) -> Floats:
    """Read cells as numbers, NaN where a cell does not hold one."""
    if column.dtype == pl.String:
        column = column.str.strip_chars(" \t")
    return column.cast(pl.Float64, strict=False).fill_null(np.nan).to_numpy()


def _epsilons(column: pl.Series, personal_epsilon: Mapping[str, float] | None) -> Floats:
    """Read cells as ε, a number or the name of a class; NaN where a cell holds neither."""
    if column.dtype.is_numeric():
        return _numbers(column)
    column = column.cast(pl.String)
    numbers = _numbers(column)
    if not personal_epsilon:
        return numbers
    names = column.str.strip_chars(" \t").str.normalize("NFC")
    of_classes = names.replace_strict(
        dict(personal_epsilon), default=None, return_dtype=pl.Float64
    ).to_numpy()
    return np.where(np.isnan(of_classes), numbers, of_classes)


def _joined(parts: list[Any], dtype: Any) -> Any:
    return np.concatenate([np.zeros(0, dtype=dtype), *parts])


def _last_of_each(pairs: Ints, times: Ints | None, values: Bytes) -> Ints:
    """Sort rows by ``pairs``; of equal pairs, keep the one with the largest (timestamp, value)."""
    order = np.argsort(pairs)
    pairs = pairs[order]
    repeats = pairs[1:] == pairs[:-1]
    if repeats.any():
        group = np.append(repeats, False) | np.append(False, repeats)
        rows = order[group]
        keys = (values[rows], pairs[group]) if times is None else (values[rows], times[rows], pairs[group])
        order[group] = rows[np.lexsort(keys)]
    return order[~np.append(repeats, False)] if len(order) else order
