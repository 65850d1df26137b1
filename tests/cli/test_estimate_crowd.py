"""``hushrec estimate-crowd``: what it writes and charges, and the fit after it."""

import json
from pathlib import Path

import hushrec as hr

LINE = "estimate-crowd train.csv --domain domain.json --ledger ledger.db -o counted.json"


def test_the_numbers_are_written_charged_and_used(here, hushrec, budget):
    hushrec(f"ledger create ledger.db {budget} --max-releases 2")
    shown = hushrec(LINE)
    counted = hr.Domain.open("counted.json")
    assert counted.crowd.declared
    assert f"about {counted.expected_users:,} users and {counted.expected_records:,} ratings" in shown.out
    assert "number of users" in shown.out
    ledger = hr.Ledger.open("ledger.db")
    assert 0.8 < ledger.remaining < 1
    made = hushrec(
        "fit train.csv --domain counted.json --epsilon auto --ledger ledger.db -o made.safetensors"
    )
    assert "Model: AdaptiveFactors, because" in made.out
    assert hr.Ledger.open("ledger.db").releases_left == 0
    hushrec(f"{LINE.replace('counted', 'again')} --release-index 0")
    assert json.loads(Path("again.json").read_text()) == json.loads(Path("counted.json").read_text())


def test_refusals_charge_nothing(here, refused, hushrec, budget):
    assert "there is no ledger ledger.db" in refused(LINE)
    hushrec(f"ledger create ledger.db {budget}")
    assert "one release more" in refused(LINE)
    assert not hr.Ledger.open("ledger.db").entries()
    hushrec("ledger extend ledger.db --epsilon 2 --max-releases 3")
    assert "exists; choose another file" in refused(LINE.replace("counted", "domain"))
    assert not hr.Ledger.open("ledger.db").entries()
    assert not Path("counted.json").exists()


def test_numbers_that_were_charged_are_not_lost_with_the_disk(here, refused, hushrec, budget, monkeypatch):
    def full(self, path):
        """Somebody else charges the ledger before this process reads it again."""
        ratings = hr.load("train.csv", self)
        tenth = hr.Ledger.open("ledger.db").total.model_copy(update={"epsilon": 0.1})
        hr.fit(ratings, hr.GlobalEffects(), tenth, ledger="ledger.db", checkpoint=False)
        raise OSError(28, "No space left on device")

    hushrec(f"ledger create ledger.db {budget} --max-releases 3")
    hushrec(LINE)
    with monkeypatch.context() as patch:
        patch.setattr(hr.Domain, "save", full)
        said = refused(LINE.replace("counted", "second"))
    assert [e.model for e in hr.Ledger.open("ledger.db").entries()][-1] == "GlobalEffects"
    assert "second.json cannot be written: No space left on device" in said
    assert "run the same command with --release-index 1 and another file" in said
    spent = hr.Ledger.open("ledger.db").spent
    hushrec(f"{LINE.replace('counted', 'second')} --release-index 1")
    assert hr.Ledger.open("ledger.db").spent == spent
