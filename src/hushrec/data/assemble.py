"""Clean records put together as people: in memory, or in a folder as they come sorted from DuckDB.

Privacy: private.
"""

from collections.abc import Callable
from contextlib import closing
from dataclasses import replace
from pathlib import Path
from typing import Any

import numpy as np
import pyarrow as pa

from hushrec import files
from hushrec.arrays import Floats, Ints
from hushrec.data.clean import Cleaner, Rows
from hushrec.data.domain import Domain
from hushrec.data.dropped import Dropped
from hushrec.data.folder import TYPES, Folder
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
    arrays = {name: np.empty(n, TYPES[name]) for name in _entries(cleaner)}
    filled = 0

    def take(rows: Rows) -> None:
        nonlocal filled
        here = slice(filled, filled := filled + len(rows.items))
        for name, array in arrays.items():
            array[here] = getattr(rows, name)

    users, indptr, epsilons, dropped = _put_together(cleaner, dropped, take)
    entries: dict[str, Any] = {name: array[:filled] for name, array in arrays.items()}
    return People(cleaner.domain, users, indptr, **entries, personal_epsilon=epsilons, dropped=dropped)


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
    names = _entries(cleaner)
    for name in names:
        writing.add(name, np.zeros(0, TYPES[name]))

    def take(rows: Rows) -> None:
        for name in names:
            writing.add(name, getattr(rows, name))

    with stage("writing people"):
        users, indptr, epsilons, dropped = _put_together(cleaner, cleaner.dropped(), take)
    writing.finish(cleaner.domain, users, indptr, epsilons, dropped)


def _entries(cleaner: Cleaner) -> list[str]:
    """Return the names of the arrays with a value for each entry."""
    return ["items", *["values"] * cleaner.valued, *["timestamps"] * cleaner.timed]


def _put_together(
    cleaner: Cleaner, dropped: Dropped, take: Callable[[Rows], None]
) -> tuple[Any, Ints, Floats | None, Dropped]:
    """Hand on the rows as they come, sorted; return what is known of users who have any, and the counts."""
    users, epsilons = cleaner.people()
    counts, repeats, beyond = np.zeros(len(users), np.int64), 0, 0
    for rows, more_repeats, more_beyond in cleaner.rows():
        take(rows)
        _count(counts, rows.users)
        repeats, beyond = repeats + more_repeats, beyond + more_beyond
    present = counts > 0
    return (
        users.filter(pa.array(present)),
        np.concatenate([np.zeros(1, np.int64), np.cumsum(counts[present])]),
        None if epsilons is None else epsilons[present],
        replace(dropped, duplicate=dropped.duplicate + repeats, clamped=dropped.clamped + beyond),
    )


def _count(counts: Ints, users: Ints) -> None:
    """Add the rows of each user, who come in ascending order."""
    if len(users):
        first = int(users[0])
        found = np.bincount(users - first)
        counts[first : first + len(found)] += found
