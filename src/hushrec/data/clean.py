"""The cleaning of records into people, in one SQL text that DuckDB runs, in memory or, beyond it, from disk.

Content never changes control flow here: each record is kept, repaired or dropped by a rule that looks at its
own user alone, and nothing is raised, printed or logged. Times are Unix seconds, whatever the source has.

Privacy: private.
"""

from collections.abc import Iterator
from contextlib import closing
from threading import Event, Thread
from typing import Any, NamedTuple

import duckdb
import numpy as np
import pyarrow as pa

from hushrec.arrays import Bools, Bytes, Floats, Ints, Ints32
from hushrec.data.declarations import MAX_ID_BYTES, Scale
from hushrec.data.domain import Domain
from hushrec.data.dropped import Dropped
from hushrec.data.readers.columns import COUNTED, RATED, UNRATED, UNUSED, Roles
from hushrec.data.readers.delimited import has_records, json_fault, opened
from hushrec.data.readers.duck import ROOM, connect, explained, lacks_room
from hushrec.data.readers.scans import Scan, csv_relation, mended, of_keys
from hushrec.data.readers.sources import Part
from hushrec.data.reading import PLAIN, Columns
from hushrec.errors import DataError
from hushrec.progress import fraction, listening

MAX_TIMESTAMP = 1 << 40  # Unix seconds, some 35,000 years: chosen by hand
_BATCH = 1 << 17  # rows that come from DuckDB at once: chosen by hand

RECORDS = """
-- One row a record: its user, item, value and time if it is kept, and what happened to it.
CREATE OR REPLACE TEMP TABLE records AS
WITH raw AS ({raw}),
-- Ids are text in Unicode NFC. Empty ones, those over {max_id} bytes and those with NUL are none: a NUL alone
-- stands for a cell of another type, such as 7.0, which must not become a second person beside 7.
named AS (
    SELECT
        nfc_normalize(user_id) AS user_id, user_id = chr(0) OR item_id = chr(0) AS of_other_type,
        item_id, value, float_error, time, unused,
        coalesce(
            class.epsilon, CASE WHEN NOT contains(raw.epsilon, '_') THEN try_cast(raw.epsilon AS DOUBLE) END
        ) AS epsilon
    FROM raw LEFT JOIN classes AS class ON nfc_normalize(raw.epsilon) = class.name
),
found AS (
    SELECT
        named.*, catalogue.code AS item,
        coalesce(
            strlen(user_id) BETWEEN 1 AND {max_id} AND NOT contains(user_id, chr(0)) AND {on_roster}, false
        ) AS is_person,
        -- A record without a valid ε requests 0: data are never used at an ε that their user did not request.
        {epsilon_is_valid} AS has_epsilon,
        coalesce(isfinite(value) AND value >= {least}, false) AS has_value,
        -- A number of single precision is only nearly on the scale, or within its ends.
        1e-6 * {step} + float_error * greatest(abs(value), {span}) AS tolerance,
        greatest(least(floor((value - {lo}) / {step} + 0.5), {n_values} - 1), 0) AS steps,
        CASE WHEN NOT isnan(time) THEN time END AS moment
    FROM named LEFT JOIN catalogue ON nfc_normalize(named.item_id) = catalogue.id
),
-- The first reason counts.
judged AS (
    SELECT
        found.*,
        CASE
            WHEN NOT is_person THEN CASE WHEN coalesce(user_id = chr(0), false) THEN 5 ELSE 1 END
            WHEN NOT has_epsilon THEN 4
            WHEN item IS NULL THEN CASE WHEN coalesce(of_other_type, false) THEN 5 ELSE 2 END
            WHEN NOT has_value THEN 3
            ELSE 0
        END AS lost
    FROM found
)
SELECT
    CASE WHEN {keeps_user} THEN user_id END AS user_id,
    CASE WHEN lost = 0 THEN item END AS item,
    -- Ratings are clamped to the scale, and rounded to its nearest step.
    CASE WHEN lost = 0 THEN steps::UTINYINT END AS value,{time}{epsilon}
    CASE WHEN lost > 0 THEN lost ELSE
        8 * (value < {lo} - tolerance OR value > {hi} + tolerance)::INT
        + 16 * (value BETWEEN {lo} AND {hi} AND abs({lo} + {step} * steps - value) > tolerance)::INT
        + 32 * ({timed} AND NOT coalesce(moment BETWEEN 0 AND {latest}, false))::INT
        + 64 * unused::INT
    END::UTINYINT AS mark
FROM judged
"""
# Columns that sources lack are left out: what spills to disk is encrypted, byte by byte.
TIME = """
    floor(greatest(least(coalesce(moment, 0), {latest}), 0))::BIGINT AS time,  -- a cast alone would round"""
