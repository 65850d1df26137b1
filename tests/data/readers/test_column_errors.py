"""What an error about columns advises: the separator, the shape, names or positions; never a cell."""

import polars as pl
import pytest

from hushrec.data.domain import Domain
from hushrec.data.load import load
from hushrec.data.readers import columns
from hushrec.errors import DataError
from support.refusals import refused

GIVEN = Domain(["a"], max_users=5)
WIDE = ["who", "SECRET 1", "SECRET 2", "SECRET 3", "SECRET 4", "SECRET 5", "SECRET 6", "SECRET 7"]


@pytest.mark.parametrize(
    ("mark", "fix"),
    [
        (";", 'separator=";"'),
        ("\t", 'format="tsv"'),
        ("|", 'separator="|"'),
        ("::", 'format="dat"'),
    ],
)
def test_another_separator_is_named_and_nothing_of_the_line(tmp_path, mark, fix):
    for head in (["user_id", "item_id", "rating"], ["SECRET", "SECRET", "5"]):
        (tmp_path / "r.csv").write_text(mark.join(head) + "\n" + mark.join(["x", "a", "5"]) + "\n")
        assert f"give {fix}" in refused(tmp_path / "r.csv")


def test_another_separator_is_named_without_a_header_too(tmp_path):
    (tmp_path / "r.dat").write_text("SECRET,a,5\n")
    assert 'commas: give format="csv"' in refused(tmp_path / "r.dat")
    (tmp_path / "r.dat").write_text("SECRET\n")
    assert "check format= and separator=" in refused(tmp_path / "r.dat")


def test_a_line_without_any_separator_has_no_advice():
    assert columns.divided("user_id") == ""


@pytest.mark.parametrize("domain", [Domain(["a"], scale=(1, 5, 1), max_users=5), GIVEN])
def test_a_wide_sheet_is_unpivoted_by_the_line_that_is_given(domain):
    wide = pl.DataFrame({"user_id": ["x", "y"], "a": [5, None]} | {f"i{k}": [None, 1] for k in range(8)})
    with pytest.raises(DataError, match="wide sheet") as error:
        load(wide, domain)
    line = str(error.value).split("with polars: ")[1]
    long = eval(line, {"table": wide, "pl": pl})
    assert load(long, domain).to_polars()["user_id"].to_list() == ["x"]


def test_a_wide_sheet_without_a_usual_name_is_advised_and_not_shown(tmp_path):
    (tmp_path / "r.csv").write_text(",".join(WIDE) + "\n")
    message = refused(tmp_path / "r.csv")
    assert "wide sheet" in message
    assert "where USER is the column of the users" in message
    assert "SECRET" not in message
    (tmp_path / "r.csv").write_text(",".join(map(str, range(9))) + "\n")
    message = refused(tmp_path / "r.csv")
    assert "looks like data" in message
    assert "wide sheet" in message


def test_columns_are_named_as_they_are_typed_on_the_command_line(tmp_path):
    (tmp_path / "r.csv").write_text("user,what,rating\n")
    assert "--column user_id=NAME --column item_id=NAME" in refused(tmp_path / "r.csv")
    (tmp_path / "r.csv").write_text("5,10,5\n")
    assert "--column user_id=0 --column item_id=1 --column rating=2" in refused(tmp_path / "r.csv")


def test_a_table_of_records_is_not_called_wide():
    for names in (WIDE[:7], ["item", *WIDE], ["rating", *WIDE]):
        roles = ["item_id", "rating"] if names == WIDE[:7] else ["rating"]
        told = columns.named(names, ("user_id", "item_id", "rating"), roles, {"user"})
        assert "wide" not in told


def test_of_many_names_some_are_shown():
    told = columns.named(["item_id", *(f"n{k}" for k in range(90))], ("user_id",), ["user_id"], {"item"})
    assert "it has item_id, n0, n1," in told
    assert "n10 and 79 more; say which is which" in told
