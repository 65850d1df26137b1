"""What a model will measure, with how much noise, and what that costs: settled before any data is opened."""

import hashlib
import json
import math
from collections.abc import Iterator, Mapping
from dataclasses import dataclass, field
from functools import cached_property
from importlib import metadata
from typing import Any, Literal

from hushrec.errors import BudgetError
from hushrec.figures import above, aligned, below, noise_and_cost, promise
from hushrec.privacy.accounting import fixed_point
from hushrec.privacy.accounting.accountant import Spent, price, spent_of
from hushrec.privacy.accounting.budget import Budget
from hushrec.privacy.accounting.calibration import whole
from hushrec.privacy.accounting.events import (
    EVERY_RATING,
    Event,
    PosteriorSample,
    Spherical,
    SubsampledGaussian,
)
from hushrec.privacy.accounting.local_events import Responses
from hushrec.privacy.accounting.weights import Level, levels

Analysis = Literal["corrected", "published"]


@dataclass(frozen=True, slots=True)
class Measurement:
    """One event of a plan and the part of the budget that was set aside for it.

    Args:
        event: what will be measured.
        share: its part of the plan's ρ, or of its ε where all noise is Laplace; in (0, 1].

    Privacy: public.
    """

    event: Event
    share: float

    def __post_init__(self) -> None:
        if not 0 < self.share <= 1:
            raise BudgetError(f"{self.event.name}: a share lies above 0 and not above 1")


