"""``hushrec similar``: the items most like one, from the release alone."""

from pathlib import Path
from typing import Annotated

import typer

from hushrec.cli import console, keys, options
from hushrec.cli.groups import grouped
from hushrec.cli.item_ids import item_ids, item_json


@grouped
def similar(
    release: Annotated[Path, typer.Argument(help="A release.")],
    item: Annotated[str, typer.Argument(metavar="ITEM", help="An item, by id or title.")],
    *,
    n: options.Length = 10,
    pinned: keys.Pinned,
    json: options.Json = False,
) -> None:
    """List the items most like one, the same for everybody.

    The release alone says which are alike; no user's ratings are needed.
    """
    from hushrec.release.client import Client

    client = Client(release, **pinned.arguments())
    (item,) = item_ids(client, [item]).values()
    rows, titles = client.similar(item, n), bool(client.release.titles)
    if json:
        alike = [
            {**row._asdict(), "title": item_json(client, row.item_id)["title"], "score": float(row.score)}
            for row in rows
        ]
        console.print_json({"item": item, "similar": alike})
        return
    listed = console.table("rank", "item", *["title"] * titles, "similarity", left=0)
    for column in listed.columns[1:-1]:
        column.justify = "left"
    for name, score, rank in rows:  # the similarity has no unit
        listed.add_row(str(rank), name, *[client.title(name)] * titles, f"{score:.2f}")
    console.out().print(listed)
