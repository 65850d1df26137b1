import json

import pytest

import hushrec as hr
from hushrec.documents import schema
from hushrec.files import sha256


def test_show_prints_the_statement(release, hushrec):
    shown = hushrec("show films.safetensors").out
    assert shown.startswith("films.safetensors: Release of CovarianceSVD\n")
    assert "Anyone who reads this file" in shown
    assert "σ = " in shown
    assert "  · one person is one user id" in shown


def test_what_nobody_declared_of_a_kept_ledger_is_named(release, hushrec):
    told = " ".join(hushrec("show films.safetensors").out.split())
    assert (
        "Not declared: population, controller, contact. The ledger's owner can, for later releases: hushrec"
        in told
    )


def test_at_80_columns_nothing_is_cut(release, hushrec, monkeypatch):
    monkeypatch.setenv("COLUMNS", "80")
    lines = hushrec("show films.safetensors").out.splitlines()
    assert max(map(len, lines)) <= 80
    assert not any("…" in line for line in lines)
    assert any(line.startswith("co-rating weights") and "ρ =" in line for line in lines)


def test_what_is_no_release_is_refused(here, refused):
    assert "not a hushrec release" in refused("show domain.json")
    assert "train.csv.statement.json cannot be read: No such file" in refused("show train.csv")


def test_how_many_people_are_listed_is_shown_and_nobody_named(listing, hushrec):
    shown = hushrec("show people.safetensors").out
    assert "\npeople listed  120\n" in shown
    assert "secret" not in shown


@pytest.mark.parametrize(
    ("name", "told"),
    [
        ("plain", "interactions"),
        ("counted", "interactions counted up to 9"),
        ("likes", "likes: ratings of at least 4 on the scale 1 to 5 by 1"),
    ],
)
def test_what_people_give_is_shown(ranking, hushrec, name, told):
    assert f"\npeople give    {told}\n" in hushrec(f"show {name}.safetensors").out


def test_what_is_left_of_tastes_is_said_above_the_promise(release, ranking, hushrec):
    lines = hushrec("show films.safetensors").out.splitlines()
    assert lines[:7] == [
        "films.safetensors: Release of CovarianceSVD",
        f"SHA-256 {sha256(release)}",
        "items          30",
        "people give    scale 1 to 5 by 1",
        "predicts from  a user's own ratings",
        f"tastes         {hr.Release.open(release).taste}",
        "signature      unsigned",
    ]
    assert lines[7] == "ε = 1 at δ = 1e-06 per user, add-remove"
    assert (
        "Lists are the same for everyone: Planted learns no tastes." in hushrec("show plain.safetensors").out
    )


def test_the_facts_of_a_release_are_one_object(release, hushrec):
    facts = json.loads(hushrec("show films.safetensors --json").out)
    opened = hr.Release.open("films.safetensors")
    assert facts["model"] == opened.model == facts["statement"]["model"]
    assert facts["n_items"] == 30
    assert facts["statement"] == json.loads(json.dumps(opened.statement.to_json()))
    assert (facts["kind"], facts["version"]) == ("release", 2)
    assert (facts["statement"]["kind"], facts["statement"]["version"]) == ("statement", 2)
    assert (facts["file"], facts["sha256"]) == ("films.safetensors", sha256(release))


def test_symbols_are_explained_where_the_last_line_says(release, hushrec):
    assert "docs/glossary.md#symbols" in hushrec("show films.safetensors").out.splitlines()[-1]


def test_the_schema_of_a_kind_needs_no_release(release, hushrec, refused):
    jsonschema = pytest.importorskip("jsonschema")
    told = json.loads(hushrec("show --schema statement").out)
    assert told == schema.schema("statement")
    statement = json.loads(hushrec("show films.safetensors --json").out)["statement"]
    jsonschema.validate(statement, told)
    with pytest.raises(jsonschema.ValidationError):
        jsonschema.validate({**statement, "epsilon": "small"}, told)
    for kind in schema.KINDS:
        assert json.loads(hushrec(f"show --schema {kind}").out)["$id"] == f"urn:hushrec:{kind}:2"
    assert "choose one of audit, check, data_set" in refused("show --schema statements")
    assert "give a release" in refused("show")


def test_the_statement_is_shown_in_a_language_and_its_figures_stay(release, hushrec, refused):
    shown = hushrec("show films.safetensors --lang de").out
    assert "Wer diese Datei liest" in shown
    assert "Anyone who reads" not in shown
    facts = [json.loads(hushrec(f"show films.safetensors --json --lang {lang}").out) for lang in ("en", "de")]
    assert facts[0] == facts[1]
    assert "there are no statements in 'xx'; choose one of de, en" in refused(
        "show films.safetensors --lang xx"
    )
