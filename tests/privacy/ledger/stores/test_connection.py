"""A server that may forget is refused, and errors say what to do but no secret."""

import traceback

import psycopg
import pytest

from hushrec.errors import LedgerDamaged, LedgerError, LedgerMissing
from hushrec.privacy.accounting.budget import Budget
from hushrec.privacy.ledger.ledger import Ledger
from hushrec.privacy.ledger.stores import connection
from hushrec.privacy.ledger.stores.connection import address_of

TOTAL = Budget(epsilon=2.0, delta=1e-6, unit="user", adjacency="add-remove")
ADDRESS = address_of("postgresql://ann:tulip7@db.example.org/films")


@pytest.mark.parametrize(
    ("state", "kind", "says"),
    [
        ("28P01", LedgerError, "refuses this user"),
        ("42501", LedgerError, "hushrec_spender"),
        ("3D000", LedgerError, "no such database"),
        ("55P03", LedgerError, "another process holds the ledger"),
        ("25006", LedgerError, "the primary"),
        ("40001", LedgerError, "try again"),
        ("40P01", LedgerError, "try again"),
        ("53100", LedgerError, "disk is full"),
        ("53300", LedgerError, "out of connections"),
        ("23514", LedgerError, "exceed the total"),
        ("57P03", LedgerError, "starting"),
        ("58030", LedgerError, "disk failed"),
        ("42P01", LedgerDamaged, "tables were altered"),
        ("XX001", LedgerError, "SQLSTATE XX001"),
    ],
)
def test_every_kind_of_error_has_its_remedy(state: str, kind: type[LedgerError], says: str) -> None:
    error = psycopg.errors.lookup(state)("Failing row contains (tulip7, 5).")
    told = connection.explained(error, ADDRESS)
    assert type(told) is kind
    assert says in str(told)
    assert "tulip7" not in str(told)


def test_libpq_is_repeated_without_the_password() -> None:
    error = psycopg.OperationalError('connection to "db" failed: no tulip7 here\nand more')
    told = str(connection.explained(error, ADDRESS))
    assert told == (
        "the ledger did not record this step: postgresql://db.example.org/films cannot be reached "
        '(connection to "db" failed: no … here)'
    )


def test_what_the_server_says_of_a_login_is_not_repeated() -> None:
    said = 'password authentication failed for user "ann"'
    error = psycopg.OperationalError(f'connection failed: connection to "db" failed: FATAL:  {said}')
    told = str(connection.explained(error, ADDRESS))
    assert "refuses the connection; correct the user, the password" in told
    assert '"ann"' not in told


def test_a_database_that_is_not_there_is_no_empty_ledger() -> None:
    with pytest.raises(LedgerError, match=r"postgresql://127\.0\.0\.1:9/films cannot be reached") as refused:
        Ledger.open("postgresql://ann:tulip7@127.0.0.1:9/films")
    assert "tulip7" not in "".join(traceback.format_exception(refused.value)).replace("ann:tulip7@", "")


# -- on a server ------------------------------------------------------------------------------------------


@pytest.mark.postgres
def test_no_message_has_a_password(postgres) -> None:
    from support.postgres import PASSWORD

    url = postgres.url(postgres.database())
    wrong = url.replace(PASSWORD, "tulip7")
    nowhere = postgres.url("nowhere")
    with pytest.raises(LedgerError, match="refuses the connection") as refused:
        Ledger.open(wrong)
    assert '"postgres"' not in str(refused.value)
    for given in (wrong, nowhere, url):
        for use in (Ledger.open, lambda given: Ledger.create(given, TOTAL, 0)):
            with pytest.raises((LedgerError, ValueError)) as refused:
                use(given)
            told = traceback.format_exception_only(refused.value)
            assert PASSWORD not in str(told)
            assert "tulip7" not in str(told)
    with pytest.raises(LedgerMissing, match="there is no ledger test_"):
        Ledger.open(url)


@pytest.mark.postgres
@pytest.mark.parametrize("setting", ["fsync", "full_page_writes"])
def test_a_server_that_may_forget_is_refused(postgres, setting: str) -> None:
    url = postgres.url(postgres.database())
    ledger = Ledger.create(url, TOTAL)
    postgres.stop()
    postgres.start(**{setting: "off"})
    try:
        for use in (lambda: Ledger.open(url), lambda: ledger.declare(contact="x"), ledger.state):
            with pytest.raises(LedgerError, match=f"the database has {setting} = off.*set {setting} = on$"):
                use()
    finally:
        postgres.stop()
        postgres.start()
    ledger.declare(contact="x")


