"""The lines of a statement of privacy: what was measured, what each class of people is promised, and what
one answer of a person's own tells."""

import math
import sys
from dataclasses import dataclass

from hushrec.figures import SYMBOLS, above, noise_and_cost, promise

RANDOMIZERS = {"cell": "randomized response", "slot": "item substitution"}
"""What one answer is of, and the mechanism that gives it."""


@dataclass(frozen=True, slots=True)
class Measured:
    """One measurement as the statement lists it.

    Attributes:
        name: what was measured.
        mechanism: ``gaussian``, ``subsampled gaussian``, ``laplace``, ``spherical``, ``posterior sample``,
            ``randomized response``, ``item substitution``, or ``exact`` where neighbouring data agree on it.
        sensitivity: Δ in the quantity's own units, L1 for Laplace noise and L2 for other, of the loss for a
            posterior sample, in cells or slots for what people randomize themselves; infinite where no bound
            is known (spherical only).
        noise: σ (Gaussian), b (Laplace), s (spherical), the temperature T (posterior sample), or the chance
            that a cell or a slot is not simply kept.
        entries: number of values; 0 for one for every rating.
        share: its part of the budget.
        cost: ρ (Gaussian; of a sample, its divergence D_α/α at the order that decides the release's ε) or ε
            (others); infinite where the sensitivity is.
        rate: probability of each person to take part.

    Privacy: public.
    """

    name: str
    mechanism: str
    sensitivity: float
    noise: float
    entries: int
    share: float
    cost: float
    rate: float = 1.0

    def cells(self) -> tuple[str, str, str, str, str, str, str]:
        """As a line of a table: name, mechanism, Δ, noise, entries, share, cost."""
        entries = f"{self.entries:,}" if self.entries else "each rating"
        if self.mechanism == "exact":
            return self.name, "exact", "0", "none needed", entries, "", ""
        noise, cost = noise_and_cost(self.mechanism, self.noise, self.cost, self.rate, digits=4)
        sensitivity, share = above(self.sensitivity, 4), f"{self.share:.3f}"
        return self.name, self.mechanism, sensitivity, noise, entries, share, cost

    @property
    def sensible(self) -> bool:
        """Whether such a measurement can be."""
        numbers = [self.noise, self.entries, self.share, self.sensitivity, self.cost]
        if self.mechanism == "spherical" and self.sensitivity == self.cost == math.inf:
            numbers = numbers[:3]
        return (
            isinstance(self.name, str)
            and self.name.isprintable()
            and self.mechanism in (*SYMBOLS, "exact")
            and isinstance(self.rate, int | float)
            and 0 < self.rate <= 1
            and (self.rate < 1) == (self.mechanism == "subsampled gaussian")
            and all(map(finite, numbers))
            and (self.noise > 0 or self.mechanism == "exact")
            and (self.noise <= 1 or self.mechanism not in RANDOMIZERS.values())
        )


@dataclass(frozen=True, slots=True)
class Promised:
    """What a class of people is promised.

    Attributes:
        name: of the class.
        asked: the ε that its members ask for.
        weight: how much of each of them counts, from 0 to 1.
        promised: the ε that each of them loses at most; not above ``asked``.

    Privacy: public.
    """

    name: str
    asked: float
    weight: float
    promised: float

    def cells(self) -> tuple[str, str, str, str]:
        """As a line of a table."""
        return promise(self.name, self.asked, self.promised, self.weight)

    @property
    def sensible(self) -> bool:
        """Whether such a promise can be, whatever the release's ε: who asks for nothing does not count."""
        return (
            isinstance(self.name, str)
            and self.name.isprintable()
            and all(map(finite, (self.asked, self.weight, self.promised)))
            and self.weight <= 1
            and self.promised <= self.asked
            and (self.asked > 0 or self.weight == 0)
            and (self.weight > 0 or self.promised == 0)
        )


@dataclass(frozen=True, slots=True)
class Local:
    """What one randomized answer in a person's row or profile tells about the true one.

    Attributes:
        what: ``cell`` of a row, which has one for every item, or ``slot`` of a profile, which has one for
            every rating.
        epsilon: exact ε of one.
        expected: mean privacy loss of one: the Kullback–Leibler divergence of the answers to two truths.
        claimed: what the paper claims for one; None where it claims nothing.
        count: in how many two people's may differ.
        changed: chance that one is not the true one.
        drawn: part of ``count`` that is among the answered cells on average, where those are drawn at random;
            1 where they are not.

    Privacy: public.
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
        """Mean loss of all answers of one person, where as many of theirs differ as may.

        At worst all cells that are drawn are among those that differ; on average a share of them is.
        """
        return self.count * self.expected * self.drawn

    @property
    def sensible(self) -> bool:
        """Whether such figures can be, whatever the release's ε."""
        return (
            self.what in RANDOMIZERS
            and all(map(finite, (self.epsilon, self.expected, self.count, self.changed, self.claimed or 0)))
            and self.epsilon > 0
            and self.expected <= self.epsilon * (1 + 1e-9)
            and isinstance(self.count, int)
            and 1 <= self.count < 2**63
            and 0 < self.changed <= 1
            and finite(self.drawn)
            and 0 < self.drawn <= 1
        )

    def costs(self, epsilon: float, delta: float) -> bool:
        """Whether an ε at δ is that of a person's answers together: their sum, or less for some δ."""
        total = self.count * self.epsilon
        error = 1e-9 * (1 + total)
        return epsilon <= total + error and (delta > 0 or epsilon >= total - error)


def finite(value: object) -> bool:
    """Whether it is a number from 0 to the largest float; JSON knows larger integers.

    Privacy: public.
    """
    return isinstance(value, int | float) and 0 <= value <= sys.float_info.max
