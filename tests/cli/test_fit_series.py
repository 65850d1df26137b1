"""``hushrec fit --series``: the same command each week, one charge, the bytes of what was lost."""

import json
from pathlib import Path

import polars as pl
import pytest

import hushrec as hr


@pytest.fixture
def weeks(here, hushrec):
    """Two weeks of ratings, and a ledger for three releases."""
    table = pl.read_csv("train.csv", infer_schema=False)
    table.head(len(table) // 2).write_csv("week-1.csv")
    table.write_csv("week-2.csv")
    hushrec(
        "ledger create ledger.db --epsilon 4 --delta 1e-6 --unit user --adjacency add-remove "
        "--max-releases 3 --domain domain.json"
    )
    return "--domain domain.json --ledger ledger.db --series year"


def flat(text):
    return " ".join(text.split())


def test_the_same_command_each_week(weeks, hushrec, refused):
    planned = hushrec("plan --domain domain.json --series ledger.db").out
    assert planned.splitlines()[0].endswith("for all 3 releases of the series together,")
    facts = json.loads(hushrec("plan --domain domain.json --series ledger.db --json").out)
    assert (facts["kind"], facts["epsilon"]) == ("plan", pytest.approx(4))
    assert not Path("year").exists()
    for number in (1, 2):
        result = hushrec(f"fit week-{number}.csv {weeks} -o week-{number}.safetensors")
        said = f"release {number} of a series of 3"
        assert said in str(hr.Release.open(f"week-{number}.safetensors").statement)
        assert "Next: hushrec recommend" in result.out
        assert "All 3 releases of this series together: ε = 4 at δ = 1e-06 per user" in result.out
        assert f"This is number {number}; its cost is part of the ε = " in flat(result.out)
        assert "Left in the ledger" not in result.out
        left = {1: "2 more releases of this series follow", 2: "1 more release of this series follows"}
        assert left[number] in result.out
        assert "secret-" not in result.out + result.err
    again = f"fit week-1.csv {weeks} --release-index 0 -o again.safetensors"
    hushrec(again)
    assert Path("again.safetensors").read_bytes() == Path("week-1.safetensors").read_bytes()
    assert hr.Ledger.open("ledger.db").releases_left == 1
    hushrec("recommend week-2.safetensors --rating i00000=5")
    going = "hushrec fit --series makes the others, which cost nothing more"
    assert going in flat(hushrec("ledger show ledger.db").out)
    third = hushrec(f"fit week-2.csv {weeks} -o week-3.safetensors").out
    assert "This was the last release of this series.\n" in third
    assert going not in flat(hushrec("ledger show ledger.db").out)
    assert "all 3 releases of this series are made" in refused(f"fit week-2.csv {weeks} -o 4.safetensors")
    hushrec(f"fit week-1.csv {weeks} --release-index 1 -o second.safetensors")
    assert Path("second.safetensors").read_bytes() == Path("week-2.safetensors").read_bytes()


def test_a_ledger_without_a_series_does_not_speak_of_one(weeks, hushrec):
    assert "fit --series" not in hushrec("ledger show ledger.db").out


def test_interactions_are_counted(here, hushrec):
    hushrec("domain --items catalogue.csv --interactions --max-users 200 -o clicks.json")
    hushrec(
        "ledger create ledger.db --epsilon 4 --delta 1e-6 --unit user --adjacency add-remove --max-releases 3"
    )
    hushrec(
        "fit train.csv --domain clicks.json --ledger ledger.db --series year --accept rating "
        "-o first.safetensors"
    )
    assert hr.Release.open("first.safetensors").model == "Popularity"


def test_what_is_missing_is_named(weeks, refused):
    assert "hushrec plan --series LEDGER" in refused(
        "fit week-1.csv --domain domain.json --series year -o o.safetensors"
    )
    assert "there is no ledger no.db" in refused(
        "fit week-1.csv --domain domain.json --ledger no.db --series y -o o.safetensors"
    )
    assert not Path("y").exists()


@pytest.mark.parametrize(
    ("more", "named"),
    [
        ("--epsilon 1 --delta 1e-6", "leave out --epsilon and --delta"),
        ("--model global-effects", "leave out --model"),
        ("--new-ledger", "leave out --new-ledger"),
        ("--no-checkpoint --where memory", "leave out --no-checkpoint and --where"),
    ],
)
def test_what_does_not_go_with_a_series_is_refused(weeks, refused, more, named):
    said = refused(f"fit week-1.csv {weeks} -o week-1.safetensors {more}")
    assert said.endswith(f"its budget from the ledger, and its model from the domain: {named}")
    assert not Path("year").exists()


def test_the_plan_of_a_series_takes_no_budget(weeks, refused):
    line = "plan --domain domain.json --series ledger.db --epsilon 1 --unit user"
    assert "leave out --epsilon and --unit" in refused(line)
    assert "there is no ledger no.db" in refused("plan --domain domain.json --series no.db")


def test_a_release_that_was_charged_is_not_lost_with_the_disk(weeks, refused, hushrec, monkeypatch):
    def full(self, path):
        raise OSError(28, "No space left on device")

    line = f"fit week-1.csv {weeks} -o week-1.safetensors"
    with monkeypatch.context() as patch:
        patch.setattr(hr.Release, "save", full)
        assert "--release-index 0 and another file" in refused(line)
    assert "Wrote" in hushrec(f"{line} --release-index 0").out
