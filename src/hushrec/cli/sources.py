"""Where a command's records are, and how they are written there."""

from collections.abc import Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import TYPE_CHECKING, Annotated, Any

import typer

from hushrec.cli import options
from hushrec.cli.groups import Group

if TYPE_CHECKING:
    from hushrec.data.domain import Domain
    from hushrec.data.reading import Reading

Where = Annotated[
    str,
    typer.Option(
        metavar="auto|memory|disk|spark|FOLDER",
        help="Where the records are kept: in memory; on disk, in temporary files (in TMPDIR); in a new "
        "folder, private to you, which later commands take in place of the files; by Spark, which reads "
        "Parquet, .csv or .tsv with a header, or a table by its name (docs/spark.md); auto: on disk if they "
        "may exceed this machine's memory.",
    ),
]

_PLACES = ("auto", "memory", "disk", "spark")
"""Words of ``--where``; anything else is a folder."""


@dataclass(frozen=True, kw_only=True)
class Given(Group):
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

    def described(self, names: Sequence[str]) -> str:
        """The sources in one line: the first, and how many others there are."""
        first, *others = (Path(name).name for name in names)
        return f"{first} and {len(others)} more" if others else first

    def load(self, names: Sequence[str], domain: "Domain", where: str = "auto") -> Any:
        """The people in what the arguments of a command name."""
        from hushrec.data.load import load

        place: Any = where if where in _PLACES else Path(where)
        return load([*names], domain, self.reading, where=place)
