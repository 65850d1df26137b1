"""``hushrec similar``: the items most like one item."""

from pathlib import Path
from typing import Annotated

import typer

from hushrec.cli import console, options


def similar(
    release: Annotated[Path, typer.Argument(help="A release.")],
    item: Annotated[str, typer.Argument(help="An item of its catalogue.")],
    n: Annotated[int, typer.Option("-n", min=1, help="Length of the list.")] = 10,
    json: options.Json = False,
) -> None:
    """List the items most like an item.

    They come from the release alone and are the same for everybody. The similarity has no unit.
    """
    from hushrec.release.client import Client

    found = Client(release).similar(item, n)
    if json:
        console.print_json(
            {"item": item, "similar": [{**one._asdict(), "score": float(one.score)} for one in found]}
        )
        return
    listed = console.table("rank", "item", "similarity", left=0)
    listed.columns[1].justify = "left"
    for name, score, rank in found:
        listed.add_row(str(rank), name, f"{score:.2f}")
    console.out().print(listed)
