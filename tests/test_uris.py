"""An address that may hold a password is told from the name of a file."""

import pytest

from hushrec.text import is_address, scheme_of


@pytest.mark.parametrize(
    ("text", "scheme"),
    [
        ("postgresql://u:SEKRET@h/db", "postgresql"),
        ("POSTGRESQL://u:SEKRET@h/db", "postgresql"),
        ("postgresql+psycopg://u:SEKRET@h/db", "postgresql+psycopg"),
        ("postgres:/u:SEKRET@h/db", ""),
        ("host=h password=SEKRET dbname=films", ""),
        ("dbname=films PASSWORD = SEKRET", ""),
    ],
)
def test_addresses_are_recognised_also_mistyped(text, scheme):
    assert is_address(text)
    assert scheme_of(text) == scheme


@pytest.mark.parametrize(
    "text", ["ledger.db", "a/b.csv", "C:/films.csv", "C://films.csv", "ghost=1.csv", "a:b.db"]
)
def test_names_of_files_are_none(text):
    assert not is_address(text)
    assert not scheme_of(text)
