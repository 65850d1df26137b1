"""What others measured of a release, from the files that the commands wrote: audits and accuracy.

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
from hushrec.errors import ReleaseError
from hushrec.figures import above
from hushrec.pages.cards.document import Block, Caution, Grid, Lines, Text
from hushrec.pages.cards.subject import Subject
from hushrec.pages.cards.verdicts import EXCEEDED, verdict
from hushrec.release.untrusted_json import number, parse

__all__ = ["Options", "accuracy", "audit", "audit_command", "no_accuracy", "no_audit", "refuted"]

LARGEST = 1 << 20
"""Characters in such a file."""
_LARGE = 1e6
"""Scores from here on are printed with an exponent."""
_NEAR = 0.01
"""How far an audited ε may be from the release's, as a part of it: domains round noise differently."""
_AUDIT = "part", "found", "claimed", "verdict", "confidence", "would notice"
_REFERENCES = "item average", "global average", "popularity"
_METRIC = re.compile(r"[a-z]{1,20}(@[1-9]\d{0,8})?|rmse on rare items")
_SETTING = re.compile(r"[a-z_]\w{0,40}(\.[a-z_]\w{0,40})*", re.ASCII)
_LONGEST = 80
"""Characters of a setting in a command."""
_OWNERS = (
    "NOT PRIVATE: these figures were measured on people's held-out data, which no guarantee covers. Whoever "
    "publishes this card publishes them; that is the owner's decision."
)

Options = Sequence[tuple[str, str]] | None
"""Names and values of settings; None for some that hushrec does not know."""


def audit(text: str, named: str, subject: Subject) -> tuple[Block, ...]:
    """What an audit found.

    Args:
        text: what ``hushrec audit --json`` printed.
        named: name of that file.
    """
    facts = _facts(text, named, "hushrec audit", ("model", "settings", "epsilon", "findings"))
    try:
        _require_same(facts, named, subject)
        rows = tuple(verdict(finding, subject.statement.epsilon) for finding in facts["findings"])
        if not rows:
            raise ValueError
        holds = all(row[3] != EXCEEDED for row in rows)
    except ReleaseError:
        raise
    except (KeyError, TypeError, ValueError, AttributeError, OverflowError):
        raise _malformed(named, "hushrec audit") from None
    told = (
        "Attacks on fits of this model with these settings, on made-up data, and what the release claims. An "
        "audit can refute a claim, and never prove one: the last column is the smallest fault that it would "
        "have noticed."
    )
    first = [] if holds else [Caution(("AN AUDIT FOUND MORE THAN IS CLAIMED: do not publish this file.",))]
    return (*first, Text(told), Grid("The audit", _AUDIT, rows, left=6))


def refuted(blocks: tuple[Block, ...]) -> tuple[Caution, ...]:
    """What must stand at the top of a card, if its audit refutes the claim."""
    return tuple(block for block in blocks if isinstance(block, Caution))


def no_audit(subject: Subject, options: Options = ()) -> tuple[Block, ...]:
    """That there is no audit, and how to make one.

    Args:
        options: settings of its model that are not the defaults; None if some are unknown.
    """
    if subject.sort != "release":
        return (Text("No audit was given: hushrec audit attacks models, and this is a data set."),)
    if not subject.promises:
        return (Text("No audit was given. The file claims no ε that an audit could compare with."),)
    command = audit_command(subject, options)
    if not command:
        return (Text("No audit was given. hushrec does not know this model, or not these settings of it."),)
    return (
        Text("No audit was given. This command makes one, on made-up data, in a minute or two:"),
        Lines("How to audit", (command,)),
    )


def audit_command(subject: Subject, options: Options = ()) -> str:
    """The command that audits a release's model at its ε; empty for what hushrec does not know.

    A reader copies it into a shell, and the file may be crafted: every word is quoted.

    Args:
        options: settings of its model that are not the defaults; None if some are unknown.
    """
    said, model = subject.statement, _model(subject)
    if model not in registry.MODELS or options is None:
        return ""
    if any(not _SETTING.fullmatch(name) or len(value) > _LONGEST for name, value in options):
        return ""
    asked = {"epsilon": above(said.epsilon), "delta": f"{said.delta:g}", "unit": said.unit}
    asked["adjacency"] = said.adjacency
    words = ["hushrec", "audit", registry.command_name(model)]
    words += [word for name, value in asked.items() for word in (f"--{name}", value)]
    words += [word for name, value in options for word in ("--set", f"{name}={value}")]
    return f"{shlex.join(words)} --json > audit.json"


