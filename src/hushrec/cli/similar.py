"""``hushrec similar``: the items most like one item."""

from pathlib import Path
from typing import Annotated

import typer

from hushrec.cli import console, options


def similar(
    release: Annotated[Path, typer.Argument(help="A release.")],
    item: Annotated[str, typer.Argument(help="An item of its catalogue: an id, or a title.")],
    n: Annotated[int, typer.Option("-n", min=1, help="Length of the list.")] = 10,
    json: options.Json = False,
) -> None:
    """List the items most like an item.

    They come from the release alone and are the same for everybody. The similarity has no unit.
    """
    from hushrec.cli.called import one, said
    from hushrec.release.client import Client

    client = Client(release)
    item = one(client, item)
    found, titles = client.similar(item, n), bool(client.release.titles)
    if json:
        alike = [
            {**row._asdict(), "title": said(client, row.item_id)["title"], "score": float(row.score)}
            for row in found
        ]
        console.print_json({"item": item, "similar": alike})
        return
    listed = console.table("rank", "item", *["title"] * titles, "similarity", left=0)
    for column in listed.columns[1:-1]:
        column.justify = "left"
    for name, score, rank in found:
        listed.add_row(str(rank), name, *[client.title(name)] * titles, f"{score:.2f}")
    console.out().print(listed)
