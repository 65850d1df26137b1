"""The JSON Schema (draft 2020-12) of a statement; every number in it names its unit."""

import json
import re
import sys
from collections.abc import Mapping
from functools import cache
from pathlib import Path
from typing import Any


@cache
def statement_schema() -> str:
    """Read the schema, as text."""
    return Path(__file__).with_name("statement.schema.json").read_text("utf-8")


def is_statement(value: Any) -> bool:
    """Whether JSON values keep to the schema, with every text printable, and every number finite."""
    return _keeps_to(_whole(), value)


@cache
def _whole() -> dict[str, Any]:
    return dict(json.loads(statement_schema()))


_LARGEST = 2**63 - 1
"""The largest whole number that every reader of a file has."""
_TYPES: Mapping[str, tuple[type, ...]] = {
    "object": (dict,),
    "array": (list,),
    "string": (str,),
    "number": (int, float),
    "integer": (int,),
    "boolean": (bool,),
    "null": (type(None),),
}


def _keeps_to(schema: Mapping[str, Any], value: Any) -> bool:
    """Whether a value keeps to a schema, by the keywords that the schema of a statement uses."""
    if "$ref" in schema and not _keeps_to(_whole()["$defs"][schema["$ref"].rpartition("/")[2]], value):
        return False
    if "enum" in schema and value not in schema["enum"]:
        return False
    if "const" in schema and (type(value) is not type(schema["const"]) or value != schema["const"]):
        return False
    named = schema.get("type", ())
    types = [kind for name in ([named] if isinstance(named, str) else named) for kind in _TYPES[name]]
    if types and type(value) not in types:
        return False
    if isinstance(value, str):
        return value.isprintable() and bool(re.search(schema.get("pattern", ""), value))
    if isinstance(value, int | float):
        return (
            abs(value) <= (sys.float_info.max if isinstance(value, float) else _LARGEST)
            and schema.get("minimum", value) <= value <= schema.get("maximum", value)
            and ("exclusiveMinimum" not in schema or schema["exclusiveMinimum"] < value)
            and ("exclusiveMaximum" not in schema or value < schema["exclusiveMaximum"])
        )
    if isinstance(value, list):
        return all(_keeps_to(schema.get("items", {}), one) for one in value)
    return not isinstance(value, dict) or _has_fields(schema, value)


def _has_fields(schema: Mapping[str, Any], value: dict[Any, Any]) -> bool:
    """Whether an object has all fields that it must have, and no others than it may, each as it should be."""
    fields, others = schema.get("properties", {}), schema.get("additionalProperties", {})
    if not value.keys() >= {*schema.get("required", ())} or not all(
        isinstance(name, str) and name.isprintable() for name in value
    ):
        return False
    if others is False and not value.keys() <= fields.keys():
        return False
    return all(_keeps_to(fields.get(name, others), one) for name, one in value.items())
