"""The blocks that a document is made of, findings among them: built once, written as text, HTML or JSON."""

import json
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any, Literal

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


VERSION = 3
"""Version of every form."""


@dataclass(frozen=True, slots=True)
class Paragraph:
    """A paragraph.

    Attributes:
        tone: ``strong`` for the one that matters most, ``caution`` for what must not be missed.
    """

    text: str
    tone: Literal["plain", "strong", "caution"] = "plain"


@dataclass(frozen=True, slots=True)
class Points:
    """A list of sentences.

    Attributes:
        open: whether each is a box that a person has yet to tick.
    """

    items: Sequence[str]
    open: bool = False


@dataclass(frozen=True, slots=True)
class Facts:
    """Names and values."""

    rows: Sequence[tuple[str, str]]


@dataclass(frozen=True, slots=True)
class Table:
    """A table, whose first ``left`` columns are text and the others numbers."""

    title: str
    heads: Sequence[str]
    rows: Sequence[Sequence[str]]
    left: int = 1


@dataclass(frozen=True, slots=True)
class Commands:
    """Lines for a shell, which keep their places."""

    title: str
    lines: Sequence[str]


@dataclass(frozen=True, slots=True)
class Figure:
    """A drawing, with the text that stands for it where it is not seen.

    Attributes:
        svg: a whole ``svg`` element with classes and no style, which holds no text of a release.
    """

    svg: str
    text: str


@dataclass(frozen=True, slots=True)
class Section:
    """A heading with its blocks; sections inside have headings one level lower.

    Attributes:
        folded: whether a notebook shows the heading alone until a reader unfolds it.
    """

    title: str
    blocks: "Sequence[Block]"
    folded: bool = False


Block = Paragraph | Points | Facts | Table | Commands | Figure | Section


@dataclass(frozen=True, slots=True)
class Document:
    """A document about one subject.

    Attributes:
        kind: what its facts are of, such as ``plan``.
        title, about: its heading, and one line below that.
        label: what sort of document it is, for the reader.
        facts: the same as JSON values, from which every sentence follows.
    """

    kind: str
    title: str
    blocks: Sequence[Block]
    about: str = ""
    label: str = ""
    facts: Mapping[str, Any] = field(default_factory=dict)


def form(kind: str) -> dict[str, Any]:
    """Make the first fields of every object that is printed, wherever it stands."""
    return {"kind": kind, "version": VERSION}


def to_json(document: Document) -> str:
    """Write what a document says as one JSON object, with the kind and version of its form."""
    # ASCII alone: what is not printable in an id or a name is escaped.
    return json.dumps({**form(document.kind), **document.facts}, indent=2, allow_nan=False)


def statement_schema() -> str:
    """Read the JSON Schema (draft 2020-12) of a statement, as text; every number in it names its unit."""
    return Path(__file__).with_name("statement.schema.json").read_text("utf-8")
