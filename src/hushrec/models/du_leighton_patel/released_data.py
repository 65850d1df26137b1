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
import pyarrow as pa
import pyarrow.compute as pc
from pyarrow import csv, parquet

from hushrec import files
from hushrec.arrays import Ints
from hushrec.data import tables
from hushrec.data.domain import Domain
from hushrec.data.people import People
from hushrec.documents import html
from hushrec.documents.document import Document, Paragraph
from hushrec.documents.sentences import CAVEATS, Assumes
from hushrec.errors import HushrecError, ReleaseError
from hushrec.models.du_leighton_patel.estimate import estimates
from hushrec.privacy.accounting.measurement import cell_loss
from hushrec.release.statement import Statement
from hushrec.release.untrusted_json import LARGEST, parse
from hushrec.text import above

FORMAT = 5
"""Version of the facts; a file of another version is refused."""
KIND = "data set"
SUFFIXES = (".parquet", ".csv")
_KEY = "hushrec"
_COLUMNS = {
    "user_id": pa.dictionary(pa.int32(), pa.string()),
    "item_id": pa.dictionary(pa.int32(), pa.string()),
    "rating": pa.float64(),
}
"""The columns as they are read."""
_ROWS = 1 << 20  # cells written and read at once; chosen by hand, and part of the bytes
_BLOCK = 1 << 24  # bytes of CSV read at once; chosen by hand
_PEOPLE = 1 << 20  # ids hashed at once; chosen by hand, does not change the digest
# A file may unpack to this many bytes at most, and to this many times its size, and always to 64 MiB; all
# chosen by hand.
_LARGEST, _RATIO, _FREE = 1 << 36, 100, 1 << 26


def anonymous_ids(n_people: int, numbers: Ints | None = None) -> pa.LargeStringArray:
    """Return anonymous ids: "0001", "0002", …, padded so that their bytes sort like the numbers.

    Args:
        n_people: number of people, which decides the width of an id.
        numbers: the people's numbers, from 1; all of them by default.
    """
    if numbers is None:
        numbers = np.arange(1, n_people + 1)
    return pc.utf8_lpad(pa.array(numbers).cast(pa.large_string()), len(str(n_people)), "0")


def digest(facts: Mapping[str, Any], ratings: People) -> str:
    """Hash facts and rows by SHA-256. It detects damage and careless edits, but a forger can update it."""
    total = hashlib.sha256(json.dumps(dict(facts), sort_keys=True, allow_nan=False).encode())
    for start in range(0, ratings.n_users, _PEOPLE):
        total.update("\0".join(ratings.users[start : start + _PEOPLE].to_pylist()).encode() + b"\0")
    for array in (ratings.indptr, ratings.items, ratings.values):
        assert array is not None
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
        return path.suffix == ".parquet" and bool(tables.note_in(path, _KEY))
    except Exception:  # a damaged file can make the reader raise anything
        return False


def write(path: Path, ratings: People, facts: Mapping[str, Any]) -> None:
    """Write rows and facts; facts come first, so that a ledger knows every data set next to it."""
    if path.suffix not in SUFFIXES:
        raise ReleaseError(
            f"{path.name} is not a name of a data set; name it {path.name}.parquet or {path.name}.csv"
        )
    require_lines(path, ratings.domain.items)
    try:
        with files.whole(path) as rows:
            _write(ratings, facts, rows, path.suffix)
            rows.flush()  # if the disk is full, this fails before the old facts are replaced
            with files.whole(beside(path)) as note:
                note.write(text(facts).encode())
    except OSError as error:
        if error.strerror:
            raise
        raise OSError(errno.EIO, "it could not be written completely; is the disk full?") from None


def to_parquet(ratings: People, facts: Mapping[str, Any]) -> bytes:
    """Return the Parquet file's bytes; the same rows and facts give the same bytes."""
    buffer = BytesIO()
    _write(ratings, facts, buffer, ".parquet")
    return buffer.getvalue()


def _write(ratings: People, facts: Mapping[str, Any], file: BinaryIO, suffix: str) -> None:
    schema = ratings.slice(0, 0).table().schema
    parts = (part.table() for part in ratings.cuts(_ROWS))
    tables.write(parts, schema, file, suffix, {_KEY: text(facts)})


def read_facts(path: Path) -> Any:
    """Read a file's facts, unchecked: from a Parquet file itself, or from the file next to a CSV file."""
    if path.suffix not in SUFFIXES:
        raise ReleaseError(f"{path} is not a data set: its name must end in .parquet or .csv")
    with files.refusing(path, "read", ReleaseError, "name a released data set"), files.opened(path):
        pass
    note = ""
    if path.suffix == ".csv":
        fix = f"it describes {path.name}: put it in the same folder"
        note = files.read_text(beside(path), ReleaseError, fix=fix, largest=LARGEST)
    try:
        return parse(note or tables.note_in(path, _KEY))
    except Exception:  # a crafted file can make the readers raise anything
        raise ReleaseError(f"{path} is not a hushrec data set, or it is damaged; fetch it again") from None


