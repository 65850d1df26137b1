"""Measurements of a release by others, from the files that the commands wrote: audits and accuracy.

Each file says what it is of, and a card takes only those of its own release.

Privacy: public in, public out; accuracy is measured on private data, and its blocks say so.
"""

import hashlib
import json
import math
import re
import shlex
from collections.abc import Mapping, Sequence
from typing import Any

from hushrec import registry
from hushrec.documents.document import Block, Commands, Paragraph, Table
from hushrec.documents.finding import COLUMNS, EXCEEDED, verdict
from hushrec.documents.words import Words
from hushrec.errors import ReleaseError
from hushrec.figures import above
from hushrec.pages.reviewed_file import ReviewedFile
from hushrec.release.untrusted_json import number, parse, parsing

__all__ = ["Named", "Options", "accuracy", "audit"]

LARGEST = 1 << 20
"""Characters in such a file."""
_LARGE = 1e6
"""Scores from here on are printed with an exponent."""
_NEAR = 0.01
"""How far an audited ε may be from the release's, as a part of it: domains round noise differently."""
_REFERENCES = "item average", "global average", "popularity"
_METRIC = re.compile(r"[a-z]{1,20}(@[1-9]\d{0,8})?")
_SETTING = re.compile(r"[a-z_]\w{0,40}(\.[a-z_]\w{0,40})*", re.ASCII)
_LONGEST = 80
"""Characters of a setting in a command."""

Named = tuple[str, str]
"""Name and text of a file."""
Options = Sequence[tuple[str, str]] | None
"""Names and values of settings; None for some that hushrec does not know."""


def audit(file: Named | None, reviewed: ReviewedFile, words: Words, options: Options = ()) -> list[Block]:
    """Show what an audit found, or how to make one; a caution comes first if it refutes the claim.

    Args:
        file: the output of ``hushrec audit --json``.
        options: settings of the model that are not the defaults; None if some are unknown.
    """
    if file is None:
        return _no_audit(reviewed, words, options)
    named, text = file
    with parsing(_malformed(named, "hushrec audit")):
        facts = _facts(text)
        _require_same(facts, named, reviewed)
        rows = [verdict(finding, reviewed.statement.epsilon) for finding in facts["findings"]]
        if not rows:
            raise ValueError("no part was audited")
    holds = all(row[3] != EXCEEDED for row in rows)
    cautions = [] if holds else [Paragraph(words("card.audit.exceeded"), "caution")]
    table = Table(words("card.audit.table"), COLUMNS, rows, left=len(COLUMNS))
    return [*cautions, Paragraph(words("card.audit.about")), table]


def _no_audit(reviewed: ReviewedFile, words: Words, options: Options) -> list[Block]:
    command = _command(reviewed, options)
    if reviewed.sort != "release":
        why = "data_set"
    elif not reviewed.promises:
        why = "no_claim"
    elif not command:
        why = "unknown"
    else:
        return [Paragraph(words("card.audit.none")), Commands(words("card.audit.how"), [command])]
    return [Paragraph(words(f"card.audit.{why}"))]


def accuracy(file: Named | None, reviewed: ReviewedFile, words: Words) -> list[Block]:
    """Show how good the release is, after the caution that these figures are not private.

    Args:
        file: the output of ``hushrec evaluate --json``.
        reviewed: the release, with the SHA-256 of its file.
    """
    if file is None:
        return [Paragraph(words("card.accuracy.none"))]
    named, text = file
    with parsing(_malformed(named, "hushrec evaluate")):
        facts = _facts(text)
        measured = {str(release["name"]): str(release["sha256"]) for release in facts["releases"]}
        own_names = [name for name, digest in measured.items() if digest == reviewed.sha256]
        if not own_names:
            raise ReleaseError(
                f"{named} holds figures of another file: none of its SHA-256 is that of {reviewed.named}; "
                "evaluate this release (hushrec evaluate --json)"
            )
        figures: dict[str, dict[str, str]] = {}
        for score in facts["scores"]:
            name, metric = str(score["name"]), str(score["metric"])
            if name not in (*measured, *_REFERENCES) or not _METRIC.fullmatch(metric):
                raise ValueError(name)
            if name == own_names[0] or name not in measured:
                figures.setdefault(name, {})[metric] = _score(score, words)
        metrics = [*figures[own_names[0]]]
    names = {own_names[0]: words("card.accuracy.own")}
    rows = [
        [names.get(name, name), *(of.get(metric, "") for metric in metrics)] for name, of in figures.items()
    ]
    return [
        Paragraph(words("card.accuracy.owner"), "caution"),
        Table(words("card.accuracy.table"), [words("card.accuracy.of"), *metrics], rows),
        Paragraph(words("card.accuracy.errors")),
    ]


def _command(reviewed: ReviewedFile, options: Options = ()) -> str:
    """The command that audits a release's model at its ε; empty for what hushrec does not know.

    A reader copies it into a shell, and the file may be crafted: every word is quoted.
    """
    statement, model = reviewed.statement, _model(reviewed)
    if model not in registry.MODELS or options is None:
        return ""
    if any(not _SETTING.fullmatch(name) or len(value) > _LONGEST for name, value in options):
        return ""
    flags = {"epsilon": above(statement.epsilon), "delta": f"{statement.delta:g}", "unit": statement.unit}
    flags["adjacency"] = statement.adjacency
    parts = ["hushrec", "audit", registry.command_name(model)]
    parts += [part for name, value in flags.items() for part in (f"--{name}", value)]
    parts += [part for name, value in options for part in ("--set", f"{name}={value}")]
    return f"{shlex.join(parts)} --json > audit.json"


def _require_same(facts: Mapping[str, Any], named: str, reviewed: ReviewedFile) -> None:
    """Refuse an audit of anything else."""
    statement = reviewed.statement
    settings = json.dumps(facts["settings"], sort_keys=True, separators=(",", ":"), allow_nan=False)
    claimed = math.inf if facts["epsilon"] is None else float(facts["epsilon"])
    differs = {
        "model": facts["model"] != _model(reviewed),
        "settings": statement.settings not in ("", hashlib.sha256(settings.encode()).hexdigest()),
        "ε": not math.isclose(claimed, statement.epsilon, rel_tol=_NEAR),
        "δ": float(facts["delta"]) != statement.delta,
        "unit": facts["unit"] != statement.unit,
        "adjacency": facts["adjacency"] != statement.adjacency,
    }
    if any(differs.values()):
        names, command = ", ".join(name for name, other in differs.items() if other), _command(reviewed)
        raise ReleaseError(
            f"{named} audits something else than this release: it differs in {names}; audit the release's "
            f"own model{command and f': {command}'}, with the settings of its fit"
        )


def _model(reviewed: ReviewedFile) -> str:
    return reviewed.statement.model or reviewed.maker


def _score(score: Mapping[str, Any], words: Words) -> str:
    value, error = score["value"], score["error"]
    if value is None:
        return words("card.accuracy.unknown")
    return _decimal(value) + ("" if error is None else f" ± {_decimal(error)}")


def _decimal(value: Any) -> str:
    figure = number(value)
    return f"{figure:.4f}" if abs(figure) < _LARGE else f"{figure:.4g}"


def _facts(text: str) -> Mapping[str, Any]:
    facts = parse(text if len(text) <= LARGEST else "", others=LARGEST)
    if not isinstance(facts, dict):
        raise TypeError("an object was expected")
    return facts


def _malformed(named: str, command: str) -> str:
    return f"{named} is not what {command} --json prints; give that command's output as it is"
