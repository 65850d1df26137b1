"""The definition of every draw in integer arithmetic: the slow reference that the fast kernel must match."""

from collections.abc import Callable, Iterator
from dataclasses import dataclass
from fractions import Fraction

from hushrec.privacy.noise.distributions import LAPLACE, Distribution

_GUARD = 64  # bits beyond those drawn, so that a bound seldom needs more; chosen by hand


@dataclass(slots=True)
class Uniform:
    """An infinite binary fraction in [0, 1), read word by word as needed.

    Args:
        words: its bits, ``width`` at a time, most significant first.
        width: number of bits of a word.

    Privacy: private.
    """

    words: Iterator[int]
    width: int = 64
    prefix: int = 0
    bits: int = 0

    def read(self) -> None:
        self.prefix = self.prefix << self.width | next(self.words)
        self.bits += self.width

    def take_bit(self) -> bool:
        """Remove and return the leading bit; the rest stays uniform."""
        self.bits -= 1
        bit, self.prefix = divmod(self.prefix, 1 << self.bits)
        return bool(bit)

    def guess(self) -> float:
        """The midpoint of its possible values."""
        return (2 * self.prefix + 1) / (2 << self.bits)


def draw(distribution: Distribution, scale: float, cell_bits: int, first: Uniform, second: Uniform) -> int:
    """The integer K, distributed as round(scale · Z), that two uniform fractions determine.

    ``first`` is a sign bit followed by U₁. The cell is the j with S(j) > U₁ ≥ S(j + 1), where S(j) is the
    probability that |K| is at least j · 2^cell_bits. ``second`` is U₂. The place in the cell is the m with
    s(m) > U₂ ≥ s(m + 1), where s(m) is the probability, given the cell, of at least place m.

    Args:
        scale: in integers.
        cell_bits: log2 of the number of integers in a cell; with 0, ``second`` is not read.
        first, second: unread fractions.

    Privacy: private.
    """
    width = Fraction(scale)
    cell_size = 1 << cell_bits

    def reaches(k: int, bits: int) -> tuple[int, int]:  # bounds on P(|K| ≥ k)
        x = max(Fraction(0), (k - Fraction(1, 2)) / width)
        return distribution.survival(x, bits, False), distribution.survival(x, bits, True)

    first.read()
    negative = first.take_bit()
    likely = int(scale * distribution.quantile(first.guess()) + 0.5) // cell_size
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


def happens(far: Fraction, uniform: Uniform) -> bool:
    """Whether U < e^−far. Reads words of U until this is certain.

    Args:
        uniform: an unread fraction, U.

    Privacy: private.
    """
    while True:
        uniform.read()
        bits = uniform.bits + _GUARD
        if uniform.prefix + 1 << _GUARD <= LAPLACE.survival(far, bits, False):
            return True
        if uniform.prefix << _GUARD >= LAPLACE.survival(far, bits, True):
            return False


def _locate(uniform: Uniform, reaches: Callable[[int, int], tuple[int, int]], guess: int) -> int:
    """The k with reaches(k) > U ≥ reaches(k + 1). Reads words of U until k is certain."""
    k = guess
    while True:
        bits = uniform.bits + _GUARD
        low, high = uniform.prefix << _GUARD, uniform.prefix + 1 << _GUARD  # low ≤ 2^bits · U < high
        here_low, here_high = reaches(k, bits)
        next_low, next_high = reaches(k + 1, bits)
        # Moved only if certain of the side; where the bounds overlap U's interval, more of U is read.
        if next_low >= high:
            k += 1
        elif here_high <= low:
            k -= 1
        elif next_high <= low and high <= here_low:
            return k
        else:
            uniform.read()
