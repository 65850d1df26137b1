"""The statement of privacy that every release carries."""

import math
from collections.abc import Iterator, Mapping
from dataclasses import asdict, dataclass, field, fields
from pathlib import Path
from typing import Any, Self

from hushrec import markup
from hushrec.errors import ReleaseError
from hushrec.figures import above
from hushrec.release import sentence, statement_text
from hushrec.release.odds import Odds
from hushrec.release.statement_lines import (
    RANDOMIZERS,
    Local,
    Measured,
    Promised,
    finite,
    finite_or_none,
    is_ledger,
    or_infinite,
)
from hushrec.release.untrusted_json import entries, number, parsing, typed

__all__ = ["Local", "Measured", "Promised", "Statement"]

VERSION = 1
"""Version of the statement as JSON; ``statement-v1.schema.json`` describes it."""
SCHEMA = Path(__file__).with_name(f"statement-v{VERSION}.schema.json")
"""JSON Schema (draft 2020-12) of the statement as JSON."""
_OPTIONAL = frozenset(
    {"beside", "diagnostics", "promises", "local", "personal", "interactions", "model", "settings", "hushrec"}
)
"""Fields that files omit when empty."""
_DERIVED = frozenset({"sentence", "headline", "reading"})
"""Fields that follow from others: written for readers, and never read back."""
_UNPROTECTED, _CONDITIONAL = "NOT PRIVATE:", "CONDITIONAL ON CONVERGENCE:"
_UNCOVERED, _CLAIMED = "GROUPS NOT COVERED:", "AUTHOR'S CLAIM:"
"""The first words of caveats."""
_REFUTED = "NOT CONVERGED"
"""The verdict of diagnostics that contradict convergence."""


