"""The statement of privacy that every release carries."""

import math
from collections.abc import Mapping
from dataclasses import asdict, dataclass, field, fields
from typing import Any, Self

from hushrec.errors import ReleaseError

_PLAIN = {
    "user": (
        "Whoever reads this file, and whatever else he knows, can hardly tell whether your ratings were used "
        "at all: it makes anything he may conclude about you at most {odds} times as likely or as unlikely"
    ),
    "rating": (
        "Whoever reads this file, and whatever else he knows, can hardly tell whether one particular rating "
        "of yours was used: it makes anything he may conclude about that rating at most {odds} times as "
        "likely or as unlikely (about all your ratings together it may tell far more)"
    ),
}
_REPLACE = {
    "user": "what your ratings were; that you took part may be known",
    "rating": "how many stars one rating had; which items you rated may be known",
}


@dataclass(frozen=True, slots=True)
class Measured:
    """One measurement as the statement lists it.

    Attributes:
        name: what was measured.
        mechanism: ``gaussian``, ``laplace``, or ``exact`` where neighbouring data agree on it.
        sensitivity: Δ in the quantity's own units, L2 for Gaussian and L1 for Laplace noise.
        noise: σ (Gaussian) or b (Laplace).
        entries: number of values.
        share: its part of the budget.
        cost: ρ (Gaussian) or ε (Laplace).

    Privacy: public.
    """

    name: str
    mechanism: str
    sensitivity: float
    noise: float
    entries: int
    share: float
    cost: float


@dataclass(frozen=True, slots=True)
class Statement:
    """What a release promises, to whom, and on what assumptions.

    Attributes:
        caveat: why nothing is promised (``NOT PRIVATE: …``); empty where the promise holds.
        unit: ``user`` or ``rating``.
        adjacency: ``add-remove`` or ``replace``.
        epsilon: true ε at ``delta`` of this release by itself.
        delta: δ.
        analysis: ``corrected`` or ``published``.
        claimed_epsilon: what the paper claims for the same noise; None for the corrected analysis.
        measurements: everything that was measured.
        assumes: what the promise rests on.
        ledger: id, file, entry number and head of the ledger that was charged.

    Privacy: public.
    """

    caveat: str
    unit: str
    adjacency: str
    epsilon: float
    delta: float
    analysis: str
    claimed_epsilon: float | None = None
    measurements: tuple[Measured, ...] = ()
    assumes: tuple[str, ...] = ()
    ledger: Mapping[str, Any] = field(default_factory=dict)

    @property
    def private(self) -> bool:
        """Whether the release promises anything."""
        return not self.caveat

    def to_json(self) -> dict[str, Any]:
        """As JSON values; an infinite ε is null."""
        values = asdict(self)
        values["ledger"] = dict(self.ledger)
        if math.isinf(self.epsilon):
            values["epsilon"] = None
        return values

    @classmethod
    def from_json(cls, values: Any) -> Self:
        """The statement that ``to_json`` described.

        Raises:
            ReleaseError: The values are no statement.
        """
        try:
            known = {entry.name for entry in fields(cls)}
            if set(values) != known:
                raise ReleaseError("the statement of privacy has missing or unknown fields")
            values = dict(values)
            values["measurements"] = tuple(Measured(**entry) for entry in values["measurements"])
            values["assumes"] = tuple(map(str, values["assumes"]))
            values["epsilon"] = math.inf if values["epsilon"] is None else float(values["epsilon"])
            statement = cls(**values)
            statement._check()
            return statement
        except ReleaseError:
            raise
        except (TypeError, ValueError, KeyError):
            raise ReleaseError("the statement of privacy is malformed") from None

    def _check(self) -> None:
        """Refuse a statement that promises without grounds, or speaks of what does not exist."""
        known = (
            isinstance(self.caveat, str)
            and self.unit in ("rating", "user")
            and self.adjacency in ("add-remove", "replace")
            and self.analysis in ("corrected", "published")
            and (self.claimed_epsilon is None or float(self.claimed_epsilon) > 0)
            and 0 <= float(self.delta) < 1
            and self.epsilon >= 0
            and all(map(_sensible, self.measurements))
            and isinstance(self.ledger, Mapping)
            and isinstance(self.ledger.get("slot", 0), int)
            and all(
                text.isprintable() for text in (self.caveat, *self.assumes, *map(str, self.ledger.values()))
            )
        )
        grounded = bool(self.measurements) and math.isfinite(self.epsilon)
        if not known or not (grounded or self.caveat):
            raise ReleaseError("the statement of privacy promises something without grounds")

    def __str__(self) -> str:
        lines = [self.caveat] if self.caveat else []
        if self.analysis == "published":
            lines += [
                "Not a valid guarantee: the published analysis claims "
                f"ε = {_number(self.claimed_epsilon)}, but its proof does not hold as printed "
                "(see the model's page in the documentation). The ε below is the true cost of the noise."
            ]
        if not self.measurements:
            return "\n".join([*lines, "The exact statistics were used: do not publish this file."])
        lines += [
            f"ε = {_number(self.epsilon)} at δ = {self.delta:g}, unit {self.unit}, "
            f"adjacency {self.adjacency}, {self.analysis} analysis",
            "",
        ]
        if self.private:
            lines += [self._promise(), ""]
        lines += _table(self.measurements)
        lines += ["", "Assumed:", *(f"  · {line}" for line in self.assumes)]
        if self.ledger:
            lines += ["", *_described(self.ledger)]
        return "\n".join(lines)

    def _promise(self) -> str:
        odds = math.exp(min(self.epsilon, 700.0))
        text = _PLAIN[self.unit].format(odds=f"{odds:.3g}")
        chance = f", but for an event of probability {self.delta:g}" if self.delta else ""
        if self.adjacency == "replace":
            return f"{text}{chance}. Protected is {_REPLACE[self.unit]}."
        return f"{text}{chance}."


