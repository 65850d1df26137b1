"""The plan of a fit: measurements, noise and cost, fixed before any data is read."""

import hashlib
import json
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import asdict, dataclass, field
from functools import cache, cached_property
from importlib import metadata
from itertools import groupby
from string import digits
from typing import Any, Protocol, TypeVar

from hushrec import text
from hushrec.documents import html, terminal, words
from hushrec.documents.document import Block, Document, Paragraph, Section
from hushrec.documents.measured import Measured, Odds, Promised, promised_table, table_of
from hushrec.documents.promise import Guarantee, times
from hushrec.documents.words import Clause
from hushrec.errors import BudgetError, WeakBudget
from hushrec.privacy.accounting import fixed_point
from hushrec.privacy.accounting.accountant import Spent, dearest, price, spent_of
from hushrec.privacy.accounting.ages import Part
from hushrec.privacy.accounting.budget import Budget
from hushrec.privacy.accounting.calibration import whole
from hushrec.privacy.accounting.events import EVERY_RATING, Event
from hushrec.privacy.accounting.weights import classes
from hushrec.text import WEAK, above, below, is_number


@dataclass(frozen=True, slots=True)
class Measurement:
    """One event of a plan and its part of the budget.

    Args:
        split: its part of the plan's ρ, or of its ε if all noise is Laplace; in (0, 1].
    """

    event: Event
    split: float

    def __post_init__(self) -> None:
        if not is_number(self.split) or not 0 < self.split <= 1:
            raise BudgetError(f"{self.event.name}: a part must be above 0 and at most 1")