@pytest.mark.postgres
def test_commits_are_waited_for_whatever_the_server_says(postgres, monkeypatch: pytest.MonkeyPatch) -> None:
    name = postgres.database()
    Ledger.create(postgres.url(name), TOTAL)
    postgres.psql(f"ALTER DATABASE {name} SET synchronous_commit = off")
    ledger, asked = Ledger.open(postgres.url(name)), []
    begin = connection.begin

    def spy(database: object, mode: str) -> None:
        begin(database, mode)
        asked.append(database.execute("SHOW synchronous_commit").fetchone()[0])

    from hushrec.privacy.ledger.stores import postgres as module

    monkeypatch.setattr(module, "begin", spy)
    ledger.declare(contact="x")
    assert asked == ["on"]
    monkeypatch.setitem(connection._PATIENCE, "synchronous_commit", "off")
    with pytest.raises(LedgerError, match="synchronous_commit = off"):
        ledger.declare(contact="y")


@pytest.mark.postgres
def test_a_database_that_is_read_only_is_refused(postgres) -> None:
    name = postgres.database()
    ledger = Ledger.create(postgres.url(name), TOTAL)
    postgres.psql(f"ALTER DATABASE {name} SET default_transaction_read_only = on")
    with pytest.raises(LedgerError, match="read-only, or a standby"):
        ledger.declare(contact="x")
    postgres.psql(f"ALTER DATABASE {name} RESET default_transaction_read_only")
    ledger.declare(contact="x")
    assert ledger.state().head.seq == 1


@pytest.mark.postgres
def test_a_database_in_another_encoding_is_refused(postgres) -> None:
    postgres.psql("CREATE DATABASE latin ENCODING 'LATIN1' TEMPLATE template0")
    with pytest.raises(LedgerError, match="LATIN1; create one WITH ENCODING 'UTF8'"):
        Ledger.create(postgres.url("latin"), TOTAL)


@pytest.mark.postgres
@pytest.mark.parametrize(
    "statement",
    [
        "DROP TABLE hushrec.artefact",
        "CREATE TABLE hushrec.more (x int)",
        "ALTER TABLE hushrec.log DISABLE TRIGGER refused",
        "ALTER TABLE hushrec.account DROP CONSTRAINT account_check",
        "GRANT UPDATE ON hushrec.account TO hushrec_spender",
        "GRANT UPDATE (spent) ON hushrec.account TO PUBLIC",
        "GRANT EXECUTE ON FUNCTION hushrec.create_ledger TO PUBLIC",
        "GRANT EXECUTE ON FUNCTION hushrec.append TO hushrec_spender WITH GRANT OPTION",
        "ALTER FUNCTION hushrec.append SET search_path = public",
        "ALTER FUNCTION hushrec.append OWNER TO postgres",
        "CREATE RULE lost AS ON INSERT TO hushrec.log DO INSTEAD NOTHING",
        "CREATE OR REPLACE FUNCTION hushrec.require_no_spender() RETURNS void LANGUAGE sql "
        "SET search_path = pg_catalog, pg_temp AS 'SELECT'",
    ],
)
def test_tables_functions_and_rights_that_were_altered_are_refused(postgres, statement: str) -> None:
    name = postgres.database()
    ledger = Ledger.create(postgres.url(name), TOTAL)
    postgres.psql(statement, database=name)
    for use in (lambda: Ledger.open(postgres.url(name)), lambda: ledger.declare(contact="x")):
        with pytest.raises(LedgerDamaged, match="were altered"):
            use()


@pytest.mark.postgres
def test_what_is_expected_is_what_the_script_sets_up(postgres) -> None:
    """If this fails after a change of postgres.sql or structure.sql, ``EXPECTED`` is the hash it shows."""
    address = address_of(postgres.url(postgres.database()))
    with connection.connected(address) as database:
        connection.begin(database, "READ COMMITTED")
        database.execute(connection.script("postgres").encode())
        assert connection.fingerprint(database) == connection.EXPECTED
