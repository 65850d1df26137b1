"""Where a release comes from: its data by public facts, its ledger, its signature, and how to verify it."""

import shlex
from collections.abc import Iterator, Mapping
from importlib import metadata
from typing import Any

from hushrec.escapes import one_line
from hushrec.figures import reading
from hushrec.pages.cards import stated
from hushrec.pages.cards.document import Block, Facts, Lines, Text
from hushrec.pages.cards.subject import Subject
from hushrec.release.signing.signature import Signature
from hushrec.release.statement import VERSION, Statement
from hushrec.release.statement_text import DECLARED

__all__ = ["data", "file", "ledger"]

_UNSIGNED = (
    "unsigned: whoever can write this file could write another one with another statement. Get it over a "
    "channel that you trust, and compare its SHA-256 with its owner's."
)


def data(subject: Subject) -> tuple[Block, ...]:
    """The data as their owner declared them; no number here was counted in them."""
    told = subject.statement.ledger
    declared = ((name, str(told.get(name) or "not declared")) for name in DECLARED)
    rows = (
        ("catalogue", f"{subject.n_items:,} items, declared as public"),
        ("what people give", subject.given),
        *([("listed", subject.holds)] if subject.holds else []),
        *declared,
    )
    return Text("Public facts alone; nothing here was counted in people's data."), Facts(rows)


def ledger(subject: Subject, history: str) -> tuple[Block, ...]:
    """What the ledger says of this release.

    Args:
        history: what the check of an exported history found; empty if none was given.
    """
    said = subject.statement
    if not said.ledger:
        return (Text("No ledger that is kept was charged, so nobody can check what else was released."),)
    blocks = [*_charged(said)]
    if "total_epsilon" in said.ledger:
        blocks.insert(2, Text(f"{reading(said.ledger['total_epsilon'])}, over all releases together."))
    if missing := [name for name in DECLARED if said.ledger.get("file") and not said.ledger.get(name)]:
        owners = "The ledger's owner can, for later releases: hushrec ledger extend."
        blocks.append(Text(f"Not declared: {', '.join(missing)}. {owners}"))
    unchecked = "Not checked for this card: hushrec ledger verify checks the history that the owner exports."
    blocks.append(Text(f"Verified for this card: {history}" if history else unchecked))
    return tuple(blocks)


def _charged(said: Statement) -> Iterator[Block]:
    """What the statement says of its ledger; whoever answers for it is named among the data."""
    for section in stated.sections(said):
        for block in section.blocks if section.title == stated.LEDGER else ():
            kept = (
                tuple(row for row in block.rows if row[0] not in DECLARED) if isinstance(block, Facts) else ()
            )
            yield Facts(kept) if kept else block


def file(subject: Subject) -> tuple[Block, ...]:
    """The file's digest, signature and versions, and the steps that verify it."""
    said, signature = subject.statement, subject.signature
    rows = (
        ("file", subject.named),
        ("SHA-256", subject.sha256),
        ("signature", _signed(signature)),
        (
            "made by",
            f"hushrec {said.hushrec}"
            if said.hushrec
            else "hushrec, in a version that the file does not name",
        ),
        ("model", one_line(f"{said.model or subject.maker}, settings {_settings(subject.settings)}")),
        *([("SHA-256 of the settings", said.settings)] if said.settings else []),
        *([("digest of the domain", str(domain))] if (domain := said.ledger.get("domain")) else []),
        ("statement", f"version {VERSION} (hushrec show --schema)"),
        ("this card", f"hushrec {metadata.version('hushrec')}"),
    )
    named = shlex.quote(f"./{subject.named}" if subject.named.startswith("-") else subject.named)
    steps = [
        f"sha256sum {named}",
        f"hushrec show {named}",
        f"hushrec show {named} --key owner.pub",
        f"hushrec ledger verify history.json {named}",
    ]
    if subject.sort != "release":
        del steps[2]
    notes = (
        "To verify it: compare the SHA-256; read the statement; check the signature against the owner's key, "
        "which comes from the owner and not with the file; check the exported history of the ledger."
    )
    return Facts(rows), Text(notes), Lines("How to verify the file", tuple(steps))


def _signed(signature: Signature) -> str:
    """The signature; a card is read by others than whoever made it."""
    if signature.state == "unsigned":
        return _UNSIGNED
    return str(signature).replace("a key of yours", "a key of whoever made this card")


def _settings(settings: Mapping[str, Any]) -> str:
    """Settings in one line; a group of them is dotted, as on the command line."""
    return ", ".join(f"{name}={value}" for name, value in _flat(settings)) or "none"


def _flat(settings: Mapping[str, Any], outer: str = "") -> list[tuple[str, str]]:
    found: list[tuple[str, str]] = []
    for name, value in settings.items():
        if isinstance(value, Mapping):
            found += _flat(value, f"{outer}{name}.")
        else:
            found.append((f"{outer}{name}", str(value)))
    return found
