"""What a model will measure, with how much noise and at what cost: fixed before any data is read."""

import hashlib
import json
from collections.abc import Iterator, Mapping
from dataclasses import dataclass, field
from functools import cached_property
from importlib import metadata
from typing import Any

from hushrec import markup
from hushrec.errors import BudgetError, WeakBudget
from hushrec.figures import WEAK, above, aligned, below, noise_and_cost, promise, times
from hushrec.privacy.accounting import fixed_point
from hushrec.privacy.accounting.accountant import Spent, price, spent_of
from hushrec.privacy.accounting.ages import Part
from hushrec.privacy.accounting.budget import Budget
from hushrec.privacy.accounting.calibration import whole
from hushrec.privacy.accounting.events import EVERY_RATING, Event
from hushrec.privacy.accounting.weights import Promise, promises


@dataclass(frozen=True, slots=True)
class Measurement:
    """One event of a plan and its part of the budget.

    Args:
        share: its part of the plan's ρ, or of its ε if all noise is Laplace; in (0, 1].
    """

    event: Event
    share: float

    def __post_init__(self) -> None:
        if not 0 < self.share <= 1:
            raise BudgetError(f"{self.event.name}: a share must be above 0 and at most 1")


@dataclass(frozen=True)
class Plan:
    """All measurements of a model's fit. It depends on public declarations only.

    Args:
        config: its settings, as JSON values.
        domain_digest: digest of the public domain.
        max_users: the domain's upper bound on the number of users.
        budget: what the user allows for this release.
        measurements: every event with its share.
        asked: classes of users by name, with the ε that their members ask for; empty if the model does not
            support personal ε.
        uncovered: published values that the measurements do not cover, as text for a caveat; empty without
            any.
        foreign: names of code outside hushrec that declares measurements; ``models.authors`` finds them.
        needs: memory and time of a fit, as text; empty if unknown.
        beforehand: what else is publicly known about the items, in words, and shapes the release.
        beforehand_digest: SHA-256 of it, hex; empty if nothing is.
        part: which release of a series this is; None if it is charged by itself. Every measurement is then
            made once in each of them, and its sensitivity bounds all of them together.
    """

    model: str
    config: Mapping[str, Any]
    domain_digest: str
    max_users: int
    budget: Budget
    measurements: tuple[Measurement, ...]
    asked: Mapping[str, float] = field(default_factory=dict)
    uncovered: str = ""
    foreign: tuple[str, ...] = ()
    needs: str = field(default="", compare=False)
    beforehand: tuple[str, ...] = ()
    beforehand_digest: str = ""
    part: Part | None = None

    def __post_init__(self) -> None:
        # The copy through JSON checks that it can be stored, and guards against later changes.
        object.__setattr__(self, "config", json.loads(_canonical(dict(self.config))))
        require_small_delta(self.budget.delta, self.max_users)
        names = [event.name for event in self.events]
        if not names or len(set(names)) < len(names):
            raise BudgetError(f"{self.model}: a plan needs measurements, each with a unique name")
        whole(self.model, {m.event.name: m.share for m in self.measurements})
        public = (self.budget.unit, self.budget.adjacency) == ("rating", "replace")
        if not public and EVERY_RATING in (event.size for event in self.events):
            raise BudgetError(
                f"{self.model}: an entry for every rating would publish who rated what; choose unit "
                '"rating" and adjacency "replace", under which this is public'
            )
        sampled = any(event.rate < 1 for event in self.events)
        if sampled and (self.budget.unit, self.budget.adjacency) != ("user", "add-remove"):
            raise BudgetError(
                f'{self.model}: what a sample of people costs is known only for unit "user" and adjacency '
                '"add-remove"; choose these, or let everybody take part'
            )
        if self.asked and (self.budget.unit, self.budget.adjacency) != ("user", "add-remove"):
            raise BudgetError(
                f'{self.model}: personal ε needs unit "user" and adjacency "add-remove"; choose these, or a '
                "domain without privacy classes"
            )
        if self.spent.epsilon_units(self.budget.delta) > self.budget.epsilon_units:
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
        return spent_of(self.events)

    @cached_property
    def epsilon(self) -> float:
        """True ε at the budget's δ, rounded up."""
        return self.spent.epsilon(self.budget.delta)

    @cached_property
    def promises(self) -> tuple[Promise, ...]:
        return promises(self.events, self.budget.delta, self.asked)

    def cost(self, event: Event) -> float:
        """Cost of one measurement, rounded up: ρ for Gaussian noise, ε for any other.

        For a sample it is D_α/α at the order α that determines the plan's ε; ρ is additive with it.
        """
        loss = price(event)
        if loss.curve:
            return fixed_point.shown(loss.rho_at(self.spent.optimal_order(self.budget.delta)))
        return fixed_point.shown(loss.rho or loss.epsilon_sum)

    @property
    def event_conditions(self) -> tuple[str, ...]:
        """Conditions of the measurements themselves."""
        return tuple(dict.fromkeys(event.condition for event in self.events if event.condition))

    @property
    def condition(self) -> str:
        """Conditions under which the plan's ε holds, one a line; empty without any."""
        lines = list(self.event_conditions)
        if self.foreign:
            lines.append(f"author's claim: {self.claim}")
        return "\n".join(lines)

    @property
    def claim(self) -> str:
        """Condition of the plan's ε if code outside hushrec declares the measurements."""
        return (
            f"{', '.join(self.foreign)} is not part of hushrec; this ε holds only if its sensitivities are "
            "true and all that it publishes is made from what its grant released, for which its author alone "
            "vouches"
        )

    def key(self, ledger_id: str, release_index: int) -> str:
        """Idempotency key: SHA-256 of population, plan, code version and release index, in hex."""
        facts = {
            "ledger": ledger_id,
            "release_index": release_index,
            "version": version(),
            "model": self.model,
            "config": self.config,
            "domain": self.domain_digest,
            "max_users": self.max_users,
            "budget": self.budget.model_dump(),
            "measurements": [event.facts() for event in self.events],
        }
        if self.foreign:  # the same name may stand for a plan of hushrec, which measures something else
            facts["foreign"] = list(self.foreign)
        if self.beforehand_digest:
            facts["beforehand"] = self.beforehand_digest
        if self.part:
            facts["part"] = [self.part.number, self.part.of, self.part.series]
        return hashlib.sha256(_canonical(facts).encode()).hexdigest()

    def __repr__(self) -> str:
        kinds = f"{len(self.measurements)} measurement{'s' * (len(self.measurements) > 1)}"
        return (
            f"Plan({self.model}, {kinds}, true ε = {above(self.epsilon)} at "
            f"δ = {above(self.budget.delta)} per {self.budget.unit}, {self.budget.adjacency})"
        )

    def _repr_html_(self) -> markup.Html:
        heads, *rows = self._rows()
        parts = (
            markup.table(heads, rows, left=2) if part.lstrip().startswith("measurement ") else part
            for part in str(self).split("\n\n")
        )
        return markup.block("Plan", markup.written(parts))

    def __str__(self) -> str:
        total = f"true ε = {above(self.epsilon)} at δ = {above(self.budget.delta)}"
        lines = [f"{self.model}: {self.budget}", "", *aligned(list(self._rows()), left=2), "", total]
        lines += [f"known beforehand: {line}" for line in self.beforehand]
        lines += filter(None, [self.condition, self.needs and f"{self.model} {self.needs}"])
        if self.part:
            lines += [f"for {self.part.of:,} releases together, each of which measures all of this once"]
        if self.promises:
            classes = [promise(of.name, of.asked, of.promised, of.weight) for of in self.promises]
            heads = "class", "asks for", "is promised", "weight"
            lines += ["", "If the ratings say who asks for what:", "", *aligned([heads, *classes], left=2)]
        return "\n".join(lines)

    def _rows(self) -> Iterator[tuple[str, ...]]:
        yield "measurement", "mechanism", "sensitivity", "noise", "entries", "share", "cost"
        for measurement in self.measurements:
            event = measurement.event
            symbols = event.symbol, event.cost_symbol
            noise, cost = noise_and_cost(symbols, event.noise, self.cost(event), event.rate)
            entries = "each rating" if event.size == EVERY_RATING else f"{event.size:,}"
            share = f"{measurement.share:.4f}"
            yield event.name, event.mechanism, above(event.sensitivity), noise, entries, share, cost