@dataclass(frozen=True, slots=True)
class Statement:
    """What a release promises, to whom, and on what assumptions.

    Attributes:
        caveat: why nothing is promised (``NOT PRIVATE: …``), or only on a condition (``CONDITIONAL ON
            CONVERGENCE: …``), or only against readers who learn nothing from groups that were made from
            exact ratings (``GROUPS NOT COVERED: …``), or only on the word of an author whose code is not
            part of hushrec (``AUTHOR'S CLAIM: …``, also after one of the last two); empty if the promise
            holds.
        unit: ``user`` or ``rating``.
        adjacency: ``add-remove``, ``replace`` or ``replace-items``.
        epsilon: true ε at ``delta`` of this release by itself, or of its whole series; infinite without
            noise.
        delta: δ.
        measurements: everything that was measured.
        assumes: what the promise rests on.
        ledger: of the ledger that was charged: id, file, entry number, head, number of this release and of
            all that are planned, domain; which part of a series it is, and of how many; its total ε and what
            is spent of it with this release; population, controller and contact as its owner declared them;
            and the day (UTC) of the charge.
        diagnostics: of the Markov chains, such as R̂ and effective sample size, by name; numbers are finite.
        promises: what each class of users is promised.
        personal: whether users asked for their own ε.
        local: what one answer reveals, if users' rows were randomized; else None.
        beside: the release that groups of items were made from, which this one reveals; empty if there is
            none. The statement covers what this release reveals beyond that one.
        interactions: whether people gave interactions in place of ratings, which unit ``rating`` then means.
        model: name of the model or method that was charged.
        settings: SHA-256 of its settings, hex.
        hushrec: version of hushrec that charged it.
    """

    caveat: str
    unit: str
    adjacency: str
    epsilon: float
    delta: float
    measurements: tuple[Measured, ...] = ()
    assumes: tuple[str, ...] = ()
    ledger: Mapping[str, Any] = field(default_factory=dict)
    diagnostics: Mapping[str, float | str] = field(default_factory=dict)
    promises: tuple[Promised, ...] = ()
    personal: bool = False
    local: Local | None = None
    beside: str = ""
    interactions: bool = False
    model: str = ""
    settings: str = ""
    hushrec: str = ""

    @property
    def private(self) -> bool:
        """Whether the release promises anything."""
        return not self.caveat

    @property
    def epsilon_per_cell(self) -> float | None:
        """Exact ε of one cell of a user's row; None if no cells were randomized."""
        return self._of_one("cell")

    @property
    def epsilon_per_slot(self) -> float | None:
        """Exact ε of one slot of a user's profile; None if no slots were randomized."""
        return self._of_one("slot")

    @property
    def epsilon_per_user(self) -> float | None:
        """``epsilon`` if it covers all that one user gave; None for unit ``rating``."""
        return self.epsilon if self.unit == "user" else None

    @property
    def expected_per_user(self) -> float | None:
        """Mean privacy loss of all answers of one user that may differ; None if there are none."""
        return None if self.local is None else self.local.expected_together

    @property
    def reading(self) -> Odds:
        """Odds, μ and the best attack, by which to read ε."""
        return Odds.of(self.epsilon, self.delta, self.measurements)

    @property
    def sentence(self) -> str:
        """What is promised to a person, in plain words, or why nothing is, or on what condition."""
        if self.caveat.startswith(_UNPROTECTED):
            return f"Nothing is promised. {self.caveat}."
        if math.isinf(self.epsilon) or (self.unit, self.adjacency) not in sentence.ADJACENCIES:
            return "Nothing is promised."
        if self.caveat:
            return f"What is promised holds only on a condition. {self.caveat}."
        said = sentence.promise(self.unit, self.adjacency, self.epsilon, self.delta)
        return said.replace("rating", "interaction") if self.interactions else said

    def to_json(self) -> dict[str, Any]:
        """As JSON values, by version 1 of the schema; infinite numbers become null."""
        values = {"version": VERSION, **asdict(self)}
        values |= {"sentence": self.sentence, "headline": self.headline, "reading": self.reading.to_json()}
        values["ledger"] = dict(self.ledger)
        values["epsilon"] = finite_or_none(self.epsilon)
        values["diagnostics"] = dict(self.diagnostics)
        values["measurements"] = [line.to_json() for line in self.measurements]
        return {name: value for name, value in values.items() if name not in _OPTIONAL or value}

    @classmethod
    def from_json(cls, values: Any) -> Self:
        """The statement that ``to_json`` described."""
        with parsing("the statement of privacy is malformed"):
            known = {entry.name for entry in fields(cls)}
            values = dict(typed(values, dict))
            if (version := values.pop("version", None)) != VERSION or version is True:
                raise ReleaseError(
                    f"the statement of privacy has version {version!r}, this hushrec reads {VERSION}; "
                    "upgrade hushrec"
                )
            derived = {name: values.pop(name, None) for name in _DERIVED}
            if None in derived.values():
                raise ReleaseError("the statement of privacy has missing fields")
            if not all(derived[name].isprintable() for name in ("sentence", "headline")):
                raise ReleaseError("the statement of privacy is malformed")
            if not known - _OPTIONAL <= set(values) <= known:
                raise ReleaseError("the statement of privacy has missing or unknown fields")
            values["measurements"] = tuple(map(Measured.from_json, entries(values["measurements"])))
            values["assumes"] = tuple(typed(line, str) for line in entries(values["assumes"]))
            values["promises"] = tuple(Promised(**promise) for promise in entries(values.get("promises", ())))
            values["epsilon"] = number(or_infinite(values["epsilon"]))
            if values.get("local") is not None:
                values["local"] = Local(**values["local"])
            statement = cls(**values)
            statement._check()
            return statement

    def _check(self) -> None:
        """Refuse a statement that promises without grounds, or that holds unknown values."""
        known = (
            isinstance(self.caveat, str)
            and (
                not self.caveat or self.caveat.startswith((_UNPROTECTED, _CONDITIONAL, _UNCOVERED, _CLAIMED))
            )
            and (self.unit, self.adjacency) in sentence.ADJACENCIES
            and finite(self.delta)
            and self.delta < 1
            and self.epsilon >= 0
            and all(line.is_valid for line in self.measurements)
            and (
                (self.unit, self.adjacency) == ("rating", "replace")
                or all(m.entries for m in self.measurements)
            )
            and is_ledger(self.ledger)
            and isinstance(self.diagnostics, Mapping)
            and all(isinstance(v, str) or math.isfinite(v) for v in self.diagnostics.values())
            and isinstance(self.personal, bool)
            and isinstance(self.interactions, bool)
            and all(promise.is_valid and self._keeps(promise) for promise in self.promises)
            and len({promise.name for promise in self.promises}) == len(self.promises)
            and ((self.unit, self.adjacency) == ("user", "add-remove") or not self._for_people())
            and (self.local is None or self._answers(self.local))
            and all(text.isprintable() for text in self._texts())
        )
        if not known or not (self._grounded() or self.caveat.startswith(_UNPROTECTED)):
            raise ReleaseError("the statement of privacy promises something without grounds")

    def _grounded(self) -> bool:
        """Whether there is noise of a known cost, and any condition of the promise is stated."""
        return (
            math.isfinite(self.epsilon)
            and any(m.mechanism != "exact" for m in self.measurements)
            and (self.caveat.startswith(_CONDITIONAL) or not self._sampled())
        )

    def _answers(self, local: Local) -> bool:
        """Whether the figures match what was measured, and the release's ε covers all answers."""
        return (
            local.is_valid
            and self.unit == "user"
            and {m.mechanism for m in self.measurements} - {"exact"} == {RANDOMIZERS[local.what]}
            and local.costs(self.epsilon, self.delta)
        )

    def _of_one(self, what: str) -> float | None:
        return self.local.epsilon if self.local is not None and self.local.what == what else None

    def _keeps(self, promise: Promised) -> bool:
        """Whether a class is promised what its weight implies: the release's own ε at full weight, which
        everyone has who asks for at least that ε."""
        full = promise.weight == 1
        enough = promise.asked >= max(self.epsilon, 1e-12)  # smaller values count as 0
        least = self.epsilon * (1 - 1e-9) if full else 0.0
        return least <= promise.promised <= self.epsilon and (full or not enough)

    def _sampled(self) -> bool:
        """Whether a posterior sample was measured."""
        return any(m.mechanism == "posterior sample" for m in self.measurements)

    def _for_people(self) -> bool:
        """Whether any field is valid only for unit ``user`` under add-remove."""
        return self.personal or bool(self.promises) or any(m.rate < 1 for m in self.measurements)

    def _texts(self) -> Iterator[str]:
        yield from (self.caveat, self.beside, self.model, self.settings, self.hushrec)
        yield from self.assumes
        yield from map(str, self.ledger.values())
        for name, value in self.diagnostics.items():
            yield from (name, str(value))

    @property
    def headline(self) -> str:
        """The guarantee in a few words: the first of its caveat, and ε with what it is for."""
        told = self.caveat.partition(":")[0]
        if not self.measurements or (told and self.caveat.startswith(_UNPROTECTED)):
            return told or "nothing was measured"
        if told:
            return f"{told}: ε = {above(self.epsilon)} per {self.unit}"
        return f"ε = {above(self.epsilon)} at δ = {above(self.delta)} per {self.unit}, {self.adjacency}"

    def __repr__(self) -> str:
        return f"Statement({self.headline})"

    def _repr_html_(self) -> markup.Html:
        heads = "measurement", "mechanism", "Δ", "noise", "entries", "share", "cost"
        measured = markup.table(heads, (line.cells() for line in self.measurements), left=2)
        parts = (
            markup.folded("What was measured", measured) if part.startswith("measurement ") else part
            for part in str(self).split("\n\n")
        )
        return markup.block("Privacy statement", markup.written(parts))

    def __str__(self) -> str:
        lines = self.caveat.replace(f"; {_CLAIMED}", f"\n{_CLAIMED}").splitlines()
        if self._sampled() and self.diagnostics.get("verdict") == _REFUTED:
            lines += [
                "The condition of this ε looks false: by its diagnostics the chain had NOT CONVERGED; do not "
                "rely on the ε below."
            ]
        if self.caveat.startswith(_UNCOVERED):
            lines += [statement_text.uncovered(self.local)]
        if not self.measurements:
            return "\n".join([*lines, "The exact statistics were used: do not publish this file."])
        kind = f"unit {self.unit}, adjacency {self.adjacency}"
        if _CLAIMED in self.caveat:
            kind += ", as its author counts"
        lines += [f"ε = {above(self.epsilon)} at δ = {above(self.delta)}, {kind}", ""]
        if self.beside:
            lines += [statement_text.beyond(self.beside), ""]
        if self.private:
            lines += [self.sentence, str(self.reading), ""]
        if self.local:
            lines += statement_text.local(self.local, self.epsilon)
        if self.personal:
            lines += statement_text.personal(self.promises, sure=self.private)
        lines += statement_text.measurements(self.measurements)
        if self.diagnostics:
            lines += ["", "The chain:", *(f"  · {name}: {_shown(v)}" for name, v in self.diagnostics.items())]
        lines += ["", "Assumed:", *(f"  · {line}" for line in self.assumes)]
        if self.ledger:
            lines += ["", *statement_text.charged(self.ledger)]
        return "\n".join(lines)


def _shown(value: float | str) -> str:
    return value if isinstance(value, str) else f"{value:.4g}"


def placeholder_statement(diagnostics: Mapping[str, float | str] | None = None) -> Statement:
    """The statement of a release before the real one is written: it promises nothing.

    Args:
        diagnostics: of the chains, which the statement will show. They are published, so they may depend
            only on what the grant released.
    """
    return Statement(
        caveat="NOT PRIVATE: no statement was written",
        unit="rating",
        adjacency="add-remove",
        epsilon=float("inf"),
        delta=0.0,
        diagnostics=diagnostics or {},
    )
