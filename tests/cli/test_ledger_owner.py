"""What a ledger's owner declares stands in statements, and its history is exported."""

import json
import re

import pytest

import hushrec as hr

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


def test_the_history_is_exported(here, hushrec):
    hushrec(CREATE)
    assert json.loads(hushrec("ledger export own.db").out) == hr.Ledger.open("own.db").export()
