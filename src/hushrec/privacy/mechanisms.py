"""The one door from private sums to public values: a grant adds exactly the noise that was booked."""

import functools
import math
import os
from collections.abc import Iterable
from fractions import Fraction
from types import ModuleType, UnionType
from typing import Any, NoReturn

import numpy as np

from hushrec.arrays import Floats, Ints
from hushrec.errors import GrantError
from hushrec.privacy import units
from hushrec.privacy.bounded import Bounded, BoundedMatrix, Noisy, NoisyMatrix
from hushrec.privacy.counts import require_threshold
from hushrec.privacy.entropy import Entropy
from hushrec.privacy.events import EVERY_RATING, Event, Gaussian, Laplace, Spherical
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
        self._use(event)
        steps = np.array(bounded.values, order="C")
        _add_noise(steps, event, self._entropy.key())
        failpoint("after-sample")
        return Noisy(event.name, _in_own_units(steps, event.step), event.deviation, event.step, event)

    def release_matrix(self, bounded: BoundedMatrix, *, threshold: int, limit: int) -> NoisyMatrix:
        """Add the booked Laplace noise to every cell of a matrix, and list the cells that reach a threshold.

        The law of round-and-drop over all cells, n + round(X) if at least ``threshold`` in size, without ever
        holding the matrix: time and memory go with what is listed.

        Args:
            bounded: the matrix, under the name of a Laplace measurement with an entry for every cell.
            threshold: smallest size of a cell that is listed, in grid steps, at least 1. Public.
            limit: cells are clamped to ±limit, in grid steps, at least ``threshold``. Public.

        Returns:
            The cells that reach the threshold.

        Raises:
            GrantError: As ``release``; or threshold and limit have no such order.
            SamplerError: The threshold is beyond any noise that is ever seen.

        Privacy: charged (the event booked under ``bounded.name``).
        """
        _require_range(bounded.name, threshold, limit)
        event = self._booking(bounded)
        require_threshold(_width(event), threshold)
        from hushrec.privacy import sparse  # compiled code, as the sampler

        self._use(event)
        steps = bounded.values.astype(np.int64)  # a copy
        _add_noise(steps, event, self._entropy.key())
        indptr, columns, values = sparse.reaching(
            bounded.shape,
            bounded.indptr,
            bounded.columns,
            steps,
            threshold=threshold,
            limit=limit,
            scale=_width(event),
            draw=functools.partial(sampler().count_draws, self._entropy.key()),
        )
        failpoint("after-sample")
        return NoisyMatrix(
            event.name, bounded.shape, indptr, columns, values, event.deviation, event.step, event
        )

    def release_rows(self, name: str, values: Floats, scales: Floats) -> Noisy:
        """Add noise of density ∝ exp(−‖b‖₂/s) to every row of a matrix, once. Never private.

        ‖b‖ = Σ |Xⱼ| of as many Laplace variables as the row has entries; b/‖b‖ is the direction of that many
        Gaussian ones. In floating point, so only for reproductions.

        Args:
            name: of a spherical measurement of the charged plan.
            values: float64, shape (n, d).
            scales: s of each row, shape (n,). The booked price holds where no row's Δ/s is above the booked.

        Returns:
            The noisy rows; ``sigma`` is the root mean square of the standard deviations √(d + 1) · s.

        Raises:
            GrantError: The grant could be private; nothing is booked under that name (any more), or what was
                booked is of another size or mechanism; or the scales are not n positive numbers.

        Privacy: charged (the event booked under ``name``), and not private: its grant says so.
        """
        _require_rows(name, values, scales)
        event = self._booked(name, Spherical)
        if event.size not in (values.size, EVERY_RATING):
            raise GrantError(f"{name}: size is {values.size}, booked was {event.size}")
        if self.private:
            raise GrantError(
                f"{name}: spherical noise is drawn in floating point; published reproductions are seeded "
                "experiments, so fit with entropy=Seeded(…)"
            )
        self._use(event)
        noise = sampler().unit_rows(values.shape, self._entropy.key(), self._entropy.key())
        noise *= scales[:, None]
        deviation = math.sqrt((values.shape[1] + 1) * float(np.mean(scales**2)))
        return Noisy(event.name, values + noise, deviation, event.step, event)

    def close(self) -> None:
        """Give up the measurements that were booked and not made. They stay charged."""
        self._open.clear()

    def _booking(self, bounded: Bounded | BoundedMatrix) -> Event:
        whole = isinstance(bounded, BoundedMatrix)
        event = self._booked(bounded.name, Laplace if whole else Gaussian | Laplace)
        if bounded.sensitivity > event.sensitivity:
            raise GrantError(
                f"{bounded.name}: its sensitivity {bounded.sensitivity:.6g} is above the booked "
                f"{event.sensitivity:.6g}; plan and statistic must use the same bound"
            )
        size = bounded.size if event.size == EVERY_RATING and not whole else event.size
        for what, given, booked in (
            ("size", bounded.size, size),
            ("step", bounded.step, event.step),
            ("norm", bounded.norm, event.norm),
        ):
            if given != booked:
                raise GrantError(f"{bounded.name}: {what} is {given}, booked was {booked}")
        return event

    def _booked(self, name: str, kind: type[Event] | UnionType) -> Event:
        if os.getpid() != self._process:
            raise GrantError("a grant stays in the process that was charged; charge the ledger in this one")
        event = self._open.get(name)
        if event is None:
            raise GrantError(f"{name}: not booked, or already made; each booking is used once")
        if not isinstance(event, kind):
            raise GrantError(f"{name}: booked was {event.mechanism} noise, which this release does not add")
        return event

    def _use(self, event: Event) -> None:
        if self._open.pop(event.name, None) is None:  # another thread was faster
            raise GrantError(f"{event.name}: already made; each booking is used once")

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

    def release_matrix(self, bounded: BoundedMatrix, *, threshold: int, limit: int) -> NoisyMatrix:
        """The cells that are there, clamped to ±limit, whether or not they reach the threshold.

        Privacy: private. ``sigma`` is 0 and ``event`` None.
        """
        _require_range(bounded.name, threshold, limit)
        values = np.clip(bounded.values, -limit, limit).astype(np.int32)
        indptr, columns = bounded.indptr.copy(), bounded.columns.copy()
        return NoisyMatrix(bounded.name, bounded.shape, indptr, columns, values, 0.0, bounded.step, None)

    def release_rows(self, name: str, values: Floats, scales: Floats) -> Noisy:
        """The exact rows.

        Privacy: private. ``sigma`` is 0 and ``event`` None.
        """
        _require_rows(name, values, scales)
        return Noisy(name, values.copy(), 0.0, 0.0, None)

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