EPSILON = """
    CASE WHEN has_epsilon THEN epsilon ELSE 0 END AS epsilon,"""
NOTHING = """
SELECT NULL::VARCHAR AS user_id, NULL::VARCHAR AS item_id, 0::DOUBLE AS value, 0::DOUBLE AS float_error,
    NULL::DOUBLE AS time, NULL::VARCHAR AS epsilon, false AS unused WHERE false
"""
PARTS = """
SELECT part, records.* EXCLUDE (mark) FROM records JOIN (
    SELECT user_id, (md5_number_lower(user_id) % {n})::INTEGER AS part
    FROM (SELECT DISTINCT user_id FROM records)
) USING (user_id) ORDER BY part
"""
PEOPLE = """
-- Everyone with a record that is kept, or, if people request an ε, with any: their smallest ε counts.
CREATE OR REPLACE TEMP TABLE people AS
SELECT *, (row_number() OVER (ORDER BY user_id) - 1)::INTEGER AS code
FROM (SELECT user_id{epsilon} FROM records WHERE user_id IS NOT NULL GROUP BY user_id)
"""
ROWS = """
-- Of the records of one user and item, the last by time comes last, then the largest.
SELECT people.code::BIGINT << 32 | item AS pair, value{time}
FROM records JOIN people USING (user_id) WHERE item IS NOT NULL ORDER BY pair{time}, value
"""


class Rows(NamedTuple):
    """Some of the rows of people, in ascending order of user and item.

    Attributes:
        users: code of each row's user.
        items: index in the catalogue.
        values: as of ``People``, None without.
        timestamps: None without.
    """

    users: Ints
    items: Ints32
    values: Bytes | None
    timestamps: Ints | None


