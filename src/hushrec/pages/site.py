"""A static site: the page of one release, with the release, its signature and its statement.

Any host of static files can serve it, under any path. ``deploy/`` has the files for nginx and Caddy.

Privacy: post-processing of a release.
"""

import contextlib
import json
from collections.abc import Iterator
from dataclasses import dataclass
from pathlib import Path
from typing import Any

from hushrec import files
from hushrec.errors import ReleaseError
from hushrec.pages import recommender
from hushrec.pages.item_table import ItemTable
from hushrec.pages.page_style import PageStyle
from hushrec.release.artefact import LARGEST_FILE, Release
from hushrec.release.signature import SUFFIX, require_signed
from hushrec.text import escaped


@dataclass(frozen=True, slots=True)
class Written:
    """A site that was written.

    Attributes:
        files: all of them, ``index.html`` first.
        release: that the page shows.
        warning: why readers of the earlier page will refuse this one; empty if they will not.
    """

    files: list[Path]
    release: Release
    warning: str


def write(
    source: Path,
    folder: Path,
    *,
    titles: ItemTable | None = None,
    key: str | None = None,
    style: PageStyle | None = None,
) -> Written:
    """Write the site of a release. The same arguments give the same bytes.

    The site is written next to the folder and then takes its place, so an error leaves an earlier site whole.

    Args:
        source: the release; its signature lies next to it.
        folder: where to write; an earlier site in it is replaced.
        titles: what the page shows of the items.
        key: the owner's public key, as text: it must have signed the release, and the page checks that too.
        style: title and style of the page.

    Raises:
        ReleaseError: The release cannot be trusted, its page cannot be made, or the folder holds something
            else.
    """
    data = files.read(source, ReleaseError, fix="name the release file itself", largest=LARGEST_FILE)
    release, signature = Release.from_bytes(data), None
    if key is not None:
        require_signed(data, source, key)
        signature = source.with_name(source.name + SUFFIX).read_bytes()
    with _replaced(folder) as new:
        parts = recommender.page(release, data, titles=titles, key=key, signature=signature, style=style)
        for name, part in parts.items():
            put(new / name, part)
        warning = _conflict(folder, release, key)
    names = sorted(parts, key=lambda name: (name != "index.html", name))
    return Written([folder / name for name in names], release, warning)


def put(path: Path, data: bytes) -> None:
    """Write a file, in a folder that is made if it is not there."""
    path.parent.mkdir(parents=True, exist_ok=True)
    path.write_bytes(data)


def require_ours(folder: Path) -> None:
    """Refuse a folder that holds anything that is not of a site."""
    if folder.exists() and not folder.is_dir():
        raise ReleaseError(f"{folder} is not a folder; choose another folder with -o")
    ours = {recommender.CONTENTS, "worker.js", *map(str, _earlier(folder).get("files", ()))}
    found = {path.relative_to(folder).as_posix() for path in folder.rglob("*") if not path.is_dir()}
    if foreign := sorted(found - ours):
        raise ReleaseError(
            f"{folder} holds {escaped(foreign[0])}, which is not known to come from an earlier site; move "
            "it, or choose another folder"
        )


def _earlier(folder: Path) -> dict[str, Any]:
    """The contents of an earlier site; none if they cannot be read."""
    try:
        contents = json.loads((folder / recommender.CONTENTS).read_text("utf-8"))
        return dict(contents) if contents["hushrec"] == "page" else {}
    except (OSError, ValueError, KeyError, TypeError):
        return {}


@contextlib.contextmanager
def _replaced(folder: Path) -> Iterator[Path]:
    """A new folder that takes the place of a site when all is well."""
    with files.refusing(folder, "written", ReleaseError, "choose another folder with -o"):
        require_ours(folder)
        place = folder.resolve()
        place.parent.mkdir(parents=True, exist_ok=True)
        with files.whole_folder(place, mode=0o777) as new:
            yield new


def _conflict(folder: Path, release: Release, key: str | None) -> str:
    """Why readers of the page in a folder will refuse the page to come, and what to do; empty if not."""
    begin = "all readers of the page in this folder will refuse this one: "
    if _earlier(folder).get("key", key) != key:
        return f"{begin}it has another key or none; give theirs with --key, or tell them of the new one"
    with contextlib.suppress(OSError, ReleaseError):
        ledger = release.statement.ledger
        before = Release.open(folder / recommender.RELEASE).statement.ledger
        number, theirs = ledger.get("seq", 0), before.get("seq", 0)
        if ledger.get("id") == before.get("id") and number < theirs:
            return (
                f"{begin}its release has number {number:,}, and theirs {theirs:,}; write the page of the "
                "latest release"
            )
    return ""
