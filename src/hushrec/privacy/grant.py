"""The only path from private sums to public values: a grant adds exactly the booked noise."""

import functools
import os
import threading
from collections.abc import Iterable
from fractions import Fraction
from types import ModuleType
from typing import TYPE_CHECKING, Any, TypeVar

import numpy as np

from hushrec.arrays import Ints
from hushrec.documents.words import Clause
from hushrec.errors import GrantError
from hushrec.privacy.accounting import fixed_point
from hushrec.privacy.accounting.events import Event, Gaussian, Laplace
from hushrec.privacy.bounded import (
    Bounded,
    BoundedMatrix,
    Noisy,
    NoisyMatrix,
    in_own_units,
    require_booked,
    require_range,
)
from hushrec.privacy.checkpoint import checkpoint
from hushrec.privacy.checkpoint.checkpoint import Checkpoint
from hushrec.privacy.confined import Confined
from hushrec.privacy.failpoints import failpoint
from hushrec.privacy.local.response import ResponseRandomizer
from hushrec.privacy.local.rows import RandomizedRows, Rows
from hushrec.privacy.local.substitution import SubstitutionRandomizer
from hushrec.privacy.noise.entropy import Entropy, Unobserved, observer_of
from hushrec.privacy.noise.geometric import require_threshold

if TYPE_CHECKING:
    from hushrec.privacy.noise.poisson_sampling import Sample

_Released = TypeVar("_Released", Noisy, NoisyMatrix)
DRAWS: dict[type[Event], str] = {Gaussian: "add_gaussian", Laplace: "add_laplace"}
"""Additive noise → the sampler's function that draws it."""
SEAL = object()
"""Passed by the ledger, so that no other code creates a grant by accident."""


