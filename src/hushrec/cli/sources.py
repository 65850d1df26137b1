"""Where a command's records are, and how they are written there."""

from collections.abc import Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import TYPE_CHECKING, Annotated, Any, Literal, TypeAlias

import typer

from hushrec import files
from hushrec.cli import options
from hushrec.cli.groups import Group
from hushrec.errors import DataError

if TYPE_CHECKING:
    from hushrec.data.domain import Domain
    from hushrec.data.readers.databases.database import Database
    from hushrec.data.reading import Reading

    Source: TypeAlias = Path | Database

Where = Annotated[
    Literal["auto", "memory", "disk", "spark"],
    typer.Option(
        help="Where the records are kept: in memory; on disk, in temporary files (in TMPDIR); by Spark, "
        "which reads Parquet, .csv or .tsv with a header, or a table by its name (docs/spark.md); auto: on "
        "disk if they may exceed this machine's memory."
    ),
]


@dataclass(frozen=True, kw_only=True)
class Written(Group):
    """How files are written, as far as their names do not tell."""

    column: Annotated[
        list[str] | None,
        typer.Option(
            "--column",
            metavar="NAME=COLUMN",
            help="The column of user_id, item_id, rating, count, timestamp or personal_epsilon (each user's "
            "own): a name, or a position from 0.",
        ),
    ] = None
    format: Annotated[
        str | None, typer.Option(help="File format, if the name does not tell: csv, dat, …")
    ] = None
    separator: options.Separator = None
    decimal: Annotated[str, typer.Option(help="Decimal sign of csv and tsv, . or ,")] = "."

    @property
    def reading(self) -> "Reading":
        """The same, as the library takes it."""
        from hushrec.data.reading import Reading

        columns = options.named_columns(self.column) or {}
        return Reading(columns, self.format, self.separator, self.decimal)


@dataclass(frozen=True, kw_only=True)
class Given(Written):
    """The same, and which of a database's rows are meant."""

    query: Annotated[
        str | None,
        typer.Option(
            metavar="SELECT|@FILE",
            help="Read what this SELECT returns, or the one in a file, of a database: postgresql://host/db, "
            "or a file of SQLite or DuckDB.",
        ),
    ] = None

    def named(self, names: Sequence[str]) -> "list[Source]":
        """The sources that the arguments of a command name."""
        return named(names, self.query)

    def described(self, names: Sequence[str]) -> str:
        """The same in one line, without a password: the first, and how many others there are."""
        first, *others = map(Path, names) if self.query is None else self.named(names)
        return f"{first.name} and {len(others)} more" if others else first.name

    def load(self, names: Sequence[str], domain: "Domain", where: str = "auto") -> Any:
        """The people in what the arguments of a command name."""
        from hushrec.data.load import load

        # Spark takes the arguments as they are: they may be addresses of a store.
        as_they_are = where == "spark" and self.query is None
        place: Any = where
        return load([*names] if as_they_are else self.named(names), domain, self.reading, where=place)


def named(names: Sequence[str], query: str | None) -> "list[Source]":
    """Paths, or the one database of ``--query``."""
    if query is None:
        if any("://" in one for one in names):  # which may hold a password
            raise DataError("an address with :// is a database: say what to read there, --query 'SELECT …'")
        return [Path(one) for one in names]
    from hushrec.data.readers.databases.database import Database

    (first, *others) = names
    if others:
        raise DataError("--query reads one database; name it alone")
    if not query.startswith("@"):
        return [Database(first, query)]
    return [
        Database(first, files.read_text(Path(query[1:]), DataError, fix="name a file of SQL after the @"))
    ]
