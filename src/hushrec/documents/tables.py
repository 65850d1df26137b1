"""The tables of a statement and of a plan: what costs is rounded up, and what protects rounded down."""

from collections.abc import Sequence
from itertools import groupby
from string import digits

from hushrec.documents import sentences
from hushrec.documents.document import Paragraph, Section, Table
from hushrec.documents.measured import SYMBOLS, Local, Measured, Promised
from hushrec.text import above, below


def measured_table(measured: Sequence[Measured], *, folded: bool = False) -> Table:
    """All measurements; folded, equal epochs in a row split a line."""
    rows = list(map(_cells, measured))
    alike = groupby(rows, key=lambda row: (row[0].rstrip(digits), *row[1:]) if folded else row)
    shown = [row for _, equal in alike for row in (_folded([*equal]) if folded else equal)]
    return Table(sentences.MEASURED, sentences.MEASURED_HEADS, shown, left=2)


def _cells(line: Measured) -> tuple[str, ...]:
    entries = f"{line.entries:,}" if line.entries else sentences.EACH_RATING
    if line.mechanism == "exact":
        return line.name, "exact", "0", sentences.NO_NOISE_NEEDED, entries, "", ""
    width, kind = SYMBOLS[line.mechanism]
    noise, cost = f"{width} = {below(line.noise, 4)}", f"{kind} = {above(line.cost, 4)}"
    return line.name, line.mechanism, above(line.sensitivity, 4), noise, entries, f"{line.split:.3f}", cost


def _folded(equal: list[tuple[str, ...]]) -> list[tuple[str, ...]]:
    name, *others = equal[0]
    return equal if len(equal) == 1 else [(f"{name.rstrip(digits + ' ')} × {len(equal)}, each", *others)]


def promised_table(promised: Sequence[Promised], *, sure: bool = True) -> Table:
    """Each class's request and promise; if not ``sure``, what it would be promised."""
    rows = [
        (of.name, f"ε = {above(of.personal_epsilon)}", f"ε = {above(of.promised)}", f"{of.weight:.4f}")
        for of in promised
    ]
    return Table(sentences.PERSONAL, sentences.personal_heads(sure=sure), rows)


def answers_section(local: Local, epsilon: float) -> Section:
    """Say how much one answer reveals, and all answers of one user together, whose ε is ``epsilon``."""
    one = [sentences.answer(local.what), above(local.epsilon), above(local.expected)]
    every = [sentences.answer(local.what, local.count), above(epsilon), above(local.expected_together)]
    heads = [*sentences.ANSWER_HEADS[local.what]]
    if local.claimed is not None:
        heads, one, every = [*heads, sentences.CLAIMED], [*one, above(local.claimed)], [*every, ""]
    changed = Paragraph(sentences.chance_of_change(local.what, below(local.changed)))
    return Section(sentences.ONE_ANSWER, [Table(sentences.ONE_ANSWER, heads, [one, every]), changed])
