"""``python -m lab data``: fetch and verify public data sets."""

from pathlib import Path
from typing import Annotated
from urllib.parse import urlsplit

import typer

from hushrec.cli import console

app = typer.Typer(rich_markup_mode=None, no_args_is_help=True, help="List or fetch public data sets.")


@app.command("list")
def list_() -> None:
    """List the data sets that can be fetched."""
    from lab.experiments.datasets import FETCHED, SETS

    listed = console.table("name", "scale", "users", "from", left=2)
    listed.columns[3].justify = "left"
    for name, archive in FETCHED.items():
        lo, hi, step = SETS[name].frame["scale"]
        users = f"≤ {SETS[name].frame['max_users']:,}"
        listed.add_row(name, f"{lo:g} to {hi:g} by {step:g}", users, urlsplit(archive.urls[0]).netloc)
    console.out().print(listed)


@app.command()
def get(
    name: Annotated[str, typer.Argument(help="Name of the data set, as python -m lab data list shows it.")],
    source: Annotated[
        Path | None, typer.Option("--from", help="An archive that you fetched yourself; it is verified too.")
    ] = None,
    directory: Annotated[
        Path | None, typer.Option("--to", help="Where data sets are kept; the cache folder by default.")
    ] = None,
) -> None:
    """Fetch a data set, verify its checksum, and unpack it."""
    from lab.experiments.datasets import SETS, get

    with console.working(f"fetching {name}"):
        ratings, catalogue = get(name, directory, source)
    lo, hi, step = SETS[name].frame["scale"]
    for line in (
        f"Ratings:   {ratings}",
        f"Catalogue: {catalogue}",
        f"Next: hushrec domain --items {catalogue} --scale {lo:g} {hi:g} {step:g} "
        f"--max-users {SETS[name].frame['max_users']} -o domain.json",
    ):
        console.out().print(line, soft_wrap=True)
