"""Private interactions: rows of items that people clicked, bought or liked, optionally with counts."""

from dataclasses import dataclass
from typing import Any, ClassVar

import numpy as np
import polars as pl
from numpy.typing import NDArray

from hushrec.arrays import Bools, Bytes, Floats
from hushrec.data.capping import chosen_latest
from hushrec.data.domain import FeedbackKind
from hushrec.data.feedback import Feedback

__all__ = ["Interactions"]


@dataclass(frozen=True, slots=True, repr=False, eq=False)
class Interactions(Feedback):
    """The interactions of a population: the rows of ``Feedback``, with the items that each user gave.

    A timestamp is that of the last record of the item.

    Attributes:
        occurrences: uint8, how often the item was given, from 1 to ``domain.counts``, shape
            (n_interactions,); None if the domain declares no counts.

    All arrays are read-only.

    Raises:
        DataError: the arrays do not fit together, user ids are not unique and ascending, a user is not on
            the domain's roster, or the domain declares ratings.

    Privacy: private. ``repr`` shows only the domain, no counts.
    """

    KIND: ClassVar[FeedbackKind] = "interactions"
    VALUES: ClassVar[str] = "occurrences"

    occurrences: Bytes | None = None

    @property
    def n_interactions(self) -> int:
        """Number of pairs of a user and an item."""
        return len(self.items)

    def values(self) -> Floats:
        """Return the number of times that each item was given, 1 without counts, shape (n_interactions,)."""
        if self.occurrences is None:
            return np.ones(len(self.items))
        return self.occurrences.astype(np.float64)

    def _values_fit(self) -> bool:
        if self.occurrences is None or self.domain.counts is None:
            return self.occurrences is None and self.domain.counts is None
        inside = (self.occurrences >= 1) & (self.occurrences <= self.domain.counts)
        return len(self.occurrences) == len(self.items) and bool(inside.all())

    def _kept(self, max_per_user: int) -> Bools | None:
        if self.timestamps is None:
            return Feedback._kept(self, max_per_user)
        return chosen_latest(self.users, self.indptr, self.items, self.timestamps, max_per_user)

    def _columns(self) -> dict[str, pl.Series]:
        return {} if self.occurrences is None else {"count": pl.Series(self.occurrences)}

    def _read(self) -> tuple[NDArray[Any] | None, ...]:
        # Timestamps choose which interactions a cap keeps.
        return (*Feedback._read(self), self.timestamps)
