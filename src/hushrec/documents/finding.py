"""The finding of a part of an audit, and its verdict: by its figures and the release's own ε alone."""

from dataclasses import dataclass

from hushrec.figures import above, below

COLUMNS = "part", "found", "claimed", "verdict", "confidence", "would notice"
"""The heads of a table of findings."""
__all__ = ["COLUMNS", "LARGEST", "Finding"]

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
