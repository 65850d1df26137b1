"""What a user writes leads to one place."""

from pathlib import Path

import pytest

from hushrec.errors import LedgerError
from hushrec.privacy.ledger.stores.places import store_of
from hushrec.privacy.ledger.stores.postgres import PostgresStore
from hushrec.privacy.ledger.stores.sqlite import SqliteStore


@pytest.mark.parametrize("given", [str, Path])
def test_a_path_is_a_file(path: Path, given: type) -> None:
    store = store_of(given(path))
    assert isinstance(store, SqliteStore)
    assert (store.path, store.name, store.place) == (path.resolve(), "ledger.db", "ledger.db")
    assert not store.exists()


@pytest.mark.parametrize(
    "address",
    [
        "postgresql+psycopg://u:SEKRET@h/db",
        "postgres:/u:SEKRET@h/db",
        "postgresq://u:SEKRET@h/db",
        "host=h password=SEKRET dbname=films",
        "dbname=films Password = SEKRET",
    ],
)
@pytest.mark.parametrize("given", [str, Path])
def test_a_mistyped_address_is_no_file_and_is_not_repeated(address: str, given: type) -> None:
    with pytest.raises(LedgerError, match="must begin with postgresql://") as refused:
        store_of(given(address))
    assert "SEKRET" not in str(refused.value)


def test_a_scheme_is_read_without_case() -> None:
    store = store_of("PostgreSQL://u:SEKRET@h/films")
    assert isinstance(store, PostgresStore)
    assert store.place == "postgresql://h/films"


def test_a_drive_is_no_scheme() -> None:
    assert isinstance(store_of("C:/films.db"), SqliteStore)
