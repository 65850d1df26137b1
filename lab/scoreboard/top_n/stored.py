"""Rows that are kept as they are made."""

import csv
from collections.abc import Iterable, Sequence
from pathlib import Path


def append(path: Path, columns: Sequence[str], rows: Iterable[Sequence[object]]) -> None:
    """Add rows to a CSV file one by one, so that those of a stopped run stay; show each."""
    new = not path.exists()
    path.parent.mkdir(parents=True, exist_ok=True)
    with path.open("a", encoding="utf-8", newline="") as file:
        writer = csv.writer(file, lineterminator="\n")
        if new:
            writer.writerow(columns)
        for row in rows:
            writer.writerow(row)
            file.flush()
            print(*row, flush=True)