def accuracy(text: str, named: str, subject: Subject) -> tuple[Block, ...]:
    """How good the release is, with the caveat that these figures are not private.

    Args:
        text: what ``hushrec evaluate --json`` printed.
        named: name of that file.
        subject: the release, with the SHA-256 of its file.
    """
    facts = _facts(text, named, "hushrec evaluate", ("releases", "scores"))
    try:
        measured = {str(release["name"]): str(release["sha256"]) for release in facts["releases"]}
        own = [name for name, digest in measured.items() if digest == subject.sha256]
        if not own:
            raise ReleaseError(
                f"{named} holds figures of another file: none of its SHA-256 is that of {subject.named}; "
                "evaluate this release (hushrec evaluate --json)"
            )
        rows: dict[str, dict[str, str]] = {}
        for score in facts["scores"]:
            name, metric = str(score["name"]), str(score["metric"])
            if name not in (*measured, *_REFERENCES) or not _METRIC.fullmatch(metric):
                raise ValueError
            if name == own[0] or name not in measured:
                rows.setdefault(name, {})[metric] = _score(score)
        metrics = tuple(rows[own[0]])
    except ReleaseError:
        raise
    except (KeyError, TypeError, ValueError, AttributeError, OverflowError):
        raise _malformed(named, "hushrec evaluate") from None
    heads = "of", *metrics
    shown = tuple(
        ("this release" if name == own[0] else name, *(found.get(metric, "") for metric in metrics))
        for name, found in rows.items()
    )
    return Caution((_OWNERS,)), Grid("Accuracy", heads, shown), Text("±: one standard error over people.")


def no_accuracy() -> tuple[Block, ...]:
    """That there are no figures, and why a reader may find none."""
    return (
        Text(
            "No figures were given. How accurate a release is can only be measured on people's data, which "
            "no guarantee covers (hushrec evaluate); the owner may keep the result."
        ),
    )


def _require_same(facts: Mapping[str, Any], named: str, subject: Subject) -> None:
    """Refuse an audit of anything else."""
    said = subject.statement
    settings = json.dumps(facts["settings"], sort_keys=True, separators=(",", ":"), allow_nan=False)
    claimed = math.inf if facts["epsilon"] is None else float(facts["epsilon"])
    near = claimed == said.epsilon or abs(claimed - said.epsilon) <= _NEAR * said.epsilon
    differs = {
        "model": facts["model"] != _model(subject),
        "settings": bool(said.settings) and hashlib.sha256(settings.encode()).hexdigest() != said.settings,
        "ε": not near,
        "δ": float(facts["delta"]) != said.delta,
        "unit": facts["unit"] != said.unit,
        "adjacency": facts["adjacency"] != said.adjacency,
    }
    if any(differs.values()):
        names, command = ", ".join(name for name, other in differs.items() if other), audit_command(subject)
        raise ReleaseError(
            f"{named} audits something else than this release: it differs in {names}; audit the release's "
            f"own model{command and f': {command}'}, with the settings of its fit"
        )


def _model(subject: Subject) -> str:
    return subject.statement.model or subject.maker


def _score(score: Mapping[str, Any]) -> str:
    value, error = score["value"], score["error"]
    if value is None:
        return "unknown"
    return _decimal(value) + ("" if error is None else f" ± {_decimal(error)}")


def _decimal(value: Any) -> str:
    figure = number(value)
    return f"{figure:.4f}" if abs(figure) < _LARGE else f"{figure:.4g}"


def _facts(text: str, named: str, command: str, fields: tuple[str, ...]) -> Mapping[str, Any]:
    try:
        facts = parse(text if len(text) <= LARGEST else "", others=LARGEST)
        if not isinstance(facts, dict) or not set(fields) <= facts.keys():
            raise ValueError
    except (ValueError, RecursionError):
        raise _malformed(named, command) from None
    return facts


def _malformed(named: str, command: str) -> ReleaseError:
    return ReleaseError(f"{named} is not what {command} --json prints; give that command's output as it is")