def _require_range(name: str, threshold: int, limit: int) -> None:
    if not 1 <= threshold <= limit < 2**31:
        raise GrantError(f"{name}: threshold and limit are grid steps with 1 ≤ threshold ≤ limit < 2^31")


def _require_rows(name: str, values: Floats, scales: Floats) -> None:
    if not (
        values.ndim == 2
        and values.size
        and values.dtype == scales.dtype == np.float64
        and scales.shape == values.shape[:1]
        and np.all((scales > 0) & (scales < math.inf))
    ):
        raise GrantError(f"{name}: rows are float64 of shape (n, d), with n positive scales")


def _width(event: Event) -> float:
    # Rounding up: never less noise than was booked.
    return units.float_above(Fraction(event.noise) / Fraction(event.step))


def _add_noise(steps: Ints, event: Event, key: bytes) -> None:
    add = sampler().add_gaussian if isinstance(event, Gaussian) else sampler().add_laplace
    add(steps, _width(event), key)


def _in_own_units(steps: Ints, step: float) -> Floats:
    """Turn grid integers into floats in the memory they already hold; exact below 2⁵³ for a step of 2^k."""
    integers = steps.reshape(-1)
    floats = integers.view(np.float64)
    for start in range(0, steps.size, _CHUNK):
        part = slice(start, start + _CHUNK)
        floats[part] = integers[part] * step
    return floats.reshape(steps.shape)
