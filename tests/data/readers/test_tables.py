"""Every file and table of a source, once each and under its name."""

from pathlib import Path

import polars as pl
import pytest

from hushrec.data.readers.columns import RATED
from hushrec.data.readers.dataframes import parts_of, tables
from hushrec.data.reading import PLAIN, Reading
from hushrec.errors import DataError

TABLE = pl.DataFrame({"user_id": ["x"], "item_id": ["10"], "rating": [3.0]})


def test_files_and_tables_are_read_in_their_order(tmp_path):
    TABLE.write_csv(tmp_path / "r.csv")
    other = TABLE.with_columns(user_id=pl.lit("y"))
    read = [(name, table) for table, name in tables([tmp_path / "r.csv", TABLE, other], RATED, PLAIN)]
    assert {name for name, _ in read} == {str(tmp_path / "r.csv"), "the table"}
    assert pl.concat(table["user_id"] for _, table in read).to_list() == ["x", "x", "y"]


def test_what_is_named_twice_or_not_at_all_is_refused(tmp_path):
    TABLE.write_csv(tmp_path / "r.csv")
    with pytest.raises(DataError, match="is named twice, so its records would count twice"):
        parts_of([tmp_path / "r.csv", Path(f"{tmp_path}/./r.csv")], PLAIN)
    with pytest.raises(DataError, match="there is no file to read"):
        parts_of([], PLAIN)


def test_only_files_have_a_format():
    with pytest.raises(DataError, match="go with a file, not with a table"):
        [*tables(TABLE, RATED, Reading(separator=";"))]


def test_an_address_is_refused_without_its_password():
    for given in ("postgresql://ann:hunter2@host/db", "postgresql:/ann:hunter2@host/db"):
        with pytest.raises(DataError, match="an address") as caught:
            parts_of(given, PLAIN)
        assert "hunter2" not in str(caught.value)