def require_small_delta(delta: float, max_users: int) -> None:
    """Refuse a δ that allows a tenth of a user's data, in expectation, to be published."""
    if fixed_point.as_written(delta) * 10 * max_users >= 1:
        raise BudgetError(
            f"δ = {above(delta)} is too large for up to {max_users:,} users; choose one below "
            f"{below(1 / (10 * max_users), 3)}"
        )


def usual_delta(max_users: int) -> float:
    """The δ that is usual for so many users: 1e-6, or a smaller power of ten that is below 1/(10 · users)."""
    power = 6
    while 10 * max_users >= 10**power:
        power += 1
    return float(f"1e-{power}")


def require_strong(plan: Plan) -> None:
    """Refuse an ε above ``WEAK``, of which the statement says that it is too weak to promise much."""
    if plan.epsilon > WEAK:
        raise WeakBudget(
            f"ε = {above(plan.epsilon)} per {plan.budget.unit} is too weak to promise much: odds may change "
            f"{times(plan.epsilon)}. Nothing was charged. Choose an ε of at most {WEAK:g}, or accept "
            'this one: accept="weak", or --accept weak'
        )


def require_same_population(plan: Plan, total: Budget) -> None:
    """Refuse a plan whose loss cannot be added to the total."""
    if (plan.budget.unit, plan.budget.adjacency) != (total.unit, total.adjacency):
        raise BudgetError(
            f"the plan protects a {plan.budget.unit} under {plan.budget.adjacency}, the ledger a "
            f"{total.unit} under {total.adjacency}; such losses do not add; make both the same"
        )
    require_small_delta(total.delta, plan.max_users)


def _canonical(value: object) -> str:
    return json.dumps(value, sort_keys=True, separators=(",", ":"), allow_nan=False)


def version() -> str:
    """Version of hushrec; a plan's noise depends on it."""
    try:
        return metadata.version("hushrec")
    except metadata.PackageNotFoundError:  # a source tree that is not installed
        return "source"
