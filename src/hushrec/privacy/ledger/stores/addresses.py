"""The URL of a ledger in a database: what is connected to, and what may be said about it.

Privacy: public, except for ``parameters``, which may hold a password.
"""

import re
from dataclasses import dataclass, field
from typing import Any
from urllib.parse import parse_qsl, quote, unquote, urlencode, urlsplit

from hushrec.errors import LedgerError

SCHEMES = ("postgresql", "postgres")
NEEDED = "a ledger in PostgreSQL needs psycopg: pip install 'hushrec[postgres]'"
_NAME = re.compile(r"[A-Za-z0-9][A-Za-z0-9._-]{0,62}")
_HOST = re.compile(r"(\[[^\]]*\]|[^:]*)(:[0-9]*)?")


@dataclass(frozen=True, slots=True)
class Address:
    """Where a ledger is.

    Args:
        name: the ledger's name: ``?ledger=`` of the URL, or the database's name.
        place: the URL without user, password and settings.
        parameters: what libpq connects with.
    """

    name: str
    place: str
    parameters: dict[str, Any] = field(repr=False)

    def named(self, name: str) -> "Address":
        return Address(name, f"{self.place.partition('?')[0]}?{urlencode({'ledger': name})}", self.parameters)


def address_of(url: str) -> Address:
    """Read a URL.

    Args:
        url: as libpq takes it (``postgresql://user@host:port/database?sslmode=verify-full``), and perhaps
            ``ledger=NAME`` among libpq's settings.
    """
    try:
        from psycopg import Error
        from psycopg.conninfo import conninfo_to_dict
    except ImportError:
        raise LedgerError(NEEDED) from None
    malformed = LedgerError(
        "this is not the URL of a database: write postgresql://user@host:port/database, and in a user's name "
        "or a password %40 for @, %2F for /, %3A for :, %23 for # and %3F for ?. Better keep the password "
        "out of it: libpq reads PGPASSWORD, ~/.pgpass and service files"
    )
    try:
        parts = urlsplit(url)
        query = parse_qsl(parts.query, keep_blank_values=True, strict_parsing=bool(parts.query))
    except ValueError:
        raise malformed from None
    user, _, hosts = parts.netloc.rpartition("@")
    # What is left of a password that was not written with % must not pass for a host or a database.
    strays = "@" in user + parts.path + parts.query or "/" in parts.path[1:] or bool(parts.fragment)
    if strays or not all(map(_HOST.fullmatch, hosts.split(","))):
        raise malformed
    kept = [(name, value) for name, value in query if name != "ledger"]
    try:
        parameters = conninfo_to_dict(
            f"postgresql://{parts.netloc}{parts.path}?{urlencode(kept, quote_via=quote)}"
        )
    except Error:
        raise malformed from None
    database = str(parameters.get("dbname") or "")
    name = dict(query).get("ledger", database)
    if not _NAME.fullmatch(name):
        raise LedgerError(
            "the URL names no ledger: add ?ledger=NAME, of letters, digits, dots, dashes and underscores; "
            "without it, the ledger has the name of the database"
        )
    place = f"postgresql://{unquote(hosts)}/{database}"
    return Address(name, place if name == database else f"{place}?{urlencode({'ledger': name})}", parameters)
