"""``hushrec page``: a static site, on which people get lists on their own device."""

from collections.abc import Mapping
from pathlib import Path
from typing import TYPE_CHECKING, Annotated

import typer

from hushrec.cli import console, options
from hushrec.errors import ConfigError, DomainError
from hushrec.text import escaped

if TYPE_CHECKING:
    from hushrec.pages.item_table import ItemTable

_SHOWN = ("year", "genres", "picture")


def page(
    release: Annotated[Path, typer.Argument(metavar="RELEASE", help="The release that the page shows.")],
    titles: Annotated[
        Path | None,
        typer.Option(
            help="Public titles of the items, and years, genres and pictures where it has them: a table with "
            "a header, or MovieLens' movies.dat or u.item.",
            exists=True,
            dir_okay=False,
        ),
    ] = None,
    column: Annotated[
        list[str] | None,
        typer.Option(
            metavar="NAME=COLUMN",
            help="The column of id, title, year, genres or picture in --titles, if it has another name.",
        ),
    ] = None,
    separator: str | None = None,
    key: Annotated[
        Path | None,
        typer.Option(
            metavar="PUB",
            help="The owner's public key: what it did not sign is refused, and the page keeps the key and "
            "refuses it too.",
        ),
    ] = None,
    title: Annotated[str | None, typer.Option(help="The heading of the page.")] = None,
    css: Annotated[
        Path | None,
        typer.Option(help="A style, loaded after the page's own.", exists=True, dir_okay=False),
    ] = None,
    out: Annotated[
        Path, typer.Option("--out", "-o", help="The folder to write; an earlier site in it is replaced.")
    ] = Path("page"),
) -> None:
    """Write a site on which people get their own list.

    The page computes on the reader's own device and sends nothing. Any static host can serve the folder.
    """
    from hushrec.pages import site
    from hushrec.pages.page_style import PageStyle
    from hushrec.release.signature import public_key

    table = title_table(titles, options.named_columns(column), separator)
    style = PageStyle(title, css.read_bytes() if css else None)
    pinned = public_key(key) if key else None
    written = site.write(release, out, titles=table, key=pinned, style=style)
    warnings = [written.warning] if written.warning else []
    if not written.release.personal:
        warnings.append("this release holds no taste: everybody gets the same list")
    for warning in warnings:
        console.tell(f"Warning: {warning}")
    size = sum(path.stat().st_size for path in written.files)
    console.say(f"Wrote {out}: {len(written.files):,} files, {size / 1e6:,.1f} MB")
    console.say(f"Look at it: python3 -m http.server -d {out} 8000, then http://localhost:8000")


def title_table(
    path: Path | None, columns: Mapping[str, str | int] | None = None, separator: str | None = None
) -> "ItemTable | None":
    """A public table of titles, with the columns that a page can show; says which those are.

    Args:
        path: the table, if there is one.
        columns: the column of ``id``, ``title``, ``year``, ``genres`` or ``picture``; by default recognised.
        separator: of csv and tsv, one character; by default the comma and the tab.
    """
    from hushrec.data.readers.catalogue import read_list
    from hushrec.pages.item_table import ItemTable

    chosen = {name: str(column) for name, column in (columns or {}).items()}
    if unknown := chosen.keys() - {"id", "title", *_SHOWN}:
        raise ConfigError(
            f"--column {min(unknown)}: a page shows no such column; take id, title, {', '.join(_SHOWN)}"
        )
    if path is None:
        if chosen or separator:
            raise ConfigError("--column and --separator say how to read a table; give --titles as well")
        return None
    table = read_list(path, chosen.get("id"), separator)
    names = table.names
    column_names = {name.lower(): name for name in names} | chosen
    named = {name: column_names[name] for name in _SHOWN if name in column_names}
    titles, features = table.titles(chosen.get("title")), table.features([*named.values()] or None)
    if titles is None:
        raise DomainError(
            f"{path} has no column title or name: its columns are {', '.join(map(escaped, names))}; "
            "--column title=COLUMN takes one"
            if names
            else f"{path} has no titles; give a table with a header"
        )
    if names:
        taken = [
            f"ids of {table.id_column}",
            f"titles of {chosen.get('title') or table.titles_column()}",
            *named.values(),
        ]
        console.tell(f"Taken from {path}: {escaped(', '.join(taken))}")
    texts = {name: features.get(named.get(name, name), ()) for name in _SHOWN}
    return ItemTable(
        table.ids,
        titles,
        years=texts["year"],
        genres=texts["genres"],
        pictures=texts["picture"],
        folder=path.parent,
    )
