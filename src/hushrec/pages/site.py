"""A static site: the page of the latest release, all releases by their SHA-256, and their statements.

Any host of static files can serve it, under any path. ``deploy/`` has the files for nginx and Caddy.

Privacy: post-processing of releases.
"""

import contextlib
import json
from collections.abc import Iterator
from dataclasses import dataclass
from pathlib import Path

from hushrec import files
from hushrec.documents import schema
from hushrec.documents.html import CSS
from hushrec.errors import ReleaseError
from hushrec.escapes import escaped
from hushrec.pages import recommender
from hushrec.pages.item_table import ItemTable
from hushrec.pages.page_style import PageStyle
from hushrec.pages.public_releases import LIST, PublicRelease, listed, publish, put, to_json

_STATEMENT_SCHEMA = f"schemas/statement-v{schema.VERSION}.json"

__all__ = ["Written", "require_ours", "write"]


@dataclass(frozen=True, slots=True)
class Written:
    """A site that was written.

    Attributes:
        files: all of them, ``index.html`` first.
        releases: newest first.
        left_out: files of the folder of releases that were not published, with the reason.
        warning: why readers of the earlier page will refuse this one; empty if they will not.
    """

    files: list[Path]
    releases: tuple[PublicRelease, ...]
    left_out: dict[str, str]
    warning: str


def write(
    source: Path,
    folder: Path,
    *,
    titles: ItemTable | None = None,
    key: str | None = None,
    style: PageStyle | None = None,
) -> Written:
    """Write the site of a release, or of a folder of releases. The same arguments give the same bytes.

    The site is written next to the folder and then takes its place, so an error leaves an earlier site whole.

    Args:
        source: a release, or a folder of releases of one ledger; their signatures lie next to them.
        folder: where to write; an earlier site in it is replaced.
        titles: what the page shows of the items.
        key: the owner's public key, as text: it must have signed every release, and the page checks that too.
        style: title and style of the page.

    Raises:
        ReleaseError: There is no release to publish, the page of the latest one cannot be made, or the folder
            holds something else.
    """
    with _replaced(folder) as new:
        releases, left_out = publish(source, new, key)
        contents = {
            LIST: to_json(releases),
            CSS.name: CSS.read_bytes(),
            _STATEMENT_SCHEMA: schema.source().encode(),
        }
        contents |= recommender.page(new / releases[0].url, titles=titles, key=key, style=style)
        for name, data in contents.items():
            put(new / name, data)
        warning = _conflict(folder, releases[0], key)
        names = sorted(_names(new), key=lambda name: (name != "index.html", name))
    return Written([folder / name for name in names], releases, left_out, warning)


def require_ours(folder: Path) -> None:
    """Refuse a folder that holds anything that is not of a site."""
    if folder.exists() and not folder.is_dir():
        raise ReleaseError(f"{folder} is not a folder; choose another folder with -o")
    ours = {LIST, CSS.name, _STATEMENT_SCHEMA, *_page_files(folder)}
    ours.update(name for one in listed(folder) for name in one.files)
    if foreign := sorted(_names(folder) - ours):
        raise ReleaseError(
            f"{folder} holds {escaped(foreign[0])}, which is not known to come from an earlier site; move "
            "it, or choose another folder"
        )


def _names(folder: Path) -> set[str]:
    """The files in a folder, relative to it."""
    return {path.relative_to(folder).as_posix() for path in folder.rglob("*") if not path.is_dir()}


def _page_files(folder: Path) -> set[str]:
    """The files of the page of an earlier site; none if their list cannot be read."""
    try:
        contents = json.loads((folder / recommender.CONTENTS).read_text("utf-8"))
        if contents["hushrec"] != "page":
            return set()
        return {recommender.CONTENTS, "worker.js", *map(str, contents["files"])}
    except (OSError, ValueError, KeyError, TypeError):
        return set()


@contextlib.contextmanager
def _replaced(folder: Path) -> Iterator[Path]:
    """A new folder that takes the place of a site when all is well."""
    with files.refusing(folder, "written", ReleaseError, "choose another folder with -o"):
        require_ours(folder)
        place = folder.resolve()
        place.parent.mkdir(parents=True, exist_ok=True)
        with files.whole_folder(place, mode=0o777) as new:
            yield new


def _conflict(folder: Path, now: PublicRelease, key: str | None) -> str:
    """Why readers of the page in a folder will refuse the page to come, and what to do; empty if not."""
    before = listed(folder)
    if not before:
        return ""
    begin = "all readers of the page in this folder will refuse this one: "
    with contextlib.suppress(OSError, ValueError, KeyError, TypeError):
        contents = json.loads((folder / recommender.CONTENTS).read_text("utf-8"))
        if key != contents["key"]:
            return f"{begin}it has another key or none; give theirs with --key, or tell them of the new one"
    if now.ledger == before[0].ledger and now.version < before[0].version:
        return (
            f"{begin}its release has number {now.version:,}, and theirs {before[0].version:,}; write the "
            "page of the latest release"
        )
    return ""
