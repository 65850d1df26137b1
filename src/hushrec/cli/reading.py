"""Options that say where records are, and how they are written there."""

from collections.abc import Sequence
from dataclasses import dataclass
from typing import TYPE_CHECKING, Annotated

import typer

from hushrec.cli import sources
from hushrec.cli.groups import Group

if TYPE_CHECKING:
    from hushrec.cli.sources import Form, Source


@dataclass(frozen=True, kw_only=True)
class Written(Group):
    """How files are written, as far as their names do not tell."""

    column: Annotated[
        list[str] | None,
        typer.Option(
            "--column",
            metavar="NAME=COLUMN",
            help="The column of user_id, item_id, rating, count, timestamp or epsilon (each user's own): a "
            "name, or a position from 0.",
        ),
    ] = None
    format: Annotated[
        str | None, typer.Option(help="File format, if the name does not tell: csv, dat, …")
    ] = None
    separator: Annotated[str | None, typer.Option(help="Separator of csv and tsv, one character.")] = None
    decimal: Annotated[str, typer.Option(help="Decimal sign of csv and tsv, . or ,")] = "."

    @property
    def form(self) -> "Form":
        """The same, as the library takes it."""
        return sources.Form(self.column, self.format, self.separator, self.decimal)


@dataclass(frozen=True, kw_only=True)
class Given(Written):
    """The same, and which of a database's rows are meant."""

    query: sources.Query = None

    def named(self, given: Sequence[str]) -> "list[Source]":
        """What the arguments of a command name."""
        return sources.named(given, self.query)
