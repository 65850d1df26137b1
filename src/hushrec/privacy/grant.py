"""The only path from private sums to public values: a grant adds exactly the booked noise.

Each value is drawn once; where sums are kept, it is recorded in the ledger before it is returned, and kept
(``sums_on_disk``). A model gets the grant itself; the non-private baseline gets one without noise. What
both have is ``Measures``.
"""

import functools
import math
import os
import threading
from collections.abc import Callable, Collection
from dataclasses import dataclass
from fractions import Fraction
from types import ModuleType
from typing import Any, ClassVar, Protocol

import numpy as np

from hushrec.arrays import Floats, Ints
from hushrec.documents.fact import Fact
from hushrec.errors import GrantError
from hushrec.item_prior import NOTHING_KNOWN, ItemPrior
from hushrec.privacy.accounting import fixed_point
from hushrec.privacy.accounting.budget import Terms
from hushrec.privacy.accounting.measurement import EVERY_RATING, Measurement
from hushrec.privacy.accounting.plan import Plan
from hushrec.privacy.accounting.weights import GRID, weights
from hushrec.privacy.carried import Carried
from hushrec.privacy.confined import Confined
from hushrec.privacy.failpoints import failpoint
from hushrec.privacy.noise.distributions import GAUSSIAN, LAPLACE
from hushrec.privacy.noise.entropy import Entropy, Unobserved, observer_of
from hushrec.privacy.noisy import Cells, Noisy, NoisyMatrix, in_own_units
from hushrec.privacy.sums_on_disk import Arrays, ChargeSums
from hushrec.progress import advance

MEASURING = "measuring"
"""The stage of a fit whose steps are the measurements of its plan."""
NOISE = {"l2": GAUSSIAN, "l1": LAPLACE}
"""Norm → the distribution of its noise."""
SEAL = object()
"""Passed by the ledger, so that no other code creates a grant by accident."""
FAILED = "failed"
"""Recorded in place of a SHA-256 where a chain failed; no file has it, so nothing resumes."""
_ENTRY = 8
"""Bytes of a measured entry on disk."""


