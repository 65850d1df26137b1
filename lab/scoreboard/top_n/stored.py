"""Rows that are kept as they are made, and pages whose tables are made of them."""

import csv
from collections.abc import Callable, Iterable, Sequence
from pathlib import Path


def append(path: Path, columns: Sequence[str], rows: Iterable[Sequence[object]]) -> None:
    """Add rows to a CSV file one by one, so that those of a stopped run stay; show each."""
    new = not path.exists()
    with path.open("a", encoding="utf-8", newline="") as file:
        writer = csv.writer(file, lineterminator="\n")
        if new:
            writer.writerow(columns)
        for row in rows:
            writer.writerow(row)
            file.flush()
            print(*row, flush=True)


def placed(text: str, mark: str, make: Callable[..., str], *of: object) -> str:
    """A page with a table, made of some rows, between a mark and the next end; unchanged without the mark."""
    if f"{mark}\n" not in text:
        return text
    start = text.index(f"{mark}\n") + len(mark) + 1
    return f"{text[:start]}{make(*of)}\n{text[text.index('<!-- end of table -->', start) :]}"
