"""Clean records put together as people: in memory, or in a folder as they come sorted from DuckDB.

Privacy: private.
"""

from collections.abc import Callable
from contextlib import closing
from dataclasses import replace
from pathlib import Path

import numpy as np
import pyarrow as pa

from hushrec import files
from hushrec.arrays import Ints
from hushrec.data.clean import Cleaner
from hushrec.data.domain import Domain
from hushrec.data.dropped import Dropped
from hushrec.data.folder import Folder
from hushrec.data.people import People
from hushrec.data.readers.duck import Temporary, within_room
from hushrec.errors import DataError
from hushrec.progress import stage


@within_room()
def in_memory(cleaner: Cleaner, dropped: Dropped | None = None) -> People:
    """Put clean records together as rows in memory.

    Args:
        dropped: what was dropped on the way to them, if they come from other cleaners.
    """
    n = cleaner.n_kept() if dropped else None
    dropped = dropped or cleaner.dropped()
    n = dropped.records - dropped.lost_records if n is None else n
    users, epsilons = cleaner.people()
    items, values = np.empty(n, np.int32), np.empty(n, np.uint8)
    times = np.empty(n if cleaner.timed else 0, np.int64)
    counts, filled, repeats, beyond = np.zeros(len(users), np.int64), 0, 0, 0
    for rows, more_repeats, more_beyond in cleaner.rows():
        here = slice(filled, filled := filled + len(rows.items))
        items[here] = rows.items
        if rows.values is not None:
            values[here] = rows.values
        if rows.timestamps is not None:
            times[here] = rows.timestamps
        _count(counts, rows.users)
        repeats, beyond = repeats + more_repeats, beyond + more_beyond
    present = counts > 0
    return People(
        cleaner.domain,
        users.filter(pa.array(present)),
        _indptr(counts[present]),
        items[:filled],
        values[:filled] if cleaner.valued else None,
        timestamps=times[:filled] if cleaner.timed else None,
        personal_epsilon=None if epsilons is None else epsilons[present],
        dropped=_with_repeats(dropped, repeats, beyond),
    )


def on_disk(clean: Callable[[], Cleaner], domain: Domain, folder: Path | None) -> People:
    """Write clean records as rows into a folder, as they come sorted from DuckDB: no more is in memory.

    Args:
        clean: cleans them, once the folder is known to be one that can be written.
        folder: new; None for a temporary one.
    """
    temporary = Temporary() if folder is None else None
    place = temporary.folder / "people" if temporary else folder or Path()
    if place.exists():
        raise DataError(
            f"{place} exists; load it in place of the files if it holds them, or choose another one"
        )
    if not place.parent.is_dir():
        raise DataError(f"{place.parent} is not a folder; choose another one")
    with (
        files.refusing(place, "written", DataError, "choose another folder"),
        files.whole_folder(place, new=True) as new,
        closing(clean()) as cleaner,
        Folder(new) as writing,
    ):
        _write(cleaner, writing)
    people = People.open(place, domain)
    return replace(people, _temporary=temporary)


@within_room()
def _write(cleaner: Cleaner, writing: Folder) -> None:
    dropped, (users, epsilons) = cleaner.dropped(), cleaner.people()
    counts, repeats, beyond = np.zeros(len(users), np.int64), 0, 0
    writing.add("items", np.zeros(0, np.int32))
    if cleaner.valued:
        writing.add("values", np.zeros(0, np.uint8))
    if cleaner.timed:
        writing.add("timestamps", np.zeros(0, np.int64))
    with stage("writing people"):
        for rows, more_repeats, more_beyond in cleaner.rows():
            writing.add("items", rows.items)
            if rows.values is not None:
                writing.add("values", rows.values)
            if rows.timestamps is not None:
                writing.add("timestamps", rows.timestamps)
            _count(counts, rows.users)
            repeats, beyond = repeats + more_repeats, beyond + more_beyond
    present = counts > 0
    writing.finish(
        cleaner.domain,
        users.filter(pa.array(present)),
        _indptr(counts[present]),
        None if epsilons is None else epsilons[present],
        _with_repeats(dropped, repeats, beyond),
    )


def _count(counts: Ints, users: Ints) -> None:
    """Add the rows of each user, who come in ascending order."""
    if len(users):
        first = int(users[0])
        found = np.bincount(users - first)
        counts[first : first + len(found)] += found


def _indptr(counts: Ints) -> Ints:
    return np.concatenate([np.zeros(1, np.int64), np.cumsum(counts)])


def _with_repeats(dropped: Dropped, repeats: int, beyond: int) -> Dropped:
    return replace(dropped, duplicate=dropped.duplicate + repeats, clamped=dropped.clamped + beyond)
