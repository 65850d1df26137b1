"""From what a user writes, a path or a URL, to the place that keeps a ledger."""

import os
from pathlib import Path

from hushrec.errors import LedgerError
from hushrec.privacy.ledger.stores.connection import SCHEMES, address_of
from hushrec.privacy.ledger.stores.postgres import PostgresStore
from hushrec.privacy.ledger.stores.sqlite import SqliteStore
from hushrec.privacy.ledger.stores.store import Store
from hushrec.text import is_address, scheme_of


def store_of(place: str | os.PathLike[str]) -> Store:
    """The store at a path, or at a URL of PostgreSQL."""
    written = os.fspath(place)
    if scheme_of(written) in SCHEMES:
        return PostgresStore(address_of(written))
    if is_address(written):  # which may hold a password
        raise LedgerError(
            "this looks like a database's address, and must begin with postgresql://, as text: a path writes "
            "// as /"
        )
    return SqliteStore(Path(place).resolve())
