"""Printing: results to standard output; progress, warnings and confidential facts to standard error.

No sign, no full disk and no closed pipe is worth a charge.

Ids and names come from files that others made. Everything printed here is escaped: no control character
reaches the terminal, and a table cell is one line.
"""

import codecs
import io
import os
import sys
import warnings
from collections.abc import Iterator
from contextlib import AbstractContextManager, contextmanager, suppress
from shutil import get_terminal_size
from typing import TYPE_CHECKING, Any

from hushrec.text import escaped

if TYPE_CHECKING:
    from collections.abc import Sequence

    from rich.console import Console

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


def err() -> "Console":
    """Standard error, for what moves: all text escaped. Rich is slow to import."""
    from rich.console import Console
    from rich.text import Text

    class Shown(Console):
        def render_str(self, text: str, **options: Any) -> Text:
            return super().render_str("\n".join(map(escaped, text.split("\n"))), **options)

    return Shown(stderr=True, markup=False, emoji=False, highlight=False)


def bars() -> AbstractContextManager[object]:
    """Bars for the stages of the library's calls inside; nothing if standard error is not a terminal."""
    from hushrec.progress import progress_bar, telling

    return telling(progress_bar(err()))


def working(on: str) -> AbstractContextManager[object]:
    """A spinner next to a public description; nothing if standard error is not a terminal."""
    return err().status(on)


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
