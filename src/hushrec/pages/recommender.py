"""The files of a page on which people star titles and get their own list, on their own device.

They are the release itself, the client in JavaScript, and the page's own files. ``site`` writes them. The
page makes no request after it is loaded.

Privacy: post-processing of a release.
"""

import hashlib
import json
from collections.abc import Iterator
from importlib.resources import files
from typing import Any

from hushrec.documents.html import CSS
from hushrec.errors import ReleaseError
from hushrec.pages.item_table import ItemTable
from hushrec.pages.page_style import PageStyle
from hushrec.pages.statement_page import statement_html
from hushrec.release.artefact import Release
from hushrec.release.kinds import SHOWN
from hushrec.release.signature import SUFFIX

CONTENTS = "contents.json"
"""The file that names all others with their SHA-256, by which the page is known as ours."""
RELEASE = "release.safetensors"
LARGEST_RELEASE = 100 * 2**20
"""Bytes in a release that a browser, on a phone as well, can be asked to fetch and to hold."""
LARGEST_RANK = 256
"""Factors of an item with which a browser shows a list and its reasons in about a second after each star."""
LARGEST_PICTURES = 50 * 2**20
"""Bytes in all pictures together: the page holds them all, so that no one learns which one is looked at."""
_SIGNATURE = RELEASE + SUFFIX
_UNSET = b"contents-digest"


def page(
    opened: Release,
    release: bytes,
    *,
    titles: ItemTable | None = None,
    key: str | None = None,
    signature: bytes | None = None,
    style: PageStyle | None = None,
) -> dict[str, bytes]:
    """The files of the page of a release, by name. The same arguments give the same bytes.

    Args:
        opened: the release, which is checked already.
        release: the bytes of its file.
        titles: what to show of the items; where it has nothing, the titles and features of the release.
        key: the owner's public key, as text: the page keeps it, and shows no release that it did not sign.
        signature: of the file, by this key.
        style: title and style of the page.
    """
    if opened.kind not in SHOWN:
        raise ReleaseError(
            f"a release of kind {opened.kind!r} is for Python: pages show factors, linear items and item "
            "scores; make one of these, as CovarianceSVD and PrivateEASE do"
        )
    if (size := len(release)) > LARGEST_RELEASE:
        raise ReleaseError(
            f"the release has {size / 1e6:,.0f} MB, and every reader of a page fetches it; at most "
            f"{LARGEST_RELEASE / 1e6:,.0f} MB are allowed: fit with a smaller rank, or declare fewer items"
        )
    _require_fast(opened)
    parts = dict(_parts(opened, release, titles, style or PageStyle()))
    if signature is not None:
        parts[_SIGNATURE] = signature
    contents = _contents(opened, parts, key)
    parts[CONTENTS] = _json(contents)
    parts["worker.js"] = parts["worker.js"].replace(_UNSET, _digest(parts[CONTENTS]).encode())
    return parts


def _parts(
    opened: Release, release: bytes, titles: ItemTable | None, style: PageStyle
) -> Iterator[tuple[str, bytes]]:
    """Names and bytes of all files but that which lists them."""
    package = files("hushrec")
    assets = package / "pages" / "assets" / "recommender"
    yield from ((entry.name, entry.read_bytes()) for entry in assets.iterdir() if entry.is_file())
    yield from style.files(assets).items()
    yield from (
        (f"client/{entry.name}", entry.read_bytes())
        for entry in (package / "javascript").iterdir()
        if entry.name.endswith(".js")
    )
    yield RELEASE, release
    if titles is not None:
        features = {
            name: opened.features.get(of, ()) for name, of in (("years", "year"), ("genres", "genres"))
        }
        yield from _titled(titles.of(opened.items, {"titles": opened.titles, **features}))
    yield CSS.name, CSS.read_bytes()
    about = f"{opened.model}, SHA-256 {_digest(release)}"
    page = statement_html(opened.statement, about, stylesheet=CSS.name, home="./", icon="icon.svg")
    yield "statement.html", page.encode()
    yield "statement.json", json.dumps(opened.statement.to_json(), allow_nan=False).encode()


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


def _contents(opened: Release, parts: dict[str, bytes], key: str | None) -> dict[str, Any]:
    """The parts of the page, the owner's key, and the name under which a reader's own stars are kept."""
    optional = {"signature": _SIGNATURE, "titles": "titles.json"}
    catalogue = _digest("\n".join(opened.items).encode())
    return {
        "hushrec": "page",
        "release": RELEASE,
        "stars": str(opened.statement.ledger.get("id") or catalogue),
        "statement": "statement.html",
        "files": {name: _digest(data) for name, data in sorted(parts.items()) if name != "worker.js"},
        **({} if key is None else {"key": key}),
        **{role: name for role, name in optional.items() if name in parts},
    }


def _require_fast(opened: Release) -> None:
    """Refuse a release with which the page would stand still."""
    factors = opened.tensors.get("item_factors")
    if factors is not None and (rank := factors.shape[1]) > LARGEST_RANK:
        raise ReleaseError(
            f"the release has {rank:,} factors for each item, and a reader's browser computes with all of "
            f"them after each star: fit with a rank of at most {LARGEST_RANK:,}"
        )


def _json(values: Any) -> bytes:
    return json.dumps(values, ensure_ascii=False, separators=(",", ":")).encode()


def _digest(data: bytes) -> str:
    return hashlib.sha256(data).hexdigest()
