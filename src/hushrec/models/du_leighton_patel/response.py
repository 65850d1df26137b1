"""Randomized response on every cell of a row, some rows at a time.

A cell is answered untruly with probability p = e^−exponent, exactly: a uniform U of 64 bits decides whether
U < p unless it is one of the two next to p, and then further words are read. Runs of rows depend only on the
shape, so the answers do not depend on the number of threads.
"""

import itertools
import math
from collections.abc import Iterator
from concurrent.futures import ThreadPoolExecutor
from dataclasses import dataclass
from fractions import Fraction

import numpy as np

from hushrec.arrays import Bools, Bytes, Ints, Ints32, Words32
from hushrec.errors import GrantError
from hushrec.models.du_leighton_patel.rows import Rows
from hushrec.privacy.accounting.measurement import Measurement, Responses, cell_loss
from hushrec.privacy.grant import most_of
from hushrec.privacy.noise import exact
from hushrec.privacy.noise.distributions import LAPLACE
from hushrec.text import above

_RUN = 2**20  # approximate number of cells
_WIDEST = 2**31 - 1  # cells of a row: column numbers have 31 bits


@dataclass(frozen=True, slots=True)
class ResponseRandomizer:
    """K-ary randomized response on the cells of a row.

    Args:
        symbols: number of symbols of a cell, one of which means empty.
        exponent: −ln of the probability of an untrue answer.
        answered: number of cells of a row that are answered, chosen at random; None for all of them.

    Privacy: public.
    """

    symbols: int
    exponent: float
    answered: int | None = None

    def __post_init__(self) -> None:
        cell_loss(self.symbols, self.exponent)

    def require_booked(self, rows: Rows, booked: Measurement) -> None:
        """Refuse answers that lose more than was booked.

        Privacy: public, except for whether the longest row exceeds the cap.
        """
        if not isinstance(booked, Responses):
            raise GrantError(
                f"{rows.name}: booked was {booked.mechanism}; charge a plan with randomized response"
            )
        if cell_loss(self.symbols, self.exponent) > booked.loss:
            raise GrantError(
                f"{rows.name}: a cell's answer loses more than the booked ε = {above(float(booked.loss))}; "
                "use the booked symbols and exponent"
            )
        answered = rows.width if self.answered is None else self.answered
        if answered != booked.size or not 1 <= answered <= rows.width <= _WIDEST:
            raise GrantError(
                f"{rows.name}: {answered} of {rows.width} cells of a row would be answered, booked were "
                f"{booked.size}; plan and rows must have the same items"
            )
        if booked.sensitivity < min(answered, 2 * rows.longest):
            raise GrantError(
                f"{rows.name}: two rows may differ in more than the booked {booked.sensitivity:.0f} cells; "
                "cap contributions as the plan does"
            )
        if rows.marks.max(initial=0) >= self.symbols - 1:
            raise GrantError(f"{rows.name}: a mark is not among the {self.symbols - 1} possible ones")

    def entries(self, rows: Rows) -> int:
        """Bound the number of offsets and answers that ``draw`` returns. Privacy: private."""
        answered = rows.width if self.answered is None else self.answered
        # An empty cell is reported with at most the chance of an untrue answer.
        invented = most_of(answered * (rows.indptr.size - 1), math.exp(-self.exponent))
        return rows.indptr.size + rows.columns.size + invented

    def draw(self, rows: Rows, key: bytes, *, threads: int = 2) -> tuple[Ints, Ints32, Bytes]:
        """Answer every answered cell: with probability e^−exponent by one of the other symbols, else truly.

        Args:
            rows: private, and as booked.
            key: 32 bytes that were never used before.
            threads: number of threads; the answers do not depend on it.

        Returns:
            indptr, columns and marks of the answers that are not empty.

        Privacy: charged by the caller.
        """
        from hushrec.models.du_leighton_patel import kernels  # compiled code, loaded only to answer

        words = np.frombuffer(key, "<u4").astype(np.uint32)
        answered = rows.width if self.answered is None else self.answered
        tall = max(1, _RUN // rows.width)

        def run(number: int) -> tuple[Ints, Ints32, Bytes]:
            bounds = rows.indptr[number * tall : (number + 1) * tall + 1]
            there = slice(bounds[0], bounds[-1])
            starts, columns, marks = bounds - bounds[0], rows.columns[there], rows.marks[there]
            counts = np.empty(starts.size - 1, np.int64)
            chosen = np.empty((counts.size, self.answered or 0), np.int32)
            if self.answered is not None:
                kernels.choose(chosen, rows.width, words, number)
                whole = starts, columns, marks
                starts, columns, marks = np.empty_like(starts), np.empty_like(columns), np.empty_like(marks)
                kernels.restrict(*whole, chosen, starts, columns, marks)
            turned = untrue(Fraction(self.exponent), counts.size * answered, words, number)
            turned = turned.reshape(counts.size, answered)
            listed = np.empty(np.count_nonzero(turned) + starts[-1], np.int32)
            reported = np.empty(listed.size, np.uint8)
            symbols = self.symbols - 1, words, number
            size = kernels.respond(starts, columns, marks, turned, *symbols, listed, reported, counts)
            listed = listed[:size].copy()
            if self.answered is not None:
                listed = chosen[np.repeat(np.arange(counts.size), counts), listed]
            return counts, listed, reported[:size].copy()

        people = rows.indptr.size - 1
        with ThreadPoolExecutor(threads) as pool:
            runs = list(pool.map(run, range(-(-people // tall))))
        parts = [list(part) for part in zip(*runs, strict=True)] or [[], [], []]
        del runs
        indptr = np.zeros(people + 1, np.int64)
        np.cumsum(np.concatenate([np.empty(0, np.int64), *parts.pop(0)]), out=indptr[1:])
        # One by one, so that at most one of them is in memory twice.
        listed = np.concatenate([np.empty(0, np.int32), *parts.pop(0)])
        return indptr, listed, np.concatenate([np.empty(0, np.uint8), *parts.pop(0)])


def untrue(exponent: Fraction, cells: int, key: Words32, run: int) -> Bools:
    """Draw which cells of a run are answered untruly: each with probability e^−exponent, exactly.

    Privacy: private.
    """
    from hushrec.models.du_leighton_patel import kernels

    words = np.empty(cells, np.uint64)
    kernels.stream(words, key, 0, (kernels.TRUTH, run, 0))
    # Words below the first are below p · 2^64 with all that follows them, and none from the second on is.
    least, most = (np.uint64(LAPLACE.survival(exponent, 64, above)) for above in (False, True))
    turned: Bools = words < least
    for cell in np.flatnonzero((words >= least) & (words < most)).tolist():

        def further(cell: int = cell) -> Iterator[int]:
            word = np.empty(1, np.uint64)
            for number in itertools.count():
                kernels.stream(word, key, number, (kernels.FURTHER, cell, run))
                yield int(word[0])

        uniform = exact.Uniform(itertools.chain([int(words[cell])], further()))
        turned[cell] = exact.happens(exponent, uniform)
    return turned
