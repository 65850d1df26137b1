"""What a ledger's owner declares stands in statements, and anybody can check its exported history."""

import hashlib
import json
import re

import pytest

import hushrec as hr
from hushrec.errors import LedgerError

CREATE = "ledger create own.db --epsilon 4 --delta 1e-6 --unit user --adjacency add-remove --max-releases 2"


def test_what_the_owner_declares_stands_in_statements(here, hushrec, refused, budget):
    hushrec(f"{CREATE} --population subscribers --controller Films")
    assert "contact     us@films.example" in hushrec("ledger extend own.db --contact us@films.example").out
    assert "or declare --population, --controller or --contact" in refused("ledger extend own.db")
    hushrec(f"fit train.csv --domain domain.json {budget} --ledger own.db -o own.safetensors")
    said = hr.Release.open("own.safetensors").statement
    assert {name: said.ledger[name] for name in ("population", "controller", "contact")} == {
        "population": "subscribers",
        "controller": "Films",
        "contact": "us@films.example",
    }
    assert said.ledger["total_epsilon"] == 4
    assert said.ledger["spent_epsilon"] == pytest.approx(said.epsilon, abs=1e-9)
    assert re.fullmatch(r"\d{4}-\d\d-\d\d", said.ledger["date"])
    assert "spent with this release: ε = 1 of a total of 4" in str(said)
    lines = hushrec("ledger show own.db").out.splitlines()
    for name in ("population", "controller", "contact"):
        assert f"{name:<10}  {said.ledger[name]}" in lines
    facts = json.loads(hushrec("ledger show own.db --json").out)
    assert (facts["kind"], facts["version"]) == ("ledger", 3)
    assert facts["population"] == "subscribers"
    assert facts["epsilon"] == 4
    assert [release["release_index"] for release in facts["releases"]] == [0]


def test_a_declaration_is_a_decision_of_its_own(here, hushrec, refused):
    hushrec(CREATE)
    for more in ("--epsilon 5", "--max-releases 3", "--confirm"):
        assert "two decisions" in refused(f"ledger extend own.db --controller Films {more}")
    state = hr.Ledger.open("own.db").state()
    assert (state.total.epsilon, state.max_releases, state.declared) == (4, 2, {})
    assert "nothing waits to be confirmed" in refused("ledger extend own.db --confirm --epsilon 5")


def test_a_ledger_without_a_controller_says_how_to_declare_one(here, hushrec):
    hint = "Statements will not say who answers for the data: hushrec ledger extend LEDGER --controller NAME"
    assert hint in hushrec(CREATE).out
    (here / "own.db").unlink()
    assert "who answers" not in hushrec(f"{CREATE} --controller Films").out


def test_seeded_releases_have_no_day(here):
    total = hr.Budget(epsilon=4.0, delta=1e-6, unit="user", adjacency="add-remove")
    train = hr.load("train.csv", hr.Domain.open("domain.json"))
    ledger = hr.Ledger.create("seeded.db", total)
    hr.testing.fit(train, hr.GlobalEffects(), total, ledger=ledger, entropy=hr.testing.Seeded(1))
    assert not any('"date"' in record["record"] for record in ledger.export()["records"])


def test_anybody_can_verify_an_exported_history(here, hushrec, refused, budget):
    """The check that the documentation gives, on the history and on a history that somebody changed."""
    hushrec(f"{CREATE} --population subscribers")
    hushrec(f"fit train.csv --domain domain.json {budget} --ledger own.db -o own.safetensors")
    hushrec("ledger export own.db -o history.json")
    assert "cannot be written" in refused("ledger export own.db -o history.json")
    told = json.loads(hushrec("ledger export own.db").out)
    assert told == json.loads((here / "history.json").read_text("utf-8"))

    def head(records):
        last = bytes(32)
        for record in records:
            number, text = record["seq"].to_bytes(8, "big"), record["record"].encode()
            last = hashlib.sha256(last + number + text).digest()
            if last.hex() != record["hash"]:
                return ""
        return last.hex()

    assert head(told["records"]) == told["last_head"] == hr.Ledger.open("own.db").state().head.hash
    cited = hr.Release.open("own.safetensors").statement.ledger
    assert told["records"][cited["seq"]]["hash"] == cited["head"]
    text = told["records"][1]["record"]
    told["records"][1]["record"] = text.replace('"epsilon":1', '"epsilon":2') + " "
    assert head(told["records"]) == ""


@pytest.mark.parametrize("text", ["a\nb", "\x1b[2J", "x" * 201])
def test_what_could_spoil_a_statement_is_not_declared(here, text):
    total = hr.Budget(epsilon=4.0, delta=1e-6, unit="user", adjacency="add-remove")
    with pytest.raises(LedgerError, match="at most 200 printable"):
        hr.Ledger.create("spoilt.db", total, population=text)
    assert not (here / "spoilt.db").exists()
    ledger = hr.Ledger.create("good.db", total, contact="us")
    with pytest.raises(LedgerError, match="at most 200 printable"):
        ledger.declare(contact=text)
    assert ledger.state().declared == {"contact": "us"}
