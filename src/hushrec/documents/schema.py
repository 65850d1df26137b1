"""Documents as JSON, and the JSON Schema of a statement, which others read and check."""

import json
from pathlib import Path
from typing import Any

from hushrec.documents.document import Document

VERSION = 2
"""Version of every form."""

__all__ = ["VERSION", "form", "source", "to_json"]


def form(kind: str) -> dict[str, Any]:
    """Make the first fields of every object that is printed, wherever it stands."""
    return {"kind": kind, "version": VERSION}


def to_json(document: Document) -> str:
    """Write what a document says as one JSON object, with the kind and version of its form."""
    # ASCII alone: what is not printable in an id or a name is escaped.
    return json.dumps({**form(document.kind), **document.facts}, indent=2, allow_nan=False)


def source() -> str:
    """Read the JSON Schema (draft 2020-12) of a statement, as text; every number in it names its unit."""
    return Path(__file__).with_name("statement.schema.json").read_text("utf-8")
