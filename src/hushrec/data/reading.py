"""The description of how records are written in files, which every reader takes."""

from collections.abc import Mapping
from dataclasses import dataclass, field

from hushrec.errors import DataError
from hushrec.text import whole

FORMATS = {
    "csv": "comma-separated, with a header (MovieLens latest, 20M, 25M, 32M)",
    "tsv": "tab-separated, with a header",
    "u.data": "tab-separated, no header: user, item, rating, timestamp (MovieLens 100K)",
    "dat": "separated by ::, no header: user, item, rating, timestamp (MovieLens 1M, 10M)",
    "text": "separated by spaces or tabs, no header: user, item, rating (FilmTrust)",
    "jsonl": "JSON lines: an object for each record",
    "parquet": "Parquet",
}
MAX_BYTES = 16 << 30
"""The default limit on unpacked bytes, 16 GiB: chosen by hand."""
Columns = Mapping[str, str | int]
"""Role to column: names, or positions from 0. A role that is left out is recognised by its usual names."""


@dataclass(frozen=True, slots=True)
class Reading:
    """A description of the records in a file or table, where its name and its header do not show it.

    Args:
        columns: the column of each role: by name, ``{"user_id": "who"}``, or, for text without a header, by
            position from 0, ``{"user_id": 0, "item_id": 1, "rating": 2}``. Usual names, such as
            ``userId`` and ``movieId``, need no mapping. ``count`` is how often an item was given,
            ``personal_epsilon`` the ε that a user requests, a number or one of ``domain.personal_epsilon``.
        format: one of ``hushrec.data.reading.FORMATS``; inferred from the file's name by default.
        separator: separator of csv and tsv, one character.
        decimal: decimal sign of csv and tsv, "." or ",".
        quotes: whether double quotes may enclose the cells of csv and tsv; without, a quote is a letter.
        max_bytes: refuse a file that unpacks to more.

    Raises:
        DataError: there is no such format, separator or decimal sign.

    Privacy: public.
    """

    columns: Columns = field(default_factory=dict)
    format: str | None = None
    separator: str | None = None
    decimal: str = "."
    quotes: bool = True
    max_bytes: int = MAX_BYTES

    def __post_init__(self) -> None:
        separator = self.separator
        whole(self.max_bytes, "max_bytes", 1, DataError)
        if self.format is not None and self.format not in FORMATS:
            raise DataError(f"format={self.format!r} is unknown; the formats are {', '.join(FORMATS)}")
        if self.decimal not in (".", ","):
            raise DataError(f"decimal={self.decimal!r} is not a decimal sign; give '.' or ','")
        if separator is not None and (len(separator) != 1 or not separator.isascii() or separator in '"\r\n'):
            raise DataError(
                f"separator={separator!r} is not a separator; give one ASCII character, not a quote"
            )

    @property
    def of_text(self) -> list[str]:
        """The settings that apply to files of text alone: no table has these."""
        settings = {"format": self.format, "separator": self.separator}
        settings["decimal"] = None if self.decimal == "." else self.decimal
        settings["quotes"] = None if self.quotes else "off"
        return [f"{name}=" for name, value in settings.items() if value is not None]


PLAIN = Reading()
"""The default: names and headers tell everything."""
