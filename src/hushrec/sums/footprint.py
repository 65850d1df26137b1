"""Memory and time of a fit, from public facts alone.

Each model states them next to its algorithm: an upper bound on the bytes held at once in addition to the
ratings, and processor seconds, accurate to a factor of three. The numbers of ratings and people are private,
so what grows with them is stated per rating and per person.
"""

import math
from collections.abc import Iterable
from dataclasses import dataclass
from typing import Self

from hushrec.data.declarations import Crowd
from hushrec.privacy.accounting.measurement import EVERY_RATING

DRAWS, FLOPS = 2e7, 3e10
"""Noise draws, and single-precision multiplications, per second."""
LISTED = 400.0
"""Bytes per person on a roster: to find them in the ratings, and to write them into a release."""
COPIED = 24.0
"""Bytes per entry of the sum being measured: as summed, with noise, and as stored."""


@dataclass(frozen=True, slots=True)
class Footprint:
    """Memory and time of a fit.

    Args:
        memory: bytes in addition to the ratings.
        each_rating, each_person: further bytes per rating and per person in the ratings.
        seconds: rough time.
        million_ratings: rough further seconds per million ratings.
        gathered: whether the bytes per rating are held for all ratings at once, also for those in block
            files, where otherwise one block is in memory.
        lowered_by: the setting that lowers the memory most, if there is one other than rank and catalogue.
    """

    memory: float
    each_rating: float
    each_person: float = 0.0
    seconds: float = 0.0
    million_ratings: float = 0.0
    gathered: bool = False
    lowered_by: str = ""

    @classmethod
    def of(cls, sizes: Iterable[int]) -> Self:
        """The cost of the measurements, if every released value is stored to the end and copied twice.

        For models without an estimate of their own.

        Args:
            sizes: number of entries of each measurement.
        """
        all_sizes = list(sizes)
        entries = [size for size in all_sizes if size != EVERY_RATING]
        ratings = COPIED * (1 + len(all_sizes) - len(entries))
        memory = 2 * COPIED * max(entries, default=0) + 8 * sum(entries) + 1e7
        return cls(memory, 2 * ratings, LISTED, sum(entries) / DRAWS, float(len(all_sizes)))

    def then(self, other: "Footprint") -> "Footprint":
        """One fit after the other: the larger memory, the sum of the times."""
        return Footprint(
            max(self.memory, other.memory),
            max(self.each_rating, other.each_rating),
            max(self.each_person, other.each_person),
            self.seconds + other.seconds,
            self.million_ratings + other.million_ratings,
            self.gathered or other.gathered,
            other.lowered_by or self.lowered_by,
        )

    def bytes_held(self, n_ratings: int, n_people: int) -> float:
        """Bytes in addition to the ratings, for these counts. Privacy: public function of private numbers."""
        return self.memory + self.each_rating * n_ratings + self.each_person * n_people

    @property
    def room(self) -> str:
        """The memory, in words."""
        each = f"{in_bytes(self.each_rating)} for each of them"
        if self.each_person >= 1000:
            each += f" and {in_bytes(self.each_person)} for each person"
        return f"about {in_bytes(self.memory)} of memory besides the ratings, and {each}"

    def in_words(self, crowd: Crowd) -> str:
        """The memory and the time; if the crowd is declared, also the memory for its records together."""
        in_all = in_bytes(self.bytes_held(int(crowd.ratings), int(crowd.users)))
        total = f", in all {in_all} for the expected {crowd.ratings:,.0f}" if crowd.declared else ""
        time = f"{in_time(self.seconds)}, and {in_time(self.million_ratings)} for a million ratings"
        return f"needs {self.room}{total}; takes roughly {time}, on one processor"


def in_bytes(number: float) -> str:
    """Two digits and a unit; at least one byte."""
    power = min(max(int(math.log10(max(number, 1)) / 3), 0), 5)
    return f"{_two(number / 1000**power)} {('bytes', 'kB', 'MB', 'GB', 'TB', 'PB')[power]}"


def in_time(seconds: float) -> str:
    """Two digits and a unit; at least a second."""
    for unit, size in (("h", 3600), ("min", 60)):
        if seconds >= size:
            return f"{_two(seconds / size)} {unit}"
    return f"{max(math.ceil(seconds), 1)} s"


def _two(number: float) -> str:
    digits = max(0, 1 - math.floor(math.log10(max(number, 1))))
    return f"{number:,.{digits}f}".removesuffix(".0")