class Grant(Confined):
    """The right to make each measurement of one charge once. Only ``Ledger.charge`` creates one.

    A grant belongs to the process that was charged. A copy, or the same grant in a forked child, would draw
    other noise under the same charge, and the second measurement would be unpaid.

    Attributes:
        private: whether a release made with this grant may claim its ε.
        caveats: why it may not, for the statement; empty if it may.
        ledger: what the release says about its ledger, as JSON values; empty if nothing was charged.
        charge: number of the charge in its ledger.
        key: idempotency key of the charge.
        checkpoint: from which a killed fit resumes, or None.
        taken: the branch of the plan that was taken; empty before, and without branches.

    Privacy: public itself; what it measures is charged.
    """

    def __init__(
        self,
        events: Iterable[Event],
        entropy: Entropy,
        *,
        caveats: tuple[Clause, ...] = (),
        ledger: dict[str, Any] | None = None,
        charge: int = 0,
        key: str = "",
        seal: object,
    ) -> None:
        if seal is not SEAL:
            raise GrantError("a grant needs a charge; get one from Ledger.charge(plan)")
        self.caveats, self.ledger, self.charge, self.key = caveats, ledger or {}, charge, key
        self._open: dict[str, Event] = {event.name: event for event in events}
        self._entropy, self._observer = entropy, observer_of(entropy, private=self.private)
        self.checkpoint = entropy if isinstance(entropy, Checkpoint) else None
        self._process, self._drawn = os.getpid(), set[str]()
        self.taken = ""
        self._taking = threading.Lock()

    @property
    def private(self) -> bool:
        """Whether a release made with this grant may claim its ε."""
        return not self.caveats

    def already_released(self, name: str) -> Noisy | None:
        """Return, once, the value released before the fit was interrupted. It is not measured again.

        Args:
            name: the name of a measurement in the charged plan.

        Returns:
            The public value; None if none was released, without a checkpoint, and for a matrix.

        Raises:
            CheckpointError: The checkpoint is damaged.

        Privacy: charged (the event booked under ``name``).
        """
        return self._already_released(name, Noisy)

    def measure(self, bounded: Bounded, *, given_away: bool = False) -> Noisy:
        """Add the booked noise to a bounded sum, once.

        values + round(noise) on the integer grid, times the step.

        Args:
            bounded: the sum, named like a measurement in the charged plan.
            given_away: whether no one else uses its values. The noise is then added to them in place, which
                saves an array of their size; an observed grant adds it to a copy all the same.

        Raises:
            GrantError: Nothing is booked under that name, it was already made, the booked size, grid or norm
                differs, or the booked sensitivity is smaller.

        Privacy: charged (the event booked under ``bounded.name``).
        """
        event = self._booking(bounded, "measure")
        if (before := self.already_released(event.name)) is not None:
            return before
        self._use(event)
        in_place = given_away and isinstance(self._observer, Unobserved)
        steps = bounded.values if in_place else np.array(bounded.values, order="C")
        _add_noise(steps, event, self._entropy.key(event.name))
        values = in_own_units(steps, event.step)
        return self._saved(Noisy(event.name, values, event.deviation, event.step, event), bounded)

    def measure_matrix(self, bounded: BoundedMatrix, *, threshold: int, limit: int) -> NoisyMatrix:
        """Add the booked Laplace noise to every cell of a matrix, and list the cells that reach a threshold.

        The result has the distribution of adding noise to every cell, n + round(X), and dropping those below
        ``threshold`` in size. The dense matrix is never built: time and memory grow with the listed cells.

        Args:
            bounded: the matrix, named like a Laplace measurement with an entry for every cell.
            threshold: smallest absolute value of a listed cell, in grid steps, at least 1. Public.
            limit: cells are clamped to ±``limit`` grid steps; at least ``threshold``. Public.

        Raises:
            GrantError: As ``measure``; or not 1 ≤ threshold ≤ limit.
            SamplerError: The threshold is out of reach of the noise.

        Privacy: charged (the event booked under ``bounded.name``).
        """
        require_range(bounded.name, threshold, limit)
        event = self._booking(bounded, "measure_matrix")
        require_threshold(_width(event), threshold)
        if (before := self._already_released(event.name, NoisyMatrix)) is not None:
            return before
        from hushrec.privacy.noise.threshold import reaching  # compiled code, like the sampler

        self._use(event)
        steps = bounded.values.astype(np.int64)  # a copy
        _add_noise(steps, event, self._entropy.key(event.name))
        rows = reaching(
            bounded.shape,
            bounded.indptr,
            bounded.columns,
            steps,
            threshold=threshold,
            limit=limit,
            scale=_width(event),
            draw=functools.partial(sampler().count_draws, self._entropy.key(event.name, "cells")),
        )
        noisy = NoisyMatrix(event.name, bounded.shape, *rows, event.deviation, event.step, event)
        return self._saved(noisy, bounded, threshold, limit)

    def randomize(
        self, rows: Rows, randomizer: ResponseRandomizer | SubstitutionRandomizer
    ) -> RandomizedRows:
        """Randomize every row independently with the booked randomizer, once.

        Args:
            rows: named like a local randomizer in the charged plan.
            randomizer: the randomizer; its loss is at most the booked one.

        Raises:
            GrantError: Nothing is booked under that name, it was already made, the randomizer loses more than
                was booked, a row has more cells, or the rows have another width.

        Privacy: charged (the event booked under ``rows.name``).
        """
        event = self._booked(rows.name, "randomize")
        randomizer.require_booked(rows, event)
        self._use(event)
        key = functools.partial(self._entropy.key, event.name)
        reported = randomizer.draw(rows, key, sampler().count_draws)
        return RandomizedRows(rows.name, rows.width, *reported, event)

    def order(self, n_people: int) -> Ints:
        """A random permutation of 0 … n_people − 1, so that the position of a published row reveals nothing.

        Privacy: private; it links each row to its user.
        """
        return np.asarray(sampler().permutation(n_people, self._entropy.key("", "order")))

    def sample(self, name: str) -> "Sample":
        """Draw who takes part in a subsampled measurement, once, before it is made.

        Returns:
            The sample, which tells of each user whether they take part.

        Privacy: private; only their measured sum is public.
        """
        from hushrec.privacy.noise.poisson_sampling import Sample  # compiled code, like the sampler

        event = self._booked(name, "sample")
        if name in self._drawn:
            raise GrantError(f"{name}: its sample was drawn already; each booking has one")
        self._drawn.add(name)
        return self._observer.released(event, None, Sample(event.rate, self._entropy.key(name, "sample")))

    def sample_key(self, name: str) -> bytes:
        """Return, once, the 32-byte key from which all randomness of a posterior sample is drawn.

        Raises:
            GrantError: No posterior sample is booked under that name, or it was already made.

        Privacy: private; the key determines the path of the chain.
        """
        event = self._booked(name, "sample_key")
        self._use(event)
        return self._observer.released(event, None, self._entropy.key(name, "posterior"))

    def take(self, branch: str) -> None:
        """Take a branch of the plan; the measurements of the others can no longer be made.

        Args:
            branch: the name of a branch; the choice may depend on what was released, and on nothing else.

        Raises:
            GrantError: There is no such branch, one was taken before, or an interrupted fit with the same
                checkpoint took another.

        Privacy: public.
        """
        self._require_own_process()
        with self._taking:
            others = [event for event in [*self._open.values()] if event.branch not in ("", branch)]
            if self.taken:
                raise GrantError(f"{branch}: branch {self.taken} was taken already; take one branch, once")
            if not branch or all(event.branch != branch for event in [*self._open.values()]):
                raise GrantError(f"{branch!r}: the charged plan has no such branch; name one of queries()")
            if self.checkpoint and any(checkpoint.load(self.checkpoint, event) for event in others):
                raise GrantError(
                    f"{branch}: the interrupted fit took another branch; resume it with the same code "
                    "and data"
                )
            self.taken = branch
            for event in others:
                self._open.pop(event.name, None)

    def close(self) -> None:
        """Drop the measurements that were booked but not made. They stay charged."""
        self._open.clear()

    def _booking(self, bounded: Bounded | BoundedMatrix, door: str) -> Event:
        event = self._booked(bounded.name, door)
        require_booked(bounded, event)
        if event.rate < 1 and event.name not in self._drawn:
            raise GrantError(
                f"{bounded.name}: the booked sum is over a sample of people; draw it with sample() and sum "
                "over those who take part"
            )
        return event

    def _booked(self, name: str, door: str) -> Event:
        event = self._unused(name)
        if door not in event.doors:
            raise GrantError(f"{name}: booked was {event.mechanism} noise, which this release does not add")
        return event

    def _unused(self, name: str) -> Event:
        self._require_own_process()
        event = self._open.get(name)
        if event is None:
            only = f"only branch {self.taken} is measured" if self.taken else "each booking is used once"
            raise GrantError(f"{name}: not booked, or already made; {only}")
        if event.branch not in ("", self.taken):
            raise GrantError(
                f"{name}: no branch was taken yet; call run.take({event.branch!r}, reason) first"
            )
        return event

    def _require_own_process(self) -> None:
        if os.getpid() != self._process:
            raise GrantError("a grant stays in the process that was charged; charge the ledger in this one")

    def _use(self, event: Event) -> None:
        if self._open.pop(event.name, None) is None:  # another thread took it
            raise GrantError(f"{event.name}: already made; each booking is used once")

    def _already_released(self, name: str, kind: type[_Released]) -> _Released | None:
        if self.checkpoint is None or name not in self._open:
            return None
        event = self._unused(name)
        noisy = checkpoint.load(self.checkpoint, event)
        if not isinstance(noisy, kind):
            return None
        self._use(event)
        return noisy

    def _saved(self, noisy: _Released, private: object, *public: object) -> _Released:
        """Store the value before anything is computed from it: every later run gets this same value."""
        failpoint("after-sample")
        noisy = self._observer.released(noisy.event, private, noisy, *public)
        if self.checkpoint:
            checkpoint.save(self.checkpoint, noisy)
        return noisy


@functools.cache
def sampler() -> ModuleType:
    """The exact sampler, loaded and self-tested once per process, before anything is charged."""
    from hushrec.privacy.noise import sampler  # compiled code, loaded only to release

    sampler.self_test()
    return sampler


def _width(event: Event) -> float:
    return fixed_point.float_above(Fraction(event.noise) / Fraction(event.step))  # never less than booked


def _add_noise(steps: Ints, event: Event, key: bytes) -> None:
    getattr(sampler(), DRAWS[type(event)])(steps, _width(event), key)
