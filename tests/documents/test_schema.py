"""The schema of a statement: valid, whole, and true of every kind of statement there is."""

import json
from dataclasses import fields

import pytest

from hushrec.documents.document import VERSION, Document, to_json
from hushrec.documents.measured import SYMBOLS, Local, Measured, Promised
from hushrec.documents.schema import is_statement, statement_schema
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
        {"ledger": {"seq": -1}},
        {"said": {}},
        {"reading": {}},
        {"unit": "people"},
        {"epsilon": -1},
        {"delta": 1},
    )
    assert is_statement(said)
    for spoilt in wrong:
        assert not check.is_valid(said | spoilt), spoilt
        assert not is_statement(said | spoilt), spoilt


def test_the_schema_has_no_keyword_that_our_check_would_pass_over():
    known = {
        *("$schema", "$id", "$defs", "$ref", "title", "description", "unit", "format"),
        *("type", "const", "enum", "pattern", "minimum", "exclusiveMinimum", "maximum", "exclusiveMaximum"),
        *("items", "properties", "required", "additionalProperties"),
    }

    def check(schema):
        assert schema.keys() <= known
        for parts in ("$defs", "properties"):
            for one in schema.get(parts, {}).values():
                check(one)
        for one in (schema.get("items"), schema.get("additionalProperties")):
            if isinstance(one, dict):
                check(one)

    check(WHOLE)


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
