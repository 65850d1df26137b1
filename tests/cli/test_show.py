import json
from pathlib import Path

import pytest

import hushrec as hr
from hushrec.files import sha256
from support.documents import addresses, read


def test_show_prints_the_statement(release, hushrec):
    shown = hushrec("show films.safetensors").out
    assert shown.startswith("films.safetensors: Release of CovarianceSVD\n")
    assert "Anyone who reads this file" in shown
    assert "σ = " in shown
    assert "  · one person is one user id" in shown


def test_what_is_no_release_is_refused(here, refused):
    assert "not a hushrec release" in refused("show domain.json")
    assert "train.csv.statement.json cannot be read: No such file" in refused("show train.csv")


def test_how_many_people_are_listed_is_shown_and_nobody_named(listing, hushrec):
    shown = hushrec("show people.safetensors").out
    assert "\npeople listed  120\n" in shown
    assert "secret" not in shown


def test_the_facts_of_a_release_are_one_object(release, hushrec):
    facts = json.loads(hushrec("show films.safetensors --json").out)
    opened = hr.Release.open("films.safetensors")
    assert facts["model"] == opened.model == facts["statement"]["model"]
    assert facts["n_items"] == 30
    assert facts["statement"] == json.loads(json.dumps(opened.statement.to_json()))
    assert (facts["kind"], facts["version"]) == ("release", 3)
    assert (facts["statement"]["kind"], facts["statement"]["version"]) == ("statement", 3)
    assert (facts["file"], facts["sha256"]) == ("films.safetensors", sha256(release))


def test_the_schema_of_statements_needs_no_release(release, hushrec, refused):
    jsonschema = pytest.importorskip("jsonschema")
    schema = json.loads(hushrec("show --schema").out)
    statement = json.loads(hushrec("show films.safetensors --json").out)["statement"]
    jsonschema.validate(statement, schema)
    with pytest.raises(jsonschema.ValidationError):
        jsonschema.validate({**statement, "epsilon": "small"}, schema)
    assert "give a release" in refused("show")


@pytest.fixture
def owner(here, monkeypatch):
    monkeypatch.delenv("HUSHREC_KEY_PASSPHRASE", raising=False)


def test_a_release_is_signed_by_a_new_key_and_checked_by_its_public_one(release, owner, hushrec, refused):
    assert "owner.key does not exist; name your private key, or add --new-key" in refused(
        "show films.safetensors --sign owner.key"
    )
    shown = hushrec("show films.safetensors --sign owner.key --new-key")
    told = " ".join(shown.err.split())
    assert "Wrote owner.key, not encrypted: keep it" in told
    assert f"Wrote owner.pub: publish this key, {Path('owner.pub').read_text().strip()}" in told
    assert "Wrote films.safetensors.sig: publish it next to films.safetensors" in told
    public = Path("owner.pub").read_text().strip()
    assert f"checked, by the key {public}" in shown.out
    for command in ("recommend films.safetensors", "show films.safetensors"):
        assert hushrec(f"{command} --key owner.pub").out
    assert f"checked, by the key {public}" in hushrec("show films.safetensors --key owner.pub").out
    other = hushrec("show films.safetensors --json --sign other.key --new-key --key owner.pub").out
    assert json.loads(other)["signed_by"] == Path("other.pub").read_text().strip()
    assert "never replaced" in refused("show films.safetensors --sign owner.key --new-key")
    signature = Path("films.safetensors.sig")
    signature.write_text("A" * 86 + "==")
    for command in ("recommend films.safetensors", "show films.safetensors"):
        assert "is not signed by this key" in refused(f"{command} --key owner.pub")
    signature.unlink()
    assert "films.safetensors.sig is missing" in refused("show films.safetensors --key owner.pub")


def test_a_passphrase_is_taken_from_the_environment(release, owner, hushrec, refused, monkeypatch):
    monkeypatch.setenv("HUSHREC_KEY_PASSPHRASE", "six words")
    told = hushrec("show films.safetensors --sign owner.key --new-key").err
    assert "owner.key, encrypted by your passphrase" in told
    assert "ENCRYPTED" in Path("owner.key").read_text()
    hushrec("show films.safetensors --sign owner.key")
    monkeypatch.delenv("HUSHREC_KEY_PASSPHRASE")
    assert "give its passphrase, in HUSHREC_KEY_PASSPHRASE" in refused(
        "show films.safetensors --sign owner.key"
    )


def test_a_passphrase_is_asked_for(release, owner, hushrec, monkeypatch):
    asked = []

    def prompt(text, **settings):
        asked.append((text, settings["confirmation_prompt"]))
        assert settings["hide_input"]
        assert settings["err"]
        return "six words"

    monkeypatch.setattr("typer.prompt", prompt)
    monkeypatch.setattr("sys.stdin.isatty", lambda: True, raising=False)
    from hushrec.cli import show

    assert show._passphrase("Passphrase, empty for none", new=True) == "six words"
    assert show._passphrase("Passphrase") == "six words"
    assert asked == [("Passphrase, empty for none", True), ("Passphrase", False)]


def test_a_private_key_that_others_can_read_is_named(release, owner, hushrec):
    hushrec("show films.safetensors --sign owner.key --new-key")
    Path("owner.key").chmod(0o644)
    assert "(mode 644): chmod 600 owner.key" in hushrec("show films.safetensors --sign owner.key").err


def test_what_cannot_be_signed_is_refused(release, owner, refused):
    assert "--new-key makes the key that --sign names" in refused("show films.safetensors --new-key")
    assert "a data set, which hushrec does not sign" in refused("show train.csv --sign owner.key")
    assert "not a hushrec release" in refused("show domain.json --sign owner.key --new-key")
    assert not Path("owner.key").exists()


def test_the_statement_is_written_as_a_page(release, hushrec, refused):
    assert hushrec("show films.safetensors --html films.html").err == "Wrote films.html\n"
    page = read(Path("films.html").read_text("utf-8"))
    assert hr.Release.open("films.safetensors").statement.sentence in page
    assert sha256(release) in page
    assert "Checklist" in page
    assert addresses(Path("films.html").read_text("utf-8")) == []
    assert "name it films.html" in refused("show films.safetensors --html films.pdf")


def test_a_data_set_has_a_page(here, hushrec, refused):
    budget = "--epsilon 30 --delta 0 --unit user --adjacency replace --accept weak"
    hushrec(
        f"randomize train.csv --domain domain.json --method randomized-response {budget} --ledger a.db "
        "--new-ledger -o rows.parquet"
    )
    hushrec("show rows.parquet --html rows.html")
    assert "rows.parquet, SHA-256" in read(Path("rows.html").read_text("utf-8"))
    assert "does not sign" in refused("show rows.parquet --key a.pub --html rows.html")
