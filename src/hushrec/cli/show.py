"""``hushrec show``: what a release is and what it promises, in the terminal or as a page."""

import os
import sys
from dataclasses import replace
from pathlib import Path
from typing import TYPE_CHECKING, Annotated

import typer

from hushrec.cli import console, options
from hushrec.errors import ConfigError, ReleaseError
from hushrec.files import sha256, write

if TYPE_CHECKING:
    from hushrec.documents.document import Document
    from hushrec.models.du_leighton_patel.released_data import ReleasedData
    from hushrec.release.artefact import Release


PASSPHRASE = "HUSHREC_KEY_PASSPHRASE"
"""The variable that holds the passphrase of a private key."""


def show(
    ctx: typer.Context,
    release: Annotated[
        Path | None, typer.Argument(help="A release, a released data set, or synthetic people.")
    ] = None,
    key: options.Key = None,
    sign: Annotated[
        Path | None,
        typer.Option(
            metavar="KEY",
            help="Your private key, which signs what is shown, as RELEASE.sig. Its passphrase is asked for, "
            "or taken from HUSHREC_KEY_PASSPHRASE.",
        ),
    ] = None,
    new_key: Annotated[
        bool, typer.Option("--new-key", help="First make the key of --sign, and its public key, .pub.")
    ] = False,
    html: Annotated[
        Path | None,
        typer.Option(help="Write the statement and a checklist as a page: a name in .html."),
    ] = None,
    json: options.Json = False,
    schema: Annotated[bool, typer.Option("--schema", help="Print the JSON Schema of statements.")] = False,
) -> None:
    """Show a release and its promise; sign it."""
    from hushrec.documents.document import Paragraph
    from hushrec.documents.schema import statement_schema

    if schema:
        print(statement_schema(), end="")
        return
    if release is None:
        raise ConfigError("give a release to show, or --schema for the form of its statement")
    if (key or sign) and _is_data_set(release):
        raise ReleaseError(
            f"{release} is a data set, which hushrec does not sign; leave out --key and --sign"
        )
    if new_key and not sign:
        raise ConfigError("--new-key makes the key that --sign names: give --sign OWNER.key as well")
    if html:
        options.require_only(ctx, "--html writes a page", "release key html")
        _write_page(release, key, html)
        return
    document = _people(release) or _opened(release, key).document()
    if sign:
        _sign(release, sign, new_key)
    digest = sha256(release)
    if json:
        named = replace(document, facts={"file": release.name, "sha256": digest, **document.facts})
        console.show(named, json=True)
        return
    heads = Paragraph(f"{release.name}: {document.title}"), Paragraph(f"SHA-256 {digest}")
    symbols = Paragraph("Symbols: docs/glossary.md#symbols. What ε means: docs/choosing.md.")
    console.show_blocks([*heads, *document.blocks, symbols])


def _sign(release: Path, key: Path, new_key: bool) -> None:
    """Sign what is shown, with a new key if one is wanted."""
    from hushrec.release import signature

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
    said.append(f"Wrote {signature.sign(release, key, passphrase=secret)}: publish it next to {release.name}")
    for line in said:
        console.tell(line)


def _passphrase(asked: str, *, new: bool = False) -> str:
    """The passphrase of a private key, from the environment or the terminal; "" where there is neither."""
    secret = os.environ.get(PASSPHRASE, "")
    if not secret and sys.stdin.isatty():
        secret = str(
            typer.prompt(
                asked,
                default="" if new else None,
                show_default=False,
                hide_input=True,
                confirmation_prompt=new,
                err=True,
            )
        )
    return secret


def _people(path: Path) -> "Document | None":
    """Describe a file of synthetic people; None if it is something else."""
    if not _is_data_set(path):
        return None
    from hushrec.curator.write_people import described

    return described(path)


def _is_data_set(path: Path) -> bool:
    from hushrec.models.du_leighton_patel.released_data import SUFFIXES

    return path.suffix in SUFFIXES


def _opened(path: Path, key: Path | None) -> "Release | ReleasedData":
    """The release, or the released data set."""
    if _is_data_set(path):
        from hushrec.models.du_leighton_patel.released_data import ReleasedData

        return ReleasedData.open(path)
    from hushrec.release.artefact import Release

    return Release.open(path, key=key)


def _write_page(release: Path, key: Path | None, out: Path) -> None:
    from hushrec.pages.statement_page import statement_html

    options.require_suffix(out, "--html", ".html")
    statement = _opened(release, key).statement
    page = statement_html(statement, f"{release.name}, SHA-256 {sha256(release)}")
    write(out, page, ReleaseError, fix="choose another file with --html")
    console.say(f"Wrote {out}")
