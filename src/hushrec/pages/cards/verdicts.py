"""What a file says that an audit found, compared with what the release claims: by its figures alone.

Privacy: public in, public out.
"""

import math
import re
from collections.abc import Mapping
from typing import Any

from hushrec.escapes import one_line
from hushrec.figures import above

__all__ = ["EXCEEDED", "verdict"]

EXCEEDED = "EXCEEDED"
_HOLDS, _UNAUDITED = "holds", "not audited"
_FIGURE = r"(?:\d+(?:\.\d+)?(?:e[+-]?\d+)?|∞)"
_PARTS = re.compile(r"(search|replay|canary)(?:, [\d,]{1,20} (?:pairs|runs))?")
_CONFIDENCE = re.compile(r"exact|none|1 − \de-\d\d")
_NOTICES = re.compile(rf"nothing|any difference|(?:Δ|noise) {_FIGURE} % too small")
_LONGEST = 80
"""Characters of a text that the file alone vouches for."""


def verdict(finding: Mapping[str, Any], epsilon: float) -> tuple[str, ...]:
    """One row of an audit, with its verdict.

    The claim is the release's own, never the file's. A file that says of a part that it does not hold is
    believed; one that says that it holds is not.

    Args:
        finding: one of ``hushrec audit --json``.
        epsilon: of the release.

    Raises:
        ValueError: ``hushrec audit`` writes no such finding.
        KeyError: It lacks a field.
        TypeError: A field is not a text.
    """
    part, found, confidence, notices = (
        _text(finding[name]) for name in ("part", "found", "confidence", "notices")
    )
    _text(finding["claimed"])
    said = finding["holds"]
    known = _PARTS.fullmatch(part)
    if not (said is None or isinstance(said, bool)):
        raise ValueError(part)
    if not (_CONFIDENCE.fullmatch(confidence) and _NOTICES.fullmatch(notices)):
        raise ValueError(part)
    if not known:
        if (found, said) != ("–", None):
            raise ValueError(part)
        return _quoted(part), "–", "–", _UNAUDITED, confidence, notices
    if known[1] == "canary":
        claimed, holds = f"ε ≤ {above(epsilon, 4)}", _figure(found, "ε ≥ ", "") <= epsilon
    elif known[1] == "search" and found.endswith(" Δ"):
        claimed, holds = "≤ 1 Δ", _figure(found, "", " Δ") <= 1
    else:
        claimed, holds = "equal", known[1] == "replay" and found == "equal"
        found = found if holds else _quoted(found)
    return part, found, claimed, _HOLDS if holds and said is not False else EXCEEDED, confidence, notices


def _figure(text: str, before: str, after: str) -> float:
    found = re.fullmatch(rf"{before}({_FIGURE}){after}", text) if len(text) <= _LONGEST else None
    if not found:
        raise ValueError(text)
    return math.inf if found[1] == "∞" else float(found[1])


def _text(value: Any) -> str:
    if not isinstance(value, str):
        raise TypeError("a text was expected")
    return value


def _quoted(text: str) -> str:
    """What the file calls something, as such."""
    line = one_line(text)
    return f"“{line if len(line) <= _LONGEST else line[: _LONGEST - 1] + '…'}”"
