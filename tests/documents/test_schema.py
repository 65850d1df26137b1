"""The schemas: valid, whole, of every kind, and true of all that the commands print with ``--json``."""

import json
import shlex
from copy import deepcopy
from dataclasses import fields
from typing import get_args

import numpy as np
import polars as pl
import pytest
from typer.testing import CliRunner

from hushrec.cli.app import app
from hushrec.data.losses.dropped import Dropped, Refusal
from hushrec.documents import schema
from hushrec.documents.document import Document
from hushrec.documents.finding import Finding
from hushrec.documents.measured import SYMBOLS, Local, Measured, Promised
from hushrec.errors import ReleaseError
from hushrec.privacy.ledger.history import State
from hushrec.release.contents.kinds import KINDS as FORMS
from hushrec.release.statement import Statement
from support.releases import statement
from support.statements import KINDS as STATEMENTS

jsonschema = pytest.importorskip("jsonschema")
ITEMS = [f"film-{k:02d}" for k in range(20)]
TERMS = "--unit user --adjacency add-remove --delta 1e-6"
DECLARED = "--domain domain.json"
RESPONSE = f"{DECLARED} --method randomized-response --epsilon 30 --delta 0 --unit user --adjacency replace"
PARTS = f"--train ratings.csv --test test.csv {DECLARED}"
MADE = f"""
domain --items items.txt --scale 1 5 1 --max-per-user 9 --max-users 60 --personal-epsilon a=4 -o classes.json
domain --items items.txt --scale 1 5 1 --max-per-user 10 --max-users 60 -o domain.json
domain --items items.txt --interactions --max-per-user 10 --max-users 3000 --expected-users 2000 \
--expected-records 20000 -o clicks.json
domain --items items.txt --scale 1 5 1 --likes 4 --max-per-user 10 --max-users 60 -o likes.json
ledger create later/year.db --epsilon 4 --max-releases 3 {DECLARED} {TERMS} --population Subscribers
ledger create ledger.db --epsilon 4 --max-releases 3 {DECLARED} {TERMS}
fit ratings.csv {DECLARED} --epsilon auto --model global-effects --ledger ledger.db -o films.safetensors
fit ratings.csv {DECLARED} --ledger later/year.db --series year -o week.safetensors
randomize ratings.csv {RESPONSE} --accept weak --ledger rows/rows.db --new-ledger -o rows.csv
fit rows.csv --model item-knn -o neighbours.safetensors
"""
PRINTED = {
    "plan": f"plan {DECLARED} --epsilon 1 {TERMS}",
    "plan of classes": f"plan --domain classes.json --epsilon 8 {TERMS} --model global-effects",
    "plan of a sample": f"plan {DECLARED} --epsilon 1 {TERMS} --model user-level-sgd",
    "plan of a chain": f"plan {DECLARED} --epsilon 1 --delta 0 --unit user --adjacency add-remove "
    "--model posterior-sample-mf",
    "plan of releases": f"plan {DECLARED} --releases 4 --total 4 {TERMS}",
    "plan of a series": f"plan {DECLARED} --series ledger.db",
    "plan of rows": f"randomize --plan {RESPONSE}",
    "ledger": "ledger show ledger.db",
    "ledger of a series": "ledger show later/year.db",
    "check": f"check ratings.csv {DECLARED}",
    "check of likes": "check losses.csv --domain likes.json",
    "audit": f"audit global-effects --epsilon 1 {TERMS} --runs 200",
    "release": "show films.safetensors",
    "release of a series": "show week.safetensors",
    "release of rows": "show neighbours.safetensors",
    "data_set": "show rows.csv",
    "evaluation": f"evaluate films.safetensors {PARTS}",
    "evaluation of lists": f"evaluate films.safetensors {PARTS} --against week.safetensors --metric rmse "
    "--metric recall@5 --metric coverage@5 --likes 4",
}
"""What is printed with ``--json``, by its kind and what is special of it."""


@pytest.fixture(scope="module")
def printed(tmp_path_factory):
    """What each command prints, with a curator's files in the folder."""
    folder = tmp_path_factory.mktemp("printed")
    rng = np.random.default_rng(7)
    given = [(f"u{u:02d}", rng.permutation(20)) for u in range(50)]
    for name, part in (("ratings", slice(0, 8)), ("test", slice(8, 10))):
        rows = [(user, ITEMS[item], float(rng.integers(1, 6))) for user, of in given for item in of[part]]
        table = pl.DataFrame(rows, schema=["user_id", "item_id", "rating"], orient="row")
        table.write_csv(folder / f"{name}.csv")
    losses = (folder / "ratings.csv").read_text() + "u01,film-00,9\nu02,no such film,3\n,film-01,3\n" * 40
    (folder / "losses.csv").write_text(losses)
    (folder / "items.txt").write_text("\n".join(ITEMS) + "\n")
    for name in ("later", "rows"):
        (folder / name).mkdir()
    with pytest.MonkeyPatch.context() as patch:
        patch.chdir(folder)
        patch.setattr("hushrec.audit.fits.RANDOM", 2)
        patch.setattr("hushrec.audit.fits.ROUNDS", 2)
        for line in MADE.strip().splitlines():
            done = CliRunner().invoke(app, shlex.split(line))
            assert done.exit_code == 0, (line, done.output)
        yield {name: json.loads(run(line)) for name, line in PRINTED.items()}


def run(line):
    done = CliRunner().invoke(app, [*shlex.split(line), "--json"])
    assert done.stdout, (line, done.output, done.exception)
    return done.stdout


def validator(kind):
    return jsonschema.Draft202012Validator(schema.schema(kind), format_checker=jsonschema.FormatChecker())


