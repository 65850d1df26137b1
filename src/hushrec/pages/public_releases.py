"""The releases of a site: each is opened and checked, and copied with its statement under its SHA-256."""

import hashlib
import json
from dataclasses import asdict, dataclass
from pathlib import Path
from typing import Any

from hushrec import files
from hushrec.documents.html import CSS
from hushrec.errors import ReleaseError
from hushrec.pages.statement_page import statement_html
from hushrec.release.artefact import LARGEST_FILE, Release
from hushrec.release.signature import SUFFIX, require_signed

ENDING = ".safetensors"
_FIX = "name the release file itself"
LIST = "releases.json"
"""The file that lists the releases of a site, newest first."""

__all__ = ["LIST", "PublicRelease", "listed", "publish", "to_json"]


@dataclass(frozen=True, slots=True)
class PublicRelease:
    """Return one release's entry of ``releases.json``.

    Attributes:
        sha256: of the file.
        version: the entry of the ledger; it only grows within a ledger.
        ledger: id of the ledger that was charged, if there is one.
        bytes: size of the file.
        model: name of the model.
        feedback: what users give: ratings or interactions.
        items: number of items.
        unit: privacy unit.
        adjacency: which data are neighbours.
        epsilon: ε of this release alone; None if no finite ε is known.
        delta: δ of this release alone.
        url: where the file is, relative to the list, as all addresses here.
        signature: where its signature is, if it was checked.
        statement: where its statement of privacy is as JSON.
        statement_page: where its statement of privacy is as a page.
    """

    sha256: str
    version: int
    ledger: str | None
    bytes: int
    model: str
    feedback: str
    items: int
    unit: str
    adjacency: str
    epsilon: float | None
    delta: float
    url: str
    signature: str | None
    statement: str
    statement_page: str

    @property
    def files(self) -> list[str]:
        """Names of all files of this release."""
        named = [self.url, self.statement, self.statement_page]
        return named if self.signature is None else [*named, self.signature]


def publish(
    source: Path, site: Path, key: str | None = None
) -> tuple[tuple[PublicRelease, ...], dict[str, str]]:
    """Check releases, and copy them with their statements and signatures into a site.

    From a folder, a file that cannot be trusted or promises nothing is left out. A release that is named
    itself is refused if it cannot be trusted.

    Args:
        source: a release, or a folder of releases of one ledger.
        site: a folder without releases.
        key: the owner's public key, which must have signed every release. Without it, signatures are left.

    Returns:
        The releases, newest first; and the names of files that were left out, with the reason.

    Raises:
        ReleaseError: There is no release to publish, or the folder holds releases of several ledgers.
        OSError: The site cannot be written.
    """
    if not source.is_dir():
        return (_publish(source, site, key),), {}
    releases: dict[str, PublicRelease] = {}
    left_out = {}
    for path in sorted(path for path in source.iterdir() if path.name.endswith(ENDING)):
        try:
            one = _publish(path, site, key, promising=True)
            releases[one.sha256] = one
        except ReleaseError as error:
            left_out[path.name] = str(error)
    if not releases:
        reasons = "".join(f"; {name}: {reason}" for name, reason in left_out.items())
        raise ReleaseError(
            f"{source} holds no release that can be published{reasons}; hushrec fit writes one"
        )
    if len(ledgers := {one.ledger for one in releases.values()}) > 1:
        raise ReleaseError(
            f"{source} holds releases of {len(ledgers)} ledgers; give each ledger a folder, and a site, of "
            "its own"
        )
    return tuple(sorted(releases.values(), key=lambda one: (one.version, one.sha256), reverse=True)), left_out


def to_json(releases: tuple[PublicRelease, ...]) -> bytes:
    """The text of ``releases.json``."""
    return json.dumps({"releases": [asdict(one) for one in releases]}, indent=1, allow_nan=False).encode()


def listed(site: Path) -> tuple[PublicRelease, ...]:
    """The releases of a site, newest first; none if its list cannot be read."""
    try:
        entries: Any = json.loads((site / LIST).read_text("utf-8"))["releases"]
        return tuple(PublicRelease(**one) for one in entries)
    except (OSError, ValueError, KeyError, TypeError):
        return ()


def _publish(path: Path, site: Path, key: str | None, *, promising: bool = False) -> PublicRelease:
    """Check one release, and copy the bytes that were checked."""
    data = files.read(path, ReleaseError, fix=_FIX, largest=LARGEST_FILE)
    release, statement = (opened := Release.from_bytes(data)), opened.statement
    if promising and statement.unprotected:
        raise ReleaseError(statement.sentence)
    if key is not None:
        require_signed(data, path, key)
    sha256 = hashlib.sha256(data).hexdigest()
    url = f"releases/{sha256}{ENDING}"
    facts = PublicRelease(
        sha256=sha256,
        version=int(statement.ledger.get("seq", 0)),
        ledger=statement.ledger.get("id"),
        bytes=len(data),
        model=release.model,
        feedback=release.feedback,
        items=len(release.items),
        unit=statement.unit,
        adjacency=statement.adjacency,
        epsilon=statement.to_json()["epsilon"],
        delta=statement.delta,
        url=url,
        signature=None if key is None else url + SUFFIX,
        statement=f"statements/{sha256}.json",
        statement_page=f"statements/{sha256}.html",
    )
    about, style = f"{release.model}, SHA-256 {sha256}", f"../{CSS.name}"
    page = statement_html(statement, about, stylesheet=style, home="../", icon="../icon.svg")
    put(site / url, data)
    put(site / facts.statement, json.dumps(statement.to_json(), allow_nan=False).encode())
    put(site / facts.statement_page, page.encode())
    if key is not None:
        put(site / f"{url}{SUFFIX}", path.with_name(path.name + SUFFIX).read_bytes())
    return facts


def put(path: Path, data: bytes) -> None:
    """Write a file, in a folder that is made if it is not there."""
    path.parent.mkdir(parents=True, exist_ok=True)
    path.write_bytes(data)
