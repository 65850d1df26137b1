"""The server that the tests start is one that a curator could rely on."""

import psycopg
import pytest

pytestmark = pytest.mark.postgres


def test_it_forces_every_commit_to_disk_and_asks_for_a_password(postgres) -> None:
    name = postgres.database()
    with psycopg.connect(postgres.url(name)) as database:
        for setting in ("fsync", "full_page_writes", "synchronous_commit"):
            assert database.execute(f"SHOW {setting}").fetchone() == ("on",)
    with pytest.raises(psycopg.OperationalError):
        psycopg.connect(postgres.url(name).replace(":hunter2", ":wrong"))
    assert postgres.psql("SELECT current_database()", database=name).strip() == name
    with psycopg.connect(postgres.url(name, tcp=False)) as database:
        assert database.execute("SELECT 1").fetchone() == (1,)


def test_it_comes_back_after_a_crash(postgres) -> None:
    name = postgres.database()
    postgres.psql("CREATE TABLE kept AS SELECT 1 AS x", database=name)
    postgres.stop("immediate")
    postgres.start()
    assert postgres.psql("SELECT x FROM kept", database=name).strip() == "1"
