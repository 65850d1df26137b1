"""A population's privacy budget, and the terms of a fit: what counts as one member of the population."""

import math
from dataclasses import dataclass
from typing import TYPE_CHECKING, Any, Literal

from pydantic import BaseModel, ConfigDict, ValidationError

from hushrec.errors import BudgetError
from hushrec.privacy.accounting import fixed_point
from hushrec.text import above

Unit = Literal["record", "user"]
Adjacency = Literal["add-remove", "replace", "replace-items"]


@dataclass(frozen=True, slots=True)
class Unprotected:
    """The terms of the non-private baseline, whose sums are those of a unit without any noise."""

    unit: str
    adjacency: str
    epsilon: float = math.inf
    delta: float = 0.0


class Budget(BaseModel):
    """A privacy budget: ε at δ, for a unit, under an adjacency. All four are required.

    Args:
        epsilon: largest privacy loss ε, above 0.
        delta: probability δ that the loss is larger, at least 0 and below 0.01. A plan also requires
            δ < 1/(10 · users).
        unit: ``"user"`` protects all records of one user together, ``"record"`` each rating or interaction.
        adjacency: ``"add-remove"`` hides whether the unit is present at all. ``"replace"`` hides only its
            content; for unit ``record``, who rated what is then public. ``"replace-items"`` hides only
            which items were rated; the number of ratings and their stars are then public.

    Raises:
        BudgetError: A field is missing or out of range.
    """

    model_config = ConfigDict(frozen=True, extra="forbid", strict=True)

    epsilon: float
    delta: float
    unit: Unit
    adjacency: Adjacency

    if not TYPE_CHECKING:  # type checkers read the signature off the fields

        def __init__(self, **fields: Any) -> None:
            try:
                super().__init__(**fields)
            except ValidationError as error:
                # Pydantic's text is long; the names of the fields are enough to correct the call.
                wrong = ", ".join(sorted({str(part["loc"][0]) for part in error.errors() if part["loc"]}))
                raise BudgetError(
                    "a budget needs epsilon, delta, unit ('record' or 'user') and adjacency ('add-remove', "
                    f"'replace' or, for released data, 'replace-items'), and nothing else; correct: {wrong}"
                ) from None
            if not 0 < self.epsilon < math.inf or fixed_point.allowance(self.epsilon) < 1:
                raise BudgetError("epsilon must be a finite number, at least 1e-12")
            if fixed_point.allowance(self.epsilon) > fixed_point.LARGEST:
                raise BudgetError("epsilon is above four million and protects no one; choose a smaller one")
            if not 0 <= self.delta < 1e-2:
                raise BudgetError("delta must be at least 0 and below 0.01")

    @property
    def epsilon_units(self) -> int:
        """ε in units of 1e-12, rounded down."""
        return fixed_point.allowance(self.epsilon)

    def __str__(self) -> str:
        return f"ε = {above(self.epsilon)} at δ = {above(self.delta)} per {self.unit}, {self.adjacency}"


Terms = Budget | Unprotected
"""The terms of a guarantee, which decide what is measured; those of the non-private baseline have ε = ∞."""