@dataclass(frozen=True)
class Plan:
    """All measurements of a model's fit. It depends on public declarations only.

    Args:
        settings: its settings, as JSON values.
        domain_digest: digest of the public domain.
        max_users: the domain's upper bound on the number of users.
        budget: what the user allows for this release.
        measurements: every event with its part of the budget.
        personal_epsilon: classes of users by name, with the ε they ask for; empty if the model does not
            support personal ε.
        uncovered: the caveat of published values that the measurements do not cover; None without any.
        foreign: names of code outside hushrec that declares measurements; ``curator.authors`` finds them.
        needs: memory and time of a fit, as text; empty if unknown.
        beforehand: what else is publicly known about the items, in words, and shapes the release.
        beforehand_digest: SHA-256 of it, hex; empty if nothing is.
        part: which release of a series this is; None if it is charged alone. Every measurement is then
            made once in each of them, and its sensitivity bounds all of them together.
    """

    model: str
    settings: Mapping[str, Any]
    domain_digest: str
    max_users: int
    budget: Budget
    measurements: tuple[Measurement, ...]
    personal_epsilon: Mapping[str, float] = field(default_factory=dict)
    uncovered: Clause | None = None
    foreign: tuple[str, ...] = ()
    needs: str = field(default="", compare=False)
    beforehand: tuple[Clause, ...] = ()
    beforehand_digest: str = ""
    part: Part | None = None

    def __post_init__(self) -> None:
        # The copy through JSON checks that it can be stored, and guards against later changes.
        object.__setattr__(self, "settings", json.loads(_canonical(dict(self.settings))))
        require_small_delta(self.budget.delta, self.max_users)
        names = [event.name for event in self.events]
        if not names or len(set(names)) < len(names):
            raise BudgetError(f"{self.model}: a plan needs measurements, each with a unique name")
        for path in paths(self.events):
            names_on = {event.name for event in path}
            whole(self.model, {m.event.name: m.split for m in self.measurements if m.event.name in names_on})
        if self.part and self.branches:
            raise BudgetError(
                f"{self.model}: releases of a series share their noise, so none can choose a branch; release "
                "it each time from a share of the ledger"
            )
        public = (self.budget.unit, self.budget.adjacency) == ("record", "replace")
        if not public and EVERY_RATING in (event.size for event in self.events):
            raise BudgetError(
                f"{self.model}: an entry for every rating would publish who rated what; choose unit "
                '"record" and adjacency "replace", under which this is public'
            )
        sampled = any(event.rate < 1 for event in self.events)
        if sampled and (self.budget.unit, self.budget.adjacency) != ("user", "add-remove"):
            raise BudgetError(
                f'{self.model}: what a sample of people costs is known only for unit "user" and adjacency '
                '"add-remove"; choose these, or let everybody take part'
            )
        if self.personal_epsilon and (self.budget.unit, self.budget.adjacency) != ("user", "add-remove"):
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
        """The measurements without their split."""
        return tuple(measurement.event for measurement in self.measurements)

    @cached_property
    def spent(self) -> Spent:
        return spent_of(self.events)

    @property
    def branches(self) -> dict[str, tuple[str, ...]]:
        """The names of each branch's measurements, by branch; empty if everything is measured."""
        return {
            branch: tuple(event.name for event in self.events if event.branch == branch)
            for branch in names_of(self.events)
        }

    @property
    def unpaid(self) -> tuple[Event, ...]:
        """The measurements of all branches except the dearest, which pays for whichever is taken."""
        paid, _ = dearest((event.branch, price(event)) for event in self.events)
        return tuple(event for event in self.events if event.branch not in ("", paid))

    @cached_property
    def epsilon(self) -> float:
        """True ε at the budget's δ, rounded up."""
        return self.spent.epsilon(self.budget.delta)

    @cached_property
    def classes(self) -> tuple[Promised, ...]:
        """The promise to each class of users."""
        promises = classes(self.events, self.budget.delta, self.personal_epsilon)
        return tuple(Promised(of.name, of.personal_epsilon, of.weight, of.promised) for of in promises)

    def cost(self, event: Event) -> float:
        """Cost of one measurement, rounded up: ρ for Gaussian noise, ε for any other.

        For a sample it is D_α/α at the order α that determines the plan's ε; ρ is additive with it.
        """
        loss = price(event)
        if loss.curve:
            return fixed_point.shown(loss.rho_at(self.spent.optimal_order(self.budget.delta)))
        return fixed_point.shown(loss.rho or loss.epsilon_sum)

    @property
    def claim(self) -> Clause | None:
        """The caveat of a plan whose measurements code outside hushrec declares."""
        return Clause("author.foreign", {"names": ", ".join(self.foreign)}) if self.foreign else None

    @property
    def caveats(self) -> tuple[Clause, ...]:
        """The conditions under which the plan's ε holds."""
        conditions = dict.fromkeys(event.condition for event in self.events if event.condition)
        return tuple(filter(None, (self.uncovered, *conditions, self.claim)))

    @property
    def guarantee(self) -> Guarantee:
        """The guarantee that its ε gives."""
        budget = self.budget
        odds = Odds.of(self.epsilon, budget.delta, self.measured())
        return Guarantee(budget.unit, budget.adjacency, odds, files=self.part.of if self.part else None)

    def measured(
        self, free: Iterable[tuple[str, int]] = (), branch: str | None = None
    ) -> tuple[Measured, ...]:
        """Everything that is measured, as a statement lists it.

        Args:
            free: names and sizes of what costs nothing.
            branch: the branch that is taken; by default the dearest.
        """
        left = self.unpaid
        if branch is not None:
            left = tuple(event for event in self.events if event.branch not in ("", branch))
        lines = [self._line(one) for one in self.measurements if one.event not in left]
        return (*lines, *(Measured(name, "exact", 0.0, 0.0, size, 0.0, 0.0) for name, size in free))

    def _line(self, measurement: Measurement) -> Measured:
        event = measurement.event
        figures = event.sensitivity, event.noise, event.size, measurement.split, self.cost(event), event.rate
        return Measured(event.name, event.mechanism, *figures)

    def key(self, ledger_id: str, release_index: int) -> str:
        """Idempotency key: SHA-256 of population, plan, code version and release index, in hex."""
        facts = {
            "ledger": ledger_id,
            "release_index": release_index,
            "version": version(),
            "model": self.model,
            "settings": self.settings,
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

    @property
    def facts(self) -> dict[str, Any]:
        """The plan as JSON values, named as in a statement."""
        return {
            "model": self.model,
            "settings": dict(self.settings),
            **self.budget.model_dump(exclude={"epsilon"}),
            "epsilon": self.epsilon,
            "budget_epsilon": self.budget.epsilon,
            "foreign": list(self.foreign),
            "caveats": [caveat.to_json() for caveat in self.caveats],
            "needs": self.needs,
            "beforehand": [fact.to_json() for fact in self.beforehand],
            "measurements": [line.to_json() for line in map(self._line, self.measurements)],
            "reading": self.guarantee.odds.to_json(),
            "classes": [asdict(one) for one in self.classes],
            **(
                {"branches": {name: [*names] for name, names in self.branches.items()}}
                if self.branches
                else {}
            ),
            **({"parts": self.part.of} if self.part else {}),
        }

    def document(self, extra: Iterable[Block] = (), first: Iterable[Block] = ()) -> Document:
        """Describe the measurements of a fit and its cost.

        Args:
            extra: what else is known before the fit, after the ε.
            first: what stands before it, such as the ε of all releases together.
        """
        cautions = [
            words.join([words.say(f"caveat.{caveat.kind}"), words.clause(caveat)], ": ")
            for caveat in self.caveats
        ]
        loss, guarantee = self.guarantee.loss(), self.guarantee
        if self.part:
            loss = str(f"{loss}, {words.say('plan.parts', n=self.part.of)}")
        covered = guarantee.covered()
        blocks: list[Block] = [
            *first,
            *(Paragraph(line, "caution") for line in cautions),
            Paragraph(words.say("plan.loss", model=self.model, loss=loss), "strong"),
            *([Paragraph(covered)] if covered else []),
            *extra,
            *(Paragraph(words.say("plan.beforehand", known=words.clause(one))) for one in self.beforehand),
            *([Paragraph(f"A fit {self.needs}.")] if self.needs else []),
            guarantee.section(),
            Section(words.say("plan.measured"), self._measured()),
        ]
        if self.classes:
            table = promised_table(self.classes)
            blocks.append(Section(table.title, [table, Paragraph(words.say("personal.column"))]))
        return Document("plan", "Plan", blocks, facts=self.facts)

    def _measured(self) -> list[Block]:
        """List the measurements of all branches, and say that one is made."""
        blocks: list[Block] = [table_of([*map(self._line, self.measurements)], folded=True)]
        if self.branches:
            either = ", or ".join(_listed(names) for names in self.branches.values())
            first = _listed([event.name for event in self.events if not event.branch])
            blocks.append(Paragraph(words.say("plan.either", either=either, first=first)))
        return blocks

    def _repr_html_(self) -> str:
        return html.notebook(self.document())

    def __str__(self) -> str:
        return terminal.text(self.document().blocks)


def _listed(names: Sequence[str]) -> str:
    """List names in words; those of equal epochs once."""
    alike = (list(equal) for _, equal in groupby(names, key=lambda name: name.rstrip(digits)))
    *others, last = (
        equal[0] if len(equal) == 1 else f"{equal[0].rstrip(digits)}× {len(equal)}" for equal in alike
    )
    return f"{', '.join(others)} and {last}" if others else last


def require_small_delta(delta: float, max_users: int) -> None:
    """Refuse a δ that allows a tenth of a user's data, in expectation, to be published."""
    max_users = text.whole(max_users, "max_users", 1, BudgetError)
    if not 0 <= fixed_point.as_written(delta) * 10 * max_users < 1:
        raise BudgetError(
            f"δ = {above(delta)} is too large for up to {max_users:,} users; choose one below "
            f"{below(1 / (10 * max_users), 3)}"
        )


def usual_delta(max_users: int) -> float:
    """The usual δ for this many users: 1e-6, or a smaller power of ten that is below 1/(10 · users)."""
    power, max_users = 6, text.whole(max_users, "max_users", 1, BudgetError)
    while 10 * max_users >= 10**power:
        power += 1
    return float(f"1e-{power}")


def require_strong(plan: Plan) -> None:
    """Refuse an ε above ``WEAK``, which the statement calls too weak to promise much."""
    if plan.epsilon > WEAK:
        raise WeakBudget(
            f"ε = {above(plan.epsilon)} per {plan.budget.unit} is too weak to promise much: odds may change "
            f"{times(plan.epsilon)}. Nothing was charged. Choose an ε of at most {WEAK:g}, or "
            'accept this one: accept="weak", or --accept weak'
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


@cache
def version() -> str:
    """Version of hushrec; a plan's noise depends on it."""
    try:
        return metadata.version("hushrec")
    except metadata.PackageNotFoundError:  # a source tree that is not installed
        return "source"


class Branched(Protocol):
    """A query or an event."""

    @property
    def branch(self) -> str: ...


Some = TypeVar("Some", bound=Branched)


def names_of(measurements: Iterable[Branched]) -> list[str]:
    """Return the names of the branches, in order; none if all measurements are made."""
    return [*dict.fromkeys(one.branch for one in measurements if one.branch)]


def paths(measurements: Iterable[Some]) -> list[list[Some]]:
    """Return, for each branch, its measurements and those that are always made, in order."""
    listed = [*measurements]
    return [[one for one in listed if one.branch in ("", name)] for name in names_of(listed) or [""]]
