"""The statement as JSON: version 1 keeps to its schema, and is read as it was."""

import json
import math
from dataclasses import fields
from pathlib import Path

import pytest

from hushrec.errors import ReleaseError
from hushrec.release.statement import (
    SCHEMA,
    VERSION,
    Local,
    Measured,
    Statement,
    placeholder_statement,
)
from support.statements import CONDITIONAL, LEVELS, POSTERIOR, SAMPLED, UNPROTECTED

STORED = Path(__file__).parent / "formats"
FACTS = {
    "file": "ledger.db",
    "total_epsilon": 4.0,
    "spent_epsilon": 1.25,
    "date": "2026-11-22",
    "population": "subscribers",
    "controller": "Films Ltd",
    "contact": "privacy@films.example",
}
CHANGES = {
    "plain": {},
    "charged": {"model": "Planted", "settings": "0f" * 32, "hushrec": "0.1.0"},
    "not private": {"caveat": UNPROTECTED, "measurements": (), "epsilon": math.inf, "ledger": {}},
    "sampled people": {"measurements": (SAMPLED,)},
    "personal": {"personal": True, "promises": LEVELS},
    "posterior": {
        "measurements": (POSTERIOR,),
        "caveat": CONDITIONAL,
        "diagnostics": {"R̂": 1.01, "verdict": "mixed"},
    },
    "interactions": {"interactions": True, "unit": "rating"},
    "cells": {
        "adjacency": "replace",
        "epsilon": 2.0,
        "delta": 0.0,
        "measurements": (Measured("responses", "randomized response", 40.0, 0.8, 60, 1.0, 2.0),),
        "local": Local("cell", 0.05, 0.00125, None, 40, 0.8, drawn=0.5),
    },
}


@pytest.fixture(params=CHANGES)
def said(request, statement):
    made = statement(**CHANGES[request.param])
    charged = request.param == "charged"
    return statement(**CHANGES[request.param], ledger={**made.ledger, **FACTS}) if charged else made


def schema():
    return json.loads(SCHEMA.read_text("utf-8"))


def written(statement):
    return json.loads(json.dumps(statement.to_json(), allow_nan=False))


def test_every_statement_keeps_to_the_schema(said):
    jsonschema = pytest.importorskip("jsonschema")
    jsonschema.Draft202012Validator.check_schema(schema())
    check = jsonschema.Draft202012Validator(schema(), format_checker=jsonschema.FormatChecker())
    for made in (said, placeholder_statement()):
        check.validate(written(made))
    for spoilt in ({"version": 2}, {"unit": "people"}, {"epsilon": -1}, {"more": 1}, {"delta": 1}):
        assert not check.is_valid(written(said) | spoilt)
    for name in schema()["required"]:
        assert not check.is_valid({key: value for key, value in written(said).items() if key != name})


def test_the_schema_names_every_field_and_no_other(said):
    known = schema()["properties"]
    assert set(said.to_json()) <= set(known)
    assert set(known) == {"version", "sentence", "headline", "reading", *Statement.__dataclass_fields__}
    assert known["version"] == {"const": VERSION, "description": "version of this form"}
    assert set(known["local"]["properties"]) == {field.name for field in fields(Local)}
    assert set(known["measurements"]["items"]["properties"]) == {field.name for field in fields(Measured)}
    assert set(said.to_json()["reading"]) == set(known["reading"]["properties"])
    assert set(said.ledger) <= set(known["ledger"]["properties"])


def test_what_follows_from_other_fields_is_never_read_back(said):
    forged = said.to_json() | {
        "sentence": "All is well.",
        "headline": "All is well",
        "reading": {"odds": 1.0},
    }
    read = Statement.from_json(forged)
    assert read == said
    assert "All is well" not in str(read)
    assert read.to_json() == said.to_json()


@pytest.mark.parametrize("version", [0, 2, "1", None, True])
def test_another_version_is_refused(said, version):
    with pytest.raises(ReleaseError, match="this hushrec reads 1; upgrade hushrec"):
        Statement.from_json(said.to_json() | {"version": version})


@pytest.mark.parametrize("name", ["sentence", "headline"])
@pytest.mark.parametrize("value", ["a\nb", "\x1b[2J", 7, ["a"]])
def test_what_pages_show_is_one_line_of_text(said, name, value):
    with pytest.raises(ReleaseError):
        Statement.from_json(said.to_json() | {name: value})


@pytest.mark.parametrize("name", ["sentence", "headline", "reading"])
def test_nothing_is_missing_from_version_1(said, name):
    values = said.to_json()
    del values[name]
    with pytest.raises(ReleaseError, match="missing"):
        Statement.from_json(values)


@pytest.mark.parametrize(
    "ledger",
    [
        {"total_epsilon": -1.0},
        {"spent_epsilon": "1"},
        {"population": "a\nb"},
        {"date": "\x1b[2J"},
        {"id": ["x"]},
        {"id": 7},
        {"id": None},
        {"head": {}},
        {"file": 1},
        {"seq": 1.5},
        {"seq": 1.0},
        {"release_index": 0.0},
        {"release_index": True},
    ],
)
def test_ledger_facts_that_cannot_be_are_refused(statement, ledger):
    made = statement()
    with pytest.raises(ReleaseError):
        Statement.from_json(made.to_json() | {"ledger": {**made.ledger, **ledger}})


# -- what was written before is read and printed as it was ------------------------------------------------


def test_a_stored_statement_of_version_1_is_read_and_printed_the_same():
    """Who must change these files makes version 2, and keeps this test."""
    values = json.loads((STORED / "statement-v1.json").read_text("utf-8"))
    read = Statement.from_json(values)
    assert str(read) + "\n" == (STORED / "statement-v1.txt").read_text("utf-8")
    assert written(read) | {"sentence": values["sentence"]} == values
