"""The finding of a part of an audit, and its verdict: by its figures and the release's own ε alone."""

from collections.abc import Mapping
from dataclasses import dataclass, fields
from typing import Any

from hushrec.escapes import one_line
from hushrec.figures import above, below

COLUMNS = "part", "found", "claimed", "verdict", "confidence", "would notice"
"""The heads of a table of findings."""
__all__ = ["COLUMNS", "EXCEEDED", "LARGEST", "Finding", "verdict"]

EXCEEDED = "EXCEEDED"
_VERDICTS = {True: "holds", False: EXCEEDED, None: "not audited"}
_KINDS = {"search": "pairs", "replay": "pairs", "canary": "runs", "sample": ""}
"""Kind → what it tries many times."""
LARGEST = 1e300
"""The largest figure, which a file of JSON can hold, in place of an infinite one."""
_LONGEST = 80
"""Characters of a text that the file alone vouches for."""


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


def verdict(finding: Mapping[str, Any], epsilon: float) -> tuple[str, ...]:
    """One row of an audit that a file tells of, with its verdict.

    The claim is the release's own, never the file's. A file that says of a part that it does not hold is
    believed; one that says that it holds is not.

    Args:
        finding: one of ``hushrec audit --json``.
        epsilon: of the release.
    """
    values = {field.name: finding[field.name] for field in fields(Finding)}
    holds = finding["holds"]
    if not (isinstance(values["kind"], str) and isinstance(values["differs"], str)):
        raise TypeError("a text was expected")
    if not (holds is None or isinstance(holds, bool)):
        raise TypeError("true, false or null was expected")
    tries = values["tries"]
    if tries is not None and (type(tries) is not int or not 0 <= tries < 10**12):
        raise ValueError("a count was expected")
    for name in ("figure", "mistaken", "noticed"):
        _require_figure(values[name])
    checked = Finding(**values | {"differs": _quoted(values["differs"]) if values["differs"] else ""})
    figures = checked.figure is not None, checked.mistaken is not None
    if checked.kind not in _KINDS or figures not in _given(checked):
        raise ValueError(checked.kind)
    cells = checked.cells(epsilon)
    return (*cells[:3], EXCEEDED if holds is False else cells[3], *cells[4:])


def _given(finding: Finding) -> tuple[tuple[bool, bool], ...]:
    """Whether a part of this kind has a figure, and whether it may be mistaken."""
    if finding.kind == "canary":
        return ((True, True),)
    if finding.kind == "search" and not finding.differs:
        return ((True, False),) if finding.noticed is not None else ()
    return ((False, False),)


def _require_figure(value: Any) -> None:
    if value is None:
        return
    if isinstance(value, bool) or not isinstance(value, int | float):
        raise TypeError("a number was expected")
    if not 0 <= value <= LARGEST:  # nor NaN
        raise ValueError("a number of at least 0 was expected")


def _quoted(text: str) -> str:
    """A name that the file uses, shown as such."""
    line = one_line(text)
    return f"“{line if len(line) <= _LONGEST else line[: _LONGEST - 1] + '…'}”"
