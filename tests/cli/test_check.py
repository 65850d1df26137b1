"""``hushrec check``, and the refusals of commands that charge: faults of a file cost nothing."""

import json
from pathlib import Path

import polars as pl
import pytest

import hushrec as hr
from support.commands import fit

BUDGET = "--epsilon 30 --delta 0 --unit user --adjacency replace"
RANDOMIZED = f"--domain domain.json --method randomized-response {BUDGET} --accept weak -o released.csv"


@pytest.fixture
def tenfold(here):
    """A file whose ratings are on another scale."""
    table = pl.read_csv("train.csv", infer_schema=False)
    table.with_columns(rating=pl.lit("77")).write_csv("tenfold.csv")
    return "tenfold.csv"


def test_a_file_without_fault_goes_on(here, hushrec):
    shown = hushrec("check train.csv --domain domain.json")
    assert shown.out.startswith("Confidential, for the curator only")
    assert "A fit goes on with these records." in shown.out
    assert "secret" not in shown.out + shown.err


def test_a_file_that_a_fit_refuses_has_exit_code_2(tenfold, hushrec):
    shown = hushrec(f"check {tenfold} --domain domain.json", 2)
    assert "(100.0 %) changed: the rating is outside the scale 1 to 5 by 1" in shown.out
    assert "Hints:" in shown.out
    assert "--accept dropped" in shown.out


def test_as_json(tenfold, hushrec):
    facts = json.loads(hushrec(f"check {tenfold} --domain domain.json --json", 2).out)
    assert facts["refused"] == ["dropped"]
    assert facts["confidential"]
    assert len(facts["hints"]) == 1


def test_a_packed_folder_is_checked_too(tenfold, hushrec, refused):
    hr.load(tenfold, hr.Domain.open("domain.json"), where=Path("packed"))
    assert "A fit is refused before its charge" in hushrec("check packed --domain domain.json", 2).out
    assert "leave out columns=" in refused("check packed --domain domain.json --format csv")


def test_several_files_are_checked_as_one(here, hushrec, refused):
    table = pl.read_csv("train.csv", infer_schema=False)
    table.head(9).write_csv("one.csv")
    table.slice(9).write_csv("two.csv")
    whole, parts = (
        hushrec(f"check {files} --domain domain.json").out for files in ("train.csv", "one.csv two.csv")
    )
    assert parts == whole
    assert "named twice" in refused("check one.csv one.csv --domain domain.json")


def test_another_separator_is_named(here, refused):
    pl.read_csv("train.csv").write_csv("other.csv", separator=";")
    assert 'give separator=";"' in refused("check other.csv --domain domain.json")


def test_a_fit_stops_before_its_charge_and_creates_no_ledger(tenfold, hushrec, budget):
    data = f"randomize {tenfold} {RANDOMIZED} --ledger ledger.db --new-ledger"
    for line in (fit(budget, source=tenfold), data):
        shown = hushrec(line, 2)
        *_, error = shown.err.rstrip().splitlines()
        assert "more than a tenth of the records were dropped or changed" in error
        assert "hushrec check" in error
        assert not any(character.isdigit() for character in error)
        assert "secret" not in shown.out + shown.err
        assert not Path("ledger.db").exists()


def test_a_ledger_is_unchanged_byte_for_byte(tenfold, hushrec, budget):
    hushrec(f"ledger create ledger.db {budget}")
    before = Path("ledger.db").read_bytes()
    hushrec(fit(budget, source=tenfold, out="x.safetensors", more="--sums c"), 2)
    assert Path("ledger.db").read_bytes() == before
    assert not [*Path().glob("c/*")]
    assert not Path("x.safetensors").exists()


def test_many_more_users_than_declared_stop_a_fit_unless_that_is_accepted(here, hushrec, budget):
    hushrec("domain --items catalogue.csv --scale 1 5 1 --max-users 9 -o domain.json")
    assert "A fit is refused before its charge" in hushrec("check train.csv --domain domain.json", 2).out
    data = f"randomize train.csv {RANDOMIZED} --ledger ledger.db --new-ledger"
    for line in (fit(budget), fit(budget, more="--accept dropped"), data):
        *_, error = hushrec(line, 2).err.rstrip().splitlines()
        assert "more than twice as many users as the domain declares" in error
        assert "--accept users" in error
        assert not any(character.isdigit() for character in error)
        assert not Path("ledger.db").exists()
    assert "Wrote" in hushrec(fit(budget, more="--accept users")).out


def test_what_is_accepted_is_charged(tenfold, hushrec, budget):
    assert (
        "Wrote"
        in hushrec(
            fit(budget, source=tenfold, more="--model covariance-svd --set rank=3 --accept dropped")
        ).out
    )
    hushrec(f"randomize {tenfold} {RANDOMIZED} --ledger two.db --new-ledger --accept dropped")


def test_nobody_is_charged_even_if_that_is_accepted(here, hushrec, budget):
    Path("nobody.csv").write_text("user_id,item_id,rating\nx,unknown,3\n")
    shown = hushrec(fit(budget, source="nobody.csv", more="--accept dropped"), 2)
    assert "no one has an item left" in shown.err
    assert not Path("ledger.db").exists()
