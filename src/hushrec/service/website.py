"""The page of the latest release, as the service sends it."""

import logging
import mimetypes
from dataclasses import replace
from html import escape
from pathlib import Path
from tempfile import TemporaryDirectory

from hushrec.errors import ReleaseError
from hushrec.pages import recommender
from hushrec.pages.item_table import ItemTable
from hushrec.pages.statement_page import STATEMENT_CSS
from hushrec.release.signing.signature import SUFFIX
from hushrec.service.public_releases import Published
from hushrec.service.stored import ASK_AGAIN, Stored

RELEASE = "release.safetensors"
"""The release's name in its page; that of its file stays with the owner."""
HTML = "text/html; charset=utf-8"
_log = logging.getLogger("hushrec.service")
_PAGE = (
    '<!doctype html><html lang="en"><head><meta charset="utf-8">'
    '<meta name="viewport" content="width=device-width"><title>Release</title></head>'
    "<body>{body}</body></html>"
)


def media_of(name: str) -> str:
    """The media type of a file of the page, by its name."""
    known = {".js": "text/javascript", ".webmanifest": "application/manifest+json", ".safetensors": None}
    ending = name[name.rfind(".") :]
    found = known[ending] if ending in known else mimetypes.guess_type(name)[0]
    media = found or "application/octet-stream"
    return f"{media}; charset=utf-8" if media.startswith("text/") else media


def page(latest: Published | None, titles: ItemTable | None, key: str | None) -> dict[str, Stored]:
    """Files of the page of a release, by path.

    Args:
        latest: the release.
        titles: what the page shows of the items.
        key: the owner's key file, by which the page checks the signature.

    Returns:
        The files; those of a short page if there is no release, or no page of it, which the log then says.
    """
    style = {"/statement.css": Stored.of(STATEMENT_CSS.read_bytes(), media_of(STATEMENT_CSS.name))}
    if latest is None:
        return style | {"/": _short("<p>There is no release here yet.</p>")}
    try:
        made = _made(latest, titles, key)
    except OSError:  # no room in the temporary folder: the service tries again
        raise
    except Exception as error:  # whatever a release does to its page, it is served
        told = error if isinstance(error, ReleaseError) else type(error).__name__
        _log.warning("there is no page of the latest release: %s", told)
        facts, told = latest.facts, escape(latest.promise)
        links = f'<a href="{facts.url}">The release</a>, <a href="{facts.statement_page}">its statement</a>'
        return style | {"/": _short(f"<h1>{escape(facts.model)}</h1><p>{told}</p><p>{links}</p>")}
    return style | made | {"/": made["/index.html"]}


def _made(latest: Published, titles: ItemTable | None, key: str | None) -> dict[str, Stored]:
    """The files that ``hushrec page`` writes."""
    with TemporaryDirectory(prefix="hushrec-") as folder:
        release, out = Path(folder) / RELEASE, Path(folder) / "page"
        release.write_bytes(latest.file.body)
        if latest.signature is not None:
            release.with_name(RELEASE + SUFFIX).write_bytes(latest.signature.body)
        paths = recommender.write(release, out, titles=titles, key=key)
        names = {path: path.relative_to(out).as_posix() for path in paths}
        made = {f"/{name}": Stored.of(path.read_bytes(), media_of(name)) for path, name in names.items()}
    return made | {f"/{RELEASE}": replace(latest.file, cache=ASK_AGAIN)}


def _short(body: str) -> Stored:
    return Stored.of(_PAGE.format(body=body).encode(), HTML)
