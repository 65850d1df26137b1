"""A released data set: randomized rows with their statement of privacy, as Parquet or CSV and JSON.

Rows are ``user_id, item_id, rating``, one per cell. They are written and read in parts, so that a large data
set is never text in memory. The facts (method, settings, catalogue, statement of privacy) are metadata of the
Parquet file under ``hushrec``. They are also written next to either file as ``NAME.statement.json``, where a
ledger in the same folder finds them.

Privacy: public; rows that a grant reported, and facts about them.
"""

import errno
import hashlib
import json
import tempfile
from collections.abc import Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass, replace
from functools import lru_cache
from io import BytesIO
from pathlib import Path
from typing import Any, BinaryIO, Self

import numpy as np
import polars as pl
from polars.io.plugins import register_io_source

from hushrec import files
from hushrec.arrays import Ints
from hushrec.data.domain import Domain
from hushrec.data.feedback import Ratings
from hushrec.data.readers import sources
from hushrec.data.readers.quiet import quiet
from hushrec.data.reading import Reading
from hushrec.documents import html
from hushrec.documents.document import Document, Paragraph
from hushrec.documents.words import Clause
from hushrec.errors import HushrecError, ReleaseError
from hushrec.models.du_leighton_patel.estimate import estimates
from hushrec.privacy.accounting.measurement import cell_loss
from hushrec.release.statement import CAVEATS, Statement
from hushrec.release.untrusted_json import LARGEST, parse
from hushrec.text import above

FORMAT = 5
"""Version of the facts; a file of another version is refused."""
KIND = "data set"
SUFFIXES = (".parquet", ".csv")
_KEY = "hushrec"
_SCHEMA = {"user_id": pl.String, "item_id": pl.String, "rating": pl.Float64}
_ROWS = 1 << 20  # cells written at once, and in a row group; chosen by hand, and part of the bytes
_PEOPLE = 1 << 20  # ids hashed at once; chosen by hand, does not change the digest
_LARGEST = 1 << 36  # bytes that a file may unpack to; chosen by hand


def anonymous_ids(n_people: int, numbers: Ints | None = None) -> pl.Series:
    """Return anonymous ids: "0001", "0002", …, padded so that their bytes sort like the numbers.

    Args:
        n_people: number of people, which decides the width of an id.
        numbers: the people's numbers, from 1; all of them by default.
    """
    if numbers is None:
        numbers = np.arange(1, n_people + 1)
    return pl.Series(numbers, dtype=pl.Int64).cast(pl.String).str.zfill(len(str(n_people)))


def digest(facts: Mapping[str, Any], ratings: Ratings) -> str:
    """Hash facts and rows by SHA-256. It detects damage and careless edits, but a forger can update it."""
    total = hashlib.sha256(json.dumps(dict(facts), sort_keys=True, allow_nan=False).encode())
    for start in range(0, ratings.n_users, _PEOPLE):
        total.update("\0".join(ratings.users[start : start + _PEOPLE].to_list()).encode() + b"\0")
    for array in (ratings.indptr, ratings.items, ratings.steps):
        total.update(array.astype(array.dtype.newbyteorder("<"), copy=False).data)
    return total.hexdigest()


def text(facts: Mapping[str, Any]) -> str:
    return json.dumps(dict(facts), sort_keys=True, separators=(",", ":"), ensure_ascii=False, allow_nan=False)


def beside(path: Path) -> Path:
    """Return the path of a file's facts."""
    return path.with_name(path.name + ".statement.json")


def require_lines(path: Path, items: Iterable[str]) -> None:
    """Refuse to write ids as CSV that a CSV reader would change."""
    if path.suffix == ".csv" and any("\r\n" in item for item in items):
        raise ReleaseError(f"an id holds a line break, which CSV does not keep; name it {path.stem}.parquet")


def recognised(path: Path) -> bool:
    """Check whether a file claims to be a released data set; it may still be damaged."""
    if path.suffix == ".csv":
        return beside(path).is_file()
    try:
        with quiet():
            return path.suffix == ".parquet" and _KEY in pl.read_parquet_metadata(path)
    except (Exception, pl.exceptions.PanicException):  # a damaged file can make the reader raise anything
        return False


