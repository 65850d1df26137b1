"""``hushrec show``: what a release is and what it promises, in the terminal or as a page."""

import os
import sys
from dataclasses import replace
from pathlib import Path
from typing import Annotated, Any

import typer

from hushrec.cli import console, options
from hushrec.documents.document import Document, Paragraph
from hushrec.documents.schema import statement_schema
from hushrec.errors import ConfigError, ReleaseError
from hushrec.files import sha256, write
from hushrec.pages.statement_page import statement_html
from hushrec.release import signature
from hushrec.release.artefact import Release
from hushrec.release.client import Client
from hushrec.release.statement import Statement

PASSPHRASE = "HUSHREC_KEY_PASSPHRASE"
"""The variable that holds the passphrase of a private key."""


@options.of(Client)
def show(
    release: Annotated[Path | None, "A release, a released data set, or synthetic people."] = None,
    *,
    key: str | None,
    sign: Annotated[
        Path | None,
        "Your private key, which signs what is shown, as RELEASE.sig. Its passphrase is asked for, or taken "
        "from HUSHREC_KEY_PASSPHRASE.",
    ] = None,
    new_key: Annotated[bool, "First make the key of --sign, and its public key, .pub."] = False,
    html: Annotated[
        Path | None, "Write the statement and a checklist as a page too, a name in .html."
    ] = None,
    json: options.Json = False,
    schema: Annotated[bool, "Print the JSON Schema of statements."] = False,
) -> None:
    """Show a release and its promise; sign it."""
    if schema:
        print(statement_schema(), end="")
        return
    if release is None:
        raise ConfigError("give a release to show, or --schema for the form of its statement")
    if new_key and not sign:
        raise ConfigError("--new-key makes the key that --sign names: give --sign OWNER.key as well")
    if html:
        options.require_suffix(html, "--html", ".html")
    data = release.suffix in (".parquet", ".csv")
    if data and (key or sign):
        raise ReleaseError(
            f"{release} is a data set, which hushrec does not sign; leave out --key and --sign"
        )
    document, statement = _data_set(release) if data else _release(release, key)
    if sign:
        document, statement = _release(release, key=_sign(release, sign, new_key))
    digest = sha256(release)
    if html:
        if statement is None:
            raise ConfigError(f"{release} holds synthetic people: --html is of the release that made them")
        page = statement_html(statement, f"{release.name}, SHA-256 {digest}")
        write(html, page, ReleaseError, fix="choose another file with --html")
        console.tell(f"Wrote {html}")
    if json:
        named = replace(document, facts={"file": release.name, "sha256": digest, **document.facts})
        console.show(named, json=True)
        return
    heads = Paragraph(f"{release.name}: {document.title}"), Paragraph(f"SHA-256 {digest}")
    symbols = Paragraph("Symbols: docs/glossary.md#symbols. What ε means: docs/choosing.md.")
    console.show_blocks([*heads, *document.blocks, symbols])


def _release(path: Path, key: str | None) -> tuple[Document, Statement]:
    release = Release.open(path, key=key)
    return release.document(), release.statement


def _data_set(path: Path) -> tuple[Document, Statement | None]:
    """Describe a released data set, or a file of synthetic people, which has no statement of its own."""
    from hushrec.curator.write_people import described  # needs more than most releases
    from hushrec.models.du_leighton_patel.released_data import ReleasedData

    if people := described(path):
        return people, None
    data = ReleasedData.open(path)
    return data.document(), data.statement


def _sign(release: Path, key: Path, new_key: bool) -> str:
    """Sign what is shown, with a new key if one is wanted; return the public key that checks it."""
    said = []
    if new_key:
        options.require_suffix(key, "--sign", ".key")
        secret = _passphrase("Passphrase, empty for none", new=True)
        public = signature.new_key(key, passphrase=secret)
        protected = "encrypted by your passphrase" if secret else "not encrypted"
        said.append(f"Wrote {key}, {protected}: keep it, and a copy of it, where only you can read it")
        said.append(f"Wrote {key.with_suffix('.pub')}: publish this key, {public}")
    elif not key.exists():
        raise ReleaseError(f"{key} does not exist; name your private key, or add --new-key to make it")
    else:
        if os.name == "posix" and (mode := key.stat().st_mode & 0o777) & 0o077:
            said.append(f"Users other than the owner can access {key} (mode {mode:o}): chmod 600 {key}")
        secret = _passphrase("Passphrase") if signature.is_encrypted(key) else ""
    signed_by = signature.sign(release, key, passphrase=secret)
    said.append(f"Wrote {release}{signature.SUFFIX}: publish it next to {release.name}")
    for line in said:
        console.tell(line)
    return signed_by


def _passphrase(asked: str, *, new: bool = False) -> str:
    """The passphrase of a private key, from the environment or the terminal; "" where there is neither."""
    secret = os.environ.get(PASSPHRASE, "")
    if secret or not sys.stdin.isatty():
        return secret
    form: dict[str, Any] = {"default": "" if new else None, "show_default": False, "confirmation_prompt": new}
    return str(typer.prompt(asked, hide_input=True, err=True, **form))
