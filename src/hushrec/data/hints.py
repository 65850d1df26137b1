"""Hints at probable faults of a source, and their fixes, from the look and the number of its cells.

A hint may show ratings, because a scale cannot be mended without them. It never shows an id: where columns
are exchanged, a user's id stands where an item's is expected. It shows only the shape of ids, such as "a9".

Privacy: private; hints are for the curator alone.
"""

from collections.abc import Iterator
from contextlib import suppress
from shlex import quote

import numpy as np
import polars as pl

from hushrec.arrays import Floats, Ints
from hushrec.data.cleaning import seconds
from hushrec.data.declarations import MAX_VALUES, Scale
from hushrec.data.domain import Domain
from hushrec.data.dropped import Dropped, fraction
from hushrec.data.readers.columns import OTHERS, role_of, sounds_like_time, sounds_like_verdict
from hushrec.data.readers.quiet import GIVEN_UP, quiet
from hushrec.text import escaped

MOST_VALUES = 10_000
"""The most distinct ratings that are counted; cells with more are not ratings. Chosen by hand."""
_SAMPLE = 10_000  # cells looked at in a column that is not read: chosen by hand
_RECENT = 4e8  # Unix seconds of 1982, ten times as many of 2096: numbers between are times, by hand
_MILLISECONDS = 1e11  # Unix seconds reach this in the year 5138, milliseconds in 1973: chosen by hand


class CellCounts:
    """A count of the cells of tables of records, one table after another.

    Attributes:
        ids: by role, ``user_id`` and ``item_id``: a table ``text, records`` of the distinct ids, as text in
            Unicode NFC.
        values: a table ``text, records`` of the distinct ratings or counts as written; None if there are too
            many, or no such column.
        milliseconds: records whose timestamp is too large for Unix seconds, and may be milliseconds.
        unread: columns that are not read and seem to hold times, each with whether they could be read.
        verdicts: names of columns that are not read and may say whether a user wanted an item.
        headed: whether the first record holds names of columns.

    Privacy: private.
    """

    def __init__(self) -> None:
        self.ids = {role: _counted(pl.Series("text", [], pl.String)) for role in ("user_id", "item_id")}
        self.values: pl.DataFrame | None = None
        self.milliseconds = 0
        self.unread: dict[str, bool] = {}
        self.verdicts: list[str] = []
        self.headed = False
        self._cells: dict[str, set[str | None]] = {}
        self._valued = self._begun = False

    def see(self, table: pl.DataFrame) -> None:
        """Count the cells of a table with columns named by role."""
        with suppress(*GIVEN_UP), quiet():  # what cannot be read as text is the cleaner's to refuse
            self._see(table)

    def _see(self, table: pl.DataFrame) -> None:
        if not self._begun and table.height:
            self._begun = True
            first = [str(cell) for cell in table.row(0)]
            self.headed = sum(role_of(cell) is not None for cell in first) >= 2
            for name in (name for name in table.columns if name.startswith(f"{OTHERS} ")):
                self._unread(name.removeprefix(f"{OTHERS} "), table[name].head(_SAMPLE))
        for column in (table[name] for name in table.columns if name.startswith(f"{OTHERS} ")):
            self._differing(column.name.removeprefix(f"{OTHERS} "), column)
        for role, total in self.ids.items():
            text = table[role].cast(pl.String).str.normalize("NFC")
            self.ids[role] = _both(total, _counted(text))
        if value_columns := {"rating", "count"} & set(table.columns):
            counts = _counted(table[value_columns.pop()].cast(pl.String))
            if not self._valued:
                self._valued, self.values = True, counts
            elif self.values is not None:
                self.values = _both(self.values, counts)
            if self.values is not None and self.values.height > MOST_VALUES:
                self.values = None
        if "timestamp" in table.columns and not table["timestamp"].dtype.is_temporal():
            seconds = table["timestamp"].cast(pl.Float64, strict=False)
            self.milliseconds += int((seconds > _MILLISECONDS).sum())

    def _differing(self, name: str, column: pl.Series) -> None:
        """Note a column without a role if its cells differ, and its name says that they may be verdicts."""
        cells = self._cells.setdefault(name, set())
        if sounds_like_verdict(name) and len(cells) < 2:
            cells.update(column.cast(pl.String).unique().head(2))
            if len(cells) > 1:
                self.verdicts.append(name)

    def _unread(self, name: str, column: pl.Series) -> None:
        """Note a column without a role if its cells are times, or may be times by the column's name."""
        cells, temporal = column.drop_nulls(), column.dtype in (pl.Date, pl.Datetime)
        if not temporal and column.dtype != pl.String and not column.dtype.is_numeric():
            return
        read = seconds(cells)[1]
        number = np.zeros(len(cells), dtype=np.bool_)
        if not temporal:
            value = cells.cast(pl.Float64, strict=False)
            number = value.is_not_null().to_numpy()
            recent = (value > _RECENT) & (value < _RECENT * 10) | (value / 1000).is_between(
                _RECENT, _RECENT * 10
            )
            read = np.where(number, sounds_like_time(name) & recent.fill_null(False).to_numpy(), read)
        if len(cells) and 10 * int(read.sum()) > 9 * len(cells):
            self.unread[name] = True
        elif sounds_like_time(name) and 10 * int(number.sum()) < len(cells):
            self.unread[name] = False


