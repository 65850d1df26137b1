"""The folder of a page on which people star titles and get their own list, on their own device.

Any static host can serve it. It holds the release itself, the client in JavaScript, and the page's own files;
it needs no server of ours and makes no request after it is loaded.

Privacy: post-processing of a release.
"""

import hashlib
import json
import math
from collections.abc import Iterator
from importlib.resources import files
from importlib.resources.abc import Traversable
from pathlib import Path
from typing import Any

from hushrec.errors import ReleaseError
from hushrec.pages.item_map import item_map
from hushrec.pages.item_table import ItemTable
from hushrec.pages.statement_page import STATEMENT_CSS, statement_html
from hushrec.release import sentence
from hushrec.release.artefact import Release
from hushrec.release.signing.signature import SUFFIX, verified

CONTENTS = "contents.json"
"""The file that names all others with their SHA-256, by which the page is known as ours."""
LARGEST_RELEASE = 100 * 2**20
"""Bytes in a release that a browser, on a phone as well, can be asked to fetch and to hold."""
LARGEST_RANK = 256
"""Factors of an item with which a browser shows a list and its reasons in about a second after each star."""
LARGEST_WORK = 2 * 10**9
"""Items × rank², with which a browser counts what tells one person's list from another's in a few seconds."""
LARGEST_PICTURES = 50 * 2**20
"""Bytes in all pictures together: the page holds them all, so that looking at one tells nobody which."""
_UNSET = b"contents-digest"
_NOT_COPIED = (".py", ".pyc")

__all__ = [
    "CONTENTS",
    "LARGEST_PICTURES",
    "LARGEST_RANK",
    "LARGEST_RELEASE",
    "LARGEST_WORK",
    "clear",
    "write",
]


def write(
    release: Path, folder: Path, *, titles: ItemTable | None = None, key: str | None = None
) -> list[Path]:
    """Write the page of a release. The same arguments give the same bytes.

    Args:
        release: the file; its signature is taken along if it lies beside.
        folder: where to write; an earlier page in it is replaced.
        titles: what to show of the items; where it has nothing, the titles and features of the release.
        key: the public key by which the page checks the signature, as a key file holds it.

    Returns:
        The files of the page, ``index.html`` first.

    Raises:
        ReleaseError: The release cannot be read, or is too large or too slow for a browser, its signature
            is missing or wrong, the titles do not fit, or the folder holds something else.

    Privacy: post-processing.
    """
    opened = Release.open(release)
    if (size := release.stat().st_size) > LARGEST_RELEASE:
        raise ReleaseError(
            f"{release.name} has {size / 1e6:,.0f} MB, and every reader of a page fetches it; at most "
            f"{LARGEST_RELEASE / 1e6:,.0f} MB are allowed: make a release of factors, with a few numbers for "
            "each item (CovarianceSVD, PrivateEASE, or CovarianceKNN with cleaning), or declare fewer items"
        )
    _require_fast(release.name, opened)
    if key is not None:
        _require_signed(release, key)
    parts = dict(_parts(release, opened, titles, key))
    contents = _contents(release, opened, parts)
    parts[CONTENTS] = _json(contents)
    parts["worker.js"] = parts["worker.js"].replace(_UNSET, _digest(parts[CONTENTS]).encode())
    clear(folder)
    written = []
    for name, data in parts.items():
        path = folder / name
        path.parent.mkdir(parents=True, exist_ok=True)
        path.write_bytes(data)
        written.append(path)
    return sorted(written, key=lambda path: (path.name != "index.html", path))


def _parts(
    release: Path, opened: Release, titles: ItemTable | None, key: str | None
) -> Iterator[tuple[str, bytes]]:
    """Names and bytes of all files but that which lists them."""
    package = files("hushrec")
    yield from _tree(package / "pages" / "assets" / "recommender")
    yield from (
        (f"client/{entry.name}", entry.read_bytes())
        for entry in sorted((package / "javascript").iterdir(), key=lambda entry: entry.name)
        if entry.name.endswith(".js")
    )
    yield release.name, release.read_bytes()
    signature = _signature(release)
    if signature.is_file():
        yield signature.name, signature.read_bytes()
    if key is not None:
        yield "key.pem", key.encode()
    if titles is not None:
        held = {name: opened.features.get(of, ()) for name, of in (("years", "year"), ("genres", "genres"))}
        yield from _titled(titles.of(opened.items, {"titles": opened.titles, **held}))
    places = item_map(opened)
    if places is not None:
        yield "map.json", _json({"x": places[:, 0].tolist(), "y": places[:, 1].tolist()})
    yield "statement.css", STATEMENT_CSS.read_bytes()
    yield "statement.html", statement_html(opened, "statement.css", home="./", icon="icon.svg").encode()