def written(**changes):
    """A statement as a file has it."""
    return json.loads(json.dumps(statement(**changes).to_json(), allow_nan=False))


# -- the schemas themselves -------------------------------------------------------------------------------


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


@pytest.mark.parametrize("kind", schema.KINDS)
def test_a_schema_is_valid_and_whole_and_names_every_unit(kind):
    whole = schema.schema(kind)
    jsonschema.Draft202012Validator.check_schema(whole)
    assert faults(whole) == []
    assert whole["$id"] == f"urn:hushrec:{kind}:{schema.VERSION}"
    assert json.loads(schema.source(kind)) == whole
    assert json.loads(CliRunner().invoke(app, ["show", "--schema", kind]).stdout) == whole


def test_what_a_schema_lacks_is_seen():
    whole = schema.schema("release")
    for spoil, found in (
        (lambda it: it["properties"]["n_items"].pop("unit"), "/properties/n_items: no unit"),
        (lambda it: it["properties"]["version"].pop("unit"), "/properties/version: no unit"),
        (lambda it: it["properties"]["model"].pop("description"), "/model: no description"),
        (lambda it: it["$defs"].pop("reading"), "#/$defs/reading is nowhere"),
        (lambda it: it["$defs"]["local"].pop("additionalProperties"), "/$defs/local: open"),
    ):
        it = deepcopy(whole)
        spoil(it)
        assert [fault for fault in faults(it) if found in fault], found


def test_a_reader_of_one_schema_needs_no_other(tmp_path):
    (alone := tmp_path / "release.json").write_text(schema.source("release"), "utf-8")
    assert "$defs" in json.loads(alone.read_text("utf-8"))
    assert not {"audit", "ledger"} & schema.schema("release")["$defs"].keys()


def test_the_names_in_schemas_are_those_of_the_code():
    def part(name):
        return schema.schema("data_set")["$defs"][name]["properties"]

    said = schema.schema("statement")["properties"]
    assert said.keys() == {"kind", "version", "reading", "said", *(of.name for of in fields(Statement))}
    for name, of in (("measurement", Measured), ("promise", Promised), ("local", Local)):
        assert part(name).keys() == {field.name for field in fields(of)}
    assert {*part("measurement")["mechanism"]["enum"]} == {*SYMBOLS, "exact"}
    assert {*schema.schema("release")["properties"]["form"]["enum"]} == {*FORMS}
    checked = schema.schema("check")["properties"]
    assert {*checked["refused"]["items"]["enum"]} == {*get_args(Refusal)}
    reasons = {field.name for field in fields(Dropped)} - {"records"}
    assert {*checked["dropped"]["items"]["properties"]["reason"]["enum"]} == reasons
    found = schema.schema("audit")["properties"]["findings"]["items"]["properties"]
    assert found.keys() == {"holds", *(field.name for field in fields(Finding))}
    charges = schema.schema("ledger")["properties"]["releases"]["items"]["properties"]
    assert {*charges["state"]["enum"]} == {*get_args(State)}


# -- what is printed --------------------------------------------------------------------------------------


@pytest.mark.parametrize("name", PRINTED)
@pytest.mark.full
def test_what_a_command_prints_keeps_to_the_schema_of_its_kind(printed, name):
    told = printed[name]
    assert [*told][:2] == ["kind", "version"]
    assert told["kind"] == name.split()[0]
    validator(told["kind"]).validate(told)


def test_every_kind_is_printed_but_the_statement_which_stands_in_a_release(printed):
    kinds = {told["kind"] for told in printed.values()}
    assert {*kinds, printed["release"]["statement"]["kind"]} == {*schema.KINDS}


@pytest.mark.parametrize("name", ["plan", "ledger", "check", "audit", "release", "data_set", "evaluation"])
def test_a_wrong_field_is_refused(printed, name):
    told, check = printed[name], validator(name)
    for wrong in ({"more": 1}, {"version": 1}, {"version": "2"}, {"kind": "card"}):
        assert not check.is_valid(told | wrong), wrong
    for required in schema.schema(name)["required"]:
        assert not check.is_valid({key: value for key, value in told.items() if key != required}), required
    for key, value in told.items():
        assert not check.is_valid(told | {key: [value]}), key


@pytest.mark.parametrize("changes", STATEMENTS.values(), ids=STATEMENTS)
def test_every_kind_of_statement_keeps_to_its_schema(changes):
    said, check = written(**changes), validator("statement")
    check.validate(said)
    assert (said["kind"], said["version"]) == ("statement", schema.VERSION)
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


def test_a_plan_has_what_its_sentences_say_as_fields(printed):
    assert printed["plan of a series"]["parts"] == 2
    assert "parts" not in printed["plan"]


def test_a_proposal_stands_in_a_ledger(printed):
    total = {name: printed["ledger"][name] for name in ("epsilon", "delta", "unit", "adjacency")}
    proposed = {"total": total, "max_releases": 9, "proposed_by": "ann"}
    validator("ledger").validate(printed["ledger"] | {"proposed": proposed})
    assert not validator("ledger").is_valid(printed["ledger"] | {"proposed": proposed | {"total": 3}})


def test_kind_and_version_come_first_whatever_the_facts():
    told = schema.to_json(Document("plan", "Plan", [], facts={"model": "ε", "file": "x"}))
    assert [*json.loads(told)] == ["kind", "version", "model", "file"]
    assert told.isascii()
    with pytest.raises(ValueError, match="not JSON compliant"):
        schema.to_json(Document("plan", "Plan", [], facts={"epsilon": float("inf")}))
