"""``hushrec page``: a static site, on which people get lists on their own device."""

from pathlib import Path
from typing import Annotated

from hushrec.cli import console, options
from hushrec.data.domain import Domain
from hushrec.data.readers.catalogue import read_list
from hushrec.errors import ConfigError, DomainError
from hushrec.files import read
from hushrec.pages import site
from hushrec.pages.item_table import ItemTable
from hushrec.pages.page_style import PageStyle
from hushrec.release.signature import SUFFIX, public_key


@options.of(PageStyle, Domain.from_catalogue)
def page(
    release: Annotated[Path, "The release that the page shows."],
    *,
    titles: Annotated[
        Path | None,
        "Public texts of the items, with columns title, year, genres and picture as far as there are: a "
        "table with a header, or MovieLens' movies.dat or u.item.",
    ] = None,
    separator: str | None,
    key: Annotated[
        str | None,
        "The owner's public key: what it did not sign is refused, and the page keeps the key and refuses it "
        "too.",
    ] = None,
    title: str | None,
    css: Path | None,
    out: Annotated[
        Path, "The folder to write; an earlier site in it is replaced, and nothing of it is taken over."
    ] = Path("page"),
) -> None:
    """Write a site on which people get their own list.

    The page computes on the reader's own device and sends nothing. Any static host can serve the folder.
    """
    if separator and not titles:
        raise ConfigError("--separator says how to read a table; give --titles as well")
    table = _item_table(titles, separator) if titles else None
    style = PageStyle(title, read(css, ConfigError, fix="name a style with --css") if css else None)
    pinned = public_key(key) if key else None
    written = site.write(release, out, titles=table, key=pinned, style=style)
    beside = release.with_name(release.name + SUFFIX)
    if written.warning:
        console.tell(f"Warning: {written.warning}")
    elif not pinned and beside.exists():
        console.tell(
            f"Warning: {beside} is left out, and readers of a page with your key refuse this one: give --key"
        )
    if not written.release.personal:
        console.tell("Warning: this release holds no taste: everybody gets the same list")
    size = sum(path.stat().st_size for path in written.files)
    console.say(f"Wrote {out}: {len(written.files):,} files, {size / 1e6:,.1f} MB")
    console.say(f"Look at it: python3 -m http.server -d {out} 8000, then http://localhost:8000")


def _item_table(path: Path, separator: str | None) -> ItemTable:
    """The columns of a public table that a page can show; says which those are."""
    table = read_list(path, separator=separator)
    titles, by_name = table.titles(), {name.lower(): name for name in table.columns}
    if titles is None:
        columns = f": its columns are {', '.join(table.names)}" if table.names else ""
        raise DomainError(f"{path} has no column title or name{columns}; give one of them this name")
    shown = [by_name[name] for name in ("year", "genres", "picture") if name in by_name]
    if table.names:
        taken = [f"ids of {table.id_column}", f"titles of {table.titles_column()}", *shown]
        console.tell(f"Taken from {path}: {', '.join(taken)}")
    texts = {name.lower(): column for name, column in table.features(shown).items()}
    years, genres, pictures = (texts.get(name, ()) for name in ("year", "genres", "picture"))
    return ItemTable(table.ids, titles, years, genres, pictures, folder=path.parent)