def _counted(texts: pl.Series) -> pl.DataFrame:
    counted = texts.alias("text").to_frame().drop_nulls().group_by("text").len("records")
    return counted.with_columns(pl.col("records").cast(pl.Int64))


def _both(one: pl.DataFrame, other: pl.DataFrame) -> pl.DataFrame:
    return pl.concat([one, other]).group_by("text").agg(pl.col("records").sum())


_FORMS = {
    "blanks around them": (pl.col("text").str.strip_chars(), "strip the ids in the file and the catalogue"),
    "upper and lower case": (pl.col("text").str.to_lowercase(), "write the ids in the same case in both"),
    "a trailing .0": (
        pl.col("text").str.replace(r"\.0+$", ""),
        "a column of numbers with empty cells adds it; export the ids as text or as integers",
    ),
    "leading zeros": (
        pl.col("text").str.replace(r"^0+(.)", "${1}"),
        "a spreadsheet or a column of numbers drops them; export the ids as text (pandas: dtype=str)",
    ),
    "quotes": (pl.col("text").str.strip_chars("\"'"), "write the ids without quotes in both"),
}
"""Differences in writing between an id and its item, each with its fix."""
_STEPS = (1, 0.5, 0.25, 0.2, 0.1, 0.05, 0.01, 2, 5, 10, 20, 25)  # of usual scales: chosen by hand
_LIKES = (
    "every record counts as an item that the user gave or liked, whatever that column holds. Leave out the "
    "records of what a user did not want; or, if people rate, declare the scale and which ratings are likes "
    "(hushrec domain --scale LO HI STEP --likes RATING)"
)
_COLUMNS = "--column NAME=COLUMN, columns={NAME: COLUMN}"


def hints(counts: CellCounts, domain: Domain, dropped: Dropped, n_users: int) -> Iterator[str]:
    """Yield the probable faults, a sentence or two each, the most basic first.

    Args:
        counts: the counts of the cells.
        dropped: the records that cleaning dropped or changed.
        n_users: number of users with an item left.
    """
    if counts.headed:
        yield (
            "The first record holds names of columns and was read as a record: name the columns "
            f"({_COLUMNS}) in place of positions, or give a format with a header (csv, tsv)."
        )
    if domain.rating_scale is not None and _sheet(counts, domain.rating_scale, dropped):
        yield (
            "The column item_id holds ratings and empty cells: if it is a wide sheet with one column per "
            "item, make one row per record of it first, with polars: table.unpivot(...)."
        )
    catalogue = pl.DataFrame({"text": pl.Series(domain.items, dtype=pl.String)})
    yield from _items(counts, catalogue, dropped.records)
    if domain.users is not None:
        roster = pl.DataFrame({"text": pl.Series(domain.users, dtype=pl.String)})
        yield from _written(counts.ids["user_id"], roster, "people on the roster", dropped.records)
    if domain.rating_scale is not None:
        yield from _ratings(counts, domain.rating_scale, dropped)
    elif domain.counts is not None and 10 * dropped.rating > dropped.records:
        yield f"Many counts are not numbers from 1 on: is count the right column? Name it ({_COLUMNS})."
    yield from _verdicts(counts, domain, dropped)
    if 10 * dropped.personal_epsilon > dropped.records:
        yield (
            "The column personal_epsilon (or epsilon, privacy) often holds neither a number nor a class of "
            "the domain: declare the classes (hushrec domain --personal-epsilon), or leave the column out "
            "if it means something else."
        )
    if domain.rating_scale is not None and 10 * dropped.duplicate > dropped.records:
        yield (
            f"Many records repeat a user and an item, and there are {n_users:,} users: is user_id the column "
            f"of users, and item_id that of items? Name them ({_COLUMNS})."
        )
    if 10 * counts.milliseconds > dropped.records > 0:
        yield "Timestamps seem to be milliseconds, and are all clamped to the same time: divide them by 1000."
    elif 10 * dropped.timestamp > dropped.records > 0:
        yield (
            f"Many timestamps are missing or are not times: is timestamp the right column ({_COLUMNS})? "
            "Times are read as ISO 8601, 2024-01-31T13:45:00Z, or as Unix seconds."
        )
    yield from _unread(counts, domain)
    if n_users > domain.max_users:
        yield (
            f"There are {n_users:,} users, and the domain declares at most {domain.max_users:,}, for whom δ "
            "is chosen: is user_id the column of users? If so, declare a larger bound from public knowledge."
        )


