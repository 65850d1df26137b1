"""Printing: results to standard output; progress, warnings and confidential facts to standard error.

No sign, no full disk and no closed pipe is worth a charge.

Ids and names come from files that others made. Everything printed here is escaped: no control character
reaches the terminal, and a table cell is one line.
"""

import codecs
import io
import json
import os
import sys
import warnings
from collections.abc import Iterator
from contextlib import AbstractContextManager, contextmanager, suppress
from functools import cache
from shutil import get_terminal_size
from typing import TYPE_CHECKING, Any

from hushrec.text import escaped

if TYPE_CHECKING:
    from collections.abc import Mapping, Sequence

    from rich.console import Console
    from rich.progress import Progress
    from rich.table import Table

    from hushrec.data.anywhere import AnyPeople
    from hushrec.documents.document import Block, Document
    from hushrec.privacy.ledger.ledger import Ledger

_SPELLED = {
    **{"ε": "epsilon", "δ": "delta", "Δ": "Delta", "λ": "lambda", "μ": "mu", "ρ": "rho", "σ": "sigma"},
    **{"≤": "<=", "≥": ">=", "∞": "infinity", "±": "+-", "×": "x", "−": "-", "²": "^2", "←": "<-", "̂": "^"},
    **{"–": "-", "─": "-", "·": "-", "…": "...", "«": '"', "»": '"', "“": '"', "”": '"', "☐": "[ ]"},
}
"""The signs of hushrec's own texts. Others, of ids and titles, are escaped: they stay different."""
_ERRORS = "hushrec.spelled"


def prepare() -> None:
    """Make the streams of a command, before it opens a file."""
    while (spare := os.open(os.devnull, os.O_RDWR)) <= 2:
        pass  # it stands for a closed stream, whose number the next file would get
    os.close(spare)
    if any(action == "error" for action, *_ in warnings.filters):
        warnings.simplefilter("default")  # a warning refuses nothing
    if isinstance(sys.stdout, io.TextIOWrapper) and sys.stdout.errors in ("strict", "surrogateescape"):
        sys.stdout.reconfigure(errors=_ERRORS)
    if isinstance(sys.stderr, io.TextIOWrapper):
        sys.stderr = _Stderr(sys.stderr.buffer, sys.stderr.encoding, _ERRORS, line_buffering=True)


@contextmanager
def publication(place: object) -> Iterator[None]:
    """Context of what is printed about a release that is charged and written: failures are reported.

    Args:
        place: the release's file.
    """
    try:
        yield
        print(end="", flush=True)
    except Exception as error:
        with suppress(OSError, AttributeError):  # what is left in its buffer fails no more when Python ends
            os.dup2(os.open(os.devnull, os.O_WRONLY), sys.stdout.fileno())
        reason = error.strerror if isinstance(error, OSError) else f"{type(error).__name__}: {error}"
        print(
            f"hushrec: {place} is written and its charge is in the ledger: do not repeat this command. The "
            f"rest cannot be printed: {reason}",
            file=sys.stderr,
        )


class _Stderr(io.TextIOWrapper):
    """Standard error, whose failures are ignored: neither progress nor a warning stops a command."""

    def write(self, text: str) -> int:
        with suppress(OSError):
            super().write(text)
        return len(text)

    def flush(self) -> None:
        with suppress(OSError):
            super().flush()


def _spelled(error: UnicodeError) -> tuple[str | bytes, int]:
    """Write the first sign that an encoding lacks in ASCII."""
    assert isinstance(error, UnicodeEncodeError)
    sign, error.end = error.object[error.start], error.start + 1
    return (_SPELLED[sign], error.end) if sign in _SPELLED else codecs.backslashreplace_errors(error)


codecs.register_error(_ERRORS, _spelled)


def say(text: str) -> None:
    """Print lines to standard output."""
    print("\n".join(map(escaped, text.split("\n"))))


def tell(text: str) -> None:
    """Print lines to standard error."""
    print("\n".join(map(escaped, text.split("\n"))), file=sys.stderr)


def out() -> "Console":
    """Standard output for tables of Rich, which the laboratory prints: control characters escaped."""
    return _printers()[0]()


def err() -> "Console":
    """Standard error, for what moves."""
    return _printers()[0](stderr=True)


def table(*columns: str, left: int = 1) -> "Table":
    """An empty table without a frame; the first ``left`` columns are text, the others numbers."""
    from rich.box import SIMPLE_HEAD

    grid = _printers()[1](
        box=SIMPLE_HEAD, padding=(0, 1, 0, 0), pad_edge=False, show_edge=False, header_style="bold"
    )
    for place, column in enumerate(columns):
        grid.add_column(column, justify="left" if place < left else "right")
    return grid


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


def progress() -> "Progress":
    """A progress bar over public steps; it disappears at the end."""
    from rich.progress import Progress

    return Progress(console=err(), transient=True)


def bars() -> AbstractContextManager[object]:
    """Bars for the stages of the library's calls inside; nothing if standard error is not a terminal."""
    from hushrec.progress import progress_bar, telling

    return telling(progress_bar(err()))


def working(on: str) -> AbstractContextManager[object]:
    """A spinner next to a public description; nothing if standard error is not a terminal."""
    return err().status(on)


def print_json(facts: "Mapping[str, Any]") -> None:
    """Print one JSON object to standard output: what ``--json`` gives in place of text."""
    # ASCII alone: what is not printable in an id or a name is escaped.
    print(json.dumps(facts, indent=2, allow_nan=False))


def show(document: "Document", *, json: bool = False) -> None:
    """Print a document to standard output, laid out for this terminal, or its facts as JSON."""
    from hushrec.documents.document import to_json

    if json:
        print(to_json(document))
    else:
        show_blocks(document.blocks)


def show_blocks(blocks: "Sequence[Block]") -> None:
    """Print blocks to standard output, laid out for this terminal."""
    from hushrec.documents import terminal

    print(terminal.text(blocks, get_terminal_size().columns))


def print_ledger(ledger: "Ledger") -> None:
    """Print what a ledger allows and what is left, and who else can access its file."""
    show(ledger.document())
    mode = ledger.path.stat().st_mode & 0o777 if ledger.path and os.name == "posix" else 0
    if mode & 0o077:
        say(
            f"Users other than the owner can access {ledger.name} (mode {mode:o}): chmod 600, unless intended"
        )


def print_confidential(name: str, people: "AnyPeople") -> None:
    """Print what loading dropped or changed, to standard error, for the curator only."""
    from hushrec.data.dropped import fraction

    dropped = people.dropped
    losses = dropped.losses(people.domain)
    what = "dropped or changed:" if losses else "none dropped or changed"
    tell("Confidential, for the curator only: do not publish, do not log")
    tell(f"  {name}: {dropped.records:,} records, {what}")
    for loss in losses:
        tell(f"    {loss.count:,} ({fraction(loss.count, dropped.records)}) {loss.text}")
    if people.n_users > people.domain.max_users:
        tell(
            f"  {name}: more users than the domain declares; the guarantee's δ is chosen for at most that "
            "many: declare a larger bound from public knowledge"
        )


def still_progress() -> "Progress":
    """A progress bar that is drawn on request alone, so that nothing else is written meanwhile."""
    from rich.progress import Progress

    return Progress(
        console=err(), transient=True, auto_refresh=False, redirect_stdout=False, redirect_stderr=False
    )
