"""What an audit found: one line for each part, with its claim, its confidence and its power."""

from dataclasses import dataclass

from hushrec.figures import above, aligned
from hushrec.pages.cards.verdicts import Finding

COLUMNS = "part", "found", "claimed", "verdict", "confidence", "would notice"

__all__ = ["COLUMNS", "Audit"]


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
        return all(finding.holds(self.epsilon) is not False for finding in self.findings)

    def __str__(self) -> str:
        rows = [COLUMNS, *(finding.cells(self.epsilon) for finding in self.findings)]
        return "\n".join([f"{self.subject}: claimed ε = {above(self.epsilon)}", "", *aligned(rows, left=6)])
