"""A year from the command line: what is taken over is said, and may be left out."""

from pathlib import Path

import pytest

import hushrec as hr

FIT = "fit train.csv --domain domain.json --model global-effects --epsilon auto --ledger ledger.db"


@pytest.fixture
def year(here, hushrec, budget):
    hushrec(f"ledger create ledger.db {budget} --max-releases 6")


@pytest.fixture
def run(hushrec):
    def fit(name, more=""):
        return " ".join(hushrec(f"{FIT} -o {name}.safetensors {more}").out.split())

    return fit


def statement(name):
    return hr.Release.open(Path(f"{name}.safetensors")).statement


def test_what_is_taken_over_is_said_and_can_be_left_out(year, run, hushrec):
    assert "This release alone: ε = " in run("one")
    assert "This release, with the sums of 1 earlier one that it holds: ε = " in run("two")
    assert "This release alone: ε = " in run("three", "--fresh")
    assert "with the sums of 1 earlier one that it holds" in run("four")
    assert "This release alone: ε = " in run("five", "--without 0 --without 2")
    inside = {name: list(statement(name).earlier) for name in ("one", "two", "three", "four", "five")}
    assert inside == {"one": [], "two": [0], "three": [], "four": [2], "five": []}
    assert statement("three").year["left_out"] == [0, 1]
    assert statement("five").year["left_out"] == [0, 1, 2, 3]
    whole = " ".join(hushrec("show five.safetensors").out.split())
    assert "the sums of releases 0–3 of this ledger, which measured the same, are left out" in whole
    table = hushrec("ledger show ledger.db").out
    assert "with the sums of" in " ".join(table.split())


def test_lost_sums_are_said_before_the_ratings_are_read(year, run, refused, monkeypatch):
    run("one")
    for file in Path("ledger.db.sums").glob("*.carried"):
        file.unlink()
    with monkeypatch.context() as patch:
        patch.setattr("hushrec.cli.fit.load", None)
        text = refused(f"{FIT} -o two.safetensors")
    assert "what release 0 handed over is not here, or was altered" in text
    assert "--fresh" in text
    run("two", "--fresh")
    assert statement("two").year["left_out"] == [0]