class Measures(Protocol):
    """What a model measures with, the ``run`` of its ``fit``: the one way from private sums to public values.

    A private fit gets a ``Grant``, which adds the noise that was charged; the non-private baseline gets
    ``WithoutNoise``, which adds none, and refuses nothing. Each measurement of ``queries`` is made once, in
    that order; of a plan with branches, those of the branch that was taken. What the methods return is
    public, and all that is made from it is post-processing. ::

        noisy = run.measure(self.query, lambda: people.total(add, n)[0])
        noisy.values, noisy.sigma  # in the sum's own units, and the deviation of their noise

    Privacy: public itself; what it measures is charged.
    """

    @property
    def terms(self) -> Terms:
        """Unit, adjacency and ε that shape the sums: of the whole year, or of the fit alone; ε = ∞ of a
        baseline.
        """

    @property
    def prior(self) -> ItemPrior:
        """What is publicly known about the items; nothing unless the model is ``informed``."""

    @property
    def yearly(self) -> bool:
        """Whether later releases may take over its sums."""

    @property
    def earlier(self) -> Carried | None:
        """What the release before handed over, in a year."""

    @property
    def weights(self) -> Callable[[Floats], Ints]:
        """A function from the ε that users ask for to their weights, in steps of 1/GRID.

        A weight is the largest at which the plan costs a user at most that ε. The function holds nothing of
        the grant, so that it may be sent to where the ratings are.

        Privacy: private in, private out; a user's weight depends only on the ε that they ask for.
        """

    def measure(self, measurement: Measurement, values: Ints | Callable[[], Ints]) -> Noisy:
        """The sum plus the booked noise, once: values + round(noise) on the integer grid, times the step.

        Args:
            measurement: as the plan lists it. The code that makes the sum must ensure its sensitivity; later
                code cannot check it.
            values: the sum in grid steps, int64, or a function that computes it and keeps nothing of it. The
                noise is then added in place, which saves an array of its size; an observed grant adds it to a
                copy all the same. It is not called if the value was recorded before the fit was stopped.

        Returns:
            The values in the sum's own units, in its shape, with the deviation of their noise.

        Raises:
            GrantError: The plan does not list it so, or another before it, or it was already made; or the
                values are not int64, or of another number.

        Privacy: charged (``measurement``).
        """

    def measure_cells(self, measurement: Measurement, cells: Cells) -> NoisyMatrix:
        """Add the booked Laplace noise to every cell, and list the cells that reach the threshold.

        A cell is n + round(X), and those below the threshold in size are dropped. Noise is drawn for some
        rows at a time, so that memory grows with the listed cells.

        Args:
            measurement: a Laplace measurement with an entry for every cell, as the plan lists it.
            cells: the matrix.

        Raises:
            GrantError: As ``measure``.

        Privacy: charged (``measurement``).
        """

    def sample(
        self, measurement: Measurement, draw: Callable[[bytes], Arrays], entries: int | None = None
    ) -> Arrays:
        """Return one draw that needs no noise, once: from a posterior, or of rows that are randomized.

        Args:
            measurement: as the plan lists it. The code that draws must ensure its law; later code cannot
                check it.
            draw: makes the draw, and whatever else is published with it, from a key of 32 bytes.
            entries: the most entries of its arrays; by default the measurement's size.

        Raises:
            GrantError: As ``measure``.

        Privacy: charged (``measurement``); from a posterior as far as the chain has converged.
        """

    def noise(self, measurement: Measurement) -> float:
        """Noise parameter that is booked for a measurement: σ, b or the scale of a loss; 0 of a baseline."""

    def fixed(self, name: str, arrays: Arrays) -> Arrays:
        """Keep what later sums are measured under, before the first of them: which items, and their weights.

        Args:
            name: of what it is.
            arrays: made from released values.

        Returns:
            The arrays; or those that a stopped fit kept, on whatever machine it ran.
        """

    def take(self, branch: str, reason: Fact | None = None) -> str:
        """Take a branch of the plan; the measurements of the others can no longer be made.

        Args:
            branch: the name of a branch; the choice may depend on what was released, and on nothing else.
            reason: why, for the statement.

        Returns:
            The branch that is taken: that of the ledger's record, if the fit was stopped after it took one.

        Raises:
            GrantError: There is no such branch, or one was taken before in this run.
        """

    def decide(self, reason: Fact) -> None:
        """Note a decision that follows from what was released, for the statement.

        What is not made after it stays charged, and its sentence says so.
        """

    def hand_over(self, carried: Callable[[], Carried]) -> None:
        """Keep what the next release of the year takes over, if there is a year.

        Args:
            carried: makes it from what was released, in this fit and before.
        """


@dataclass(frozen=True)
class WithoutNoise:
    """The baseline's: nothing is charged, no noise is added, nothing is claimed.

    Args:
        terms: unit and adjacency whose sums are computed, with ε = ∞.
        prior: what is publicly known about the items.

    Privacy: private; whatever is made with it is not private, and its statement says so.
    """

    terms: Terms
    prior: ItemPrior = NOTHING_KNOWN
    yearly: ClassVar[bool] = False
    earlier: ClassVar[None] = None

    def hand_over(self, carried: Callable[[], Carried]) -> None:
        """A baseline has no year."""

    def measure(self, measurement: Measurement, values: Ints | Callable[[], Ints]) -> Noisy:
        """The exact values. Privacy: private."""
        return _exact(measurement, values)

    def measure_cells(self, measurement: Measurement, cells: Cells) -> NoisyMatrix:
        """The stored cells, clamped, even if they are below the threshold. Privacy: private."""
        advance(MEASURING)
        clamped = np.clip(cells.values, -cells.limit, cells.limit).astype(np.int32)
        rows = cells.indptr.copy(), cells.columns.copy(), clamped
        return NoisyMatrix(measurement.name, cells.shape, *rows, 0.0, measurement.step, None)

    def sample(
        self, measurement: Measurement, draw: Callable[[bytes], Arrays], entries: int | None = None
    ) -> Arrays:
        """The draw, from a fixed, public key. Privacy: private."""
        advance(MEASURING)
        return draw(bytes(32))

    def fixed(self, name: str, arrays: Arrays) -> Arrays:
        """A baseline does not go on, so it keeps nothing."""
        return arrays

    def take(self, branch: str, reason: Fact | None = None) -> str:
        """Nothing is booked, so nothing is dropped."""
        return branch

    def decide(self, reason: Fact) -> None:
        """A baseline states no decisions."""

    def noise(self, measurement: Measurement) -> float:
        """None: 0."""
        return 0.0

    @property
    def weights(self) -> Callable[[Floats], Ints]:
        """Full weight, and none for users who ask for 0. Privacy: private in, private out."""
        return _full_or_none


