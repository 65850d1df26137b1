"""``hushrec collect``: combine the reports of devices into one data set."""

from pathlib import Path
from shlex import quote
from typing import Annotated

import typer

from hushrec.cli import console, options


def collect(
    reports: Annotated[
        list[Path], typer.Argument(help="Data sets of hushrec release-data, made with the same settings.")
    ],
    out: Annotated[Path, typer.Option("--out", "-o", help="The data set to write, .parquet or .csv.")],
) -> None:
    """Combine the data sets of many devices into one. Charges nothing."""
    from hushrec.local.released import ReleasedData

    options.require_writable(out, ".parquet", ".csv")
    with console.working("reading reports"):
        together = ReleasedData.collect(ReleasedData.open(path) for path in reports)
    options.save(together, out)
    console.print_statement(together.statement)
    console.out().print(
        f"Wrote {out}: {together.n_people:,} people. Next: hushrec show {quote(str(out))}",
        soft_wrap=True,
    )
