"""The observer of one fit: records its measurements, and in a replay returns those of another fit."""

import math
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, fields, replace
from fractions import Fraction
from typing import Any, TypeVar

import numpy as np

from hushrec.arrays import Ints
from hushrec.privacy.noisy import Cells

_Value = TypeVar("_Value")
Factors = Mapping[str, float]
"""By measurement, what the sizes of its noisy values are multiplied by: a fit then takes another branch.

Noise may release any values, and whatever they are, neighbours must differ in hidden sums alone.
"""
UNCHANGED: Factors = {}


class Leak(Exception):
    """Something public depends on something private, or a bound does not hold."""


@dataclass(frozen=True, slots=True, eq=False)
class Measured:
    """One measurement of a fit.

    Attributes:
        sums: int64, the bounded sum in grid steps, or all cells of a matrix.
        public: the other arguments of the measurement.

    Privacy: private.
    """

    event: Any
    sums: Any
    public: tuple[object, ...]
    value: Any

    @property
    def name(self) -> str:
        return str(self.event.name)


class Recorder:
    """An observer that records a fit; with a tape, it replays the values of another fit.

    Args:
        tape: the measurements of the other fit.
        factors: of the noisy values, where there is no tape.

    Attributes:
        measured: the measurements in order.
        samples: names of the posterior samples, which no noise hides and no tape replaces.

    Privacy: private.
    """

    def __init__(self, tape: Sequence[Measured] | None = None, factors: Factors = UNCHANGED) -> None:
        self._tape, self._factors = tape, factors
        self.measured: list[Measured] = []
        self.samples: list[str] = []

    def released(self, event: object, private: object, value: _Value, *public: object) -> _Value:
        """Return the value itself, or the value on the tape."""
        if isinstance(value, bytes):
            self.samples.append(event.name)  # type: ignore[attr-defined]
            return value
        place, measurement = len(self.measured), Measured(event, _sums(private), public, value)
        if self._tape is not None:
            if place >= len(self._tape) or self._tape[place].name != measurement.name:
                raise Leak(f"measurement {place}, {measurement.name}, was not made by the neighbour")
            measurement = replace(measurement, value=self._tape[place].value)
        elif (factor := self._factors.get(measurement.name)) is not None:
            noisy: Any = value
            # Positive and not 0, so that a factor moves counts and crowds the way it says.
            sizes = np.maximum(np.abs(noisy.values), noisy.step)
            measurement = replace(measurement, value=replace(noisy, values=factor * sizes))
        self.measured.append(replace(measurement, value=_copy(measurement.value)))
        return _copy(measurement.value)  # type: ignore[no-any-return]


def branch_of(measured: Sequence[Measured]) -> str:
    """Return the branch that a fit measured; empty if it measured none."""
    return next((str(one.event.branch) for one in measured if one.event.branch), "")


def ratio(one: Measured, other: Measured) -> float:
    """Divide the distance of two sums by the booked sensitivity, exactly; a result above one rounds up.

    Privacy: private.
    """
    name, event = one.name, one.event
    if event != other.event:
        raise Leak(f"{name}: the neighbour is charged another price")
    if one.public != other.public:
        raise Leak(f"{name}: the neighbour has other public settings")
    distance = distance_of(event.norm, one.sums, other.sums)
    step, bound = Fraction(event.step), Fraction(event.sensitivity)
    power = 1 if event.norm == "l1" else 2
    # Integers and fractions: no rounding decides whether a bound is exceeded.
    exact = distance * step**power / bound**power
    rounded = math.sqrt(exact) if power == 2 else float(exact)
    # A float just above one could round to one, and hide that the bound is exceeded.
    return rounded if exact <= 1 else max(rounded, math.nextafter(1, 2))


def distance_of(norm: str, one: Ints, other: Ints) -> int:
    """Measure the distance of two sums in grid steps; under an L2 norm its square.

    Privacy: private.
    """
    if one.shape != other.shape:
        raise Leak("the neighbour's sum has another shape")
    change = [abs(int(d)) for d in (one - other).ravel().tolist()]
    return sum(change) if norm == "l1" else sum(d * d for d in change)


def _sums(private: Any) -> Any:
    if not isinstance(private, Cells):
        return private.copy()
    # A matrix of cells is compared whole: an empty cell of one may be a rating of the other.
    cells = np.zeros(private.shape, dtype=np.int64)
    rows = np.repeat(np.arange(private.shape[0]), np.diff(private.indptr))
    cells[rows, private.columns] = private.values
    return cells


def _copy(noisy: Any) -> Any:
    arrays = {f.name: getattr(noisy, f.name) for f in fields(noisy)}
    return replace(noisy, **{name: a.copy() for name, a in arrays.items() if isinstance(a, np.ndarray)})
