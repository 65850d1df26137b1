"""The plan of a fit: measurements, noise and cost, fixed before any data is read."""

import hashlib
import json
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import asdict, dataclass, field
from functools import cached_property
from itertools import groupby
from string import digits
from typing import Any

from hushrec import text
from hushrec.documents import html, sentences, terminal
from hushrec.documents.document import Block, Document, Paragraph, Section
from hushrec.documents.fact import Fact
from hushrec.documents.measured import Measured, Promised, is_all_gaussian
from hushrec.documents.odds import Odds
from hushrec.documents.sentences import Author, Guarantee, measured_table, promised_table, times
from hushrec.errors import BudgetError, WeakBudget
from hushrec.privacy.accounting import fixed_point
from hushrec.privacy.accounting.accountant import (
    Spent,
    dearest,
    epsilon_of,
    largest_cost,
    spent_of,
)
from hushrec.privacy.accounting.budget import Budget
from hushrec.privacy.accounting.calibration import names_of
from hushrec.privacy.accounting.measurement import EVERY_RATING, Measurement
from hushrec.privacy.accounting.weights import classes, require_divisible
from hushrec.privacy.accounting.year import Year
from hushrec.text import WEAK, above, below


@dataclass(frozen=True)
class Plan:
    """All measurements of a model's fit. It depends on public declarations only.

    Args:
        settings: its settings, as JSON values.
        domain_digest: digest of the public domain.
        max_users: the domain's upper bound on the number of users.
        budget: what the user allows for this release.
        measurements: everything that is measured, in order: with its noise, or exact.
        personal_epsilon: classes of users by name, with the ε they ask for; empty if the model does not
            support personal ε.
        uncovered: the caveat of published values that the measurements do not cover; None without any.
        foreign: names of code outside hushrec that declares measurements; ``curator.authors`` finds them.
        needs: memory and time of a fit, as text; empty if unknown.
        beforehand: what else is publicly known about the items, in words, and shapes the release.
        beforehand_digest: SHA-256 of it, hex; empty if nothing is.
        year: the releases whose sums it takes over; None for a release that stands alone.
    """

    model: str
    settings: Mapping[str, Any]
    domain_digest: str
    max_users: int
    budget: Budget
    measurements: tuple[Measurement, ...]
    personal_epsilon: Mapping[str, float] = field(default_factory=dict)
    uncovered: Fact | None = None
    foreign: tuple[str, ...] = ()
    needs: str = field(default="", compare=False)
    beforehand: tuple[Fact, ...] = ()
    beforehand_digest: str = ""
    year: Year | None = None

    def __post_init__(self) -> None:
        # The copy through JSON checks that it can be stored, and guards against later changes.
        object.__setattr__(self, "settings", json.loads(_canonical(dict(self.settings))))
        require_small_delta(self.budget.delta, self.max_users)
        names = [one.name for one in self.measurements]
        if not self.noisy or len(set(names)) < len(names):
            raise BudgetError(f"{self.model}: a plan needs measurements, each with a unique name")
        public = (self.budget.unit, self.budget.adjacency) == ("record", "replace")
        if not public and EVERY_RATING in (one.size for one in self.noisy):
            raise BudgetError(
                f"{self.model}: an entry for every rating would publish who rated what; choose unit "
                '"record" and adjacency "replace", under which this is public'
            )
        if self.personal_epsilon and (self.budget.unit, self.budget.adjacency) != ("user", "add-remove"):
            raise BudgetError(
                f'{self.model}: personal ε needs unit "user" and adjacency "add-remove"; choose these, or a '
                "domain without privacy classes"
            )
        if self.personal_epsilon:
            require_divisible(self.noisy, self.budget.delta)
        if self.spent.units(self.budget.delta) > largest_cost(self.budget):
            counted = self.spent.epsilon_at(self.budget.delta)
            raise BudgetError(
                f"{self.model}: the measurements cost ε = {above(counted)}, the budget is "
                f"{below(self.budget.epsilon)}; add noise or raise the budget"
            )

    @cached_property
    def noisy(self) -> tuple[Measurement, ...]:
        """The measurements that cost something."""
        return tuple(one for one in self.measurements if not one.is_exact)

    @cached_property
    def spent(self) -> Spent:
        return spent_of(self.noisy)

    @property
    def branches(self) -> dict[str, tuple[str, ...]]:
        """The names of each branch's measurements, by branch; empty if everything is measured."""
        return {
            branch: tuple(one.name for one in self.noisy if one.branch == branch)
            for branch in names_of(self.noisy)
        }

    @cached_property
    def dearest(self) -> str:
        """The branch that pays for whichever is taken; empty without branches."""
        return dearest((one.branch, one.spent()) for one in self.noisy)[0]

    @cached_property
    def epsilon(self) -> float:
        """True ε at the budget's δ, rounded up; without Gaussian noise at most Σε, which holds at any δ."""
        return self.spent.planned_epsilon(self.budget.delta)

    @cached_property
    def stated(self) -> float:
        """ε that its statement names, rounded up: of its own charge and of all whose sums are inside."""
        if self.year is None or not self.year.releases:
            return self.epsilon
        delta = self.budget.delta
        return fixed_point.shown(epsilon_of(self.year.spent + self.spent.units(delta), delta))

    @cached_property
    def classes(self) -> tuple[Promised, ...]:
        """The promise to each class of users."""
        return classes(self.noisy, self.budget.delta, self.personal_epsilon)

    @property
    def claim(self) -> Fact | None:
        """The caveat of a plan whose measurements code outside hushrec declares."""
        return Author.foreign(names=", ".join(self.foreign)) if self.foreign else None

    @property
    def caveats(self) -> tuple[Fact, ...]:
        """The conditions under which the plan's ε holds."""
        conditions = dict.fromkeys(one.condition for one in self.noisy if one.condition)
        return tuple(filter(None, (self.uncovered, *conditions, self.claim)))

    @property
    def guarantee(self) -> Guarantee:
        """The guarantee that its ε gives."""
        budget = self.budget
        odds = Odds.of(self.epsilon, budget.delta, self.measured())
        return Guarantee(budget.unit, budget.adjacency, odds)

    def measured(self, branch: str | None = None) -> tuple[Measured, ...]:
        """Everything that is measured, in order, as a statement lists it.

        Args:
            branch: the branch that is taken; by default the dearest.
        """
        taken = self.dearest if branch is None else branch
        return tuple(self._line(one) for one in self.measurements if one.branch in ("", taken))

    def _line(self, one: Measurement) -> Measured:
        """One measurement with its cost, rounded up: μ of Gaussian noise, ε of any other; and its part."""
        loss, whole = one.spent(), self.spent.units(self.budget.delta)
        pure = loss.epsilon
        cost = fixed_point.root_above(loss.mu_squared) if pure is None else fixed_point.shown(pure)
        part = float(f"{loss.units(self.budget.delta) / whole:.6g}")
        return Measured(one.name, one.mechanism, one.sensitivity, one.noise, one.size, part, cost)

    def key(self, ledger_id: str) -> str:
        """What a stopped fit must repeat to go on: SHA-256 of population and plan, in hex."""
        facts = {
            "ledger": ledger_id,
            "model": self.model,
            "settings": self.settings,
            "domain": self.domain_digest,
            "max_users": self.max_users,
            "budget": self.budget.model_dump(),
            "measurements": [one.facts() for one in self.noisy],
        }
        if self.foreign:  # the same name may stand for a plan of hushrec, which measures something else
            facts["foreign"] = list(self.foreign)
        if self.beforehand_digest:
            facts["beforehand"] = self.beforehand_digest
        if self.year:
            facts["year"] = self.year.to_json()
        return hashlib.sha256(_canonical(facts).encode()).hexdigest()

    def __repr__(self) -> str:
        kinds = f"{len(self.noisy)} measurement{'s' * (len(self.noisy) > 1)}"
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
            "measurements": [asdict(line) for line in map(self._line, self.noisy)],
            "reading": self.guarantee.odds.to_json(),
            "classes": [asdict(one) for one in self.classes],
            **(
                {"branches": {name: [*names] for name, names in self.branches.items()}}
                if self.branches
                else {}
            ),
        }

    def document(
        self, extra: Iterable[Block] = (), together: Guarantee | None = None, each: str = ""
    ) -> Document:
        """Describe the measurements of a fit and its cost.

        Args:
            extra: what else is known before the fit, after the ε.
            together: what all releases promise together, whose story stands in place of that of this one;
                None if it stands alone.
            each: what each of them may cost.
        """
        guarantee = self.guarantee
        covered = guarantee.covered()
        # Without Gaussian noise, δ = 0 would give less noise at the same ε.
        pays_for_delta = self.budget.delta > 0 and self.spent.epsilon is not None
        pure = "Nothing here adds Gaussian noise: δ = 0 gives this model less noise at the same ε."
        blocks: list[Block] = [Paragraph(sentences.caveat(one), "caution") for one in self.caveats]
        if together:
            why = together.any_noise(gaussian=is_all_gaussian([*map(self._line, self.noisy)]))
            blocks += [
                Paragraph(f"All {together.files:,} releases together: {together.loss()}", "strong"),
                Paragraph(together.grade()),
                together.section(more=why),
                Paragraph(each, "strong"),
            ]
        blocks += [
            Paragraph(f"{self.model}: {guarantee.loss()}", "strong"),
            *([Paragraph(covered)] if covered else []),
            *extra,
            *([Paragraph(pure)] if pays_for_delta else []),
            *(Paragraph(f"Known beforehand: {one}.") for one in self.beforehand),
            *([Paragraph(f"A fit {self.needs}.")] if self.needs else []),
            *([] if together else [guarantee.section()]),
            Section("What will be measured", self._measured()),
        ]
        if self.classes:
            table = promised_table(self.classes)
            column = "This is promised if the ratings have a column personal_epsilon with each user's ε."
            blocks.append(Section(table.title, [table, Paragraph(column)]))
        return Document("plan", "Plan", blocks, facts=self.facts)

    def _measured(self) -> list[Block]:
        """List the measurements of all branches, and say that one is made."""
        blocks: list[Block] = [measured_table([*map(self._line, self.noisy)], folded=True)]
        if self.branches:
            either = ", or ".join(_listed(names) for names in self.branches.values())
            first = _listed([one.name for one in self.noisy if not one.branch])
            one = "one of these is measured, and the cost is that of the dearest"
            blocks.append(Paragraph(f"Either {either}, decided after {first}: {one}."))
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
    if plan.stated > WEAK:
        raise WeakBudget(
            f"ε = {above(plan.stated)} per {plan.budget.unit} is too weak to promise much: odds may change "
            f"{times(plan.stated)}. Nothing was charged. Choose an ε of at most {WEAK:g}, or "
            'accept this one: accept="weak", or --accept weak'
        )


def require_same_population(plan: Plan, total: Budget) -> None:
    """Refuse a plan whose loss cannot be added to the total."""
    if (plan.budget.unit, plan.budget.adjacency) != (total.unit, total.adjacency):
        raise BudgetError(
            f"the plan protects a {plan.budget.unit} under {plan.budget.adjacency}, the ledger a "
            f"{total.unit} under {total.adjacency}; such losses do not add; make both the same"
        )
    if total.delta == 0 and plan.spent.epsilon is None:
        raise BudgetError(
            "the plan adds Gaussian noise, which has no finite ε at this ledger's δ = 0; choose Laplace "
            "noise, or a ledger whose total has a δ above 0"
        )
    require_small_delta(total.delta, plan.max_users)


def _canonical(value: object) -> str:
    return json.dumps(value, sort_keys=True, separators=(",", ":"), allow_nan=False)
