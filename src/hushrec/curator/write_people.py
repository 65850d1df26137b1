"""Files of synthetic people: their rows as Parquet or CSV, with what they are and the release's statement.

Rows are ``user_id, item_id``, with ``rating`` from a release of ratings and ``title`` where it has titles.
They are drawn as they are written. The facts are JSON: metadata of the Parquet file under
``hushrec.synthetic``, or a file next to the CSV file, ``NAME.synthetic.json``.

Privacy: public; post-processing of a release.
"""

import json
import shutil
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import numpy as np
import pyarrow as pa

from hushrec import files
from hushrec.data import tables
from hushrec.documents.document import Document, Facts, Points
from hushrec.errors import ReleaseError
from hushrec.models.du_leighton_patel.released_data import SUFFIXES, anonymous_ids, require_lines
from hushrec.progress import Progress, telling
from hushrec.release.statement import Statement
from hushrec.release.synthesis.synthetic_people import FORMAT, SyntheticPeople
from hushrec.release.untrusted_json import LARGEST, entries, number, parse, parsing, typed
from hushrec.sums.footprint import in_bytes
from hushrec.text import one_line

KEY = "hushrec.synthetic"
"""Of the facts in the metadata of a Parquet file."""
_NUMBERS = 30
"""Bytes of a row of CSV without its id and title: the person's number, the rating, quotes and commas."""


def write_people(people: SyntheticPeople, path: str | Path, *, progress: Progress | None = None) -> None:
    """Write synthetic people to a file, as they are drawn; the file appears once it is complete.

    Args:
        people: from ``Release.synthesize``.
        path: a new file, ending in ``.parquet`` or ``.csv``.
        progress: called with the part of the people that is drawn.

    Raises:
        ReleaseError: The name has another ending, the file exists, or the disk has too little room.
        OSError: The file cannot be written.
    """
    path = Path(path)
    if path.suffix not in SUFFIXES:
        raise ReleaseError(
            f"name it {path.name}.parquet or {path.name}.csv: people have one of these formats"
        )
    if path.exists():
        raise ReleaseError(f"{path} exists; choose another file")
    require_lines(path, people.release.items)
    _require_room(people, path)
    text = json.dumps(people.facts(), sort_keys=True, ensure_ascii=False, allow_nan=False)
    names = [
        "user_id",
        "item_id",
        *["rating"] * _has_ratings(people),
        *["title"] * bool(people.release.titles),
    ]
    schema = pa.schema([(name, pa.float64() if name == "rating" else pa.large_string()) for name in names])
    with (
        telling(progress),
        files.refusing(path, "written", ReleaseError, "choose another file"),
        files.whole(path, new=True) as file,
    ):
        if path.suffix == ".csv":
            with files.whole(_beside(path), new=True) as note:
                note.write(text.encode())
        tables.write(_tables(people, schema), schema, file, path.suffix, {KEY: text})


def described(path: Path) -> Document | None:
    """Describe a file of synthetic people by the facts in it; None if it is another file.

    Raises:
        ReleaseError: The facts are damaged.
    """
    facts = facts_of(path)
    if facts is None:
        return None
    with parsing(f"the facts of {path.name} are damaged; write the people again"):
        says = [one_line(typed(text, str)) for text in entries(facts["says"])]
        statement = Statement.from_json(facts["statement"]).document()
        rows = [
            ("synthetic people", f"{typed(facts['n_users'], int):,}"),
            ("mean number of items", f"{number(facts['mean_items']):,.1f}"),
            ("drawn from", f"a release of {one_line(typed(facts['model'], str))}"),
        ]
    blocks = [Facts(rows), Points(says), *statement.blocks]
    return Document("statement", "Synthetic people", blocks, facts=statement.facts)


def facts_of(path: Path) -> dict[str, Any] | None:
    """Return the facts of a file of synthetic people, unchecked; None if it is another file."""
    try:
        if path.suffix == ".csv" and _beside(path).is_file():
            note = files.read_text(_beside(path), ReleaseError, fix="write the people again", largest=LARGEST)
        elif path.suffix == ".parquet":
            note = tables.note_in(path, KEY)
        else:
            return None
        facts = parse(note)
        return facts if isinstance(facts, dict) and facts.get("format") == FORMAT else None
    except Exception:  # a crafted file can make the readers raise anything
        return None


def _beside(path: Path) -> Path:
    return path.with_name(f"{path.name}.synthetic.json")


def _has_ratings(people: SyntheticPeople) -> bool:
    return people.release.feedback == "ratings"


def _require_room(people: SyntheticPeople, path: Path) -> None:
    """Refuse a table that is larger than the disk has room for."""
    release = people.release
    texts = sum(map(len, release.items)) + sum(map(len, release.titles))
    each = _NUMBERS + texts // max(len(release.items), 1) if path.suffix == ".csv" else 4
    size, free = people.n_rows * each, shutil.disk_usage(path.absolute().parent).free
    if size > free:
        raise ReleaseError(
            f"about {people.n_rows:,} rows take up to {in_bytes(size)}, and the disk has {in_bytes(free)}; "
            "draw fewer people"
        )


def _tables(people: SyntheticPeople, schema: pa.Schema) -> Iterator[pa.Table]:
    items, titles = (
        pa.array(texts, pa.large_string()) for texts in (people.release.items, people.release.titles)
    )
    first = 1
    for block in people.blocks():
        numbers = np.repeat(np.arange(first, first + block.n_users), np.diff(block.indptr))
        first += block.n_users
        given = pa.array(block.items)
        columns = [anonymous_ids(people.n_users, numbers), items.take(given)]
        if _has_ratings(people):
            columns.append(pa.array(block.values))
        if len(titles):
            columns.append(titles.take(given))
        yield pa.table(columns, schema=schema)
