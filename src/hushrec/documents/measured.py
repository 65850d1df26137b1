"""The parts of a statement of privacy: what was measured, what each class of users is promised, and what one
randomized answer reveals.

ε is read as odds, as the μ of Gaussian differential privacy, and by the best attack, all rounded up.
"""

import math
import sys
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import asdict, dataclass
from itertools import groupby
from string import digits
from typing import Any

from hushrec.documents import words
from hushrec.documents.document import Paragraph, Section, Table
from hushrec.text import above, below

_LARGEST = 2**63
"""Exceeds every number of a ledger's entry or release index."""

DECLARED = "population", "controller", "contact"
"""The declaration of a ledger's owner."""

SYMBOLS = {
    "gaussian": ("σ", "μ"),
    "laplace": ("b", "ε"),
    "posterior sample": ("T", "ε"),
    "randomized response": ("flip", "ε"),
    "item substitution": ("swap", "ε"),
}
"""The mechanisms that a statement may name, and the symbols of their noise and cost."""
RANDOMIZERS = {"cell": "randomized response", "slot": "item substitution"}
"""The scope of one answer → the mechanism that gives the answer."""
_NUMBERS = "seq", "release_index", "max_releases"
"""Whole numbers of a statement's ledger."""


@dataclass(frozen=True, slots=True)
class Measured:
    """One measurement as the statement lists it.

    Attributes:
        mechanism: ``gaussian``, ``laplace``, ``posterior sample``, ``randomized response``, ``item
            substitution``, or ``exact`` where neighbouring data agree on it.
        sensitivity: Δ in the quantity's own units: L1 for Laplace noise, L2 for other noise, of the loss for
            a posterior sample, in cells or slots for local randomizers.
        noise: σ (Gaussian), b (Laplace), the temperature T (posterior sample), or the probability that a
            cell or a slot is not simply kept.
        entries: number of values; 0 means one for every rating.
        split: its split of the budget.
        cost: μ (Gaussian) or ε (others).
    """

    name: str
    mechanism: str
    sensitivity: float
    noise: float
    entries: int
    split: float
    cost: float

    def to_json(self) -> dict[str, Any]:
        """As JSON values."""
        return asdict(self)

    def cells(self) -> tuple[str, ...]:
        """The cells of a table row: name, mechanism, Δ, noise, entries, split, cost."""
        entries = f"{self.entries:,}" if self.entries else words.say("measured.each_rating")
        if self.mechanism == "exact":
            return self.name, "exact", "0", words.say("measured.none_needed"), entries, "", ""
        width, kind = SYMBOLS[self.mechanism]
        noise = f"{width} = {below(self.noise, 4)}"
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
        and all(
            finite(ledger.get(name, 0)) and ledger.get(name, 0) < _LARGEST
            for name in (*_NUMBERS, "total_epsilon", "total_delta", "spent_epsilon")
        )
    )


FALSE_POSITIVES = 0.01
"""The fraction of people wrongly named at which the best attack is given, as in Carlini et al. 2022, §IV."""
_MARGIN = 1 + 1e-12
"""Covers the rounding of the arithmetic here."""
_LARGEST_ODDS = 700.0
"""ε from which e^ε is not computed."""


@dataclass(frozen=True, slots=True)
class Odds:
    """The meaning of an ε at δ for the best possible attack.

    Attributes:
        epsilon, delta: true ε at δ.
        mu: adjacent data sets are as hard to tell apart as N(0, 1) and N(μ, 1), or harder (Dong, Roth & Su
            2022); None where no μ is known.
        right_guess: how often a guess between two equally likely adjacent data sets is right, at most.
        best_attack: the largest true positive rate of an attack that tells two adjacent data sets apart
            with ``FALSE_POSITIVES`` false positives.
    """

    epsilon: float
    delta: float
    mu: float | None
    right_guess: float
    best_attack: float

    @property
    def factor(self) -> float:
        """e^ε, by which the odds of any conclusion change at most; infinite beyond floats."""
        return math.exp(self.epsilon) * _MARGIN if self.epsilon < _LARGEST_ODDS else math.inf

    @property
    def two_steps(self) -> tuple[float, float]:
        """ε and δ of two data sets with a common neighbour: 2ε and (1 + e^ε) δ (group privacy)."""
        return 2 * self.epsilon, (1 + self.factor) * self.delta * _MARGIN if self.delta else 0.0

    @classmethod
    def gaussian(cls, epsilon: float, delta: float) -> "Odds":
        """Return what Gaussian noise means that costs all of ε at δ."""
        mu = gaussian_mu(epsilon, delta)
        return cls(epsilon, delta, mu, right_guess(epsilon, delta, mu), best_attack(epsilon, delta, mu))

    @classmethod
    def of(cls, epsilon: float, delta: float, measured: Iterable[Measured] = ()) -> "Odds":
        """Return the smaller of the bounds from the total and from the measurements.

        μ² = Σ μ² over Gaussian noise plus Σ μ(ε)² over noise with a pure ε, by the composition of Gaussian
        differential privacy (Dong, Roth & Su 2022, Corollary 3.3).

        Args:
            epsilon: true ε at ``delta``; may be infinite.
        """
        mu = _mu(measured)
        return cls(epsilon, delta, mu, right_guess(epsilon, delta, mu), best_attack(epsilon, delta, mu))

    def to_json(self) -> dict[str, float | None]:
        """As JSON values of six digits, rounded up; an infinite factor becomes null."""
        figures = {"odds": self.factor, "mu": self.mu, "right_guess": self.right_guess}
        figures["best_attack"] = self.best_attack
        return {name: _six(figure) for name, figure in figures.items()}


