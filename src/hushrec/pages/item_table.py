"""Items on a page: title, year, genres and picture, made public by the publisher."""

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, fields
from pathlib import Path
from typing import Any, Self

from hushrec import files
from hushrec.errors import ReleaseError
from hushrec.text import escaped, one_line

LARGEST_PICTURE = 256 * 2**10
"""Bytes in one picture: thumbnails, which a page holds all of."""
_IMAGES = {b"\x89PNG\r\n\x1a\n": "png", b"\xff\xd8\xff": "jpg", b"GIF8": "gif", b"RIFF": "webp"}
"""First bytes of a picture → its ending. SVG is left out: opened alone, it may run scripts."""


@dataclass(frozen=True, slots=True)
class ItemTable:
    """Public texts about items, one of each for every id.

    Attributes:
        ids: item ids; those that a release does not have are ignored.
        titles: "" where an item is called by its id.
        years: "" where unknown; empty if the table has none.
        genres: divided by ``|``, as MovieLens has them; empty if the table has none.
        pictures: files of pictures, "" for none, relative to ``folder``; empty if the table has none.
        folder: where the files of the pictures are.
    """

    ids: Sequence[str]
    titles: Sequence[str]
    years: Sequence[str] = ()
    genres: Sequence[str] = ()
    pictures: Sequence[str] = ()
    folder: Path = Path()

    def __post_init__(self) -> None:
        if any(
            len(column) not in ((n := len(self.ids)), 0 if name != "titles" else n)
            for name, column in self._columns().items()
        ):
            raise ReleaseError("the table of titles does not have one of each for every id")
        for name in filter(None, self.pictures):
            if ":" in name or name.startswith(("/", "\\")) or ".." in Path(name).parts:
                raise ReleaseError(
                    f"the picture {escaped(name)} is not a file next to the table of titles; one from "
                    "elsewhere would tell a third party what people look at: copy the pictures next to it"
                )

    def of(self, items: Sequence[str], defaults: Mapping[str, Sequence[str]] | None = None) -> Self:
        """The table of a catalogue: its items in their order, with "" for all that is not known.

        Args:
            defaults: texts that are known of the items in any case, by name of the attribute, such as those
                that their release holds; each counts where the table has none.
        """
        place = {item: row for row, item in enumerate(self.ids)}
        if not any(item in place for item in items):
            raise ReleaseError(
                f"none of the {len(self.ids):,} ids in the table of titles is among this release's "
                f"{len(items):,} items; the first column must hold the ids that the domain declares"
            )
        rows = [place.get(item) for item in items]
        texts: dict[str, list[str]] = {}
        for name, column in self._columns().items():
            cells = ["" if row is None else one_line(column[row]) for row in rows] if len(column) else []
            if fallbacks := (defaults or {}).get(name):
                cells = [
                    text or other for text, other in zip(cells or [""] * len(items), fallbacks, strict=True)
                ]
            texts[name] = cells
        return type(self)(items, **texts, folder=self.folder)

    def to_json(self) -> dict[str, list[str]]:
        """The columns that are there, without ids and pictures."""
        return {
            name: list(column)
            for name, column in self._columns().items()
            if len(column) and name != "pictures"
        }

    def picture(self, row: int) -> tuple[str, bytes]:
        """The ending and the bytes of an item's picture."""
        name = self.pictures[row]
        fix = "put it where the table names it, or leave its cell empty"
        with files.refusing(f"the picture {name}", "read", ReleaseError, fix):
            path = (self.folder / name).resolve(strict=True)
            inside = path.is_relative_to(self.folder.resolve())
            data = path.read_bytes() if inside and path.stat().st_size <= LARGEST_PICTURE else b""
        ending = next((ending for first, ending in _IMAGES.items() if data.startswith(first)), None)
        if ending is None or (ending == "webp" and data[8:12] != b"WEBP"):
            raise ReleaseError(
                f"the picture {escaped(name)} is not a PNG, JPEG, WebP or GIF of at most "
                f"{LARGEST_PICTURE // 1024} KiB next to the table; convert it, or leave its cell empty"
            )
        return ending, data

    def _columns(self) -> dict[str, Any]:
        return {entry.name: getattr(self, entry.name) for entry in fields(self)[1:-1]}
