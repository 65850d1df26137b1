"""The ledger that a command charges: started when asked for, in one line, and never by a typing error."""

from pathlib import Path

import hushrec as hr
from support.commands import fit


def test_starting_a_ledger_is_asked_for_and_said_in_one_line(here, hushrec, budget):
    lines = hushrec(fit(budget)).out.splitlines()
    assert lines[0] == "Started ledger.db: ε = 1 at δ = 1e-06 per user, add-remove, for one release"
    ledger = hr.Ledger.open("ledger.db")
    assert (str(ledger.total), ledger.max_releases) == ("ε = 1 at δ = 1e-06 per user, add-remove", 1)


def test_a_wrong_name_starts_no_ledger(release, hushrec, refused, budget):
    hushrec("ledger extend ledger.db --epsilon 2 --max-releases 2")
    before = sorted(Path.cwd().iterdir())
    line = f"fit train.csv --domain domain.json {budget} -o second.safetensors --ledger"
    text = refused(f"{line} leger.db")
    assert f"there is no ledger leger.db in the folder {Path.cwd().name} (did you mean ledger.db?)" in text
    for fix in ("correct the path", "hushrec ledger create", "--new-ledger"):
        assert fix in text
    assert "does not exist either" in refused(f"{line} shop/ledger.db")
    assert sorted(Path.cwd().iterdir()) == before


def test_a_wrong_name_is_told_before_the_ratings_are_read(here, hushrec, budget, monkeypatch):
    monkeypatch.setattr("hushrec.cli.options.packed_or_loaded", None)
    hushrec(f"fit train.csv --domain domain.json {budget} --ledger leger.db -o films.safetensors", code=2)


def test_a_ledger_that_is_there_is_not_started_again(release, refused, budget, monkeypatch):
    before = Path("ledger.db").read_bytes()
    monkeypatch.setattr("hushrec.cli.options.packed_or_loaded", None)  # and no ratings are read for it
    line = (
        f"fit train.csv --domain domain.json {budget} --ledger ledger.db --new-ledger -o second.safetensors"
    )
    assert "there is a ledger already; open it (without --new-ledger)" in refused(line)
    assert Path("ledger.db").read_bytes() == before


def test_a_second_ledger_for_the_same_people_is_refused(release, refused, budget):
    line = (
        f"fit train.csv --domain domain.json {budget} --ledger second.db --new-ledger -o second.safetensors"
    )
    assert "second.db would be a second ledger of one population" in refused(line)
    Path("ledger.db").rename("../away.db")
    assert "lies films.safetensors (charged to ledger.db)" in refused(line)
    assert "films.safetensors was charged to ledger.db" in refused(line.replace("second.db", "ledger.db"))
    assert not Path("second.db").exists()


def test_a_minted_ledger_is_not_charged(release, hushrec, refused, budget):
    hushrec(f"ledger create minted.db {budget}")
    line = f"fit train.csv --domain domain.json {budget} --ledger minted.db -o second.safetensors"
    assert "minted.db would be a second ledger of one population" in refused(line)
    assert hr.Ledger.open("minted.db").entries() == ()


def test_a_budget_that_cannot_pay_starts_no_ledger(here, refused, budget):
    more = "--model published/mcsherry-effects --noise laplace --delta 0"
    assert "hushrec ledger create" in refused(fit(budget, more=more))
    assert not Path("ledger.db").exists()