def write(path: Path, ratings: Ratings, facts: Mapping[str, Any]) -> None:
    """Write rows and facts; facts come first, so that a ledger knows every data set next to it."""
    if path.suffix not in SUFFIXES:
        raise ReleaseError(
            f"{path.name} is not a name of a data set; name it {path.name}.parquet or {path.name}.csv"
        )
    require_lines(path, ratings.domain.items)
    try:
        with files.whole(path) as rows:
            if path.suffix == ".parquet":
                _sink(ratings, facts, rows)
            else:
                _source(ratings).sink_csv(rows)
            rows.flush()  # if the disk is full, this fails before the old facts are replaced
            with files.whole(beside(path)) as note:
                note.write(text(facts).encode())
    except (OSError, pl.exceptions.PolarsError) as error:
        if isinstance(error, OSError) and error.strerror:
            raise
        raise OSError(errno.EIO, "it could not be written completely; is the disk full?") from None


def to_parquet(ratings: Ratings, facts: Mapping[str, Any]) -> bytes:
    """Return the Parquet file's bytes; the same rows and facts give the same bytes."""
    buffer = BytesIO()
    _sink(ratings, facts, buffer)
    return buffer.getvalue()


def read_facts(path: Path) -> Any:
    """Read a file's facts, unchecked: from a Parquet file itself, or from the file next to a CSV file."""
    if path.suffix not in SUFFIXES:
        raise ReleaseError(f"{path} is not a data set: its name must end in .parquet or .csv")
    with files.refusing(path, "read", ReleaseError, "name a released data set"):
        path.stat()
    note = ""
    if path.suffix == ".csv":
        fix = f"it describes {path.name}: put it in the same folder"
        note = files.read_text(beside(path), ReleaseError, fix=fix, largest=LARGEST)
    try:
        if not note:
            with quiet():
                note = pl.read_parquet_metadata(path)[_KEY]
        return parse(note)
    except (Exception, pl.exceptions.PanicException):  # a crafted file can make the readers raise anything
        raise ReleaseError(f"{path} is not a hushrec data set, or it is damaged; fetch it again") from None


def read_rows(path: Path, domain: Domain) -> Ratings:
    """Read the rows of a file, which must belong to exactly this domain."""
    try:
        items = pl.Enum(domain.items)
        lo, _, step = domain.scale
        values = lo + step * np.arange(domain.scale.n_values)
        names, counts = [pl.Series(dtype=pl.String)], [np.zeros(0, dtype=np.int64)]
        columns, marks = [np.zeros(0, dtype=np.int32)], [np.zeros(0, dtype=np.uint8)]
        for table in _tables(path):
            runs = table["user_id"].rle().struct.unnest()
            names.append(runs["value"])
            counts.append(runs["len"].to_numpy().astype(np.int64))
            columns.append(table["item_id"].cast(items).to_physical().to_numpy().astype(np.int32))
            ratings_read = table["rating"].cast(pl.Float64).to_numpy()
            steps = domain.scale.nearest(ratings_read)
            if table.null_count().sum_horizontal().item() or not np.array_equal(values[steps], ratings_read):
                raise ValueError("a cell is empty or off the scale")
            marks.append(steps)
        users, lengths = _joined(pl.concat(names), np.concatenate(counts))
        indptr = np.concatenate([[0], np.cumsum(lengths)])
        return Ratings(domain, users, indptr, np.concatenate(columns), np.concatenate(marks))
    except (Exception, pl.exceptions.PanicException):  # readers' messages may contain cells
        raise ReleaseError(f"{path} was altered or cut short after it was written; fetch it again") from None


def _tables(path: Path) -> Iterator[pl.DataFrame]:
    form = path.suffix.removeprefix(".")
    return sources.read(path, form, Reading(max_bytes=_LARGEST))


def _joined(users: pl.Series, lengths: Ints) -> tuple[pl.Series, Ints]:
    """Join runs that were split where a part ended."""
    first = users.ne_missing(users.shift()).to_numpy()
    starts = np.flatnonzero(first)
    return users.gather(starts), np.add.reduceat(lengths, starts) if len(starts) else lengths


def _sink(ratings: Ratings, facts: Mapping[str, Any], target: BinaryIO) -> None:
    # Fixed row groups and order, and no statistics, so that the bytes depend on the rows alone.
    _source(ratings).sink_parquet(
        target, compression="zstd", statistics=False, row_group_size=_ROWS, metadata={_KEY: text(facts)}
    )


def _source(ratings: Ratings) -> pl.LazyFrame:
    def frames(*_: object) -> Iterator[pl.DataFrame]:
        return _frames(ratings)

    return register_io_source(frames, schema=_SCHEMA)