def _sensible(line: Measured) -> bool:
    numbers = (line.sensitivity, line.noise, line.entries, line.share, line.cost)
    return (
        isinstance(line.name, str)
        and line.name.isprintable()
        and line.mechanism in ("gaussian", "laplace", "exact")
        and all(isinstance(number, int | float) and 0 <= number < math.inf for number in numbers)
    )


def _described(ledger: Mapping[str, Any]) -> list[str]:
    file = ledger.get("file") or "a ledger in memory"
    return [
        f"Charged to {file}: release {ledger.get('slot', 0) + 1} of at most {ledger.get('horizon', 1)}, "
        f"entry {ledger.get('seq')}",
        f"  ledger {ledger.get('id')}",
        f"  head   {ledger.get('head')}",
    ]


def _number(value: float | None) -> str:
    return "∞" if value is None or math.isinf(value) else f"{value:.6g}"


def _table(measurements: tuple[Measured, ...]) -> list[str]:
    rows = [("measurement", "mechanism", "Δ", "noise", "entries", "share", "cost")]
    for m in measurements:
        if m.mechanism == "exact":
            rows.append((m.name, "exact", "0", "none needed", f"{m.entries:,}", "", ""))
            continue
        width, price = ("σ", "ρ") if m.mechanism == "gaussian" else ("b", "ε")
        rows.append(
            (
                m.name,
                m.mechanism,
                f"{m.sensitivity:.4g}",
                f"{width} = {m.noise:.4g}",
                f"{m.entries:,}",
                f"{m.share:.3f}",
                f"{price} = {m.cost:.4g}",
            )
        )
    widths = [max(map(len, column)) for column in zip(*rows, strict=True)]
    return [
        "  ".join(cell.ljust(width) for cell, width in zip(row, widths, strict=True)).rstrip() for row in rows
    ]