class Grant(Confined):
    """The right to make each measurement of one charge once, in the order of the plan.

    Only ``Ledger.charge`` creates one.

    A grant belongs to the process that was charged. A copy, or the same grant in a forked child, would draw
    other noise under the same charge, and the second measurement would be unpaid.

    Attributes:
        plan: what was charged.
        prior: what is publicly known about the items, as the plan was made with.
        caveats: why a release made with it may not claim its ε, for the statement; empty if it may.
        ledger: what the release says about its ledger, as JSON values; empty if nothing was charged.
        charge: number of the charge in its ledger.
        taken: the branch of the plan that was taken; empty before, and without branches.
        reasons: why it was taken, and what else was decided.
        earlier: what the release before handed over, in a year.
        later: what it hands over.

    Privacy: public itself; what it measures is charged.
    """

    def __init__(
        self,
        plan: Plan,
        entropy: Entropy,
        *,
        caveats: tuple[Fact, ...] = (),
        ledger: dict[str, Any] | None = None,
        charge: int = 0,
        taken: str = "",
        sums: ChargeSums | None = None,
        record: Callable[..., None] | None = None,
        seal: object,
    ) -> None:
        if seal is not SEAL:
            raise GrantError("a grant needs a charge; get one from Ledger.charge(plan)")
        self.plan, self.caveats, self.ledger, self.charge = plan, caveats, ledger or {}, charge
        self.prior, self.reasons = NOTHING_KNOWN, list[Fact]()
        self.earlier: Carried | None = None
        self.later: Carried | None = None
        self.taken, self._chosen, self._decided = taken, False, False
        self._open = {measurement.name: measurement for measurement in plan.measurements}
        self._entropy, self._observer = entropy, observer_of(entropy, private=self.private)
        self._sums, self._record, self._process = sums, record if sums else None, os.getpid()
        self._taking = threading.Lock()

    @property
    def terms(self) -> Terms:
        """Unit, adjacency and ε that shape the sums: of the whole year, or of the fit alone."""
        return self.plan.year.whole if self.plan.year else self.plan.budget

    @property
    def yearly(self) -> bool:
        """Whether later releases may take over its sums."""
        return self.plan.year is not None

    def hand_over(self, carried: Callable[[], Carried]) -> None:
        """As ``Measures.hand_over``."""
        if self.yearly:
            self.later = carried()

    @property
    def kept(self) -> bool:
        """Whether what it measures is kept, so that a stopped fit can go on."""
        return self._sums is not None

    @property
    def private(self) -> bool:
        """Whether a release made with this grant may claim its ε."""
        return not self.caveats

    def measure(self, measurement: Measurement, values: Ints | Callable[[], Ints]) -> Noisy:
        """As ``Measures.measure``. Privacy: charged (``measurement``)."""
        booked = self._booked(measurement, "l1", "l2")
        if booked.is_exact:
            self._use(booked)
            return _exact(booked, values)

        own = callable(values) and isinstance(self._observer, Unobserved)
        if not callable(values):
            _require_fits(values, booked)
        private: list[Ints] = []

        def draw() -> Arrays:
            given = values() if callable(values) else values
            _require_fits(given, booked)
            private.append(given)
            steps = given if own else np.array(given, order="C")
            self._hold(_ENTRY * steps.size)
            _add_noise(steps, booked, self._entropy.key())
            return {"values": in_own_units(steps, booked.step)}

        noisy_values = self._once(booked, draw)["values"]
        noisy = Noisy(booked.name, noisy_values, booked.deviation, booked.step, booked)
        return self._observer.released(booked, private[0] if private else None, noisy)

    def measure_cells(self, measurement: Measurement, cells: Cells) -> NoisyMatrix:
        """As ``Measures.measure_cells``. Privacy: charged (``measurement``)."""
        booked = self._booked(measurement, "l1")
        if cells.size != booked.size:
            raise GrantError(
                f"{booked.name}: size is {cells.size}, booked was {booked.size}; plan and cells must agree"
            )

        def draw() -> Arrays:
            # An empty cell reaches the threshold T with chance e^−(T − ½)/b.
            listed = most_of(cells.size, math.exp((0.5 - cells.threshold) / _width(booked)))
            # 4 bytes for a column, 4 for its value.
            self._hold(_ENTRY * (cells.columns.size + listed + cells.indptr.size))
            found = cells.noisy(lambda block: _add_noise(block, booked, self._entropy.key()))
            return dict(zip(("indptr", "columns", "values"), found, strict=True))

        listed = self._once(booked, draw)
        rows = listed["indptr"], listed["columns"], listed["values"]
        noisy = NoisyMatrix(booked.name, cells.shape, *rows, booked.deviation, booked.step, booked)
        return self._observer.released(booked, cells, noisy, cells.threshold, cells.limit)

    def order(self, n_people: int) -> Ints:
        """A random permutation of 0 … n_people − 1, so that the position of a published row reveals nothing.

        Privacy: private; it links each row to its user.
        """
        return np.asarray(sampler().permutation(n_people, self._entropy.key()))

    def sample(
        self, measurement: Measurement, draw: Callable[[bytes], Arrays], entries: int | None = None
    ) -> Arrays:
        """As ``Measures.sample``. Privacy: charged (``measurement``), as far as a chain has converged."""
        booked = self._booked(measurement, "loss", "cells", "slots")
        key = self._observer.released(booked, None, self._entropy.key())

        def drawn() -> Arrays:
            self._hold(_ENTRY * (booked.size if entries is None else entries))
            try:
                return draw(key)
            except MemoryError:
                raise
            except Exception:
                # "It diverged, run it again" would be a choice among samples: the failure is the value.
                self._measured(booked.name, FAILED)
                raise

        return self._once(booked, drawn)

    def fixed(self, name: str, arrays: Arrays) -> Arrays:
        """As ``Measures.fixed``: the arrays, or those that a stopped fit kept."""
        return self._sums.fixed(name, arrays) if self._sums else arrays

    def take(self, branch: str, reason: Fact | None = None) -> str:
        """As ``Measures.take``: the branch that is taken, as the ledger records it."""
        self._require_own_process()
        with self._taking:
            if self._chosen:
                raise GrantError(f"{branch}: branch {self.taken} was taken already; take one branch, once")
            if branch not in self.plan.branches:
                raise GrantError(f"{branch!r}: the charged plan has no such branch; name one of queries()")
            if not self.taken and self._record:
                self._record(self, kind="taken", branch=branch)
            self.taken, self._chosen = self.taken or branch, True
            for measurement in [*self._open.values()]:
                if measurement.branch not in ("", self.taken):
                    self._open.pop(measurement.name, None)
        if reason:
            self.reasons.append(reason)
        return self.taken

    def decide(self, reason: Fact) -> None:
        """As ``Measures.decide``."""
        self.reasons.append(reason)
        self._decided = True

    def require_made(self) -> None:
        """Refuse a release that leaves out what it is charged for, and whose statement would list it.

        Raises:
            GrantError: A measurement was never made, no branch left it out, and no decision says why.
        """
        if (left := self._due([*self.plan.branches])) and not self._decided:
            raise GrantError(
                f"{left[0]}: charged, and never measured; measure it in fit, or leave it out of queries()"
            )

    def noise(self, measurement: Measurement) -> float:
        """Noise parameter that is booked for a measurement."""
        return next(one.noise for one in self.plan.measurements if one.name == measurement.name)

    @property
    def weights(self) -> Callable[[Floats], Ints]:
        """As ``Measures.weights``. Privacy: private in, private out."""
        return functools.partial(_weights, self.plan.noisy, self.plan.budget.delta)

    def close(self) -> None:
        """Drop the measurements that were booked but not made. They stay charged."""
        self._open.clear()

    def _booked(self, measurement: Measurement, *norms: str) -> Measurement:
        """The measurement with its noise, if the plan lists it so, and it is still open."""
        booked = self._unused(measurement.name)
        if booked.listed != measurement.listed:
            raise GrantError(
                f"{measurement.name}: the charged plan lists it otherwise; plan and sum must use the same "
                "bound, norm, grid and size"
            )
        if booked.norm not in norms:
            raise GrantError(
                f"{booked.name}: booked was {booked.mechanism} noise, which this release does not add"
            )
        return booked

    def _unused(self, name: str) -> Measurement:
        self._require_own_process()
        booked = self._open.get(name)
        if booked is None:
            only = f"only branch {self.taken} is measured" if self._chosen else "each booking is used once"
            raise GrantError(f"{name}: not booked, or already made; list it in queries(), and {only}")
        if booked.branch not in ("", self.taken if self._chosen else ""):
            raise GrantError(f"{name}: no branch was taken yet; call take({booked.branch!r}, reason) first")
        return booked

    def _require_own_process(self) -> None:
        if os.getpid() != self._process:
            raise GrantError("a grant stays in the process that was charged; charge the ledger in this one")

    def _due(self, branches: Collection[str]) -> list[str]:
        """Names of what costs something and was not made yet, of these branches and of none, in order."""
        return [one.name for one in self._open.values() if not one.is_exact and one.branch in ("", *branches)]

    def _use(self, booked: Measurement) -> None:
        with self._taking:
            first = next(iter(self._due([self.taken] if self._chosen else [])), booked.name)
            if not booked.is_exact and first != booked.name:
                raise GrantError(
                    f"{booked.name}: {first} comes before it in queries(); measure in that order, each once"
                )
            if self._open.pop(booked.name, None) is None:  # another thread took it
                raise GrantError(f"{booked.name}: already made; each booking is used once")

    def _hold(self, room: int) -> None:
        """Allocate room for a value before it is drawn; ``room`` is in bytes."""
        if self._sums is not None:
            self._sums.hold(room)

    def _once(self, booked: Measurement, draw: Callable[[], Arrays]) -> Arrays:
        """Return the recorded value of a measurement; or draw it, and have it recorded before it is used."""
        self._use(booked)
        value = self._sums.load(booked.name) if self._sums else None
        if value is None:
            value = draw()
            failpoint("after-draw")
            if self._sums:
                self._sums.keep(booked.name, value, functools.partial(self._measured, booked.name))
        advance(MEASURING)
        return value

    def _measured(self, name: str, sha256: str) -> None:
        """Have the ledger record that a value was measured, or refuse it."""
        if self._record:
            self._record(self, kind="measured", name=name, sha256=sha256)