def _frames(ratings: Ratings) -> Iterator[pl.DataFrame]:
    lo, _, step = ratings.domain.scale
    values = pl.Series(lo + step * np.arange(ratings.domain.scale.n_values))
    items = pl.Series(ratings.domain.items, dtype=pl.String)
    for start in range(0, ratings.n_ratings, _ROWS):
        stop = min(start + _ROWS, ratings.n_ratings)
        first = int(np.searchsorted(ratings.indptr, start, side="right")) - 1
        last = int(np.searchsorted(ratings.indptr, stop, side="left"))
        bounds = np.clip(ratings.indptr[first : last + 1], start, stop)
        lengths = bounds[1:] - bounds[:-1]
        yield pl.DataFrame(
            {
                "user_id": ratings.users.gather(np.repeat(np.arange(first, last, dtype=np.uint32), lengths)),
                "item_id": items.gather(ratings.items[start:stop]),
                "rating": values.gather(ratings.steps[start:stop]),
            }
        )


LARGEST_STORED = 2**26
"""Cells of the largest data set that a ledger keeps whole: a blob of a gigabyte is more than SQLite takes."""
_DAMAGED = "this is not a hushrec data set, or it is damaged; fetch it again"
_MOST = 2**33
"""Limit on the number of people: the next power of two above the number of people on Earth."""


