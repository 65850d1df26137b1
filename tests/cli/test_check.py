"""``hushrec check``, and the refusals of commands that charge: faults of a file cost nothing."""

from pathlib import Path

import polars as pl
import pytest

import hushrec as hr


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


def test_a_packed_folder_is_checked_too(tenfold, hushrec, refused):
    hr.load(tenfold, hr.Domain.open("domain.json"), where=Path("packed"))
    assert "A fit is refused before its charge" in hushrec("check packed --domain domain.json", 2).out
    assert "leave out columns=" in refused("check packed --domain domain.json --format csv")
