"""The ledger that a command charges: started when asked for, in one line, and never by a typing error."""

from pathlib import Path

import pytest

import hushrec as hr
from support.commands import fit


def test_starting_a_ledger_is_asked_for_and_said_in_one_line(here, hushrec, budget):
    lines = hushrec(fit(budget)).out.splitlines()
    assert "Started ledger.db: ε = 1 at δ = 1e-06 per user, add-remove, for one release" in lines
    ledger = hr.Ledger.open("ledger.db")
    state = ledger.state()
    assert (str(state.total), state.max_releases) == ("ε = 1 at δ = 1e-06 per user, add-remove", 1)


def test_a_wrong_name_starts_no_ledger_and_is_told_first(release, hushrec, refused, budget, monkeypatch):
    hushrec("ledger extend ledger.db --epsilon 2 --max-releases 2")
    monkeypatch.setattr("hushrec.cli.fit.load", None)  # no ratings are read for it
    before = sorted(Path.cwd().iterdir())
    line = f"fit train.csv --domain domain.json {budget} -o second.safetensors --ledger"
    text = refused(f"{line} leger.db")
    assert f"there is no ledger leger.db in the folder {Path.cwd().name};" in text
    for fix in ("correct the path", "hushrec ledger create", "--new-ledger"):
        assert fix in text
    assert "no ledger ledger.db in the folder shop;" in refused(f"{line} shop/ledger.db")
    assert sorted(Path.cwd().iterdir()) == before


def test_a_ledger_that_is_there_is_not_started_again(release, refused, budget, monkeypatch):
    before = Path("ledger.db").read_bytes()
    monkeypatch.setattr("hushrec.cli.fit.load", None)  # and no ratings are read for it
    line = (
        f"fit train.csv --domain domain.json {budget} --ledger ledger.db --new-ledger -o second.safetensors"
    )
    assert "there is a ledger already; open it (without --new-ledger)" in refused(line)
    assert Path("ledger.db").read_bytes() == before


# -- shares -----------------------------------------------------------------------------------------------

AUTO = "fit train.csv --domain domain.json --model global-effects --epsilon auto --ledger ledger.db"


@pytest.fixture
def year(here, hushrec, budget):
    hushrec(f"ledger create ledger.db {budget} --max-releases 52")


def test_auto_takes_one_share_after_the_other_and_says_so(year, hushrec):
    first = hushrec(f"{AUTO} -o one.safetensors").out
    assert "This release alone: ε = 0.6889 at δ = 1e-06.\n" in first
    assert "for 51 more releases" in first
    second = hushrec(f"{AUTO} -o two.safetensors").out
    assert "for 50 more releases" in second
    assert "This release, with the sums of 1 earlier one that it holds: ε = 0.69" in second
    state = hr.Ledger.open("ledger.db").state()
    assert state.releases_left == 50
    assert hr.split_budget(state.total, 52, first=True).epsilon == 0.6889


def test_a_charge_beyond_its_share_asks(year, hushrec, refused, budget):
    """The fault that was seen: a ledger for 52 releases lets the first take all of it."""
    line = AUTO.replace("--epsilon auto", budget)
    text = refused(f"{line} -o one.safetensors")
    assert "more than half of what the ledger has left, which is the share of the first of 52" in text
    assert "--accept share" in text
    assert "Its share is ε = 0.6889: --epsilon auto takes it" in text
    assert not hr.Ledger.open("ledger.db").state().charges
    taken = hushrec(f"{line} -o one.safetensors --accept share").out
    assert "Left in the ledger: ε = 0, for 51 more releases." in taken
    assert "too little for 51 more releases" in refused(f"{AUTO} -o two.safetensors")


GREAT = "--epsilon 10 --delta 1e-6 --unit user --adjacency add-remove"


def test_an_epsilon_that_promises_little_is_charged_only_if_that_is_accepted(here, hushrec, refused):
    line = fit(GREAT, more="--model global-effects")
    said = refused(line)  # before the ratings are read
    assert "ε = 10 per user is too weak to promise much: odds may change 22,100 times" in said
    assert "--accept weak" in said
    assert not Path("ledger.db").exists()
    hushrec(f"ledger create ledger.db {GREAT} --max-releases 2")
    for share in ("", "--accept share"):  # which does not stand for the other
        more = f"--model global-effects {share}"
        assert hushrec(fit(GREAT, more=more), 2).err.count("Nothing was charged") == bool(share)
    assert not hr.Ledger.open("ledger.db").state().charges
    hushrec(fit(GREAT, more="--model global-effects --accept share --accept weak"))
    assert len(hr.Ledger.open("ledger.db").state().charges) == 1


@pytest.mark.parametrize(
    ("options", "message"),
    [
        ("--unit record", "--epsilon auto takes δ, unit and adjacency from the ledger: leave them out"),
        ("--new-ledger", "create it with its total and the number of releases"),
    ],
)
def test_auto_takes_the_rest_of_the_budget_from_the_ledger(year, hushrec, refused, options, message):
    assert message in refused(f"{AUTO} -o one.safetensors {options}")


def test_auto_needs_a_ledger_that_is_there(year, refused):
    assert "there is no ledger leger.db" in refused(
        f"{AUTO.replace('ledger.db', 'leger.db')} -o one.safetensors"
    )
