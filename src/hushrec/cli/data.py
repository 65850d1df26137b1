"""``hushrec data``: fetch and verify public data sets; pack ratings that exceed memory."""

from pathlib import Path
from shlex import quote
from typing import Annotated
from urllib.parse import urlsplit

import typer

from hushrec.cli import console, options, sources

app = typer.Typer(
    rich_markup_mode=None, no_args_is_help=True, help="List or fetch public data sets; pack ratings."
)


@app.command("list")
def list_(json: options.Json = False) -> None:
    """List the data sets that can be fetched."""
    from hushrec.data.download import SETS

    if json:
        facts = {
            name: {"scale": list(known.scale), "max_users": known.max_users, "urls": list(known.urls)}
            for name, known in SETS.items()
        }
        console.print_json(facts)
        return
    listed = console.table("name", "scale", "users", "from", left=2)
    listed.columns[3].justify = "left"
    for name, known in SETS.items():
        lo, hi, step = known.scale
        listed.add_row(
            name, f"{lo:g} to {hi:g} by {step:g}", f"≤ {known.max_users:,}", urlsplit(known.urls[0]).netloc
        )
    console.out().print(listed)


@app.command()
def get(
    name: Annotated[str, typer.Argument(help="Name of the data set, as hushrec data list shows it.")],
    source: Annotated[
        Path | None, typer.Option("--from", help="An archive that you fetched yourself; it is verified too.")
    ] = None,
    directory: Annotated[
        Path | None, typer.Option("--to", help="Where data sets are kept; the cache folder by default.")
    ] = None,
) -> None:
    """Fetch a data set, verify its checksum, and unpack it."""
    from hushrec.data.download import SETS, get

    with console.working(f"fetching {name}"):
        fetched = get(name, directory, source)
    lo, hi, step = SETS[name].scale
    screen = console.out()
    screen.print(f"Ratings:   {fetched.ratings}", soft_wrap=True)
    screen.print(f"Catalogue: {fetched.catalogue}", soft_wrap=True)
    screen.print(
        f"Next: hushrec domain --items {fetched.catalogue} --scale {lo:g} {hi:g} {step:g} "
        f"--max-users {SETS[name].max_users} -o domain.json",
        soft_wrap=True,
    )


@app.command()
def pack(
    ratings: Annotated[
        list[str],
        typer.Argument(
            help="The private ratings, in files or in a database (--query): user_id, item_id, "
            "rating[, timestamp][, epsilon]; or interactions: user_id, item_id[, count][, …]."
        ),
    ],
    domain: options.DomainFile,
    to: Annotated[Path, typer.Option("--to", help="The folder to create; only its owner can read it.")],
    query: sources.Query = None,
    column: options.Columns = None,
    format: options.Format = None,
    separator: options.Separator = None,
    decimal: options.Decimal = ".",
    max_bytes: Annotated[
        int | None, typer.Option(help="Refuse a file that unpacks to more bytes; 16 GiB by default.")
    ] = None,
) -> None:
    """Pack ratings or interactions that exceed memory into a folder; fit reads them block by block."""
    from hushrec.data.domain import Domain
    from hushrec.data.load import MAX_BYTES
    from hushrec.data.packed.pack import load_blocks

    declared = Domain.open(domain)
    with console.bars():
        packed = load_blocks(
            sources.named(ratings, query),
            declared,
            to,
            columns=options.named_columns(column),
            format=format,
            separator=separator,
            decimal=decimal,
            max_bytes=max_bytes or MAX_BYTES,
        )
    console.print_confidential(to.name, packed)
    console.out().print(
        f"Wrote {to}. Next: hushrec fit {quote(str(to))} --domain {quote(str(domain))}", soft_wrap=True
    )
