"""What an audit found: one line for each part, with its claim, its confidence and its power."""

from dataclasses import dataclass

from hushrec.figures import above, aligned

COLUMNS = "part", "found", "claimed", "verdict", "confidence", "would notice"

__all__ = ["COLUMNS", "Audit", "Finding"]


@dataclass(frozen=True, slots=True)
class Finding:
    """What one part of an audit found.

    Attributes:
        part: search, replay or canary.
        found: what it found.
        claimed: what is claimed, in the same words.
        holds: whether what it found keeps the claim; None if it was not audited.
        confidence: how sure a violation would be.
        notices: the smallest fault that it would have noticed.

    Privacy: public, as it is of made-up ratings.
    """

    part: str
    found: str
    claimed: str
    holds: bool | None
    confidence: str
    notices: str

    def cells(self) -> tuple[str, ...]:
        """The row of a table, in the order of ``COLUMNS``."""
        verdict = {True: "holds", False: "EXCEEDED", None: "not audited"}[self.holds]
        return self.part, self.found, self.claimed, verdict, self.confidence, self.notices


@dataclass(frozen=True, slots=True)
class Audit:
    """What an audit of one model and budget found.

    Attributes:
        subject: the model and its budget.
        epsilon: the ε that a release claims.
        findings: what each part found.

    Privacy: public, as it is of made-up ratings.
    """

    subject: str
    epsilon: float
    findings: tuple[Finding, ...]

    @property
    def holds(self) -> bool:
        """Whether no claim was refuted."""
        return all(finding.holds is not False for finding in self.findings)

    def __str__(self) -> str:
        rows = [COLUMNS, *(finding.cells() for finding in self.findings)]
        return "\n".join([f"{self.subject}: claimed ε = {above(self.epsilon)}", "", *aligned(rows, left=6)])
