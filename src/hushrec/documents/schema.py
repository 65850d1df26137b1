"""Documents as JSON: their facts, in the form that one schema for each kind describes."""

import json
from pathlib import Path
from typing import Any

from hushrec.documents.document import Document

VERSION = 2
"""Version of every form. ``docs/schemas.md`` tells what each version changed."""
_SCHEMAS = Path(__file__).with_name("schemas")
KINDS = tuple(sorted(path.name.partition(".")[0] for path in _SCHEMAS.glob("*.schema.json")))
"""The kinds of documents with a schema."""
_PARTS = "parts.json"
"""Definitions that schemas of several kinds refer to."""

__all__ = ["KINDS", "VERSION", "form", "schema", "source", "to_json"]


def form(kind: str) -> dict[str, Any]:
    """Make the first fields of every object that has a schema of its own, wherever it stands."""
    return {"kind": kind, "version": VERSION}


def to_json(document: Document) -> str:
    """Write what a document says as one JSON object, with the kind and version of its form."""
    # ASCII alone: what is not printable in an id or a name is escaped.
    return json.dumps({**form(document.kind), **document.facts}, indent=2, allow_nan=False)


def schema(kind: str) -> dict[str, Any]:
    """Read the JSON Schema (draft 2020-12) of a kind, whole; every number in it names its unit."""
    definition, parts = _read(f"{kind}.schema.json"), _read(_PARTS)
    used: dict[str, Any] = {}
    while missing := _references({kind: definition, **used}) - used.keys():
        used |= {name: parts[name] if name in parts else _read(f"{name}.schema.json") for name in missing}
    for part in used.values():  # a part with an id of its own would resolve references within itself
        part.pop("$schema", None), part.pop("$id", None)
    return definition | ({"$defs": dict(sorted(used.items()))} if used else {})


def source(kind: str) -> str:
    """Write the schema of a kind as text."""
    return json.dumps(schema(kind), indent=2, ensure_ascii=False) + "\n"


def _read(name: str) -> dict[str, Any]:
    definition: dict[str, Any] = json.loads((_SCHEMAS / name).read_text("utf-8"))
    return definition


def _references(value: Any) -> set[str]:
    """The definitions that a schema refers to."""
    if isinstance(value, dict):
        names = {value["$ref"].removeprefix("#/$defs/")} if isinstance(value.get("$ref"), str) else set()
        return names.union(*map(_references, value.values()))
    return set().union(*map(_references, value)) if isinstance(value, list) else set()
