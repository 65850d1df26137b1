"""The definition of every draw, in integer arithmetic: slow, and what the fast kernel must agree with."""

import math
from collections.abc import Callable, Iterator
from dataclasses import dataclass
from fractions import Fraction

from hushrec.privacy.noise.distributions import Law
from hushrec.privacy.noise.geometric import Count

_GUARD = 64


@dataclass(slots=True)
class Uniform:
    """An infinite binary fraction in [0, 1) of which only the first bits have been read.

    Args:
        words: its bits, ``width`` at a time, the most significant first.
        width: bits of a word.

    Privacy: private.
    """

    words: Iterator[int]
    width: int = 64
    known: int = 0
    bits: int = 0

    def read(self) -> None:
        """Read one word more."""
        self.known = self.known << self.width | next(self.words)
        self.bits += self.width

    def take_bit(self) -> bool:
        """Remove the leading bit, which leaves the rest uniform."""
        self.bits -= 1
        bit, self.known = divmod(self.known, 1 << self.bits)
        return bool(bit)

    def guess(self) -> float:
        """The middle of what it can still be."""
        return (2 * self.known + 1) / (2 << self.bits)


def draw(law: Law, scale: float, cell_bits: int, first: Uniform, second: Uniform) -> int:
    """The integer K, distributed as round(scale · Z), that two uniform fractions stand for.

    ``first`` is a sign bit and then U₁: the cell is the j with S(j) > U₁ ≥ S(j + 1), where S(j) is the chance
    that |K| is at least j · 2^cell_bits. In it, ``second`` is U₂ and the place m has s(m) > U₂ ≥ s(m + 1),
    where s(m) is the chance, given the cell, to be at least m integers into it.

    Args:
        law: of Z.
        scale: in integers.
        cell_bits: log2 of a cell's number of integers; 0 leaves ``second`` unread.
        first, second: nothing read yet.

    Returns:
        K.

    Privacy: private.
    """
    width = Fraction(scale)
    cell_size = 1 << cell_bits

    def reaches(k: int, bits: int) -> tuple[int, int]:  # bounds on P(|K| ≥ k)
        x = max(Fraction(0), (k - Fraction(1, 2)) / width)
        return law.survival(x, bits, False), law.survival(x, bits, True)

    first.read()
    negative = first.take_bit()
    likely = int(scale * law.quantile(first.guess()) + 0.5) // cell_size
    start = cell_size * _locate(first, lambda j, bits: reaches(j * cell_size, bits), likely)
    place = 0
    if cell_bits:

        def reaches_in_cell(m: int, bits: int) -> tuple[int, int]:
            more = bits + 2 * _GUARD
            (inner_low, inner), (outer_low, outer) = reaches(start, more), reaches(start + cell_size, more)
            low, high = reaches(start + m, more)
            smallest = max(1, inner_low - outer)
            return ((low - outer) << bits) // (inner - outer_low), -((outer_low - high << bits) // smallest)

        second.read()
        place = _locate(second, reaches_in_cell, int((1 - second.guess()) * cell_size))
    magnitude = start + place
    return -magnitude if negative else magnitude


def count(law: Count, uniform: Uniform) -> tuple[bool, int]:
    """A sign bit, and of the U that follows it the k with P(G ≥ k) > U ≥ P(G ≥ k + 1).

    Args:
        law: of k.
        uniform: nothing read yet.

    Returns:
        Whether the sign is negative, and k.

    Privacy: private.
    """

    def reaches(k: int, bits: int) -> tuple[int, int]:
        return law.reaches(k, bits) if k <= law.cap else (0, 0)

    uniform.read()
    negative = uniform.take_bit()
    likely = min(law.scale * -math.log(uniform.guess()), law.cap)
    return negative, _locate(uniform, reaches, int(likely))


def _locate(uniform: Uniform, reaches: Callable[[int, int], tuple[int, int]], guess: int) -> int:
    """The k with reaches(k) > U ≥ reaches(k + 1), reading as many words of U as it takes to be certain."""
    k = guess
    while True:
        bits = uniform.bits + _GUARD
        low, high = uniform.known << _GUARD, uniform.known + 1 << _GUARD  # low ≤ 2^bits · U < high
        here_low, here_high = reaches(k, bits)
        next_low, next_high = reaches(k + 1, bits)
        if next_low >= high:
            k += 1
        elif here_high <= low:
            k -= 1
        elif next_high <= low and high <= here_low:
            return k
        else:
            uniform.read()