def _verdicts(counts: CellCounts, domain: Domain, dropped: Dropped) -> Iterator[str]:
    """Yield hints at columns that interactions do not use, though they may say what a user disliked."""
    if dropped.unused:
        yield (
            f"{dropped.unused:,} records ({fraction(dropped.unused, dropped.records)}) have a rating other "
            f"than 1, and interactions do not use the column rating: {_LIKES}."
        )
    for name in counts.verdicts if domain.rating_scale is None else ():
        shown = escaped(name[:60])
        yield f"The column {shown} is not read, and its cells differ: {_LIKES}."


def _unread(counts: CellCounts, domain: Domain) -> Iterator[str]:
    """Yield hints at unread columns that seem to hold times. Names are public; a line shows their start."""
    use = "the last of repeated ratings counts"
    if domain.rating_scale is None:
        use = "a cap keeps the most recent interactions"
    for name, readable in counts.unread.items():
        shown = escaped(name[:60])
        named = f"--column timestamp={quote(shown)}, columns={{'timestamp': {shown!r}}}"
        if readable:
            yield (
                f"The column {shown} looks like times and is not read. If it says when people gave an item, "
                f"name it ({named}), so that {use}."
            )
        else:
            yield (
                f"The column {shown} may hold times and is not read. If it says when people gave an item, "
                f"write it as ISO 8601, 2024-01-31T13:45:00Z, and name it timestamp, so that {use}."
            )


def _sheet(counts: CellCounts, scale: Scale, dropped: Dropped) -> bool:
    """Return True if the cells of ``item_id`` are ratings or empty, and not items of the catalogue."""
    items = counts.ids["item_id"]
    number = pl.col("text").cast(pl.Float64, strict=False)
    rated = items.filter(number.is_between(scale.lo, scale.hi))
    n_given = _records(items)
    return n_given < dropped.records < 2 * dropped.item_id and 10 * _records(rated) > 9 * n_given > 0


def _items(counts: CellCounts, catalogue: pl.DataFrame, records: int) -> Iterator[str]:
    items, users = counts.ids["item_id"], counts.ids["user_id"]
    item_matches, user_matches = _matching(items, catalogue), _matching(users, catalogue)
    by_item, by_user = _records(item_matches), _records(user_matches)
    advice = list(_written(items, catalogue, "items of the catalogue", records))
    yield from advice
    if advice:
        return
    # Ids that are small numbers are in every catalogue of small numbers: then the number of ids decides.
    covered = user_matches.height > 0.9 * catalogue.height and by_user > 0.95 * records
    if (by_user > 1.25 * by_item and 2 * by_user > records) or (
        covered and item_matches.height < 0.75 * user_matches.height
    ):
        yield (
            "The columns user_id and item_id may be exchanged: "
            f"{fraction(by_user, records)} of the records have "
            f"a user id that is an item of the catalogue ({user_matches.height:,} different ones), and "
            f"{fraction(by_item, records)} an item id that is one ({item_matches.height:,} different ones). "
            "If they are, "
            f"say which is which ({_COLUMNS})."
        )
    if 2 * by_item < records:
        yield (
            f"Only {fraction(by_item, records)} of the records are of items of the catalogue. Their ids "
            f"mostly look like {_shape(items)}, those of the catalogue like {_shape(catalogue)} (a: letters, "
            f"9: digits). Is item_id the right column ({_COLUMNS}), and is the catalogue of the same source?"
        )