class Cleaner:
    """A cleaner of records: of ratings if the domain has a scale, else of interactions.

    Args:
        domain: the public domain.
        threads: of DuckDB; all cores by default.

    Attributes:
        roles: the columns that are read, whether or not a source must have them.
    """

    def __init__(self, domain: Domain, *, threads: int | None = None) -> None:
        self.domain = domain
        self.roles = roles_of(domain)
        # Counts are read as ratings on a scale from 1.
        self._scale = domain.rating_scale or Scale(1, domain.counts or 1, 1)
        self._present: set[str] = set()
        self.db = connect(threads=threads)
        self._put(
            "catalogue", {"id": pa.array(domain.items), "code": pa.array(range(domain.n_items), pa.int32())}
        )
        classes = domain.personal_epsilon or {}
        names, epsilons = pa.array([*classes], pa.string()), pa.array([*classes.values()], pa.float64())
        self._put("classes", {"name": names, "epsilon": epsilons})
        if domain.users is not None:
            self._put("roster", {"id": pa.array(domain.users)})

    def _put(self, name: str, columns: dict[str, Any]) -> None:
        self.db.register(name, pa.table(columns))

    @property
    def has_personal_epsilon(self) -> bool:
        """True if the sources have a column of the ε that each user requests."""
        return "personal_epsilon" in self._present

    @property
    def timed(self) -> bool:
        """True if the sources have a column of times."""
        return "timestamp" in self._present

    @property
    def valued(self) -> bool:
        """True if rows have values: ratings, or counts."""
        return self.domain.feedback == "ratings" or self.domain.counts is not None

    def clean(self, scans: list[Scan], columns: Columns, decimal: str = ".") -> list[Scan]:
        """Clean all records, into the table ``records``; return the scans as they were read.

        Raises:
            DataError: a file cannot be read. Names the file and the row.
        """
        keyed = (self._keyed(scan, columns) for scan in scans)
        scans = [scan for scan in keyed if scan is not None]
        self._present = scans[0].roles if scans else set()
        for scan in scans:
            if other := self._present ^ scan.roles:
                raise DataError(
                    f"{scan.name}: some files lack the column {min(other)}; give all files the same columns"
                )
            if scan.arrow is not None:
                self.db.register(scan.relation.partition(" ")[0], scan.arrow)
        try:
            self._clean(scans, decimal)
        except duckdb.Error as error:
            failed = error
        else:
            return scans
        for place, scan in enumerate(scans):  # a file may end its lines in two ways; DuckDB reads one
            if (again := mended(scan)) is not None:
                return self.clean([*scans[:place], again, *scans[place + 1 :]], columns, decimal)
        raise self._explained(failed, scans, decimal) from None

    def _keyed(self, scan: Scan, columns: Columns) -> Scan | None:
        """Find the columns of a file of JSON; None if it holds no record."""
        if scan.cells:
            return scan
        try:
            names = [name for (name,) in self.db.execute(scan.relation).fetchall()]
        except duckdb.Error as error:
            failed = error
        else:
            return of_keys(scan, names, self.roles, columns) if names or has_records(scan.text) else None
        raise DataError(_of_scan(failed, scan))

    def _clean(self, scans: list[Scan], decimal: str) -> None:
        self._run(self._sql(" UNION ALL ".join(scan.select(decimal) for scan in scans) or NOTHING))

    def _sql(self, raw: str) -> str:
        lo, hi, step = self._scale
        asks, latest = self.has_personal_epsilon, f"{MAX_TIMESTAMP}::DOUBLE"
        return RECORDS.format(
            raw=raw,
            max_id=MAX_ID_BYTES,
            on_roster="true" if self.domain.users is None else "user_id IN (SELECT id FROM roster)",
            epsilon_is_valid="coalesce(epsilon >= 0 AND epsilon < 'inf'::DOUBLE, false)" if asks else "true",
            keeps_user="is_person" if asks else "lost = 0",
            least="'-inf'::DOUBLE" if "rating" in self.roles else "0.5::DOUBLE",
            lo=f"{lo!r}::DOUBLE",
            hi=f"{hi!r}::DOUBLE",
            step=f"{step!r}::DOUBLE",
            span=f"{max(abs(lo), abs(hi))!r}::DOUBLE",
            n_values=self._scale.n_values,
            latest=latest,
            time=TIME.format(latest=latest) if self.timed else "",
            epsilon=EPSILON if asks else "",
            timed="true" if self.timed else "false",
        )

    def _run(self, sql: str) -> None:
        """Run a statement; a thread reports its progress, where someone listens."""
        with fraction("reading") as progress:
            over = Event()

            def report() -> None:
                while not over.wait(0.2):
                    progress.reach(int(max(self.db.query_progress(), 0)), 100)

            if listening():
                for setting in ("enable_progress_bar = true", "enable_progress_bar_print = false"):
                    self.db.execute(f"SET {setting}").fetchall()
                Thread(target=report, daemon=True).start()
            try:
                self.db.execute(sql).fetchall()
            finally:
                over.set()

    def close(self) -> None:
        """Free the records."""
        self.db.close()

    def _explained(self, error: Exception, scans: list[Scan], decimal: str) -> DataError:
        """Find the file at fault, which DuckDB may not name, by reading one after the other."""
        at_fault = scans[0]
        for scan in scans if len(scans) > 1 else ():
            if scan.arrow is not None:
                continue
            try:
                self.db.execute(f"SELECT count(COLUMNS(*)) FROM ({scan.select(decimal)})").fetchall()
            except duckdb.Error as its:
                error, at_fault = its, scan
                break
        return DataError(_of_scan(error, at_fault))

    def dropped(self) -> Dropped:
        """Count the records by what happened to them. Repeats are not known yet."""
        marks = np.array(
            self.db.execute("SELECT mark, count(*) FROM records GROUP BY mark").fetchall(), np.int64
        )
        marks = marks.reshape(-1, 2)

        def of(bits: Bools) -> int:
            return int(marks[bits, 1].sum())

        reason, flags = marks[:, 0] & 7, marks[:, 0]
        return Dropped(
            user_id=of(reason == 1),
            item_id=of(reason == 2),
            rating=of(reason == 3),
            personal_epsilon=of(reason == 4),
            other_type=of(reason == 5),
            clamped=of(flags & 8 > 0),
            rounded=of(flags & 16 > 0),
            timestamp=of(flags & 32 > 0),
            unused=of(flags & 64 > 0),
            records=int(marks[:, 1].sum()),
        )

    def n_kept(self) -> int:
        """Count the records that are kept, repeats included."""
        return int(self.db.execute("SELECT count(item) FROM records").fetchall()[0][0])

    def parts(self, n: int) -> Iterator[tuple[int, Any]]:
        """Yield the records of each of ``n`` parts of the people, whom a hash of their id puts there."""
        table = self.db.sql(PARTS.format(n=n)).to_arrow_table()
        places = table.column("part").to_numpy()
        starts = np.searchsorted(places, np.arange(n + 1))
        for part in np.unique(places).tolist():
            first, last = int(starts[part]), int(starts[part + 1])
            yield part, table.slice(first, last - first).drop_columns(["part"])

    def take(self, records: Any, present: set[str]) -> None:
        """Hold records that ``parts`` of other cleaners yielded."""
        self._present = present
        self.db.register("taken", records)
        mark = "CREATE OR REPLACE TEMP TABLE records AS SELECT *, 0::UTINYINT AS mark FROM taken"
        self.db.execute(mark).fetchall()
        self.db.unregister("taken")

    def people(self) -> tuple[Any, Floats | None]:
        """Find all people with a record; return their ids, ascending, and the ε that each requests."""
        asks = self.has_personal_epsilon
        self.db.execute(PEOPLE.format(epsilon=", min(epsilon) AS epsilon" if asks else "")).fetchall()
        table = self.db.sql("SELECT * FROM people ORDER BY code").to_arrow_table()
        users = table.column("user_id").cast(pa.large_string()).combine_chunks()
        users = users if isinstance(users, pa.Array) else pa.array([], pa.large_string())
        return users, table.column("epsilon").to_numpy() if asks else None

    def rows(self) -> Iterator[tuple[Rows, int, int]]:
        """Yield the rows of ``people()``, with the numbers of repeats and of counts beyond the largest."""
        sql = ROWS.format(time=", time" if self.timed else "")
        carried: list[Any] = []
        for batch in self.db.sql(sql).to_arrow_reader(_BATCH):
            arrays = [column.to_numpy(zero_copy_only=False) for column in batch.columns]
            arrays = (
                [np.concatenate(both) for both in zip(carried, arrays, strict=True)] if carried else arrays
            )
            cut = int(np.searchsorted(arrays[0], arrays[0][-1:]).sum()) if len(arrays[0]) else 0
            yield self._merged([array[:cut] for array in arrays])
            carried = [array[cut:] for array in arrays]
        if carried:
            yield self._merged(carried)

    def _merged(self, arrays: list[Any]) -> tuple[Rows, int, int]:
        """Keep the last record of each user and item, or add up their counts."""
        domain, (pairs, values, *times) = self.domain, arrays
        last = np.append(pairs[1:] != pairs[:-1], True)[: len(pairs)]
        repeats, beyond = int(len(pairs) - last.sum()), 0
        kept = values[last]
        if domain.counts is not None:
            ends = np.flatnonzero(last)
            totals = np.diff(np.cumsum(values + np.int64(1))[ends], prepend=0)
            kept, repeats = np.minimum(totals, domain.counts).astype(np.uint8), 0
            beyond = int((totals > domain.counts).sum())
        elif domain.rating_scale is not None and domain.likes is not None:
            last[last] = liked = kept >= domain.rating_scale.nearest(np.array(domain.likes))
            kept = kept[liked]
        rows = Rows(
            pairs[last] >> 32,
            (pairs[last] & 0xFFFFFFFF).astype(np.int32),
            kept if self.valued else None,
            times[0][last] if times else None,
        )
        return rows, repeats, beyond


