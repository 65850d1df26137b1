"""``hushrec pack``: ratings or interactions that exceed memory, as a folder that is read block by block."""

from dataclasses import replace
from pathlib import Path
from shlex import quote
from typing import Annotated

import typer

from hushrec.cli import console, options
from hushrec.cli.groups import grouped
from hushrec.cli.sources import Given


@grouped
def pack(
    ratings: Annotated[
        list[str],
        typer.Argument(
            help="The private ratings, in files: user_id, item_id, "
            "rating[, timestamp][, epsilon]; or interactions: user_id, item_id[, count][, …]."
        ),
    ],
    domain: options.DomainFile,
    to: Annotated[Path, typer.Option("--to", help="The folder to create; only its owner can read it.")],
    source: Given,
    max_bytes: Annotated[
        int | None, typer.Option(help="Refuse a file that unpacks to more bytes; 16 GiB by default.")
    ] = None,
) -> None:
    """Pack data that exceed memory into a folder for fit."""
    from hushrec.data.domain import Domain
    from hushrec.data.load import load

    declared = Domain.open(domain)
    with console.bars():
        reading = replace(source.reading, max_bytes=max_bytes) if max_bytes else source.reading
        packed = load(ratings, declared, reading, where=to)
    console.print_confidential(to.name, packed)
    console.out().print(
        f"Wrote {to}. Next: hushrec fit {quote(str(to))} --domain {quote(str(domain))}", soft_wrap=True
    )