@dataclass(frozen=True)
class Plan:
    """Everything a model's fit will measure. Made from public declarations alone.

    Args:
        model: the model's name.
        config: its settings, as JSON values.
        domain_digest: digest of the public domain.
        max_users: the domain's upper bound on the number of users.
        budget: what the user allows for this release.
        analysis: ``"corrected"`` claims what holds; ``"published"`` reproduces a paper whose claim may not.
        measurements: every event with its share. Their sensitivities are the true ones in either analysis.
        claimed_epsilon: the paper's ε where the analysis is ``"published"``, else None.
        asked: classes of people by name, with the ε that their members ask for; empty where the model knows
            no personal ε.
        uncovered: what is published that the measurements do not cover, as a caveat says it; empty where
            nothing is.
        foreign: names of code outside hushrec that declares what is measured: ``models.authors`` finds them.
        needs: memory and time that a fit takes, as a person reads it; empty where nobody says.
        only_seeded: why only seeded experiments may run it, and what to set instead; empty where others may.

    Raises:
        BudgetError: δ is not below 1/(10 · max_users); names repeat; shares exceed the whole; the number of
            ratings is not public under this adjacency and a measurement has an entry for each; a sample is
            measured, or people ask for an ε of their own, under another unit or adjacency than user and
            add-remove; or a corrected plan costs more than its budget.

    Privacy: public.
    """

    model: str
    config: Mapping[str, Any]
    domain_digest: str
    max_users: int
    budget: Budget
    analysis: Analysis
    measurements: tuple[Measurement, ...]
    claimed_epsilon: float | None = None
    asked: Mapping[str, float] = field(default_factory=dict)
    uncovered: str = ""
    foreign: tuple[str, ...] = ()
    needs: str = field(default="", compare=False)
    only_seeded: str = ""

    def __post_init__(self) -> None:
        # A copy through JSON is both a check that it can be stored and a guard against later changes.
        object.__setattr__(self, "config", json.loads(_canonical(dict(self.config))))
        require_small_delta(self.budget.delta, self.max_users)
        names = [event.name for event in self.events]
        if not names or len(set(names)) < len(names):
            raise BudgetError(f"{self.model}: a plan has measurements, each with a name of its own")
        whole(self.model, {m.event.name: m.share for m in self.measurements})
        public = (self.budget.unit, self.budget.adjacency) == ("rating", "replace")
        if not public and EVERY_RATING in (event.size for event in self.events):
            raise BudgetError(
                f"{self.model}: an entry for each rating would publish who rated what; choose unit "
                '"rating" and adjacency "replace", under which that is public'
            )
        sampled = any(isinstance(event, SubsampledGaussian) for event in self.events)
        if sampled and (self.budget.unit, self.budget.adjacency) != ("user", "add-remove"):
            raise BudgetError(
                f'{self.model}: what a sample of people costs is known for unit "user" under adjacency '
                '"add-remove"; choose these, or let everybody take part'
            )
        if self.asked and (self.budget.unit, self.budget.adjacency) != ("user", "add-remove"):
            raise BudgetError(
                f'{self.model}: people choose an ε of their own for unit "user" under adjacency '
                '"add-remove"; choose these, or a domain without levels'
            )
        if (self.claimed_epsilon is None) != (self.analysis == "corrected"):
            raise BudgetError(
                f"{self.model}: claimed_epsilon belongs to a published analysis, and only there"
            )
        if self.analysis == "corrected" and not self._affordable():
            raise BudgetError(
                f"{self.model}: the measurements cost ε = {above(self.epsilon)}, the budget is "
                f"{below(self.budget.epsilon)}; add noise or raise the budget"
            )

    @property
    def events(self) -> tuple[Event, ...]:
        """The measurements without their shares."""
        return tuple(measurement.event for measurement in self.measurements)

    @cached_property
    def spent(self) -> Spent:
        """True privacy loss of all measurements, in units of 1e-12."""
        return spent_of(self.events)

    @cached_property
    def epsilon(self) -> float:
        """True ε at the budget's δ, rounded up; infinite where none is known."""
        return self.spent.epsilon(self.budget.delta)

    @cached_property
    def levels(self) -> tuple[Level, ...]:
        """What each class of people is promised."""
        return levels(self.events, self.budget.delta, self.asked)

    def cost(self, event: Event) -> float:
        """What one measurement adds, rounded up: ρ of Gaussian noise, ε of any other.

        Of a sample it is D_α/α at the order α that decides the plan's ε, where ρ adds to it.
        """
        loss = price(event)
        if loss.endless:
            return math.inf
        if loss.curve:
            return fixed_point.shown(loss.rho_at(self.spent.deciding(self.budget.delta)))
        return fixed_point.shown(loss.rho or loss.pure)

    @property
    def condition(self) -> str:
        """On what its ε depends beside arithmetic, a line each; empty where on nothing."""
        lines = []
        if any(isinstance(event, PosteriorSample) for event in self.events):
            lines.append(
                "conditional on convergence: this ε holds only if the chain has converged, which nobody can "
                "check"
            )
        if self.foreign:
            lines.append(f"author's claim: {self.claim}")
        return "\n".join(lines)

    @property
    def claim(self) -> str:
        """What its ε depends on where code outside hushrec declares what is measured."""
        return (
            f"{', '.join(self.foreign)} is not part of hushrec; this ε holds only if its sensitivities are "
            "true and all that it publishes is made from what its grant released, for which its author alone "
            "vouches"
        )

    def _affordable(self) -> bool:
        return self.spent.epsilon_units(self.budget.delta) <= self.budget.epsilon_units

    def key(self, ledger_id: str, slot: int) -> str:
        """Idempotency key: SHA-256 of population, plan, code version and release slot, in hex."""
        facts = {
            "ledger": ledger_id,
            "slot": slot,
            "version": version(),
            "model": self.model,
            "config": self.config,
            "domain": self.domain_digest,
            "max_users": self.max_users,
            "budget": self.budget.model_dump(),
            "analysis": self.analysis,
            "measurements": [
                [e.mechanism, e.name, _finite(e.sensitivity), float(e.noise), float(e.step), int(e.size)]
                + ([float(e.rate)] if isinstance(e, SubsampledGaussian) else [])
                + ([e.symbols, e.exponent] if isinstance(e, Responses) else [])
                for e in self.events
            ],
        }
        if self.foreign:  # what it measures is not what a plan of hushrec's own of this name does
            facts["foreign"] = list(self.foreign)
        return hashlib.sha256(_canonical(facts).encode()).hexdigest()

    def __str__(self) -> str:
        head = f"{self.model}, {self.analysis} analysis: {self.budget}"
        claim = (
            "" if self.claimed_epsilon is None else f"; the paper claims ε = {above(self.claimed_epsilon)}"
        )
        total = f"true ε = {above(self.epsilon)} at δ = {above(self.budget.delta)}{claim}"
        if self.spent.endless:
            total = f"no finite ε is known for this noise{claim}"
        lines = [head, "", *aligned(list(self._rows()), left=2), "", total]
        seeded = self.only_seeded and f"for seeded experiments alone: {self.only_seeded}"
        lines += filter(None, [self.condition, seeded, self.needs and f"{self.model} {self.needs}"])
        if self.levels:
            classes = [promise(of.name, of.asked, of.promised, of.weight) for of in self.levels]
            heads = "class", "asks for", "is promised", "weight"
            lines += ["", "If the ratings say who asks for what:", "", *aligned([heads, *classes], left=2)]
        return "\n".join(lines)

    def _rows(self) -> Iterator[tuple[str, ...]]:
        yield "measurement", "mechanism", "sensitivity", "noise", "entries", "share", "cost"
        for measurement in self.measurements:
            event = measurement.event
            rate = event.rate if isinstance(event, SubsampledGaussian) else 1.0
            noise, cost = noise_and_cost(event.mechanism, event.noise, self.cost(event), rate)
            entries = "each rating" if event.size == EVERY_RATING else f"{event.size:,}"
            share = f"{measurement.share:.4f}"
            yield event.name, event.mechanism, above(event.sensitivity), noise, entries, share, cost


