"""The parts of a statement of privacy: what was measured, what each class of users is promised, and what one
randomized answer reveals."""

import math
import sys
from collections.abc import Mapping, Sequence
from dataclasses import asdict, dataclass
from itertools import groupby
from string import digits
from typing import Any

from hushrec.documents import words
from hushrec.documents.document import Paragraph, Section, Table
from hushrec.figures import above, below

_LARGEST = 2**63
"""Exceeds every number of a ledger's entry or release index."""

DECLARED = "population", "controller", "contact"
"""The declaration of a ledger's owner."""

SYMBOLS = {
    "gaussian": ("σ", "ρ"),
    "subsampled gaussian": ("σ", "ρ"),
    "laplace": ("b", "ε"),
    "posterior sample": ("T", "ε"),
    "randomized response": ("flip", "ε"),
    "item substitution": ("swap", "ε"),
}
"""The mechanisms that a statement may name, and the symbols of their noise and cost."""
RANDOMIZERS = {"cell": "randomized response", "slot": "item substitution"}
"""The scope of one answer → the mechanism that gives the answer."""
_NUMBERS = "seq", "release_index", "max_releases", "part", "parts"
"""Whole numbers of a statement's ledger."""


@dataclass(frozen=True, slots=True)
class Measured:
    """One measurement as the statement lists it.

    Attributes:
        mechanism: ``gaussian``, ``subsampled gaussian``, ``laplace``, ``posterior sample``, ``randomized
            response``, ``item substitution``, or ``exact`` where neighbouring data agree on it.
        sensitivity: Δ in the quantity's own units: L1 for Laplace noise, L2 for other noise, of the loss for
            a posterior sample, in cells or slots for local randomizers.
        noise: σ (Gaussian), b (Laplace), the temperature T (posterior sample), or the probability that a
            cell or a slot is not simply kept.
        entries: number of values; 0 means one for every rating.
        split: its split of the budget.
        cost: ρ (Gaussian; for a sample of users, D_α/α at the order that decides the release's ε) or ε
            (others).
        rate: probability that each person takes part.
    """

    name: str
    mechanism: str
    sensitivity: float
    noise: float
    entries: int
    split: float
    cost: float
    rate: float = 1.0

    def to_json(self) -> dict[str, Any]:
        """As JSON values."""
        values = asdict(self)
        return values if self.rate < 1 else {name: values[name] for name in values if name != "rate"}

    def cells(self) -> tuple[str, ...]:
        """The cells of a table row: name, mechanism, Δ, noise, entries, split, cost."""
        entries = f"{self.entries:,}" if self.entries else words.say("measured.each_rating")
        if self.mechanism == "exact":
            return self.name, "exact", "0", words.say("measured.none_needed"), entries, "", ""
        width, kind = SYMBOLS[self.mechanism]
        noise = f"{width} = {below(self.noise, 4)}"
        if self.rate < 1:
            noise += f", q = {above(self.rate, 4)}"
        sensitivity, cost = above(self.sensitivity, 4), above(self.cost, 4)
        split = f"{self.split:.3f}"
        return self.name, self.mechanism, sensitivity, noise, entries, split, f"{kind} = {cost}"

    @property
    def is_valid(self) -> bool:
        """Whether such a measurement is possible."""
        numbers = self.noise, self.entries, self.split, self.sensitivity, self.cost
        return (
            isinstance(self.name, str)
            and self.name.isprintable()
            and self.mechanism in (*SYMBOLS, "exact")
            and finite(self.rate)
            and 0 < self.rate <= 1
            and (self.rate < 1) == (self.mechanism == "subsampled gaussian")
            and all(map(finite, numbers))
            and (self.noise > 0 or self.mechanism == "exact")
            and (self.noise <= 1 or self.mechanism not in RANDOMIZERS.values())
        )


@dataclass(frozen=True, slots=True)
class Promised:
    """The promise to a class of users.

    Attributes:
        personal_epsilon: the ε that its members ask for.
        weight: the weight of each member's data, from 0 to 1.
        promised: the ε that each member loses at most; not above ``personal_epsilon``.
    """

    name: str
    personal_epsilon: float
    weight: float
    promised: float

    @property
    def is_valid(self) -> bool:
        """Whether such a promise is possible under some ε; users who ask for 0 have weight 0."""
        return (
            isinstance(self.name, str)
            and self.name.isprintable()
            and all(map(finite, (self.personal_epsilon, self.weight, self.promised)))
            and self.weight <= 1
            and self.promised <= self.personal_epsilon
            and (self.personal_epsilon > 0 or self.weight == 0)
            and (self.weight > 0 or self.promised == 0)
        )


