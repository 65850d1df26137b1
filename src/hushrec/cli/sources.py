"""Where a command's ratings come from: files, a packed folder, or a query of a database."""

from collections.abc import Sequence
from pathlib import Path
from typing import TYPE_CHECKING, Annotated, Any, NamedTuple, TypeAlias

import typer

from hushrec.cli import options
from hushrec.errors import ConfigError, DataError

if TYPE_CHECKING:
    from hushrec.data.domain import Domain
    from hushrec.data.interactions import Interactions
    from hushrec.data.packed.blocks import Blocks
    from hushrec.data.ratings import Ratings
    from hushrec.data.readers.databases.database import Database
    from hushrec.data.spark.spark_feedback import SparkFeedback

    Source: TypeAlias = Path | Database

Query = Annotated[
    str | None,
    typer.Option(
        "--query",
        metavar="SELECT|@FILE",
        help="Read what this SELECT returns, or the one in a file, of a database: postgresql://host/db, or a "
        "file of SQLite or DuckDB.",
    ),
]


def named(given: Sequence[str], query: str | None) -> "list[Source]":
    """What the arguments of a command name: paths, or the one database of ``--query``."""
    if query is None:
        if any("://" in one for one in given):  # which may hold a password
            raise DataError("an address with :// is a database: say what to read there, --query 'SELECT …'")
        return [Path(one) for one in given]
    from hushrec.data.readers.databases.database import Database

    (first, *others) = given
    if others:
        raise DataError("--query reads one database; name it alone")
    if not query.startswith("@"):
        return [Database(first, query)]
    try:
        return [Database(first, Path(query[1:]).read_text(encoding="utf-8"))]
    except (OSError, ValueError):
        raise DataError(f"--query {query}: this file cannot be read as text") from None


def is_packed(source: "Source") -> bool:
    """Whether a source is a folder made by hushrec pack."""
    from hushrec.data.packed.blocks import MANIFEST

    return isinstance(source, Path) and (source / MANIFEST).is_file()


class Form(NamedTuple):
    """How files are written, as the options of these names say."""

    column: list[str] | None = None
    format: str | None = None
    separator: str | None = None
    decimal: str = "."

    def arguments(self) -> dict[str, Any]:
        """As the library takes them."""
        written = self._asdict()
        return {"columns": options.named_columns(written.pop("column")), **written}


PLAIN = Form()


def load(source: "Source | list[Source]", domain: "Domain", form: Form = PLAIN) -> "Ratings | Interactions":
    """The ratings or interactions in files or a database.

    Raises:
        DataError: An option is wrong, or the source cannot be read.
    """
    from hushrec.data.load import load

    return load(source, domain, **form.arguments())


def packed_or_loaded(
    source: "Source | list[Source]", domain: "Domain", form: Form = PLAIN, *, blocks: bool | None = False
) -> "Ratings | Interactions | Blocks":
    """The ratings or interactions in files or a database, or in a folder made by hushrec pack.

    ``blocks`` packs them into a temporary folder, which is deleted with the program; None does so if loading
    them may need more than this machine's memory.
    """
    (first, *others) = source if isinstance(source, list) else [source]
    if others or not is_packed(first):
        if blocks is None:
            from hushrec.curator.memory import machine
            from hushrec.data.packed.pack import too_large

            blocks = too_large(source, form.format, machine()[0])
        if not blocks:
            return load(source, domain, form)
        from hushrec.data.packed.pack import load_blocks

        return load_blocks(source, domain, **form.arguments())
    if form != PLAIN:
        raise DataError(
            f"{first} holds packed records, whose format is known: leave out --column and --format"
        )
    from hushrec.data.packed.blocks import Blocks

    assert isinstance(first, Path)
    return Blocks.open(first, domain)


def in_spark(
    paths: Sequence[str], domain: "Domain", form: Form, query: str | None, blocks: bool | None
) -> "SparkFeedback":
    """The ratings or interactions that Spark reads from files or a table, and keeps.

    Args:
        paths: what Spark reads, as it is written: it may be the address of a store.
        domain, form: as for ``load``; of a form, Spark takes the columns alone.
        query, blocks: options that Spark does not take.
    """
    others = {"query": query, "format": form.format, "separator": form.separator, "blocks": blocks}
    others["decimal"] = None if form.decimal == "." else form.decimal
    if given := [f"--{name}" for name, value in others.items() if value is not None]:
        raise ConfigError(
            f"--engine spark does not take {' and '.join(given)}: Spark reads Parquet, or .csv and .tsv with "
            "a header, and keeps what exceeds memory on disk; for others, see hushrec.load_spark"
        )
    from hushrec.data.spark.intake import load_spark

    source = paths[0] if len(paths) == 1 else [*paths]
    return load_spark(source, domain, columns=form.arguments()["columns"])