def require_small_delta(delta: float, max_users: int) -> None:
    """Refuse a δ at which publishing a tenth of a user's data would pass for privacy.

    Raises:
        BudgetError: δ ≥ 1/(10 · max_users).

    Privacy: public.
    """
    if fixed_point.as_written(delta) * 10 * max_users >= 1:
        raise BudgetError(
            f"δ = {above(delta)} is too large for up to {max_users:,} users; choose one below "
            f"{below(1 / (10 * max_users), 3)}"
        )


def require_same_population(plan: Plan, total: Budget) -> None:
    """Refuse to add a plan's loss to a total that counts something else.

    Raises:
        BudgetError: Unit or adjacency differ, or the total's δ is too large for the plan's users.

    Privacy: public.
    """
    if (plan.budget.unit, plan.budget.adjacency) != (total.unit, total.adjacency):
        raise BudgetError(
            f"the plan protects a {plan.budget.unit} under {plan.budget.adjacency}, the ledger a "
            f"{total.unit} under {total.adjacency}; such losses do not add: make both the same"
        )
    require_small_delta(total.delta, plan.max_users)


def require_releasable(plan: Plan, caveat: str) -> None:
    """Refuse what only reproduces published figures, unless the release says that it is not private.

    Raises:
        BudgetError: There is no caveat, and a measurement has spherical noise, which is drawn in floating
            point, or the plan is ``only_seeded``.

    Privacy: public.
    """
    if caveat:
        return
    if plan.only_seeded:
        raise BudgetError(f"{plan.model}: {plan.only_seeded}, or make a seeded experiment without a ledger")
    if any(isinstance(event, Spherical) for event in plan.events):
        raise BudgetError(
            f'{plan.model}: spherical noise only reproduces published figures; set analysis="corrected", or '
            "make a seeded experiment without a ledger"
        )


def _finite(value: float) -> float | None:
    return None if value == math.inf else float(value)  # JSON has no infinity


def _canonical(value: object) -> str:
    return json.dumps(value, sort_keys=True, separators=(",", ":"), allow_nan=False)


def version() -> str:
    """Of the code, which a plan's noise depends on.

    Privacy: public.
    """
    try:
        return metadata.version("hushrec")
    except metadata.PackageNotFoundError:  # run from a source tree that was never installed
        return "source"