@functools.cache
def sampler() -> ModuleType:
    """The exact sampler, loaded and self-tested once per process, before anything is charged."""
    from hushrec.privacy.noise import sampler  # compiled code, loaded only to release

    sampler.self_test()
    return sampler


def most_of(cells: int, chance: float) -> int:
    """So many of independent cells that more are listed with a chance below 1e-20 (Bernstein)."""
    mean = cells * chance
    return min(cells, math.ceil(mean + 10 * math.sqrt(mean) + 32))


def _require_fits(values: Ints, booked: Measurement) -> None:
    """Refuse values that are no counts of grid steps, or not as many as were booked."""
    if values.dtype != np.int64:
        raise GrantError(f"{booked.name}: values must be int64 steps of the grid; round them first")
    if booked.size not in (EVERY_RATING, values.size):
        raise GrantError(
            f"{booked.name}: size is {values.size}, booked was {booked.size}; plan and sum must agree"
        )


def _exact(measurement: Measurement, values: Ints | Callable[[], Ints]) -> Noisy:
    """The sum in its own units. Privacy: private, unless the measurement is exact."""
    advance(MEASURING)
    steps = values() if callable(values) else np.array(values, order="C")
    return Noisy(measurement.name, in_own_units(steps, measurement.step), 0.0, measurement.step, None)


def _width(booked: Measurement) -> float:
    return fixed_point.float_above(Fraction(booked.noise) / Fraction(booked.step))  # never less than booked


def _add_noise(steps: Ints, booked: Measurement, key: bytes) -> None:
    sampler().add(NOISE[booked.norm], steps, _width(booked), key)


def _weights(noisy: tuple[Measurement, ...], delta: float, personal_epsilon: Floats) -> Ints:
    return np.rint(weights(noisy, delta, personal_epsilon) * GRID).astype(np.int64)


def _full_or_none(personal_epsilon: Floats) -> Ints:
    return np.where(personal_epsilon > 0, GRID, 0)
