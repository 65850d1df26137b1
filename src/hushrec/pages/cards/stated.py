"""A statement of privacy in blocks, with the words in which it prints."""

import re
from collections.abc import Iterator
from itertools import groupby, takewhile
from operator import itemgetter

from hushrec.pages.cards.document import Block, Caution, Facts, Grid, Lines, Points, Section, Text
from hushrec.release.statement import Statement

_LEDGER_FACT = re.compile(r"  (ledger|head|population|controller|contact)\s+(.*)")
PLAIN, LEDGER = "In plain words", "The ledger"
"""Headings of the parts that a card has elsewhere."""
_CLASSES = "What each class is promised"
_HEADS = "measurement", "mechanism", "Δ", "noise", "entries", "share", "cost"


def guarantee(statement: Statement) -> tuple[Block, ...]:
    """What must not be missed, such as a caveat, and then ε, which stands out only without one."""
    lines = tuple(str(statement).split("\n\n", 1)[0].splitlines())
    if not statement.measurements:
        return (Caution(lines),)
    *cautions, loss = lines
    return (*([Caution(tuple(cautions))] if cautions else []), Text(loss, strong=not cautions))


def sections(statement: Statement) -> Iterator[Section]:
    titled = (_titled(statement, part) for part in str(statement).split("\n\n")[1:])
    for title, parts in groupby(titled, key=itemgetter(0)):
        yield Section(title, tuple(block for _, blocks in parts for block in blocks))


def _titled(statement: Statement, part: str) -> tuple[str, list[Block]]:
    """A part of the printed statement, with the heading that it belongs below."""
    head, *rest = lines = part.splitlines()
    if part.startswith("measurement "):
        rows = tuple(line.cells() for line in statement.measurements)
        return "What was measured", [Grid("What was measured", _HEADS, rows, left=2)]
    if statement.promises and part.startswith("class "):
        classes = tuple(promised.cells() for promised in statement.promises)
        return _CLASSES, [Grid(_CLASSES, re.split(r"\s{2,}", head), classes)]
    if statement.personal and part.startswith("Each person"):
        return _CLASSES, [Text(part)]
    if head.endswith(":") and all(line.startswith("  ·") for line in rest):
        return head.rstrip(":"), [Points(tuple(line.removeprefix("  · ") for line in rest))]
    if head.startswith("Charged to "):
        return LEDGER, _charged(lines)
    if part.startswith(" "):
        table = tuple(takewhile(lambda line: "  " in line.strip(), lines))
        answer = "What one answer reveals"
        return answer, [Lines(answer, table), *map(Text, lines[len(table) :])]
    return PLAIN, [*map(Text, lines)]


def _charged(lines: list[str]) -> list[Block]:
    found = [(line, _LEDGER_FACT.fullmatch(line)) for line in lines]
    told: list[Block] = [Text(line.strip()) for line, fact in found if not fact]
    return [*told, Facts(tuple((fact[1], fact[2]) for _, fact in found if fact))]
