"""``hushrec show --html``: one page about a release, with the evidence that was given."""

import hashlib
import json
import shutil
from pathlib import Path

import pytest

import hushrec as hr
from hushrec.documents.words import Words
from support.documents import addresses, read
from support.releases import release, statement

TOTAL = "--epsilon 4 --delta 1e-6 --unit user --adjacency add-remove --max-releases 2"
RANDOMIZED = (
    "--method randomized-response --epsilon 30 --delta 0 --unit user --adjacency replace --accept weak"
)


@pytest.fixture(scope="module")
def evidence(files, tmp_path_factory, hushrec, budget):
    """A release, its audit, its accuracy and its ledger's history, as files of a folder."""
    folder = tmp_path_factory.mktemp("evidence")
    with pytest.MonkeyPatch.context() as patch:
        patch.chdir(folder)
        patch.setattr("hushrec.audit.fits.RANDOM", 2)
        patch.setattr("hushrec.audit.fits.ROUNDS", 2)
        for file in files.iterdir():
            (folder / file.name).symlink_to(file)
        hushrec("domain --items catalogue.csv --scale 1 5 1 --max-users 200 -o domain.json")
        hushrec(f"ledger create own.db {TOTAL}")
        declared = "--population Subscribers --controller Films --contact privacy@films.example"
        hushrec(f"ledger extend own.db {declared}")
        more = "--model global-effects --ledger own.db -o one.safetensors"
        hushrec(f"fit train.csv --domain domain.json {budget} {more}")
        evaluated = hushrec(
            "evaluate one.safetensors --train train.csv --test test.csv --domain domain.json --json"
        )
        Path("accuracy.json").write_text(evaluated.out, "utf-8")
        audited = hushrec(f"audit global-effects {budget} --runs 1000 --json")
        Path("audit.json").write_text(audited.out, "utf-8")
        hushrec("ledger export own.db -o history.json")
    return folder


@pytest.fixture
def one(here, evidence):
    """The same files, in a folder of the test's own."""
    for file in evidence.iterdir():
        if file.is_file() and not Path(file.name).exists():
            shutil.copy2(file, file.name)
    return Path("one.safetensors")


def text(name):
    return Path(name).read_text("utf-8")


@pytest.mark.full
def test_a_card_stands_by_itself(one, hushrec):
    assert hushrec("show one.safetensors --html card.html").out == "Wrote card.html\n"
    shown = read(text("card.html"))
    assert addresses(text("card.html")) == []
    assert hr.Release.open(one).statement.sentence in shown
    assert hashlib.sha256(one.read_bytes()).hexdigest() in shown
    assert "controller Films" in shown
    assert "secret" not in shown
    assert "No audit was given." in shown
    assert "hushrec audit global-effects --epsilon 1 --delta 1e-06 --unit user" in shown
    hushrec("show one.safetensors --md card.md")
    assert text("card.md").startswith("# one\\.safetensors\n")


@pytest.mark.full
def test_a_card_in_german_is_german_in_its_summary(one, hushrec, refused):
    hushrec("show one.safetensors --html karte.html --md karte.md --lang de")
    said = hr.Release.open(one).statement.sentences(Words("de"))
    assert said["sentence"] in read(text("karte.html"))
    assert '<html lang="de">' in text("karte.html")
    summary, note, rest = text("karte.md").partition(Words("de")("untranslated_card"))
    assert note
    assert "## Die Zusicherung\n" in summary
    assert rest.startswith("\n\n## Audit\n")
    assert "choose one of de, en" in refused("show one.safetensors --html card.html --lang fr")


def test_evidence_of_this_release_stands_on_it(one, hushrec):
    given = "--audit audit.json --accuracy accuracy.json --history history.json"
    hushrec(f"show one.safetensors {given} --html card.html")
    shown = read(text("card.html"))
    assert "canary, 1,000 runs ε ≥" in shown
    assert "NOT PRIVATE: these figures were measured" in shown
    rmse = next(s for s in json.loads(text("accuracy.json"))["scores"] if s["metric"] == "rmse")
    assert f"{rmse['value']:.4f}" in shown
    assert "records this file, byte for byte, as release 1." in shown
    assert "secret" not in shown