def right_guess(epsilon: float, delta: float, mu: float | None) -> float:
    """How often a guess between two equally likely worlds is right: the smaller of what ε at δ and μ allow.

    Of ε at δ: (e^ε + δ)/(1 + e^ε), since the largest advantage of a test is (e^ε − 1 + 2δ)/(e^ε + 1)
    (Kairouz, Oh & Viswanath 2015, Theorem 2.4). Of μ: Φ(μ/2), the best threshold between N(0, 1) and N(μ, 1).

    Args:
        epsilon: true ε at ``delta``; may be infinite.
        mu: of Gaussian differential privacy; None where none is known.
    """
    odds = math.exp(-epsilon)
    best = min((1 + delta * odds) / (1 + odds) * _MARGIN, 1.0)
    return best if mu is None else min(best, _normal(mu / 2) * _MARGIN)


def best_attack(
    epsilon: float, delta: float, mu: float | None, false_positives: float = FALSE_POSITIVES
) -> float:
    """The largest fraction of true positives of an attack: the smaller of what ε at δ and what μ allow.

    Of ε at δ: Kairouz, Oh & Viswanath 2015, Theorem 2.4. Of μ: Φ(μ − Φ⁻¹(1 − α)) at α false positives (Dong,
    Roth & Su 2022, Equation 6).

    Args:
        epsilon: true ε at ``delta``; may be infinite.
        mu: of Gaussian differential privacy; None where none is known.
        false_positives: α, above 0 and below 1.
    """
    best = _best(epsilon, delta, false_positives)
    if mu is None:
        return best
    return max(min(best, _normal(mu - _quantile(false_positives)) * _MARGIN), false_positives)


def gaussian(epsilon: float) -> float:
    """The smallest μ such that every ε-differentially private release is μ-Gaussian differentially private.

    μ = 2 Φ⁻¹(e^ε/(1 + e^ε)): the two trade-off curves meet on the diagonal, and the Gaussian one is convex.

    Args:
        epsilon: a pure ε, at least 0.
    """
    if epsilon > 600:  # Mills: 1 − Φ(x) ≤ e^(−x²/2)/2
        return 2 * math.sqrt(2 * epsilon)
    return 2 * _upper(1 / (1 + math.exp(epsilon))) * _MARGIN


def gaussian_mu(epsilon: float, delta: float) -> float:
    """The largest μ of Gaussian noise that is (ε, δ)-differentially private, from above.

    δ = Φ(μ/2 − ε/μ) − e^ε Φ(−μ/2 − ε/μ), which grows with μ (Dong, Roth & Su 2022, Corollary 2.13).

    Args:
        epsilon: may be infinite, as is μ from ``_LARGEST`` on.
        delta: above 0.
    """
    if epsilon >= _LARGEST_ODDS:
        return math.inf
    low, high = 0.0, math.sqrt(2 * epsilon) + 20
    for _ in range(80):
        mu = (low + high) / 2
        lost = _normal(mu / 2 - epsilon / mu) - math.exp(epsilon) * _normal(-mu / 2 - epsilon / mu)
        low, high = (low, mu) if lost > delta else (mu, high)
    return high * _MARGIN


def _six(figure: float | None) -> float | None:
    return None if figure is None or math.isinf(figure) else float(above(figure))


def _mu(measured: Iterable[Measured]) -> float | None:
    noisy = [line for line in measured if line.mechanism != "exact"]
    if not noisy or any(math.isinf(line.cost) for line in noisy):
        return None
    costs = [m.cost if m.mechanism == "gaussian" else gaussian(m.cost) for m in noisy]
    # A product, not a power: of a forged cost of 1e200 it is infinite, where a power raises an error.
    return math.sqrt(math.fsum(cost * cost for cost in costs)) * _MARGIN


def _best(epsilon: float, delta: float, wrong: float) -> float:
    """The largest fraction of true positives that ε at δ allows at a fraction of false ones."""
    if epsilon >= _LARGEST_ODDS:
        return 1.0
    one = math.exp(epsilon) * wrong + delta
    other = 1 - math.exp(-epsilon) * (1 - delta - wrong)
    return min(1.0, max(min(one, other) * _MARGIN, wrong))


def _quantile(above: float) -> float:
    """The x with 1 − Φ(x) = ``above``, between 0 and 1."""
    return _upper(above) if above <= 0.5 else -_upper(1 - above)


def _normal(x: float) -> float:
    return math.erfc(-x / math.sqrt(2)) / 2


def _upper(chance: float) -> float:
    """The x with 1 − Φ(x) = ``chance`` ≤ 1/2, from above, to the last digits."""
    low, high = 0.0, 40.0
    for _ in range(80):
        middle = (low + high) / 2
        low, high = (middle, high) if _normal(-middle) > chance else (low, middle)
    return high