def _written(ids: pl.DataFrame, public_ids: pl.DataFrame, what: str, records: int) -> Iterator[str]:
    """Yield hints at ids that differ from public ones only in the way in which they are written."""
    strange = ids.join(public_ids, on="text", how="anti")
    for difference, (form, fix) in _FORMS.items():
        n_similar = _records(
            strange.with_columns(form).join(public_ids.with_columns(form), on="text", how="semi")
        )
        if n_similar and 10 * n_similar >= _records(strange):
            size = f"{n_similar:,} records ({fraction(n_similar, records)})"
            yield f"{size} name {what} except for {difference}: {fix}."


def _ratings(counts: CellCounts, scale: Scale, dropped: Dropped) -> Iterator[str]:
    if counts.values is None:
        if dropped.records:
            yield f"Ratings have thousands of different values: is rating the right column ({_COLUMNS})?"
        return
    number = pl.col("text").str.strip_chars(" \t").cast(pl.Float64, strict=False)
    table = counts.values.with_columns(value=number)
    broken = table.filter(pl.col("value").is_null())
    comma = broken.filter(pl.col("text").str.contains(r"^[-+]?\d+,\d+$"))
    if comma.height:
        yield f'{_records(comma):,} ratings hold a decimal comma: give decimal="," (--decimal ,).'
    elif 10 * dropped.rating > dropped.records:
        yield f"Many ratings are missing or not numbers: is rating the right column ({_COLUMNS})?"
    table = table.filter(pl.col("value").is_finite()).group_by("value").agg(pl.col("records").sum())
    table = table.sort("value")
    values, times = table["value"].to_numpy(), table["records"].to_numpy()
    if not len(values):
        return
    if len(values) == 1 and times[0] > 1:
        yield (
            f"All ratings are {values[0]:g}: if the records are clicks or likes, declare interactions "
            "(hushrec domain --interactions)."
        )
    elif 100 * (dropped.clamped + dropped.rounded) >= times.sum():
        yield _another_scale(values, times, scale)
    elif 2 * (values[-1] - values[0]) < scale.span:
        yield (
            f"All ratings are from {values[0]:g} to {values[-1]:g}, less than half of the scale {scale}. "
            f"Noise is for the whole width of the scale. {_PUBLIC}"
        )


_PUBLIC = (
    "Declare another scale only if it is known publicly, such as from the form on which people rate, never "
    "because the ratings show it."
)


def _another_scale(values: Floats, times: Ints, scale: Scale) -> str:
    """Describe ratings that are not on the scale."""
    inside = (values >= scale.lo) & (values <= scale.hi)
    off = int(times[~inside].sum())
    problem = f"{fraction(off, int(times.sum()))} of the ratings are written outside the scale {scale}"
    if not off:
        problem = f"Many ratings are between the values of the scale {scale}"
    if len(values) > MAX_VALUES:
        return (
            f"{problem}, and there are {len(values):,} different ones: is rating the right column "
            f"({_COLUMNS})? A scale has at most {MAX_VALUES} values."
        )
    strange = values[~inside]
    stand_in = ""
    if len(strange) <= 3 and 2 * off < times.sum() and all(map(scale.holds, values[inside])):
        which = " or ".join(f"{value:g}" for value in strange)
        stand_in = f" If {which} stands for «not rated», leave out those records."
    fits = _fitting(values)
    verdict = "no usual scale holds them all" if fits is None else f"the scale {fits} holds them all"
    return f"{problem}; {verdict}.{stand_in} {_PUBLIC}"


def _fitting(values: Floats) -> Scale | None:
    """Return the coarsest usual scale that holds all values."""
    lo, hi = float(values[0]), float(values[-1])
    for step in sorted(_STEPS, reverse=True):
        steps = (values - lo) / step
        fits = Scale(lo, hi, step)
        if (np.abs(steps - np.round(steps)) < 1e-6).all() and fits.n_values <= MAX_VALUES:
            return fits
    return None


def _matching(ids: pl.DataFrame, public_ids: pl.DataFrame) -> pl.DataFrame:
    return ids.join(public_ids, on="text", how="semi")


def _records(ids: pl.DataFrame) -> int:
    return int(ids["records"].sum())


def _shape(ids: pl.DataFrame) -> str:
    """Return the most frequent shape of ids: "tt0111161" is "a9"."""
    shape = pl.col("text").str.replace_all(r"\p{L}+", "a").str.replace_all(r"\p{N}+", "9").str.slice(0, 40)
    weight = pl.col("records").sum() if "records" in ids.columns else pl.len()
    shapes = ids.group_by(shape).agg(weight.alias("weight")).sort("weight", "text", descending=True)
    return f"«{shapes['text'][0]}»" if shapes.height else "nothing"
