"""Branches of a plan: after its first releases, a fit makes the measurements of one branch and no other's.

``accountant.dearest`` says what that costs.
"""

from collections.abc import Iterable
from typing import Protocol, TypeVar


class Branched(Protocol):
    """A query or an event."""

    @property
    def branch(self) -> str: ...


Some = TypeVar("Some", bound=Branched)


def names_of(measurements: Iterable[Branched]) -> list[str]:
    """Return the names of the branches, in order; none if all measurements are made."""
    return [*dict.fromkeys(one.branch for one in measurements if one.branch)]


def paths(measurements: Iterable[Some]) -> list[list[Some]]:
    """Return, for each branch, its measurements and those that are always made, in order."""
    listed = [*measurements]
    return [[one for one in listed if one.branch in ("", name)] for name in names_of(listed) or [""]]
