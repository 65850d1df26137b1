"""What a domain declares and how it is checked: ids, a rating scale, and privacy classes.

Privacy: public.
"""

import math
import operator
import unicodedata
from collections.abc import Iterable, Mapping
from typing import Any, NamedTuple

import numpy as np

from hushrec.arrays import Bytes, Floats

MAX_ID_BYTES = 256
MAX_VALUES = 256

__all__ = ["MAX_ID_BYTES", "MAX_VALUES", "Scale", "classes", "ids_of"]


class Scale(NamedTuple):
    """The rating scale {lo, lo + step, …, hi}.

    Attributes:
        lo: the lowest rating.
        hi: the highest rating.
        step: the distance between neighbouring ratings.

    Privacy: public.
    """

    lo: float
    hi: float
    step: float

    @property
    def n_values(self) -> int:
        """Number of distinct ratings, (hi − lo)/step + 1."""
        return round(self.span / self.step) + 1

    @property
    def mid(self) -> float:
        """Middle of the scale, (lo + hi)/2; centring there minimises the largest absolute rating."""
        return (self.lo + self.hi) / 2

    @property
    def span(self) -> float:
        """Width of the scale, hi − lo."""
        return self.hi - self.lo

    @property
    def star(self) -> float:
        """A quarter of the width (one star on a 1-to-5 scale): the unit of constants within algorithms."""
        return self.span / 4

    def nearest(self, ratings: Floats) -> Bytes:
        """Number of steps from ``lo`` to the nearest rating on the scale; halves round up.

        Args:
            ratings: finite values of any shape, on or off the rating scale.

        Returns:
            uint8 steps of the same shape; values outside the scale map to its nearer end.

        Privacy: private in, private out.
        """
        steps = np.floor((ratings - self.lo) / self.step + 0.5)
        return np.clip(steps, 0, self.n_values - 1).astype(np.uint8)

    def holds(self, rating: float) -> bool:
        """Whether this is one of the scale's ratings."""
        if not self.lo <= rating <= self.hi:
            return False
        steps = (rating - self.lo) / self.step
        return abs(steps - round(steps)) <= 1e-6

    def require_valid(self) -> None:
        """Refuse a scale that is not a whole number of steps, or has too many of them.

        Raises:
            ValueError: says which.
        """
        lo, hi, step = self
        if not all(map(math.isfinite, self)) or hi <= lo or step <= 0:
            raise ValueError(
                f"({lo:g}, {hi:g}, {step:g}) is not a scale; give (lo, hi, step), lo < hi, step > 0"
            )
        if not 1e-12 <= hi - lo <= 1e12:
            raise ValueError(
                f"the scale's width {hi - lo:g} is not between 1e-12 and 1e12; give the scale in other units"
            )
        steps = (hi - lo) / step
        if abs(steps - round(steps)) > 1e-9 * steps:
            raise ValueError(f"{hi:g} − {lo:g} is not a whole number of steps of {step:g}")
        if self.n_values > MAX_VALUES:
            raise ValueError(f"{self.n_values} values are more than {MAX_VALUES}; choose a larger step")

    def __str__(self) -> str:
        return f"{self.lo:g} to {self.hi:g} by {self.step:g}"


def ids_of(given: Any) -> tuple[str, ...]:
    """Ids as text in Unicode NFC, in their order.

    Raises:
        ValueError: something is not an id. The message names its position, never the id.
    """
    if isinstance(given, str | bytes) or not isinstance(given, Iterable):
        raise ValueError("give the ids as a list, an array or a column")
    return tuple(_id(one, position) for position, one in enumerate(given))


def classes(given: Any) -> dict[str, float]:
    """Map names, normalised to Unicode NFC, to ε.

    A name must not be a number, so that a cell that holds a name or an ε has one meaning.

    Raises:
        ValueError: these are not classes. The message says which is wrong.

    Privacy: public.
    """
    if not isinstance(given, Mapping) or not given:
        raise ValueError('give classes as {"strict": 0.5, "default": 2}, or leave them out')
    found = {_name(name): _epsilon(name, epsilon) for name, epsilon in given.items()}
    if len(found) != len(given):
        raise ValueError("two names are the same text; give every class a name of its own")
    return found


def _id(given: Any, position: int) -> str:
    try:
        if isinstance(given, bool):
            raise TypeError
        text = given if isinstance(given, str) else str(operator.index(given))
    except TypeError:
        raise ValueError(f"ids are strings or integers, not {type(given).__name__} (at {position})") from None
    text = unicodedata.normalize("NFC", text)
    try:
        size = len(text.encode())
    except UnicodeEncodeError:
        raise ValueError(f"the id at position {position} is not valid Unicode") from None
    if not 1 <= size <= MAX_ID_BYTES or "\0" in text:
        raise ValueError(
            f"the id at position {position} must have 1 to {MAX_ID_BYTES} bytes, none of them NUL"
        )
    return text


def _name(given: Any) -> str:
    if not isinstance(given, str) or given != given.strip():
        raise ValueError("names of classes must be text without blanks at either end")
    name = unicodedata.normalize("NFC", given)
    size = len(name.encode(errors="replace"))
    # Privacy statements list the names, so names that are invisible or break lines are refused.
    if not 1 <= size <= MAX_ID_BYTES or not name.isprintable() or _is_number(name):
        raise ValueError(
            f"{name!r} is not a name of a class: give 1 to {MAX_ID_BYTES} printable bytes, not a number"
        )
    return name


def _is_number(text: str) -> bool:
    try:
        float(text)
    except ValueError:
        return False
    return True


def _epsilon(name: Any, given: Any) -> float:
    fits = isinstance(given, int | float) and not isinstance(given, bool)
    if not fits or not 0 <= given < math.inf:
        raise ValueError(f"the ε of class {name!r} must be a finite number, 0 or more")
    return float(given)
