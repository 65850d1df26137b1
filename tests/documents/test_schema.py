"""The schema of a statement: whole, true of every kind there is, and kept to by every file that is read."""

import functools
import json
from dataclasses import fields

import pytest

from hushrec.documents.document import VERSION, Document, to_json
from hushrec.documents.measured import SYMBOLS, Local, Measured, Promised
from hushrec.documents.schema import is_statement, statement_schema
from hushrec.documents.sentences import CAVEATS
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
    assert part("caveat")["name"]["pattern"] == rf"^({'|'.join(CAVEATS)})\.[a-z_]+$"


@pytest.mark.parametrize("changes", STATEMENTS.values(), ids=STATEMENTS)
def test_every_kind_of_statement_keeps_to_its_schema(changes):
    said = written(**changes)
    validator().validate(said)
    assert is_statement(said)
    assert (said["kind"], said["version"]) == ("statement", VERSION)


CAP = {"name": "assumes.cap", "max_per_user": 3, "given": "ratings"}
FULL = written(**STATEMENTS["personal_epsilon"]) | {
    "assumes": [CAP],
    "decisions": [{"name": "branch.vote"}],
    "ledger": {**STATEMENTS["one of several"]["ledger"], "contact": "us", "domain": "ab" * 32},
    "diagnostics": {"R̂": 1.5},
    "local": written(**STATEMENTS["released rows"])["local"] | {"claimed": 0.5},
    "beside": written(**STATEMENTS["groups"])["beside"],
    "interactions": True,
    "settings": "ab" * 32,
    "people": ["ab" * 32],
    "year": {"releases": [0], "left_out": [1], "own_epsilon": 0.5},
}
"""Every field that there is, though no release has all of them."""
ODD = (None, True, "text", "a\nb", "", -1, 0, 0.5, 1.0, 1.5, 10**400, [], ["text"], {}, {"a\nb": 1})
ABSENT = object()


def places(value, path=()):
    """Where a value of JSON stands, and where each of its parts does."""
    yield path
    parts = value.items() if isinstance(value, dict) else enumerate(value) if isinstance(value, list) else ()
    for name, part in parts:
        yield from places(part, (*path, name))


def spoilt(value, path, odd):
    """The value with another at one place, or with none there."""
    if not path:
        return odd
    copy = value.copy()
    copy[path[0]] = spoilt(value[path[0]], path[1:], odd)
    if copy[path[0]] is ABSENT:
        del copy[path[0]]
    return copy


@pytest.mark.parametrize("path", [*places(FULL)][1:], ids=str)
def test_no_place_of_a_file_takes_what_its_schema_does_not(path):
    """Ours refuses all that the schema does, and what no reader should print or count with."""
    check = validator()
    assert is_statement(FULL)
    for odd in (*ODD, ABSENT):
        said = spoilt(FULL, path, odd)
        kept, strange = is_statement(said), "\\n" in json.dumps(said) or odd == 10**400
        assert kept == (check.is_valid(said) and not strange and not _is_whole_float(path, odd)), odd
        try:
            Statement.from_json(said)
        except ReleaseError:
            continue
        assert kept
    if isinstance(part := functools.reduce(lambda value, name: value[name], path, FULL), dict):
        free = path[0] in ("assumes", "decisions", "beside", "diagnostics")
        assert is_statement(spoilt(FULL, path, part | {"more": 1})) == free


def _is_whole_float(path, odd):
    """Whether 1.0 stands for a whole number, as JSON Schema lets it and we do not."""
    whole = {"seq", "release_index", "max_releases", "releases", "left_out", "entries", "count"}
    return isinstance(odd, float) and odd == 1.0 and not whole.isdisjoint(path)


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


def test_kind_and_version_come_first_whatever_the_facts():
    told = to_json(Document("plan", "Plan", [], facts={"model": "ε", "file": "x"}))
    assert [*json.loads(told)] == ["kind", "version", "model", "file"]
    assert told.isascii()
    with pytest.raises(ValueError, match="not JSON compliant"):
        to_json(Document("plan", "Plan", [], facts={"epsilon": float("inf")}))
