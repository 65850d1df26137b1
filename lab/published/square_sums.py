"""A symmetric matrix under noise on each of its d² entries, as McSherry & Mironov 2009 print it (§4.4).

An entry off the diagonal is released twice, (i, j) and (j, i), each with a draw of its own. What is used is
the mean of the two, which is computed from the released matrix alone: post-processing, with half the variance
of one draw. hushrec's own models release the upper triangle, and draw once for a pair.
"""

from collections.abc import Iterator
from dataclasses import dataclass, fields
from typing import ClassVar

from hushrec.models.mcsherry_mironov.sums import CovarianceSums
from hushrec.privacy.query import Sum


@dataclass(frozen=True, slots=True)
class SquareSum(Sum):
    """A symmetric matrix, released whole; its values are the upper triangle, packed.

    Args:
        sensitivity: Δ of the whole matrix, in which an entry off the diagonal counts twice.
        size: of the upper triangle.
    """


@dataclass(frozen=True)
class SquareSums(CovarianceSums):
    """Covariance and co-rating weights, each released as a whole matrix."""

    draws: ClassVar[int] = 2

    def queries(self) -> Iterator[Sum]:
        """Descriptions of the two matrices, with Δ of the whole."""
        for query in super().queries():
            yield SquareSum(**{field.name: getattr(query, field.name) for field in fields(query)})
