"""The findings of an audit: one line for each part, with its claim, its confidence and its power."""

import math
from collections.abc import Mapping
from dataclasses import asdict, dataclass, field
from typing import Any

from hushrec.documents import html, terminal
from hushrec.documents.document import COLUMNS, Block, Document, Finding, Paragraph, Table
from hushrec.text import above


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
