"""Progress of long calls, reported step by step to the caller's ``progress=``.

A call reports when a stage begins, when a step of it is done, and when it ends. Names and totals depend on
public facts alone: the plan and the settings. Private lengths, such as the number of users, records or
blocks, are reported in hundredths: a hundred steps, for any number of users. So neighbouring data lead to the
same calls in the same order, and only the time between them differs, as it does without progress.

Privacy: public, except for the time of the calls. Show them to the curator alone.
"""

from collections.abc import Callable, Iterator, Sequence
from contextlib import contextmanager
from contextvars import ContextVar
from typing import Any, Protocol, TypeVar

HUNDREDTHS = 100  # steps of a stage of private length, by definition

T = TypeVar("T")


class Progress(Protocol):
    """Protocol of ``progress=``. Stages may lie inside others; open stages have different names."""

    def stage(self, name: str, total: int | None) -> None:
        """Begin a stage of ``total`` steps; None if its length is unknown."""
        ...

    def advance(self, name: str) -> None:
        """Complete a step of an open stage."""
        ...

    def done(self, name: str) -> None:
        """End a stage, finished or not."""
        ...


_listener: ContextVar[Progress | None] = ContextVar("progress", default=None)
_open: ContextVar[tuple[str, ...]] = ContextVar("stages", default=())


@contextmanager
def telling(progress: Progress | None) -> Iterator[None]:
    """Report all stages inside to ``progress``; with None, to the caller's."""
    outer = _listener.get()
    _listener.set(progress or outer)
    try:
        yield
    finally:
        _listener.set(outer)


def listening() -> bool:
    """Return True if someone asked for progress. Privacy: public."""
    return _listener.get() is not None


@contextmanager
def stage(name: str, total: int | None = None) -> Iterator[Callable[[], None]]:
    """Open a stage of public length, and yield a function that reports a step.

    Inside a stage of the same name, nothing is reported.
    """
    listener = _listener.get()
    if listener is None or name in _open.get():
        yield lambda: None
        return
    _open.set((*_open.get(), name))
    listener.stage(name, total)
    try:
        yield lambda: listener.advance(name)
    finally:
        listener.done(name)
        _open.set(tuple(other for other in _open.get() if other != name))


def advance(name: str) -> None:
    """Report a step, if the stage is open."""
    listener = _listener.get()
    if listener is not None and name in _open.get():
        listener.advance(name)


def steps(name: str, sequence: Sequence[T]) -> Iterator[T]:
    """Yield the elements of a sequence of public length, each a step."""
    with stage(name, len(sequence)) as step:
        for element in sequence:
            yield element
            step()


class Fraction:
    """Hundredths of a stage of private length.

    Args:
        step: reports a step.
    """

    def __init__(self, step: Callable[[], None]) -> None:
        self._step, self._reported = step, 0
        self._part, self._parts = 0, 1

    def part(self, number: int, of: int) -> None:
        """Count from now on within part ``number`` of ``of`` equal parts."""
        self._part, self._parts = number, of

    def reach(self, reached: int, of: int) -> None:
        """Report every hundredth that ``reached`` of ``of`` completes for the first time."""
        reached, of = self._part * of + reached, self._parts * of
        while self._reported < HUNDREDTHS and (self._reported + 1) * of <= HUNDREDTHS * reached:
            self._reported += 1
            self._step()


_innermost: ContextVar[Fraction | None] = ContextVar("fraction", default=None)


@contextmanager
def fraction(name: str) -> Iterator[Fraction]:
    """Open a stage of a hundred steps; all of them are reported unless the block fails."""
    with stage(name, HUNDREDTHS) as step:
        hundredths, outer = Fraction(step), _innermost.get()
        _innermost.set(hundredths)
        try:
            yield hundredths
        finally:
            _innermost.set(outer)
        hundredths.part(0, 1)
        hundredths.reach(1, 1)


def reach(reached: int, of: int) -> None:
    """Report progress to the innermost open ``fraction``, from loops that do not have it."""
    if (innermost := _innermost.get()) is not None:
        innermost.reach(reached, of)


class _Bars:
    """Bars of rich on standard error, or in a notebook; they disappear when their stages end."""

    def __init__(self, make: Callable[[], Any]) -> None:
        self._make = make
        self._screen: Any = None
        self._tasks: dict[str, Any] = {}

    def stage(self, name: str, total: int | None) -> None:
        if self._screen is None:
            self._screen = self._make()
            self._screen.start()
        self._tasks[name] = self._screen.add_task(name, total=total)

    def advance(self, name: str) -> None:
        assert self._screen is not None
        self._screen.advance(self._tasks[name])

    def done(self, name: str) -> None:
        assert self._screen is not None
        self._screen.remove_task(self._tasks.pop(name))
        if not self._tasks:
            self._screen.stop()
            self._screen = None


def progress_bar(console: Any = None) -> Progress:
    """Make bars on a terminal or in a notebook, for ``progress=``; elsewhere they show nothing.

    Args:
        console: a console of rich; standard error by default.

    Privacy: public, except for the time of the calls.
    """
    from rich.console import Console
    from rich.progress import BarColumn, Progress, SpinnerColumn, TaskProgressColumn, TextColumn

    screen = console or Console(stderr=True)

    def bars() -> Progress:
        shown = screen.is_terminal or screen.is_jupyter
        columns = (SpinnerColumn(), TextColumn("{task.description}"), BarColumn(), TaskProgressColumn())
        return Progress(*columns, console=screen, transient=True, disable=not shown)

    return _Bars(bars)