@dataclass(frozen=True, slots=True, eq=False, repr=False)
class ReleasedData:
    """A data set in place of private ratings, for any reader and any algorithm.

    Args:
        method: name of the method that made it.
        settings: the method's settings, as JSON values.
        ratings: the released rows. Users are numbered from "1", padded with zeros; users whose row came out
            empty are absent. The domain has no roster and caps nothing.
        n_people: number of users, including those with an empty row.
        statement: the statement of privacy.
        repeated: whether ``randomize`` took it from the ledger, where it had been stored before, and
            charged nothing. The file does not hold this.

    Raises:
        ReleaseError: The parts do not match.

    Privacy: public; post-processing of what the statement lists.
    """

    method: str
    settings: Mapping[str, Any]
    ratings: Ratings
    n_people: int
    statement: Statement
    repeated: bool = False

    def __post_init__(self) -> None:
        rows = self.ratings
        try:
            settings = json.loads(json.dumps(dict(self.settings), allow_nan=False))
        except (TypeError, ValueError):
            raise ReleaseError("the settings of a data set must be finite JSON values") from None
        object.__setattr__(self, "settings", settings)
        if not (
            self.method.isprintable()
            and self.n_people >= rows.n_users
            and rows.timestamps is None
            and rows.personal_epsilon is None
            and _numbers(rows.users, self.n_people)
        ):
            raise ReleaseError(
                "the users of a data set are numbered: take their ids from "
                "released_data.anonymous_ids(n_people), in order, and leave out timestamps and per-user ε"
            )
        if not self._keeps_its_word():
            raise ReleaseError(
                "by the settings a cell loses more than the statement says; fetch the data again"
            )
        frame = public_domain(rows.domain.items, tuple(rows.domain.scale), self.n_people)
        if rows.domain != frame:
            object.__setattr__(self, "ratings", replace(rows, domain=frame))

    @property
    def table(self) -> pl.DataFrame:
        """``user_id, item_id, rating``, one row per cell."""
        return self.ratings.to_polars()

    def estimates(self) -> pl.DataFrame:
        """Estimate how many users rated each item, and their mean rating, without randomized response's bias.

        Returns:
            ``item_id, count, count_error, mean, mean_error``: see ``estimate.py``.

        Raises:
            ReleaseError: The data were made by another method; use its ratings as they are.
        """
        return estimates(self.ratings, self.n_people, self.method, self.settings)

    def save(self, path: str | Path) -> Path:
        """Write the data set, and its facts next to it as ``NAME.statement.json``.

        Args:
            path: ending in ``.parquet`` or ``.csv``. A CSV file can only be read with its facts next to it.

        Raises:
            ReleaseError: The name does not end in ``.parquet`` or ``.csv``.
        """
        path = Path(path)
        write(path, self.ratings, self._facts())
        return path

    @classmethod
    def open(cls, path: str | Path) -> Self:
        """Read and check a data set.

        Raises:
            ReleaseError: The file is missing, altered, or not a data set.
        """
        path = Path(path)
        return cls._of(read_facts(path), path)

    def to_bytes(self) -> bytes:
        """Return the Parquet file's bytes; the same data give the same bytes."""
        return to_parquet(self.ratings, self._facts())

    @property
    def in_ledger(self) -> bool:
        """Whether a ledger keeps all of it, and not only its statement."""
        return self.ratings.n_ratings <= LARGEST_STORED

    def for_ledger(self) -> bytes:
        """Return the bytes for a ledger: the file, or only the facts if it has more than 2^26 cells."""
        if self.in_ledger:
            return self.to_bytes()
        return text(self._facts()).encode()

    @classmethod
    def from_bytes(cls, data: bytes) -> Self:
        """Read a data set from bytes.

        Raises:
            ReleaseError: They are not a data set, were altered, or are only the facts of a large one.
        """
        if data[:1] == b"{":
            raise ReleaseError(
                "the ledger keeps only the facts of a data set this large: open the file that was saved"
            )
        with tempfile.TemporaryDirectory(prefix="hushrec-") as folder:
            file = Path(folder) / "data.parquet"
            file.write_bytes(data)
            try:
                return cls.open(file)
            except ReleaseError as error:
                raise ReleaseError(str(error).replace(str(file), "this")) from None

    @classmethod
    def collect(cls, reports: Iterable[Self | str | Path]) -> Self:
        """Combine the reports of many users, each made on their own device, into one data set.

        Args:
            reports: data sets or their files, with the same catalogue, scale, method and settings, in any
                order. Users get new numbers in the order of their reports' digests, which does not reveal
                whose they are.

        Returns:
            All rows of the reports, with the largest ε of any report.

        Raises:
            ReleaseError: There are no reports; they do not match; two have the same ledger, or are the same;
                one was collected before; or δ is too large for this many users.
        """
        opened = (cls.open(report) if isinstance(report, str | Path) else report for report in reports)
        by_digest = sorted(
            ((str(report._facts()["sha256"]), report) for report in opened), key=lambda one: one[0]
        )
        ordered = [report for _, report in by_digest]
        if not ordered:
            raise ReleaseError("there is no report to collect; give at least one")
        first = ordered[0]
        if any(_sort(report) != _sort(first) for report in ordered):
            raise ReleaseError(
                "these reports differ in catalogue, scale, method, settings or guarantee; collect only "
                "reports that agree in all of them"
            )
        if len(ordered) > 1 and any(r.statement.private and not r.statement.ledger for r in ordered):
            raise ReleaseError(
                "one of these was collected before, and no longer names its reports: collect the original "
                "reports, all at once"
            )
        ledgers = [report.statement.ledger["id"] for report in ordered if "id" in report.statement.ledger]
        if len(set(ledgers)) < len(ledgers) or len({digest for digest, _ in by_digest}) < len(by_digest):
            raise ReleaseError(
                "two of these reports have the same ledger, or one is given twice, so users would count "
                "twice and their losses would not add up; give one report per ledger"
            )
        starts = np.cumsum([0, *(report.n_people for report in ordered)])
        n_people = int(starts[-1])
        if n_people > _MOST or first.statement.delta * 10 * n_people >= 1:
            raise ReleaseError(
                f"δ = {above(first.statement.delta)} is too large for {n_people:,} people, or their "
                "number is too large; on every device declare max_users for all people together, and choose "
                "δ below 1/(10 · max_users)"
            )
        each = [
            report.ratings.users.cast(pl.Int64).to_numpy() - 1 + start
            for report, start in zip(ordered, starts, strict=False)
        ]
        counts = np.concatenate([report.ratings.counts for report in ordered])
        ratings = Ratings(
            public_domain(first.ratings.domain.items, tuple(first.ratings.domain.scale), n_people),
            anonymous_ids(n_people, np.concatenate(each) + 1),
            np.concatenate([[0], np.cumsum(counts)]),
            np.concatenate([report.ratings.items for report in ordered]),
            np.concatenate([report.ratings.steps for report in ordered]),
        )
        return cls(first.method, first.settings, ratings, n_people, _together(ordered))

    def _keeps_its_word(self) -> bool:
        """Check that, by the settings, a cell loses no more than the statement says."""
        randomizer = [self.settings.get(name) for name in ("symbols", "exponent")]
        local = self.statement.local
        if self.method != "RandomizedResponse" or local is None or None in randomizer:
            return True
        try:
            return float(cell_loss(*randomizer)) <= local.epsilon * (1 + 1e-9)
        except (HushrecError, TypeError, ValueError, ArithmeticError):
            return False

    def _facts(self) -> dict[str, Any]:
        facts: dict[str, Any] = {
            "format": FORMAT,
            "kind": KIND,
            "method": self.method,
            "settings": dict(self.settings),
            "items": list(self.ratings.domain.items),
            "scale": list(self.ratings.domain.scale),
            "n_people": self.n_people,
            "statement": self.statement.to_json(),
        }
        facts["sha256"] = digest(facts, self.ratings)
        return facts

    @classmethod
    def _of(cls, facts: Any, path: Path) -> Self:
        try:
            if facts["kind"] != KIND:
                raise ReleaseError(_DAMAGED)
            if facts["format"] != FORMAT:
                raise ReleaseError(f"{path} has format {facts['format']!r}; use the version that wrote it")
            n_people = facts["n_people"]
            lo, hi, step = map(float, facts["scale"])
            if not isinstance(n_people, int) or not 0 <= n_people <= _MOST:
                raise ReleaseError(_DAMAGED)
            domain = public_domain(tuple(map(str, facts["items"])), (lo, hi, step), n_people)
            statement = Statement.from_json(facts["statement"])
            ratings = read_rows(path, domain)
            if facts.pop("sha256") != digest(facts, ratings):
                raise ReleaseError("the data set was altered after it was written; fetch it again")
            return cls(str(facts["method"]), dict(facts["settings"]), ratings, n_people, statement)
        except ReleaseError:
            raise
        except (HushrecError, LookupError, TypeError, ValueError, ArithmeticError, AttributeError):
            raise ReleaseError(_DAMAGED) from None

    def __repr__(self) -> str:
        return f"ReleasedData({self.method}, {self._about()}, {self.statement.headline})"

    def document(self) -> Document:
        """Return a description of the data set and its statement."""
        statement = self.statement.document()
        facts = {
            "method": self.method,
            "settings": dict(self.settings),
            "n_people": self.n_people,
            "n_cells": self.ratings.n_ratings,
            "n_items": self.ratings.domain.n_items,
            "scale": list(self.ratings.domain.scale),
            "statement": statement.facts,
        }
        title, blocks = f"Data set by {self.method}", [Paragraph(self._about()), *statement.blocks]
        return Document("data_set", title, blocks, facts=facts)

    def _repr_html_(self) -> str:
        return html.notebook(self.document())

    def _about(self) -> str:
        return (
            f"{self.n_people:,} people, {self.ratings.domain.n_items:,} items, "
            f"{self.ratings.n_ratings:,} cells"
        )


