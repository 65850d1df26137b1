"""The statement of privacy that every release carries."""

import math
from collections.abc import Mapping
from dataclasses import asdict, dataclass, field, fields, replace
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
_SYMBOLS = {"gaussian": ("σ", "ρ"), "laplace": ("b", "ε"), "spherical": ("s", "ε")}
"""Of a mechanism's noise and of its cost."""
_ENDLESS = "No finite ε is known for this noise."


@dataclass(frozen=True, slots=True)
class Measured:
    """One measurement as the statement lists it.

    Attributes:
        name: what was measured.
        mechanism: ``gaussian``, ``laplace``, ``spherical``, or ``exact`` where neighbouring data agree on it.
        sensitivity: Δ in the quantity's own units, L1 for Laplace noise and L2 for other; infinite where no
            bound is known (spherical only).
        noise: σ (Gaussian), b (Laplace) or s (spherical).
        entries: number of values; 0 for one for every rating.
        share: its part of the budget.
        cost: ρ (Gaussian) or ε (others); infinite where the sensitivity is.

    Privacy: public.
    """

    name: str
    mechanism: str
    sensitivity: float
    noise: float
    entries: int
    share: float
    cost: float

    def cells(self) -> tuple[str, str, str, str, str, str, str]:
        """As a line of a table: name, mechanism, Δ, noise, entries, share, cost."""
        entries = f"{self.entries:,}" if self.entries else "each rating"
        if self.mechanism == "exact":
            return self.name, "exact", "0", "none needed", entries, "", ""
        width, price = _SYMBOLS[self.mechanism]
        noise, cost = f"{width} = {self.noise:.4g}", f"{price} = {_number(self.cost, 4)}"
        return (
            self.name,
            self.mechanism,
            _number(self.sensitivity, 4),
            noise,
            entries,
            f"{self.share:.3f}",
            cost,
        )


@dataclass(frozen=True, slots=True)
class Statement:
    """What a release promises, to whom, and on what assumptions.

    Attributes:
        caveat: why nothing is promised (``NOT PRIVATE: …``); empty where the promise holds.
        unit: ``user`` or ``rating``.
        adjacency: ``add-remove`` or ``replace``.
        epsilon: true ε at ``delta`` of this release by itself; infinite where no finite one is known.
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
        """As JSON values; what is infinite is null."""
        values = asdict(self)
        values["ledger"] = dict(self.ledger)
        values["epsilon"] = _finite(self.epsilon)
        for line in values["measurements"]:
            line |= {name: _finite(line[name]) for name in ("sensitivity", "cost")}
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
            values["measurements"] = tuple(map(_measured, values["measurements"]))
            values["assumes"] = tuple(map(str, values["assumes"]))
            values["epsilon"] = float(_or_infinite(values["epsilon"]))
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
            and (
                (self.unit, self.adjacency) == ("rating", "replace")
                or all(m.entries for m in self.measurements)
            )
            and not (math.isfinite(self.epsilon) and any(m.cost == math.inf for m in self.measurements))
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
            lines += [self._claim()]
        if not self.measurements:
            return "\n".join([*lines, "The exact statistics were used: do not publish this file."])
        loss = "no finite ε" if math.isinf(self.epsilon) else f"ε = {_number(self.epsilon)}"
        lines += [
            f"{loss} at δ = {self.delta:g}, unit {self.unit}, "
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

    def _claim(self) -> str:
        claimed = self.claimed_epsilon or math.inf
        text = f"Not a valid guarantee: the published analysis claims ε = {_number(claimed)}, "
        if self.epsilon <= claimed * (1 + 1e-9):
            text += "which the noise here keeps, but does not keep under every setting as printed "
        else:
            text += "but its proof does not hold as printed "
        text += "(see the model's page in the documentation). "
        return text + (_ENDLESS if math.isinf(self.epsilon) else "The ε below is the true cost of the noise.")

    def _promise(self) -> str:
        odds = math.exp(min(self.epsilon, 700.0))
        text = _PLAIN[self.unit].format(odds=f"{odds:.3g}")
        chance = f", but for an event of probability {self.delta:g}" if self.delta else ""
        if self.adjacency == "replace":
            return f"{text}{chance}. Protected is {_REPLACE[self.unit]}."
        return f"{text}{chance}."


def _measured(values: Mapping[str, Any]) -> Measured:
    line = Measured(**values)
    return replace(line, sensitivity=_or_infinite(line.sensitivity), cost=_or_infinite(line.cost))


def _sensible(line: Measured) -> bool:
    numbers = [line.noise, line.entries, line.share, line.sensitivity, line.cost]
    if line.mechanism == "spherical" and line.sensitivity == line.cost == math.inf:
        numbers = numbers[:3]
    return (
        isinstance(line.name, str)
        and line.name.isprintable()
        and line.mechanism in (*_SYMBOLS, "exact")
        and all(isinstance(number, int | float) and 0 <= number < math.inf for number in numbers)
    )


def _finite(value: float) -> float | None:
    return None if math.isinf(value) else value


def _or_infinite(value: Any) -> Any:
    return math.inf if value is None else value


def _described(ledger: Mapping[str, Any]) -> list[str]:
    file = ledger.get("file") or "a ledger in memory"
    return [
        f"Charged to {file}: release {ledger.get('slot', 0) + 1} of at most {ledger.get('horizon', 1)}, "
        f"entry {ledger.get('seq')}",
        f"  ledger {ledger.get('id')}",
        f"  head   {ledger.get('head')}",
    ]


def _number(value: float | None, digits: int = 6) -> str:
    return "∞" if value is None or math.isinf(value) else f"{value:.{digits}g}"


def _table(measurements: tuple[Measured, ...]) -> list[str]:
    rows = [("measurement", "mechanism", "Δ", "noise", "entries", "share", "cost")]
    rows += [m.cells() for m in measurements]
    widths = [max(map(len, column)) for column in zip(*rows, strict=True)]
    return [
        "  ".join(cell.ljust(width) for cell, width in zip(row, widths, strict=True)).rstrip() for row in rows
    ]
