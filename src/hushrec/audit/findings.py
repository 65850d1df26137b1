"""The findings of an audit: one line for each part, with its claim, its confidence and its power."""

import math
from collections.abc import Mapping
from dataclasses import asdict, dataclass, field
from typing import Any

from hushrec.documents import html, terminal
from hushrec.documents.document import Block, Document, Paragraph, Table
from hushrec.text import above, below

COLUMNS = "part", "found", "claimed", "verdict", "confidence", "would notice"
"""The heads of a table of findings."""

_VERDICTS = {True: "holds", False: "EXCEEDED", None: "not audited"}
_KINDS = {"search": "pairs", "replay": "pairs", "canary": "runs", "sample": ""}
"""Kind → what it tries many times."""
LARGEST = 1e300
"""The largest figure, which a file of JSON can hold, in place of an infinite one."""


@dataclass(frozen=True, slots=True)
class Finding:
    """The finding of one part of an audit.

    Attributes:
        kind: search, replay or canary; or sample, which is not audited.
        tries: number of pairs or of runs; None for a sample, and where it ended at once.
        figure: of a search, the largest distance over the declared Δ; of a canary, the ε that it proved.
        differs: what differed where all must be equal; name of a sample; "" otherwise.
        mistaken: chance that a canary that refutes is wrong; None where nothing is left to chance.
        noticed: the smallest fault that it would have noticed, in percent of Δ or of the noise; None for none
            or any.

    Privacy: public, as it is of made-up ratings.
    """

    kind: str
    tries: int | None = None
    figure: float | None = None
    differs: str = ""
    mistaken: float | None = None
    noticed: float | None = None

    def holds(self, epsilon: float) -> bool | None:
        """Whether what it found keeps the claim; None if it was not audited."""
        if self.kind == "sample":
            return None
        if self.figure is None:
            return not self.differs
        return self.figure <= (epsilon if self.kind == "canary" else 1)

    def cells(self, epsilon: float) -> tuple[str, ...]:
        """Return the finding as rows: its part, figure, claim, verdict, confidence and power."""
        verdict = _VERDICTS[self.holds(epsilon)]
        if self.kind == "sample":
            return self.differs, "–", "–", verdict, "none", "nothing"
        part = self.kind if self.tries is None else f"{self.kind}, {self.tries:,} {_KINDS[self.kind]}"
        if self.figure is None:
            return part, self.differs or "equal", "equal", verdict, "exact", "any difference"
        if self.kind == "search":
            power = f"Δ {above(self.noticed, 2)} % too small"
            return part, f"{above(self.figure, 3)} Δ", "≤ 1 Δ", verdict, "exact", power
        power = "nothing" if self.noticed is None else f"noise {self.noticed:.0f} % too small"
        proved, claimed = f"ε ≥ {below(self.figure, 4)}", f"ε ≤ {above(epsilon, 4)}"
        return part, proved, claimed, verdict, f"1 − {self.mistaken:.0e}", power


@dataclass(frozen=True, slots=True)
class Audit:
    """The findings of an audit of one model and budget.

    Attributes:
        subject: the model and its budget.
        epsilon: the ε that a release claims.
        findings: one of each part.
        claim: model, settings, δ, unit and adjacency, as JSON values.

    Privacy: public, because the ratings are made up.
    """

    subject: str
    epsilon: float
    findings: tuple[Finding, ...]
    claim: Mapping[str, Any] = field(default_factory=dict)

    @property
    def holds(self) -> bool:
        """True if no claim was refuted."""
        return all(finding.holds(self.epsilon) is not False for finding in self.findings)

    def document(self) -> Document:
        """Return the findings as a table, after a caution if a claim does not hold."""
        rows = [finding.cells(self.epsilon) for finding in self.findings]
        subject = f"{self.subject}: claimed ε = {above(self.epsilon)}"
        refuted = "A claim does not hold: do not release anything with this configuration."
        blocks: list[Block] = [
            *([] if self.holds else [Paragraph(refuted, "caution")]),
            Paragraph(subject, "strong"),
            Table("Audit", COLUMNS, rows, left=len(COLUMNS)),
        ]
        facts = {
            "subject": self.subject,
            **self.claim,
            "epsilon": None if math.isinf(self.epsilon) else self.epsilon,
            "holds": self.holds,
            "findings": [asdict(item) | {"holds": item.holds(self.epsilon)} for item in self.findings],
        }
        return Document("audit", "Audit", blocks, facts=facts)

    def _repr_html_(self) -> str:
        return html.notebook(self.document())

    def __str__(self) -> str:
        return terminal.text(self.document().blocks)
