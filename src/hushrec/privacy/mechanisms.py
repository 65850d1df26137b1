"""The one door from private sums to public values: a grant adds exactly the noise that was booked."""

import functools
import os
from collections.abc import Iterable
from fractions import Fraction
from types import ModuleType
from typing import Any, NoReturn

import numpy as np

from hushrec.arrays import Floats, Ints
from hushrec.errors import GrantError
from hushrec.privacy import units
from hushrec.privacy.bounded import Bounded, Noisy
from hushrec.privacy.entropy import Entropy
from hushrec.privacy.events import Event, Gaussian
from hushrec.privacy.failpoints import failpoint

_CHUNK = 2**20
SEAL = object()
"""The ledger's. It stops accidents: nobody else makes a grant without knowing that he does."""


class Grant:
    """The right to make each measurement of one charge once. Made by ``Ledger.charge`` alone.

    A grant belongs to the process that was charged: a copy, or a forked child's twin, would draw other noise
    under the same charge, and the difference of the two would be free.

    Attributes:
        private: whether the release may claim its ε.
        caveat: why it may not, for the statement; empty where it may.
        ledger: what the release says about its ledger, as JSON values; empty where nothing was charged.
        charge: number of the charge in its ledger.
        key: idempotency key of the charge.

    Privacy: public itself; ``release`` is charged.
    """

    def __init__(
        self,
        events: Iterable[Event],
        entropy: Entropy,
        *,
        caveat: str = "",
        ledger: dict[str, Any] | None = None,
        charge: int = 0,
        key: str = "",
        seal: object,
    ) -> None:
        if seal is not SEAL:
            raise GrantError("a grant is paid for: get one from Ledger.charge(plan)")
        self.caveat, self.ledger, self.charge, self.key = caveat, ledger or {}, charge, key
        self._open: dict[str, Event] = {event.name: event for event in events}
        self._entropy = entropy
        self._process = os.getpid()

    @property
    def private(self) -> bool:
        """Whether a release made with this grant may claim its ε."""
        return not self.caveat

    def release(self, bounded: Bounded) -> Noisy:
        """Add the booked noise to a bounded sum, once.

        values + round(noise), on the integer grid; the step is multiplied on at the very end. Needs one array
        of the size of the values beside them.

        Args:
            bounded: the sum, under the name of a measurement of the charged plan.

        Returns:
            The public value.

        Raises:
            GrantError: Nothing is booked under that name (any more), or what was booked is another size, grid
                or norm, or a smaller sensitivity.

        Privacy: charged (the event booked under ``bounded.name``).
        """
        event = self._booking(bounded)
        if self._open.pop(event.name, None) is None:  # another thread was faster
            raise GrantError(f"{bounded.name}: already made; each booking is used once")
        steps = np.array(bounded.values, order="C")
        _add_noise(steps, event, self._entropy.key())
        failpoint("after-sample")
        return Noisy(event.name, _in_own_units(steps, event.step), event.deviation, event.step, event)

    def close(self) -> None:
        """Give up the measurements that were booked and not made. They stay charged."""
        self._open.clear()

    def _booking(self, bounded: Bounded) -> Event:
        if os.getpid() != self._process:
            raise GrantError("a grant stays in the process that was charged; charge the ledger in this one")
        event = self._open.get(bounded.name)
        if event is None:
            raise GrantError(f"{bounded.name}: not booked, or already made; each booking is used once")
        if bounded.sensitivity > event.sensitivity:
            raise GrantError(
                f"{bounded.name}: its sensitivity {bounded.sensitivity:.6g} is above the booked "
                f"{event.sensitivity:.6g}; plan and statistic must use the same bound"
            )
        for what, given, booked in (
            ("size", bounded.size, event.size),
            ("step", bounded.step, event.step),
            ("norm", bounded.norm, event.norm),
        ):
            if given != booked:
                raise GrantError(f"{bounded.name}: {what} is {given}, booked was {booked}")
        return event

    def __copy__(self) -> NoReturn:
        raise GrantError("a grant cannot be copied: the copy would be noise that nobody paid for")

    def __deepcopy__(self, memo: object) -> NoReturn:
        self.__copy__()

    def __reduce__(self) -> NoReturn:
        self.__copy__()


class _Unprotected(Grant):
    """No budget, no noise, no claim."""

    def __init__(self) -> None:
        self.caveat, self.ledger, self.charge, self.key = "not private: no noise was added", {}, 0, ""

    def release(self, bounded: Bounded) -> Noisy:
        """The exact values, for the non-private baseline.

        Privacy: private. ``sigma`` is 0 and ``event`` None.
        """
        values = _in_own_units(np.array(bounded.values, order="C"), bounded.step)
        return Noisy(bounded.name, values, 0.0, bounded.step, None)

    def close(self) -> None:
        """Nothing was booked."""


def unprotected() -> Grant:
    """A grant that charges nothing, adds nothing and says so: for the non-private baseline.

    Privacy: private; whatever is made with it carries the caveat "not private".
    """
    return _Unprotected()


@functools.cache
def sampler() -> ModuleType:
    """The exact sampler, loaded and self-tested once per process, before anything is charged.

    Privacy: public.
    """
    from hushrec.privacy import sampling  # compiled code: loaded by those who release, not by those who look

    sampling.self_test()
    return sampling


def _add_noise(steps: Ints, event: Event, key: bytes) -> None:
    # Rounding up: never less noise than was booked.
    width = units.float_above(Fraction(event.noise) / Fraction(event.step))
    add = sampler().add_gaussian if isinstance(event, Gaussian) else sampler().add_laplace
    add(steps, width, key)


def _in_own_units(steps: Ints, step: float) -> Floats:
    """Turn grid integers into floats in the memory they already hold; exact below 2⁵³ for a step of 2^k."""
    integers = steps.reshape(-1)
    floats = integers.view(np.float64)
    for start in range(0, steps.size, _CHUNK):
        part = slice(start, start + _CHUNK)
        floats[part] = integers[part] * step
    return floats.reshape(steps.shape)
