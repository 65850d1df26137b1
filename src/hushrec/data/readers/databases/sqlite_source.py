"""A file of SQLite through ADBC, opened read-only."""

from pathlib import Path
from urllib.parse import quote

from hushrec.data.readers.databases.selection import Adbc, Column
from hushrec.data.readers.quiet import contained
from hushrec.errors import DataError

_LEDGER = 0x68757368
"""The application id of a ledger of hushrec: "hush" in ASCII."""
_ROWS = 1 << 16  # in a batch: chosen by hand

__all__ = ["SQLiteSource"]


class SQLiteSource(Adbc):
    """A file of SQLite.

    Args:
        place: the file, for errors.

    Privacy: private.
    """

    def __init__(self, path: Path, place: str) -> None:
        address = f"file:{quote(str(path.absolute()))}?mode=ro"
        options = {"adbc.sqlite.query.batch_rows": _ROWS}
        super().__init__("adbc_driver_sqlite.dbapi", address, place, options)

    def _begin(self) -> None:
        self._cursor.execute("PRAGMA query_only = ON")
        self._cursor.execute("PRAGMA application_id")
        if self._cursor.fetchall() == [(_LEDGER,)]:
            raise DataError(
                f"{self._place} is a ledger of hushrec, which holds no ratings; name another file"
            )

    def columns(self, statement: str) -> list[Column]:
        """Return the columns of a statement's result; every cell has its own type. Privacy: public."""
        contained(lambda: self._cursor.execute(f"{statement} LIMIT 0"), self._failed)
        schema = contained(self._cursor.fetch_record_batch, self._failed).schema
        return [Column(name) for name in schema.names]

    def _unopened(self, error: BaseException) -> str:
        return (
            f"{self._place}: the database cannot be opened; is it damaged, or in use without its -wal file?"
        )

    def _unbegun(self, error: BaseException) -> str:
        return self._unopened(error)

    def _failed(self, error: BaseException) -> str:
        return (
            f"{self._place}: the query cannot be run; it must be one SELECT that only reads, of tables and "
            "columns that exist"
        )
