"""``hushrec add-items``: add items that came after a fit to its release."""

from pathlib import Path
from typing import Annotated

import typer

from hushrec.cli import console, options


def add_items(
    release: Annotated[Path, typer.Argument(help="A release of private-ease, of a domain with features.")],
    items: Annotated[
        Path,
        typer.Argument(help="The new items alone: csv, tsv, parquet, movies.dat, u.item, or a list."),
    ],
    out: Annotated[Path, typer.Option("--out", "-o", help="The release to write, .safetensors.")],
    column: str | None = None,
    titles: str | None = None,
    feature: Annotated[
        list[str] | None,
        typer.Option(
            metavar="COLUMN",
            help="A column of features; those that the release has by default; may be repeated.",
        ),
    ] = None,
    separator: str | None = None,
    json: options.Json = False,
) -> None:
    """Add new items to a release, by their features.

    No data are read and nothing is charged: what users lost stays the same, and so does the statement. Sign
    the new file, and publish it in place of the old one.
    """
    from hushrec.curator.admit import require_writable
    from hushrec.curator.public_items import add_items
    from hushrec.data.readers.catalogue import read_list
    from hushrec.release.artefact import Release

    require_writable(out, ".safetensors")
    opened = Release.open(release)
    read = read_list(items, column, separator)
    features = read.features(feature or [name for name in read.columns if name in opened.features])
    longer, unknown = add_items(opened, read.ids, titles=read.titles(titles), features=features)
    longer.save(out)
    if json:
        facts = {"file": out.name, "n_added": len(read.ids), "n_items": len(longer.items)}
        console.print_json({**facts, "unknown": dict(unknown)})
        return
    console.say(f"Wrote {out}: {len(read.ids):,} items added, {len(longer.items):,} in all")
    for value, n in sorted(unknown.items(), key=lambda each: (-each[1], each[0])):
        console.tell(f"Ignored, not in the release: {value} (of {n:,} items)")
