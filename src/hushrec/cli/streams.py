"""Standard output and standard error: no sign, no full disk and no closed pipe is worth a charge."""

import codecs
import io
import os
import sys
import warnings
from collections.abc import Iterator
from contextlib import contextmanager, suppress

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