def read_rows(path: Path, domain: Domain) -> People:
    """Read the rows of a file, which must belong to exactly this domain."""
    try:
        lo, _, step = domain.scale
        stars = pa.array(lo + step * np.arange(domain.scale.n_values))
        catalogue = pa.array(domain.items, pa.string())
        users, lengths = [], [np.zeros(0, dtype=np.int64)]
        items, values = [np.zeros(0, dtype=np.int32)], [np.zeros(0, dtype=np.uint8)]
        for part in _parts(path):
            people, given = part["user_id"], part["item_id"]
            numbers = people.indices.to_numpy()  # refuses what is missing, as below
            # Rows come user by user: a new user begins where the number changes.
            starts = np.flatnonzero(np.diff(numbers, prepend=-1))
            users.append(people.dictionary.take(pa.array(numbers[starts])).cast(pa.large_string()))
            lengths.append(np.diff(starts, append=len(numbers)))
            items.append(pc.index_in(given.dictionary, catalogue).take(given.indices).to_numpy())
            values.append(pc.index_in(part["rating"], stars).to_numpy().astype(np.uint8))
        runs = pa.chunked_array(users, pa.large_string()).combine_chunks()
        ends = np.concatenate([[0], np.cumsum(np.concatenate(lengths))])
        # A person's run is split where a part ends.
        first = np.concatenate([[True], pc.not_equal(runs[1:], runs[:-1])])[: len(runs)]
        indptr = np.append(ends[:-1][first], ends[-1])
        return People(
            domain, runs.filter(pa.array(first)), indptr, np.concatenate(items), np.concatenate(values)
        )
    except Exception:  # a crafted file can make the readers raise anything, and their messages may hold cells
        raise ReleaseError(f"{path} was altered or cut short after it was written; fetch it again") from None


def _parts(path: Path) -> Iterator[pa.RecordBatch]:
    """Yield the rows as they are unpacked, up to a limit; equal ids are stored once."""
    if path.suffix == ".csv":
        source = csv.open_csv(
            path,
            read_options=csv.ReadOptions(block_size=_BLOCK),
            parse_options=csv.ParseOptions(newlines_in_values=True),
            convert_options=csv.ConvertOptions(column_types=_COLUMNS, null_values=[]),
        )
        schema, parts = source.schema, source
    else:
        source = parquet.ParquetFile(path, read_dictionary=["user_id", "item_id"])
        schema, parts = source.schema_arrow, source.iter_batches(_ROWS)
    with source:
        if [*zip(schema.names, schema.types, strict=True)] != [*_COLUMNS.items()]:
            raise ValueError("other columns")
        left = min(_LARGEST, max(_FREE, _RATIO * path.stat().st_size))
        for part in parts:
            # Counted as it is unpacked: what a file says of its own size may be false.
            left -= part.nbytes
            if left < 0:
                raise ValueError("it unpacks to more than any ratings")
            yield part


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
    ratings: People
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
    def table(self) -> pa.Table:
        """``user_id, item_id, rating``, one row per cell."""
        return self.ratings.table()

    def estimates(self) -> pa.Table:
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
        return self.ratings.n_entries <= LARGEST_STORED

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
        # What was collected has no ledger of its own: whose reports are in it can no longer be compared.
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
        # δ was checked on each device against the people declared there; now their true number is known.
        if n_people > _MOST or first.statement.delta * 10 * n_people >= 1:
            raise ReleaseError(
                f"δ = {above(first.statement.delta)} is too large for {n_people:,} people, or their "
                "number is too large; on every device declare max_users for all people together, and choose "
                "δ below 1/(10 · max_users)"
            )
        each = [
            # Ids count from 1 in every report: each goes on where the last one ended.
            report.ratings.users.cast(pa.int64()).to_numpy() - 1 + start
            for report, start in zip(ordered, starts, strict=False)
        ]
        counts = np.concatenate([report.ratings.counts for report in ordered])
        ratings = People(
            public_domain(first.ratings.domain.items, tuple(first.ratings.domain.scale), n_people),
            anonymous_ids(n_people, np.concatenate(each) + 1),
            np.concatenate([[0], np.cumsum(counts)]),
            np.concatenate([report.ratings.items for report in ordered]),
            np.concatenate([report.ratings.values for report in ordered]),
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
            "n_cells": self.ratings.n_entries,
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
            f"{self.ratings.n_entries:,} cells"
        )


@lru_cache(maxsize=8)
def public_domain(items: tuple[str, ...], scale: tuple[float, ...], n_people: int) -> Domain:
    """Return the domain of a data set. Its rows are public, so it caps nothing."""
    return Domain(items, scale=scale, max_users=max(n_people, 1), max_per_user=len(items))


def _numbers(users: pa.LargeStringArray, n_people: int) -> bool:
    """Check that ids are ascending numbers from 1 to ``n_people``, as ``anonymous_ids`` writes them."""
    right = pc.match_substring_regex(users, rf"^[0-9]{{{len(str(n_people))}}}$")
    if not pc.all(right, min_count=0).as_py():
        return False
    numbers = users.cast(pa.int64()).to_numpy()
    return bool((np.diff(numbers, prepend=0) > 0).all()) and numbers.max(initial=0) <= n_people


def _sort(report: ReleasedData) -> tuple[Any, ...]:
    """Return the facts that all collected reports must have in common."""
    domain, statement = report.ratings.domain, report.statement
    promise = statement.unit, statement.adjacency, statement.delta
    return report.method, report.settings, domain.items, domain.scale, promise


def _together(reports: Sequence[ReleasedData]) -> Statement:
    """Combine statements: the largest ε, the gravest caveats and all assumptions."""
    statements = [report.statement for report in reports]
    caveats = dict.fromkeys(caveat for statement in statements for caveat in statement.caveats)
    gravest = [caveat for caveat in caveats if caveat.kind == "unprotected"]
    # A report's roster is one user, so its assumption about the roster is not that of all users.
    alike = dict.fromkeys(
        line for statement in statements for line in statement.assumes if line.sentence is not Assumes.roster
    )
    return replace(
        max(statements, key=lambda statement: statement.epsilon),
        caveats=tuple(gravest[:1] or sorted(caveats, key=lambda caveat: [*CAVEATS].index(caveat.kind))),
        assumes=(*alike, *([Assumes.once()] if all(report.n_people <= 1 for report in reports) else [])),
        ledger={},
    )