def test_evidence_of_another_release_is_refused(one, hushrec, refused, budget):
    more = "--model global-effects --ledger own.db -o two.safetensors"
    hushrec(f"fit train.csv --domain domain.json {budget} {more}")
    for given, told in (
        ("--accuracy accuracy.json", "figures of another file"),
        ("--history history.json", "ends before"),
        ("--audit accuracy.json", "is not what hushrec audit --json prints"),
        ("--audit nowhere.json", "cannot be read"),
        ("--key history.json", "holds no public key"),
    ):
        assert told in refused(f"show two.safetensors {given} --html card.html")
    changed = json.loads(text("audit.json")) | {"epsilon": 2.0}
    Path("audit.json").write_text(json.dumps(changed), "utf-8")
    assert "it differs in ε" in refused("show two.safetensors --audit audit.json --html card.html")
    assert not Path("card.html").exists()


def test_an_altered_history_is_refused(one, refused):
    Path("history.json").write_text(text("history.json").replace("Films", "Filme"), "utf-8")
    assert "was altered" in refused("show one.safetensors --history history.json --html card.html")


def test_settings_that_are_not_the_defaults_are_in_the_command(here, hushrec, budget):
    more = "--model covariance-svd --set rank=2 --set covariance.clip=0.25 --ledger a.db --new-ledger"
    hushrec(f"fit train.csv --domain domain.json {budget} {more} -o a.safetensors")
    hushrec("show a.safetensors --md card.md")
    assert " --set rank=2 " in text("card.md")
    assert " --set covariance.clip=0.25 " in text("card.md")


def test_a_name_in_a_file_imports_nothing_and_writes_no_command(here, hushrec):
    Path("planted.py").write_text("open('PWNED', 'w')", "utf-8")
    for number, (model, settings) in enumerate(
        (
            ("planted:Model", {}),
            ("x; touch PWNED #", {}),
            ("PrivateEASE", {"no_such_setting": 1}),
            ("PrivateEASE", {"rank; touch PWNED #": 1}),
        )
    ):
        name = f"{number}.safetensors"
        release(statement=statement(model=model), model=model, settings=settings).save(name)
        hushrec(f"show {name} --md card.md")
        assert "hushrec audit private-ease" not in text("card.md")
        assert "hushrec does not know this model" in text("card.md")
    assert not Path("PWNED").exists()


def test_a_baseline_is_not_private_before_all_else(here, hushrec):
    ratings = hr.load("train.csv", hr.Domain.open("domain.json"))
    hr.baseline(ratings, hr.GlobalEffects()).save("plain.safetensors")
    hushrec("show plain.safetensors --html card.html")
    shown = read(text("card.html"))
    assert shown.index("NOT PRIVATE") < shown.index("What it promises")


def test_a_data_set_has_a_card(here, hushrec, refused):
    hushrec(
        f"randomize train.csv --domain domain.json {RANDOMIZED} --ledger a.db --new-ledger -o rows.parquet"
    )
    hushrec("show rows.parquet --html card.html")
    shown = read(text("card.html"))
    assert "Card of a data set" in shown
    assert "data set by RandomizedResponse, 120 people, " in shown
    assert "Local model" in shown
    assert "does not sign" in refused("show rows.parquet --key a.pub --html card.html")


def test_a_card_is_html_or_markdown_or_both(one, hushrec, refused):
    assert "name it card.html" in refused("show one.safetensors --html card.pdf")
    assert "name it card.md" in refused("show one.safetensors --md card.html")
    written = hushrec("show one.safetensors --html card.html --md card.md").out
    assert written == "Wrote card.html\nWrote card.md\n"


def test_what_is_for_the_card_needs_one(one, refused):
    for given in ("--audit audit.json", "--accuracy accuracy.json", "--history history.json"):
        assert "give --html or --md as well" in refused(f"show one.safetensors {given}")
    assert "leave out --json" in refused("show one.safetensors --html card.html --json")
    assert not Path("card.html").exists()
