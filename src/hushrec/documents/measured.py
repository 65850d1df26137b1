"""The figures of a statement: what was measured, what each class is promised, what one answer reveals.

The schema of a statement says which values each may have by itself (``schema``); what must hold between them
stands here.
"""

from collections.abc import Iterable
from dataclasses import dataclass

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

    @property
    def is_possible(self) -> bool:
        """Whether its mechanism can have this noise."""
        if self.mechanism == "exact":
            return True
        return self.noise > 0 and (self.noise <= 1 or self.mechanism not in RANDOMIZERS.values())


def is_all_gaussian(measured: Iterable[Measured]) -> bool:
    """Whether all noise is Gaussian."""
    return all(line.mechanism in ("gaussian", "exact") for line in measured)


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
    def is_possible(self) -> bool:
        """Whether such a promise is possible under some ε; users who ask for 0 have weight 0."""
        asks, takes_part = self.personal_epsilon > 0, self.weight > 0
        return self.promised <= self.personal_epsilon and (
            (asks or not takes_part) and (takes_part or self.promised == 0)
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

    def costs(self, epsilon: float, delta: float) -> bool:
        """Whether an ε at δ is that of all answers of one user: their sum, or less if δ > 0."""
        total = self.count * self.epsilon
        error = 1e-9 * (1 + total)
        return epsilon <= total + error and (delta > 0 or epsilon >= total - error)

    @property
    def is_possible(self) -> bool:
        """Whether a mean loss is at most the largest."""
        return self.expected <= self.epsilon * (1 + 1e-9)
