"""``hushrec add-items``: add items that came after a fit to its release."""

from collections.abc import Sequence
from pathlib import Path
from typing import Annotated

from hushrec.cli import console, options
from hushrec.curator import public_items
from hushrec.curator.admit import require_writable
from hushrec.data.domain import Domain
from hushrec.data.readers.catalogue import read_list
from hushrec.release.artefact import Release


@options.of(Domain.from_catalogue)
def add_items(
    release: Annotated[Release, "A release of private-ease, of a domain with features."],
    items: Annotated[Path, "The new items alone, in a file as for hushrec domain."],
    *,
    out: options.Out,
    column: str | None,
    titles: str | None,
    features: Annotated[
        Sequence[str] | None, "A column of features, by default each that the release has; may be repeated."
    ],
    separator: str | None,
) -> None:
    """Add new items to a release, by their features.

    No data are read and nothing is charged: what users lost stays the same, and so does the statement. Sign
    the new file, and publish it in place of the old one.
    """
    require_writable(out, ".safetensors")
    read = read_list(items, column, separator)
    taken = read.features(features or [name for name in read.columns if name in release.features])
    longer, unknown = public_items.add_items(release, read.ids, titles=read.titles(titles), features=taken)
    longer.save(out)
    console.say(f"Wrote {out}: {len(read.ids):,} items added, {len(longer.items):,} in all")
    for value, n in sorted(unknown.items(), key=lambda each: (-each[1], each[0])):
        console.tell(f"Ignored, not in the release: {value} (of {n:,} items)")