@dataclass(frozen=True, slots=True)
class Local:
    """The information of one randomized answer in a user's row or profile about the true one.

    Attributes:
        what: ``cell`` (a row has one for every item) or ``slot`` (a profile has one for every rating).
        epsilon: exact ε of one answer.
        expected: mean privacy loss of one answer: the Kullback–Leibler divergence between the answers to two
            truths.
        claimed: what D2P counts for one slot, (ε, λ); None for a cell, and where it is not known.
        count: in how many answers two users may differ.
        changed: probability that an answer is not the true one.
        drawn: the split of ``count`` that is answered on average, if the answered cells are drawn at random;
            else 1.
    """

    what: str
    epsilon: float
    expected: float
    claimed: float | None
    count: int
    changed: float
    drawn: float = 1.0

    @property
    def expected_together(self) -> float:
        """Mean loss of all answers of one user, if as many of them differ as possible.

        In the worst case all drawn cells are among those that differ; on average only a split is.
        """
        return self.count * self.expected * self.drawn

    def section(self, epsilon: float) -> Section:
        """Say how much one answer reveals, and all answers of one user together.

        Args:
            epsilon: ε of one user.
        """
        one = words.say(f"local.{self.what}"), *_above(self.epsilon, self.expected)
        together = _above(epsilon, self.expected_together)
        rows: list[tuple[str, ...]] = [one, (words.say(f"local.user_{self.what}", n=self.count), *together)]
        heads = ["", words.say("local.exact"), words.say(f"local.mean_{self.what}")]
        if self.claimed is not None:
            heads.append(words.say("local.claimed"))
            rows = [(*rows[0], *_above(self.claimed)), (*rows[1], "")]
        title = words.say("local.title")
        changed = words.say(f"local.changed_{self.what}", chance=below(self.changed))
        return Section(title, [Table(title, heads, rows), Paragraph(changed)])

    @property
    def is_valid(self) -> bool:
        """Whether such figures are possible under some ε."""
        return (
            self.what in RANDOMIZERS
            and (self.claimed is None or finite(self.claimed))
            and all(map(finite, (self.epsilon, self.expected, self.count, self.changed)))
            and self.epsilon > 0
            and self.expected <= self.epsilon * (1 + 1e-9)
            and isinstance(self.count, int)
            and 1 <= self.count < 2**63
            and 0 < self.changed <= 1
            and finite(self.drawn)
            and 0 < self.drawn <= 1
        )

    def costs(self, epsilon: float, delta: float) -> bool:
        """Whether an ε at δ is that of all answers of one user: their sum, or less if δ > 0."""
        total = self.count * self.epsilon
        error = 1e-9 * (1 + total)
        return epsilon <= total + error and (delta > 0 or epsilon >= total - error)


def table_of(measured: Sequence[Measured], *, folded: bool = False) -> Table:
    """All measurements, as a table; folded, equal epochs in a row split a line."""
    names = "name", "mechanism", "sensitivity", "noise", "entries", "split", "cost"
    heads = [words.say(f"measured.{name}") for name in names]
    rows: list[tuple[str, ...]] = [one.cells() for one in measured]
    alike = groupby(rows, key=lambda row: (row[0].rstrip(digits), *row[1:]) if folded else row)
    shown = [row for _, equal in alike for row in (_folded([*equal]) if folded else equal)]
    return Table(words.say("measured.title"), heads, shown, left=2)


def _folded(equal: list[tuple[str, ...]]) -> list[tuple[str, ...]]:
    name, *others = equal[0]
    return equal if len(equal) == 1 else [(f"{name.rstrip(digits + ' ')} × {len(equal)}, each", *others)]


def promised_table(promised: Sequence[Promised], *, sure: bool = True) -> Table:
    """Show each class's request and promise, as a table."""
    names = "class", "personal_epsilon", "promised" if sure else "would", "weight"
    rows = []
    for of in promised:
        epsilons = (f"ε = {figure}" for figure in _above(of.personal_epsilon, of.promised))
        rows.append((of.name, *epsilons, f"{of.weight:.4f}"))
    return Table(words.say("personal.title"), [words.say(f"personal.{name}") for name in names], rows)


def _above(*figures: float) -> tuple[str, ...]:
    """Write losses, rounded up."""
    return tuple(above(figure) for figure in figures)


def finite_or_none(value: float) -> float | None:
    """A number as JSON has it: None if it is infinite."""
    return None if math.isinf(value) else value


def or_infinite(value: Any) -> Any:
    """A number that JSON may have as null, which means infinite."""
    return math.inf if value is None else value


def finite(value: object) -> bool:
    """Whether a value is a number from 0 to the largest float; JSON allows larger integers."""
    return isinstance(value, int | float) and not isinstance(value, bool) and 0 <= value <= sys.float_info.max


def is_ledger(ledger: object) -> bool:
    """Whether a statement may say this of the ledger that was charged; what is missing may be."""
    return (
        isinstance(ledger, Mapping)
        and all(isinstance(ledger.get(name, ""), str) for name in ("id", "head"))
        and isinstance(ledger.get("file"), str | None)
        and all(type(ledger.get(name, 0)) is int for name in _NUMBERS)
        and ("part" in ledger) == ("parts" in ledger)
        and all(
            finite(ledger.get(name, 0)) and ledger.get(name, 0) < _LARGEST
            for name in (*_NUMBERS, "total_epsilon", "total_delta", "spent_epsilon")
        )
    )