@lru_cache(maxsize=8)
def public_domain(items: tuple[str, ...], scale: tuple[float, ...], n_people: int) -> Domain:
    """Return the domain of a data set. Its rows are public, so it caps nothing."""
    return Domain(items, scale=scale, max_users=max(n_people, 1), max_per_user=len(items))


def _numbers(users: pl.Series, n_people: int) -> bool:
    """Check that ids are ascending numbers from 1 to ``n_people``, as ``anonymous_ids`` writes them."""
    right = users.str.contains(rf"^[0-9]{{{len(str(n_people))}}}$")
    if users.null_count() or not right.all():
        return False
    numbers = users.cast(pl.Int64).to_numpy()
    return bool((np.diff(numbers, prepend=0) > 0).all()) and numbers.max(initial=0) <= n_people


def _sort(report: ReleasedData) -> tuple[Any, ...]:
    """Return the facts that all collected reports must have in common."""
    domain, statement = report.ratings.domain, report.statement
    promise = statement.unit, statement.adjacency, statement.delta
    return report.method, report.settings, domain.items, domain.scale, promise


_ONCE = Clause("assumes.once")


def _together(reports: Sequence[ReleasedData]) -> Statement:
    """Combine statements: the largest ε, the gravest caveats and all assumptions."""
    statements = [report.statement for report in reports]
    caveats = dict.fromkeys(caveat for statement in statements for caveat in statement.caveats)
    gravest = [caveat for caveat in caveats if caveat.kind == "unprotected"]
    # A report's roster is one user, so its assumption about the roster is not that of all users.
    alike = dict.fromkeys(
        line for statement in statements for line in statement.assumes if line.name != "assumes.roster"
    )
    return replace(
        max(statements, key=lambda statement: statement.epsilon),
        caveats=tuple(gravest[:1] or sorted(caveats, key=lambda caveat: CAVEATS.index(caveat.kind))),
        assumes=(*alike, *([_ONCE] if all(report.n_people <= 1 for report in reports) else [])),
        ledger={},
    )
