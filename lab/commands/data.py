"""``python -m lab data``: fetch and verify public data sets."""

from pathlib import Path
from typing import Annotated
from urllib.parse import urlsplit

import typer

from hushrec.cli import console
from hushrec.documents.document import Table

app = typer.Typer(rich_markup_mode=None, no_args_is_help=True, help="List or fetch public data sets.")


@app.command("list")
def list_() -> None:
    """List the data sets that can be fetched."""
    from lab.experiments.download import SETS

    rows = []
    for name, known in SETS.items():
        lo, hi, step = known.scale
        scale, host = f"{lo:g} to {hi:g} by {step:g}", urlsplit(known.urls[0]).netloc
        rows.append((name, scale, host, f"≤ {known.max_users:,}"))
    console.show_blocks([Table("Data sets", ("name", "scale", "from", "users"), rows, left=3)])


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
    from lab.experiments.download import SETS, get

    with console.working(f"fetching {name}"):
        fetched = get(name, directory, source)
    lo, hi, step = SETS[name].scale
    console.say(f"Ratings:   {fetched.ratings}")
    console.say(f"Catalogue: {fetched.catalogue}")
    console.say(
        f"Next: hushrec domain --items {fetched.catalogue} --scale {lo:g} {hi:g} {step:g} "
        f"--max-users {SETS[name].max_users} -o domain.json"
    )
