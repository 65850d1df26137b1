"""What the runner asks of an experiment: cases, a bench to measure them on, and the columns of the table."""

from collections.abc import Sequence
from typing import Any, Protocol, TypeVar


class Case(Protocol):
    """One run, as the runner sees it."""

    @property
    def name(self) -> str:
        """Of its curve: a label."""

    def coordinates(self) -> dict[str, Any]:
        """What its result depends on, by column."""

    def key(self, source: dict[str, str]) -> str:
        """Digest of the coordinates, the source and hushrec's version."""


C = TypeVar("C", bound=Case)
C_contra = TypeVar("C_contra", bound=Case, contravariant=True)


class Bench(Protocol[C_contra]):
    """A place to run cases: hashable, and small until ``open``, because it is sent to other processes."""

    def __hash__(self) -> int: ...

    def open(self) -> None:
        """Load what all cases need. An error here ends the experiment."""

    def measure(self, case: C_contra, /) -> list[dict[str, Any]]:
        """What the case comes to: its rows, without coordinates. An error here is the case's alone."""


class Work(Protocol[C]):
    """An experiment: a grid, or the runs of a reproduction."""

    def columns(self) -> dict[str, Any]:
        """Columns of the table and their types, ``key`` and ``error`` among them."""

    def source(self) -> dict[str, str]:
        """What all cases share, by column."""

    def cases(self) -> Sequence[C]:
        """Every run, in the order of the table."""

    def bench(self) -> Bench[C]:
        """Where they are run."""
