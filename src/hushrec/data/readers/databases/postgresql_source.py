"""PostgreSQL through ADBC: one COPY whose rows come as Arrow batches, one in memory at a time."""

from hushrec.data.readers.databases.selection import Adbc, Column, library
from hushrec.data.readers.quiet import contained
from hushrec.errors import DataError

_READ_ONLY = "SET TRANSACTION ISOLATION LEVEL REPEATABLE READ, READ ONLY"
_STATES = {
    "42601": "it must be one SELECT that only reads, without an error of syntax",
    "0A000": "it must be one SELECT that only reads",
    "25006": "it writes; give a SELECT that only reads",
    "42P01": "a table that it names does not exist, or not on the role's search path",
    "42703": "a column that it names does not exist",
    "42883": "a function or operator that it names does not exist for these types",
    "42501": "the role may not read a table that it names; grant it SELECT",
    "57014": "the server cancelled it, for example at a statement timeout",
    "22": "it converts or computes from a value what that value does not allow",
    "42": "it is not valid here",
    "53": "the server has no room for it",
}
"""Meanings of SQLSTATEs, or of their classes, the first two characters (PostgreSQL's manual, appendix A)."""

__all__ = ["PostgreSQLSource"]


class PostgreSQLSource(Adbc):
    """A connection in a read-only transaction, in which all statements see one snapshot.

    Args:
        address: a URI of libpq.
        place: the address as it may be shown.

    Privacy: private.
    """

    def __init__(self, address: str, place: str) -> None:
        super().__init__("adbc_driver_postgresql.dbapi", address, place)

    def _begin(self) -> None:
        self._cursor.execute(_READ_ONLY)
        self._cursor.execute("SELECT current_setting('transaction_read_only')")
        if self._cursor.fetchall() != [("on",)]:
            raise DataError(
                f"{self._place}: the transaction is not read-only, perhaps because of a connection pool; "
                "connect to the server itself"
            )

    def columns(self, statement: str) -> list[Column]:
        """Return the columns of a statement's result; it is prepared, not run. Privacy: public."""
        types = library("pyarrow", self._place).types
        schema = contained(lambda: self._cursor.adbc_execute_schema(statement), self._failed)
        return [
            Column(
                field.name,
                types.is_floating(field.type),
                types.is_timestamp(field.type) or types.is_date(field.type),
            )
            for field in schema
        ]

    def _unopened(self, error: BaseException) -> str:
        return (
            f"{self._place}: no connection; see that the server runs, that host, port and database are "
            "right, that the role may connect, and that its password is in PGPASSWORD or ~/.pgpass"
        )

    def _failed(self, error: BaseException) -> str:
        """Explain a failure by its SQLSTATE alone: the server's message may quote a cell."""
        state = getattr(error, "sqlstate", None)
        if not isinstance(state, str) or not (state.isascii() and state.isalnum()):
            return f"{self._place}: the query cannot be run; see the server's log"
        means = _STATES.get(state) or _STATES.get(state[:2]) or "see PostgreSQL's list of codes"
        return f"{self._place}: the query cannot be run (SQLSTATE {state}): {means}"

    def _broken(self, error: BaseException) -> str:
        """Explain rows that stop early: the library gives no reason, so the connection is tried."""
        try:
            self._connection.rollback()
            self._cursor.execute("SELECT 1")
            self._cursor.fetchall()
        except Exception:
            return (
                f"{self._place}: the connection ended before the last row, so nothing of it is used; read it "
                "again"
            )
        return (
            f"{self._place}: the query fails while it runs: it writes, was cancelled, or converts or "
            "computes from a cell what that cell does not allow; the server's log says which"
        )
