"""Record and replay: given the public values, nothing that leaves a fit may depend on the private ratings.

The noisy values of a fit on some ratings are recorded. Then a fit on neighbouring ratings receives the
same values. The release, byte for byte, the output, the log, the measurements and their order, and every
line that public code runs must be the same. At each measurement the two bounded sums may differ by at most
the booked sensitivity. So the neighbours differ only in sums that the noise hides.
"""

import logging
import os
import sys
from collections.abc import Iterator, Sequence
from contextlib import contextmanager, redirect_stderr, redirect_stdout
from dataclasses import dataclass, field, replace
from pathlib import Path
from tempfile import TemporaryFile
from types import FrameType
from typing import Any

from hushrec.audit.recorder import UNCHANGED, Factors, Leak, Measured, Recorder, ratio
from hushrec.curator.seeded import fit
from hushrec.data.people import People
from hushrec.models.base import Model
from hushrec.privacy.accounting.budget import Budget
from hushrec.privacy.noise.entropy import Seeded
from hushrec.release.artefact import Release

_HOME = Path(__file__).parents[1]
_ROOMS = ("curator", "estimation", "models", "release")
PUBLIC_CODE = tuple(str(_HOME / room) + os.sep for room in _ROOMS)
"""Folders whose every executed line must be the same for neighbours."""
SEED = 11  # of the noise; any number does, the same for both fits

_SEEN = {"release": "release", "output": "output", "logged": "log", "lines": "path through the lines of code"}
"""Attribute of ``Seen`` → its name in messages."""


@dataclass(slots=True, eq=False)
class Seen:
    """All that an outsider might see of a fit, and its measurements.

    Attributes:
        release: the bytes of the release, without id and head of its ledger, which are random.
        output: the bytes on standard output and standard error.
        logged: messages of all loggers.
        lines: the lines of public code, in the order in which they ran.

    Privacy: private.
    """

    release: bytes = b""
    output: tuple[bytes, bytes] = (b"", b"")
    logged: list[str] = field(default_factory=list)
    lines: list[tuple[str, int]] = field(default_factory=list)
    measured: list[Measured] = field(default_factory=list)


def record(
    ratings: People,
    model: Model,
    budget: Budget,
    tape: Sequence[Measured] | None = None,
    factors: Factors = UNCHANGED,
) -> Recorder:
    """Fit once, and return the measurements; with a tape, on the values of another fit.

    Privacy: private.
    """
    recorder = Recorder(tape, factors)
    fit(ratings, model, budget, entropy=Seeded(SEED, recorder))
    return recorder


def watch(
    ratings: People,
    model: Model,
    budget: Budget,
    tape: Sequence[Measured] | None = None,
    factors: Factors = UNCHANGED,
) -> Seen:
    """Fit once, and return all that can be seen; with a tape, on the values of another fit.

    This captures standard output and error of the whole process.

    Privacy: private.
    """
    seen, recorder = Seen(), Recorder(tape, factors)
    seen.measured = recorder.measured
    with _capture_output(seen), _capture_log(seen), _trace_lines(seen):
        release = fit(ratings, model, budget, entropy=Seeded(SEED, recorder))
    seen.release = _bytes_without_ledger(release)
    return seen


def compare(model: Model, budget: Budget, one: People, other: People, factors: Factors = UNCHANGED) -> Seen:
    """Record on one, replay on the other.

    Args:
        model: a model whose plan has no posterior sample.
        one: made-up ratings.
        other: neighbouring ones.
        factors: of the noisy values, which lead to a branch.

    Privacy: private.
    """
    with leak_on_failure("a fit"):
        first = watch(one, model, budget, factors=factors)
    with leak_on_failure("only the neighbour"):
        second = watch(other, model, budget, first.measured)
    if len(first.measured) != len(second.measured):
        raise Leak("the neighbour makes fewer measurements")
    for here, there in zip(first.measured, second.measured, strict=True):
        if ratio(here, there) > 1:
            raise Leak(f"{here.name}: the neighbour lies further away than what was booked")
    for attribute, description in _SEEN.items():
        if getattr(first, attribute) != getattr(second, attribute):
            raise Leak(f"the neighbour has another {description}")
    return first


@contextmanager
def leak_on_failure(who: str) -> Iterator[None]:
    """Turn every error into a leak: the content of ratings must not make a fit fail.

    Privacy: private.
    """
    try:
        yield
    except Leak:
        raise
    except Exception as error:
        raise Leak(f"{who} fails: {error!r}") from error


def _bytes_without_ledger(release: Release) -> bytes:
    ledger = {**release.statement.ledger, "id": "", "head": ""}
    return replace(release, statement=replace(release.statement, ledger=ledger)).to_bytes()


@contextmanager
def _capture_output(seen: Seen) -> Iterator[None]:
    """Capture the streams of Python and the descriptors below them, which compiled code writes to."""
    sys.stdout.flush()
    sys.stderr.flush()
    with TemporaryFile() as out, TemporaryFile() as err:
        saved = os.dup(1), os.dup(2)
        text = [os.fdopen(os.dup(file.fileno()), "w", encoding="utf-8") for file in (out, err)]
        os.dup2(out.fileno(), 1)
        os.dup2(err.fileno(), 2)
        try:
            with redirect_stdout(text[0]), redirect_stderr(text[1]):
                yield
        finally:
            for number, stream in enumerate(text):
                stream.close()
                os.dup2(saved[number], number + 1)
                os.close(saved[number])
        out.seek(0)
        err.seek(0)
        seen.output = out.read(), err.read()


@contextmanager
def _capture_log(seen: Seen) -> Iterator[None]:
    handler, root = logging.Handler(0), logging.getLogger()
    handler.emit = lambda record: seen.logged.append(record.getMessage())  # type: ignore[method-assign]
    level = root.level
    root.addHandler(handler)
    root.setLevel(0)
    try:
        yield
    finally:
        root.setLevel(level)
        root.removeHandler(handler)


@contextmanager
def _trace_lines(seen: Seen) -> Iterator[None]:
    def line(frame: FrameType, kind: str, argument: Any) -> Any:
        if kind == "line":
            seen.lines.append((frame.f_code.co_filename, frame.f_lineno))
        return line

    def call(frame: FrameType, kind: str, argument: Any) -> Any:
        return line if frame.f_code.co_filename.startswith(PUBLIC_CODE) else None

    earlier = sys.gettrace()
    sys.settrace(call)
    try:
        yield
    finally:
        sys.settrace(earlier)
