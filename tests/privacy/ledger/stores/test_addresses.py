"""What a URL says of a ledger's place, and what is never said again."""

import pytest

from hushrec.errors import LedgerError
from hushrec.privacy.ledger.stores.connection import address_of

SECRET = "tulip7"


@pytest.mark.parametrize(
    ("url", "name", "place"),
    [
        ("postgresql://db.example.org/films", "films", "postgresql://db.example.org/films"),
        ("postgres://db:5433/films?ledger=likes", "likes", "postgresql://db:5433/films?ledger=likes"),
        (f"postgresql://ann:{SECRET}@db/films", "films", "postgresql://db/films"),
        (f"postgresql://db/films?password={SECRET}&user=ann&ledger=films", "films", "postgresql://db/films"),
        (f"postgresql://ann:{SECRET}@one:5432,two:5432/films", "films", "postgresql://one:5432,two:5432/films"),
        (f"postgresql://ann:{SECRET}@[::1]:5432/films", "films", "postgresql://[::1]:5432/films"),
        ("postgresql:///films?host=/run/postgresql", "films", "postgresql:///films"),
        ("postgresql://%2Frun%2Fpostgresql/films", "films", "postgresql:///run/postgresql/films"),
        (f"postgresql:///?service=films&password={SECRET}&ledger=likes", "likes", "postgresql:///?ledger=likes"),
    ],
)  # fmt: skip
def test_a_place_is_named_without_user_and_password(url: str, name: str, place: str) -> None:
    address = address_of(url)
    assert (address.name, address.place) == (name, place)
    assert SECRET not in repr(address)
    assert "ledger" not in address.parameters
    if SECRET in url:
        assert address.parameters["password"] == SECRET


def test_libpq_gets_what_is_its_own() -> None:
    address = address_of(f"postgresql://ann:{SECRET}%40%2F@db:5433/films?sslmode=verify-full&ledger=likes")
    assert address.parameters == {
        "user": "ann", "password": f"{SECRET}@/", "host": "db", "port": "5433", "dbname": "films",
        "sslmode": "verify-full",
    }  # fmt: skip
    assert address.named("stars").place == "postgresql://db:5433/films?ledger=stars"
    assert address.named("stars").parameters == address.parameters


@pytest.mark.parametrize("stray", "@/?#:[]")
def test_a_password_that_breaks_the_url_is_not_repeated(stray: str) -> None:
    """Wherever the rest of it would have landed: in the host, the port, the path, the query or nowhere."""
    for url in (
        f"postgresql://ann:{SECRET}{stray}{SECRET}@db/films",
        f"postgresql://ann:{stray}{SECRET}@db/films",
        f"postgresql://ann:{SECRET}{stray}@db/films",
        f"postgresql://ann:{SECRET}",
        f"postgresql://ann:{SECRET}{stray}db/films",
        f"postgresql://ann:12{stray}{SECRET}@db/films?ledger=films",
    ):
        try:
            address = address_of(url)
            said = address.place + address.name + repr(address)
        except LedgerError as error:
            said = str(error) + str(error.__cause__)
        assert SECRET not in said


@pytest.mark.parametrize(
    "url",
    ["postgresql://db/", "postgresql://db/films?ledger=", "postgresql://db/films?ledger=a b", "postgresql://db/a%0Ab",
     "postgresql:///?service=films", "postgresql://db/films?ledger=../x"],
)  # fmt: skip
def test_a_ledger_has_a_plain_name(url: str) -> None:
    with pytest.raises(LedgerError, match=r"add \?ledger=NAME"):
        address_of(url)


@pytest.mark.parametrize(
    "url", ["postgresql://db/films?sslmod=x", "postgresql://db/films?x", "postgresql://[db/f"]
)
def test_what_libpq_does_not_know_is_refused(url: str) -> None:
    with pytest.raises(LedgerError, match="not the URL of a database"):
        address_of(url)
