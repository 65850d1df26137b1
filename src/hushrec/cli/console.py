"""Printing: results to standard output; progress, warnings and confidential facts to standard error.

Ids and names come from files that others made. Everything printed here is escaped: no control character
reaches the terminal, and a table cell is one line.
"""

import json
import os
from contextlib import AbstractContextManager
from functools import cache
from itertools import groupby
from shlex import quote
from string import digits
from textwrap import fill
from typing import TYPE_CHECKING, Any

from hushrec.escapes import escaped

if TYPE_CHECKING:
    from collections.abc import Mapping
    from pathlib import Path

    from rich.console import Console
    from rich.progress import Progress
    from rich.table import Table

    from hushrec.data.people import People
    from hushrec.privacy.ledger.ledger import Ledger
    from hushrec.release.artefact import Release
    from hushrec.release.statement import Measured, Statement


def out() -> "Console":
    """Standard output: no markup, no emoji, control characters escaped."""
    return _printers()[0]()


def err() -> "Console":
    return _printers()[0](stderr=True)


def bars() -> AbstractContextManager[object]:
    """Bars for the stages of the library's calls inside; nothing if standard error is not a terminal."""
    from hushrec.progress import progress_bar, telling

    return telling(progress_bar(err()))


def working(on: str) -> AbstractContextManager[object]:
    """A spinner next to a public description; nothing if standard error is not a terminal."""
    return err().status(on)


def table(*columns: str, left: int = 1) -> "Table":
    """An empty table without a frame; the first ``left`` columns are text, the others numbers."""
    from rich.box import SIMPLE_HEAD

    made = _printers()[1](
        box=SIMPLE_HEAD, padding=(0, 1, 0, 0), pad_edge=False, show_edge=False, header_style="bold"
    )
    for place, column in enumerate(columns):
        made.add_column(column, justify="left" if place < left else "right")
    return made


@cache
def _printers() -> "tuple[type[Console], type[Table]]":
    """Rich's classes with all text escaped. Made on first use, because Rich is slow to import."""
    from rich.console import Console
    from rich.table import Table
    from rich.text import Text

    class Shown(Console):
        def __init__(self, **settings: Any) -> None:
            super().__init__(markup=False, emoji=False, highlight=False, **settings)

        def render_str(self, text: str, **options: Any) -> Text:
            return super().render_str("\n".join(map(escaped, text.split("\n"))), **options)

    class Lines(Table):
        def add_row(self, *cells: Any, **options: Any) -> None:
            super().add_row(*(escaped(c) if isinstance(c, str) else c for c in cells), **options)

    return Shown, Lines


def print_json(facts: "Mapping[str, Any]") -> None:
    """Print one JSON object to standard output: what ``--json`` gives in place of text."""
    # ASCII alone: what is not printable in an id or a name is escaped.
    print(json.dumps(facts, indent=2, allow_nan=False))


def print_symbols() -> None:
    """Say where the symbols of a statement or plan are explained."""
    out().print("Symbols: docs/glossary.md#symbols. How to read ε: docs/reading-epsilon.md.")


def measurements(listed: "tuple[Measured, ...]", *, fold: bool = False) -> "Table":
    """The measurements with their noise and cost; folded, equal rounds in a row share a line."""
    made = table("measurement", "mechanism", "Δ", "noise", "entries", "share", "cost", left=2)
    rows: list[tuple[str, ...]] = [m.cells() for m in listed]
    for _, alike in groupby(rows, key=lambda row: (row[0].rstrip(digits), *row[1:]) if fold else row):
        equal = list(alike)
        if fold and len(equal) > 1:
            name, *others = equal[0]
            equal = [(f"{name.rstrip(digits + ' ')} × {len(equal)}, each", *others)]
        for row in equal:
            made.add_row(*row)
    return made


def print_statement(statement: "Statement") -> None:
    """Print a release's statement, with its table laid out for this terminal."""
    console = out()
    for block in str(statement).split("\n\n"):
        if block.startswith("measurement "):
            console.print(measurements(statement.measurements))
        else:
            for line in block.splitlines():
                hanging = "    " if line.startswith("  · ") else ""
                console.print(fill(line, console.width, subsequent_indent=hanging), soft_wrap=True)
        console.print()


def print_ledger(ledger: "Ledger") -> None:
    """Print what a ledger allows and how that reads, what its owner declares, and what is left."""
    from hushrec.figures import left, reading

    total, made = ledger.total, len({entry.charge for entry in ledger.entries()})
    name = escaped(ledger.name) or "in memory"
    console = out()
    console.print(f"Ledger {name}: {total}; releases charged {made}, at most {ledger.max_releases}")
    console.print(f"{reading(total.epsilon)}, over all releases together")
    for role, text in ledger.declared.items():
        console.print(f"{role}: {text}", soft_wrap=True)
    more = ledger.releases_left
    planned = f", for {more:,} more release{'s' * (more != 1)}" if ledger.max_releases > 1 else ""
    console.print(f"Left: ε = {left(ledger.remaining)}{planned}")
    if more and ledger.has_series:
        series = "A series is charged as a whole by its first release; hushrec fit --series makes the others"
        console.print(f"{series}, which cost nothing more", soft_wrap=True)
    if ledger.releases_left > 1 and left(ledger.remaining) != "0":
        share = (
            f"with Gaussian noise more than ε = {left(ledger.remaining)} divided by {ledger.releases_left:,}"
        )
        console.print(f"hushrec fit --epsilon auto takes an equal share, {share}", soft_wrap=True)
    if ledger.holds:
        console.print(ledger.holds, soft_wrap=True)
    mode = ledger.path.stat().st_mode & 0o777 if ledger.path and os.name == "posix" else 0
    if mode & 0o077:
        console.print(
            f"Users other than the owner can access {name} (mode {mode:o}): chmod 600, unless intended"
        )


def print_confidential(name: str, people: "People") -> None:
    """Print what loading dropped or changed, to standard error, for the curator only."""
    from hushrec.data.losses.dropped import share

    console, name, dropped = err(), escaped(name), people.dropped
    console.print("Confidential, for the curator only: do not publish, do not log", style="bold")
    losses = dropped.losses(people.domain)
    what = "dropped or changed:" if losses else "none dropped or changed"
    console.print(f"  {name}: {dropped.records:,} records, {what}", soft_wrap=True)
    for loss in losses:
        console.print(
            f"    {loss.count:,} ({share(loss.count, dropped.records)}) {loss.text}", soft_wrap=True
        )
    if people.n_users > people.domain.max_users:
        console.print(
            f"  {name}: more users than the domain declares; the guarantee's δ is chosen for at most that "
            "many: declare a larger bound from public knowledge"
        )


def print_choice(model: str, because: str) -> None:
    """Say which model was chosen, and why."""
    out().print(f"Model: {model}, because {because}", soft_wrap=True)


def print_next(release: "Release", path: "Path") -> None:
    """Say where a release was written, and how to use it."""
    own = "--rating ITEM=STARS" if release.feedback == "ratings" else "--item ITEM"
    out().print(f"Wrote {path}. Next: hushrec recommend {quote(str(path))} {own}", soft_wrap=True)


def progress() -> "Progress":
    """A progress bar over public steps; it disappears at the end."""
    from rich.progress import Progress

    return Progress(console=err(), transient=True)


def still_progress() -> "Progress":
    """A progress bar that is drawn on request alone, so that nothing else is written meanwhile."""
    from rich.progress import Progress

    return Progress(
        console=err(), transient=True, auto_refresh=False, redirect_stdout=False, redirect_stderr=False
    )
