"""The schema of a statement: valid, whole, and true of every kind of statement there is."""

import json
from dataclasses import fields

import pytest

from hushrec.documents.document import VERSION, Document, statement_schema, to_json
from hushrec.documents.measured import SYMBOLS, Local, Measured, Promised
from hushrec.errors import ReleaseError
from hushrec.release.statement import Statement
from support.releases import statement
from support.statements import KINDS as STATEMENTS

jsonschema = pytest.importorskip("jsonschema")
WHOLE = json.loads(statement_schema())


def validator():
    return jsonschema.Draft202012Validator(WHOLE, format_checker=jsonschema.FormatChecker())


def written(**changes):
    """A statement as a file has it."""
    return json.loads(json.dumps(statement(**changes).to_json(), allow_nan=False))


def faults(node, path=""):
    """What a schema lacks: units of numbers, descriptions of properties, closed objects, definitions."""
    parts = {}

    def walk(node, path):
        if isinstance(node, list):
            for place, one in enumerate(node):
                yield from walk(one, f"{path}/{place}")
        if not isinstance(node, dict):
            return
        kinds = node.get("type", [])
        numeric = {"number", "integer"} & {*([kinds] if isinstance(kinds, str) else kinds)}
        values = [node["const"]] if "const" in node else node.get("enum", [])
        if (numeric or any(isinstance(value, int | float) for value in values)) and not node.get("unit"):
            yield f"{path}: no unit"
        if "object" in kinds and "additionalProperties" not in node and "properties" in node:
            yield f"{path}: open"
        if "$ref" in node and node["$ref"].removeprefix("#/$defs/") not in parts:
            yield f"{path}: {node['$ref']} is nowhere"
        for name, one in node.get("properties", {}).items():
            if not one.get("description") and "$ref" not in one:
                yield f"{path}/{name}: no description"
        for name, one in node.get("$defs", {}).items():
            if not one.get("description", one.get("title")):
                yield f"{path}/{name}: no description"
            if "$id" in one:
                yield f"{path}/{name}: resolves references in itself"
        for name, one in node.items():
            yield from walk(one, f"{path}/{name}") if name not in ("const", "enum") else ()

    parts |= node.get("$defs", {})
    return [*walk(node, path)]


def test_the_schema_is_valid_and_whole_and_names_every_unit():
    jsonschema.Draft202012Validator.check_schema(WHOLE)
    assert faults(WHOLE) == []
    assert WHOLE["$id"] == f"urn:hushrec:statement:{VERSION}"


def test_the_names_in_the_schema_are_those_of_the_code():
    def part(name):
        return WHOLE["$defs"][name]["properties"]

    assert WHOLE["properties"].keys() == {
        *("kind", "version", "reading", "said"),
        *(field.name for field in fields(Statement)),
    }
    for name, of in (("measurement", Measured), ("promise", Promised), ("local", Local)):
        assert part(name).keys() == {field.name for field in fields(of)}
    assert {*part("measurement")["mechanism"]["enum"]} == {*SYMBOLS, "exact"}


@pytest.mark.parametrize("changes", STATEMENTS.values(), ids=STATEMENTS)
def test_every_kind_of_statement_keeps_to_its_schema(changes):
    said, check = written(**changes), validator()
    check.validate(said)
    assert (said["kind"], said["version"]) == ("statement", VERSION)
    wrong = (
        {"caveats": ["NOT PRIVATE"]},
        {"caveats": [{"name": "assumes.cap", "max_per_user": 3}]},
        {"assumes": [{"name": "assumes.catalogue_says", "names": None}]},
        {"ledger": {"part": 1}},
        {"said": {}},
        {"reading": {}},
        {"unit": "people"},
        {"epsilon": -1},
        {"delta": 1},
    )
    for spoilt in wrong:
        assert not check.is_valid(said | spoilt), spoilt


@pytest.mark.parametrize("kind", ["plan", None, ["statement"]])
def test_no_other_document_is_read_as_a_statement(kind):
    with pytest.raises(ReleaseError):
        Statement.from_json(written() | {"kind": kind})
    assert Statement.from_json(written() | {"kind": "statement"}) == statement()


def test_kind_and_version_come_first_whatever_the_facts():
    told = to_json(Document("plan", "Plan", [], facts={"model": "ε", "file": "x"}))
    assert [*json.loads(told)] == ["kind", "version", "model", "file"]
    assert told.isascii()
    with pytest.raises(ValueError, match="not JSON compliant"):
        to_json(Document("plan", "Plan", [], facts={"epsilon": float("inf")}))
