"""Items on a page: title, year, genres and picture, made public by the publisher, and a place on the map.

Privacy: the map is post-processing of a release.
"""

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, fields
from pathlib import Path
from typing import Any, Self

import numpy as np

from hushrec import files
from hushrec.arrays import Floats, Ints
from hushrec.errors import ReleaseError
from hushrec.release.artefact import Release
from hushrec.text import escaped, one_line

SIDE = 1000
"""Coordinates are whole numbers from 0 to this."""


def item_map(release: Release) -> Ints | None:
    """Where to draw each item, so that items near each other appeal to the same people.

    The first two principal components of the items' factors, each item with the weight of its popularity, so
    that the map shows what tells the well-known items apart. Along both axes, equal distances then hold equal
    fractions of the popularity, so that no part is crowded with well-known items.

    Args:
        release: of any kind.

    Returns:
        Coordinates, shape (n_items, 2), from 0 to ``SIDE``; None if the release has no factors of items, or
        fewer than two directions in them.
    """
    factors = release.tensors.get("item_factors")
    if factors is None or min(factors.shape) < 2:
        return None
    places = factors.astype(np.float64)
    places /= np.abs(places).max() or 1.0
    weights = _popularity(release)
    centred = places - weights @ places
    spread, axes = np.linalg.eigh((centred * weights[:, None]).T @ centred)
    if not spread[-2] > 1e-12 * spread[-1]:
        return None
    drawn = centred @ axes[:, [-1, -2]]
    drawn *= np.where(drawn[np.abs(drawn).argmax(axis=0), [0, 1]] < 0, -1.0, 1.0)  # eigh leaves signs open
    return np.column_stack([_fractions(drawn[:, axis], weights) for axis in (0, 1)])


def _fractions(along: Floats, weights: Floats) -> Ints:
    """How much weight lies below each place, half its own included, drawn out to 0 to ``SIDE``."""
    order = np.argsort(along, kind="stable")
    below = np.empty(len(along))
    below[order] = np.cumsum(weights[order]) - weights[order] / 2
    drawn = (below - below.min()) / (below.max() - below.min()) * SIDE
    return np.asarray(np.rint(drawn), dtype=np.int64)


def _popularity(release: Release) -> Floats:
    """Weights of the items, which sum to one; shape (n_items,)."""
    popularity = next(
        (release.tensors[n] for n in ("item_popularity", "input_weights") if n in release.tensors), None
    )
    if popularity is None:
        popularity = np.ones(len(release.items))
    weights = np.maximum(popularity.astype(np.float64), 0)
    total = weights.sum()
    return np.asarray(weights / total if total > 0 else np.full(len(weights), 1 / len(weights)))


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
