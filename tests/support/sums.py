"""Sums as their statistics yield them, some as functions that are called once."""

from collections.abc import Iterable, Iterator
from typing import Any


def summed(measured: Iterable[tuple[Any, Any]]) -> Iterator[tuple[Any, Any]]:
    """Each query with its values."""
    for query, values in measured:
        yield query, values() if callable(values) else values