def require_readable(sources: list[Part]) -> None:
    """Read files of text with headers to their ends, and refuse them as loading would.

    Raises:
        DataError: a file cannot be read. Names the file and the row.
    """
    for part in sources:
        file = opened(part, PLAIN, headerless=False)
        records, message = csv_relation(file, len(file.fields or [])), ""
        with closing(connect()) as db:
            try:
                db.execute(f"SELECT count(c0) FROM {records}").fetchall()
            except duckdb.Error as error:
                message = explained(error, file.name)
        if message:
            raise DataError(message)


def roles_of(domain: Domain) -> Roles:
    """Return the columns that are read under a domain, whether or not a source must have them."""
    if domain.rating_scale is not None:
        return RATED
    return (*(UNRATED if domain.counts is None else COUNTED), UNUSED)


def _of_scan(error: Exception, scan: Scan) -> str:
    if scan.text is not None:
        of_json = "JSON" in str(error) or scan.kinds.get("user_id", "json") == "json"
        return (json_fault(scan.text) if of_json else "") or explained(error, scan.name)
    if lacks_room(error):
        return ROOM
    if scan.arrow is None:
        return f"{scan.name} is not a Parquet file, or is damaged or cut short; write it again"
    return "the table cannot be read, or its query fails; write it to a Parquet file, ids as text"