def _titled(table: ItemTable) -> Iterator[tuple[str, bytes]]:
    """The table of titles, and the pictures that it names, each by its content."""
    columns: dict[str, list[str]] = table.to_json()
    pictures, seen = [], 0
    for row, name in enumerate(table.pictures):
        if not name:
            pictures.append("")
            continue
        ending, data = table.picture(row)
        path = f"pictures/{_digest(data)[:16]}.{ending}"
        if path not in pictures:
            seen += len(data)
            if seen > LARGEST_PICTURES:
                raise ReleaseError(
                    f"the pictures have more than {LARGEST_PICTURES / 1e6:,.0f} MB together, and every "
                    "reader fetches all of them; make them smaller, or leave cells empty"
                )
            yield path, data
        pictures.append(path)
    if any(pictures):
        columns["pictures"] = pictures
    yield "titles.json", _json(columns)


def _contents(release: Path, opened: Release, parts: dict[str, bytes]) -> dict[str, Any]:
    """What the page is made of, and under which name a reader's own stars are kept."""
    optional = {
        "signature": _signature(release).name,
        "key": "key.pem",
        "titles": "titles.json",
        "map": "map.json",
    }
    catalogue = _digest("\n".join(opened.items).encode())
    return {
        "hushrec": "page",
        "release": release.name,
        "stars": str(opened.statement.ledger.get("id") or catalogue),
        "covered": _covered(opened),
        "statement": "statement.html",
        "files": {name: _digest(data) for name, data in sorted(parts.items()) if name != "worker.js"},
        **{role: name for role, name in optional.items() if name in parts},
    }


def _covered(opened: Release) -> dict[str, str]:
    """What the promise protects, and what it does not, in plain words; nothing if nothing is promised."""
    statement = opened.statement
    if not statement.private:
        return {}
    protected, _, not_protected = sentence.covered(statement.unit, statement.adjacency).partition(
        " Not protected: "
    )
    given = "interactions" if opened.feedback == "interactions" else "ratings"
    found = {
        "protected": protected.removeprefix("Protected: ").rstrip(".")
        or f"each person whose {given} were used: whether they took part, and everything that they gave",
        "unprotected": not_protected.rstrip(".")
        or "what holds for many people alike, such as that those who like one title often like another",
    }
    return {name: text.replace("rating", given.rstrip("s")) for name, text in found.items()}


def _signature(release: Path) -> Path:
    return release.with_name(release.name + SUFFIX)


def _require_signed(release: Path, key: str) -> None:
    """Refuse a release that the page would refuse."""
    signature = _signature(release)
    if not signature.is_file():
        raise ReleaseError(
            f"{release.name} is unsigned: there is no {signature.name} beside it; sign it first, or leave "
            "out the key"
        )
    verified(release.read_bytes(), signature.read_text("utf-8"), key, name=release.name)


def _require_fast(name: str, opened: Release) -> None:
    """Refuse a release with which the page would stand still."""
    factors = opened.tensors.get("item_factors")
    if factors is None:
        return
    items, rank = factors.shape
    most = min(LARGEST_RANK, math.isqrt(LARGEST_WORK // max(items, 1)))
    if rank > most:
        raise ReleaseError(
            f"{name} has {rank:,} factors for each of {items:,} items, and a reader's browser computes with "
            f"all of them after each star: fit with a rank of at most {most:,}"
        )


def _tree(folder: Traversable, before: str = "") -> Iterator[tuple[str, bytes]]:
    """Every file below a folder, in the order of the names."""
    for entry in sorted(folder.iterdir(), key=lambda entry: entry.name):
        if entry.is_dir():
            yield from _tree(entry, f"{before}{entry.name}/")
        elif not entry.name.endswith(_NOT_COPIED):
            yield f"{before}{entry.name}", entry.read_bytes()


def clear(folder: Path) -> None:
    """Delete the files of an earlier page, and make the folder if there is none.

    Raises:
        ReleaseError: The folder holds something else; nothing was deleted.

    Privacy: public.
    """
    try:
        folder.mkdir(parents=True, exist_ok=True)
        found = {path.relative_to(folder).as_posix() for path in folder.rglob("*") if not path.is_dir()}
        ours = _listed(folder / CONTENTS)
        if foreign := sorted(found - ours):
            raise ReleaseError(
                f"{folder} holds {foreign[0]}, which is not known to come from an earlier page; move it, or "
                "choose another folder with -o"
            )
        for name in found:
            (folder / name).unlink()
    except OSError as error:
        raise ReleaseError(f"{folder}: {error.strerror}; choose another folder with -o") from None


def _listed(path: Path) -> set[str]:
    """The files of an earlier page; none if its list cannot be read."""
    try:
        contents = json.loads(path.read_text("utf-8"))
        if contents["hushrec"] != "page":
            return set()
        return {CONTENTS, "worker.js", *map(str, contents["files"])}
    except (OSError, ValueError, KeyError, TypeError):
        return set()


def _json(values: Any) -> bytes:
    return json.dumps(values, ensure_ascii=False, separators=(",", ":")).encode()


def _digest(data: bytes) -> str:
    return hashlib.sha256(data).hexdigest()
