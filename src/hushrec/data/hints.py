"""Hints at probable faults of a source, and their fixes, from its columns and its clean records.

A hint may show ratings, because a scale cannot be mended without them. It never shows an id: where columns
are exchanged, a user's id stands where an item's is expected.

Privacy: private; hints are for the curator alone.
"""

from collections.abc import Iterator
from shlex import quote

import numpy as np

from hushrec.arrays import Floats
from hushrec.data.clean import Cleaner
from hushrec.data.declarations import MAX_VALUES, Scale
from hushrec.data.dropped import Dropped, fraction
from hushrec.data.readers.columns import role_of, sounds_like_time, sounds_like_verdict
from hushrec.data.readers.scans import Scan
from hushrec.text import escaped

_COLUMNS = "--column NAME=COLUMN, columns={NAME: COLUMN}"
_MILLISECONDS = 1e11  # Unix seconds reach this in the year 5138, milliseconds in 1973: chosen by hand
_STEPS = (25, 20, 10, 5, 2, 1, 0.5, 0.25, 0.2, 0.1, 0.05, 0.01)  # of usual scales: chosen by hand
_FORMS = {
    "blanks or upper and lower case": ("lower(trim({0}))", "write them alike in the file and the catalogue"),
    "a trailing .0": (
        r"regexp_replace({0}, '\.0+$', '')",
        "a column of numbers with empty cells adds it; export the ids as text or as integers",
    ),
    "leading zeros": (
        r"regexp_replace({0}, '^0+(.)', '\1')",
        "a spreadsheet or a column of numbers drops them; export the ids as text (pandas: dtype=str)",
    ),
    "quotes": ("trim({0}, '\"' || chr(39))", "write the ids without quotes in both"),
}
"""Differences in writing between an id and its item, each with its fix."""


def hints(cleaner: Cleaner, scans: list[Scan], decimal: str, dropped: Dropped) -> Iterator[str]:
    """Yield the probable faults that the reasons in ``dropped`` do not say, the most basic first.

    Args:
        cleaner: holds the clean records.
        scans: the files and tables, which are read again.
        decimal: the decimal sign of text.
        dropped: what was dropped or changed.
    """
    domain, records = cleaner.domain, dropped.records
    cells = " UNION ALL ".join(one.select(decimal) for one in scans)
    cleaner.db.execute(f"CREATE OR REPLACE TEMP VIEW cells AS {cells}").fetchall()

    def count(sql: str) -> int:
        return int(cleaner.db.execute(sql).fetchall()[0][0] or 0)

    if any(one.names is None and sum(role_of(cell) is not None for cell in one.first) > 1 for one in scans):
        yield (
            "The first record holds names of columns and was read as a record: name the columns "
            f"({_COLUMNS}) in place of positions, or give a format with a header (csv, tsv)."
        )
    strange = "(SELECT nfc_normalize(item_id) AS id, count(*) AS n FROM cells GROUP BY ALL)"
    for difference, (form, fix) in _FORMS.items():
        like = f"IN (SELECT {form.format('id')} FROM catalogue)"
        similar = count(
            f"SELECT sum(n) FROM {strange} ANTI JOIN catalogue USING (id) WHERE {form.format('id')} {like}"
        )
        if similar and 10 * similar >= dropped.item_id:
            size = f"{similar:,} records ({fraction(similar, records)})"
            yield f"{size} name items of the catalogue except for {difference}: {fix}."
    alike = count(
        "SELECT sum(n) FROM (SELECT count(DISTINCT user_id) AS n FROM records WHERE user_id IS NOT NULL "
        "GROUP BY lower(trim(user_id)) HAVING n > 1)"
    )
    if alike:
        yield (
            f"{alike:,} user ids differ from another only by blanks or case, and each counts as a person: "
            "write the ids of a person alike."
        )
    if domain.rating_scale is not None:
        yield from _ratings(cleaner, domain.rating_scale, dropped, decimal)
    yield from _unread(scans[0], dropped)
    if 10 * count(f"SELECT count(*) FROM cells WHERE time > {_MILLISECONDS}") > records > 0:
        yield "Timestamps seem to be milliseconds, and are all clamped to the same time: divide them by 1000."


def _unread(scan: Scan, dropped: Dropped) -> Iterator[str]:
    """Yield hints at columns whose names say what they hold, and which are not read."""
    for name in scan.unread():
        if role_of(name) == "rating" and not dropped.unused:  # it says no more than the records themselves
            continue
        shown = escaped(name[:60])
        if sounds_like_time(name) and "timestamp" not in scan.cells:
            named = f"--column timestamp={quote(shown)}, columns={{'timestamp': {shown!r}}}"
            yield (
                f"The column {shown} sounds like times and is not read. If it says when people gave an item, "
                f"name it ({named}), so that the last of repeated records counts."
            )
        elif "rating" not in scan.cells and (role_of(name) or sounds_like_verdict(name)):
            yield (
                f"The column {shown} is not read: every record counts as an item that the user gave or "
                "liked. Leave out the records of what a user did not want; or, if people rate, declare the "
                "scale and which ratings are likes (hushrec domain --scale LO HI STEP --likes RATING)."
            )


def _ratings(cleaner: Cleaner, scale: Scale, dropped: Dropped, decimal: str) -> Iterator[str]:
    """Yield hints at ratings that are no numbers, or on another scale."""
    if 10 * dropped.rating > dropped.records and decimal == ".":
        yield "Many ratings are missing or not numbers: have they a decimal comma (--decimal ,)?"
    listed = f"SELECT DISTINCT value FROM cells WHERE isfinite(value) ORDER BY ALL LIMIT {MAX_VALUES + 1}"
    values = np.array(cleaner.db.execute(listed).fetchall(), np.float64).ravel()
    if len(values) == 1 and dropped.records > 1:
        yield (
            f"All ratings are {values[0]:g}: if the records are clicks or likes, declare interactions "
            "(hushrec domain --interactions)."
        )
    elif 100 * (dropped.clamped + dropped.rounded) >= dropped.records > 0:
        fits = _fitting(values)
        verdict = "no usual scale holds them all" if fits is None else f"the scale {fits} holds them all"
        off = fraction(dropped.clamped + dropped.rounded, dropped.records)
        yield (
            f"{off} of the ratings are not on the scale {scale}; {verdict}. Declare another scale only if "
            "it is known publicly, such as from the form on which people rate, never because the ratings "
            "show it."
        )


def _fitting(values: Floats) -> Scale | None:
    """Return the coarsest usual scale that holds all values."""
    for step in _STEPS if 0 < len(values) <= MAX_VALUES else ():
        steps, fits = (values - values[0]) / step, Scale(float(values[0]), float(values[-1]), step)
        if (np.abs(steps - np.round(steps)) < 1e-6 * (1 + steps)).all() and fits.n_values <= MAX_VALUES:
            return fits
    return None
