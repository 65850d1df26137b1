"""``hushrec show``: what a release is and what it promises, in the terminal or as a card for reviewers."""

import os
import sys
from dataclasses import replace
from pathlib import Path
from typing import TYPE_CHECKING, Annotated, Any

import typer

from hushrec.cli import console, options
from hushrec.errors import ConfigError, ReleaseError
from hushrec.files import read_text, sha256, write

if TYPE_CHECKING:
    from collections.abc import Iterator, Mapping

    from hushrec.documents.document import Document
    from hushrec.documents.words import Clause
    from hushrec.local.released import ReleasedData
    from hushrec.pages.reviewed_file import ReviewedFile
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
        typer.Option(
            help="Write the card instead, a page for the person who answers for privacy: a name in .html."
        ),
    ] = None,
    md: Annotated[Path | None, typer.Option(help="The same card as Markdown: a name in .md.")] = None,
    audit: Annotated[
        Path | None,
        typer.Option(help="For the card: what hushrec audit --json printed, of the release's model and ε."),
    ] = None,
    accuracy: Annotated[
        Path | None,
        typer.Option(
            help="For the card: what hushrec evaluate --json printed, of this release. NOT private: the card "
            "says so."
        ),
    ] = None,
    history: Annotated[
        Path | None,
        typer.Option(help="For the card: the ledger's history, as hushrec ledger export writes it: checked."),
    ] = None,
    lang: Annotated[
        str,
        typer.Option(help="The language of statement and card; what it lacks stands in English."),
    ] = "en",
    json: options.Json = False,
    schema: Annotated[bool, typer.Option("--schema", help="Print the JSON Schema of statements.")] = False,
) -> None:
    """Show a release, its promise, or its card; sign it.

    The card is a page of HTML or Markdown for the person who answers for privacy: promise, evidence,
    checklist.
    """
    from hushrec.documents import schema as schemas
    from hushrec.documents.document import Paragraph

    if schema:
        print(schemas.source(), end="")
        return
    if release is None:
        raise ConfigError("give a release to show, or --schema for the form of its statement")
    if (key or sign) and _is_data_set(release):
        raise ReleaseError(
            f"{release} is a data set, which hushrec does not sign; leave out --key and --sign"
        )
    if new_key and not sign:
        raise ConfigError("--new-key makes the key that --sign names: give --sign OWNER.key as well")
    if html or md:
        options.require_only(
            ctx, "--html and --md write a card", "release key html md audit accuracy history lang"
        )
        _write_card(release, key, lang, html, md, audit, accuracy, history)
        return
    if audit or accuracy or history:
        raise ConfigError("--audit, --accuracy and --history are for the card: give --html or --md as well")
    document = _people(release, lang) or _opened(release, key).document(lang)
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
        console.err().print(line, soft_wrap=True)


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


def _people(path: Path, lang: str) -> "Document | None":
    """Describe a file of synthetic people; None if it is something else."""
    if not _is_data_set(path):
        return None
    from hushrec.curator.write_people import described

    return described(path, lang)


def _is_data_set(path: Path) -> bool:
    from hushrec.local.dataset_files import SUFFIXES

    return path.suffix in SUFFIXES


def _opened(path: Path, key: Path | None) -> "Release | ReleasedData":
    """The release, or the released data set."""
    if _is_data_set(path):
        from hushrec.local.released import ReleasedData

        return ReleasedData.open(path)
    from hushrec.release.artefact import Release

    return Release.open(path, key=key)


def _subject(opened: "Release | ReleasedData", path: Path) -> "ReviewedFile":
    """Describe the file as a reader of its card sees it."""
    from hushrec.documents.words import Clause
    from hushrec.pages.reviewed_file import ReviewedFile, on_scale
    from hushrec.release.artefact import Release

    digest = sha256(path)
    if isinstance(opened, Release):
        return ReviewedFile.of(opened, path.name, digest)
    domain, cells = opened.ratings.domain, opened.ratings.n_ratings
    return ReviewedFile(
        sort="data_set",
        maker=opened.method,
        settings=opened.settings,
        n_items=domain.n_items,
        gives=on_scale(domain.scale),
        holds=Clause("card.about.rows", {"people": opened.n_people, "cells": cells}),
        statement=opened.statement,
        named=path.name,
        sha256=digest,
    )


def _write_card(release: Path, key: Path | None, lang: str, *paths: Path | None) -> None:
    """Write a card as HTML and as Markdown, with what audit, accuracy and history are in files."""
    from hushrec.documents.html import page
    from hushrec.documents.markdown import markdown
    from hushrec.pages import card

    html, md, audit, accuracy, history = paths
    for out, suffix in ((html, "html"), (md, "md")):
        if out:
            options.require_suffix(out, f"--{suffix}", f".{suffix}")
    subject = _subject(_opened(release, key), release)
    evidence = card.Given(
        audit=(audit.name, _text(audit)) if audit else None,
        accuracy=(accuracy.name, _text(accuracy)) if accuracy else None,
        history=_recorded(history, release) if history else None,
        options=_options(subject),
    )
    document = card.card(subject, evidence, lang)
    for out, text in ((html, page), (md, markdown)):
        if out:
            write(out, text(document), ReleaseError, fix=f"choose another file with --{out.suffix[1:]}")
            console.out().print(f"Wrote {out}", soft_wrap=True)


def _recorded(history: Path, release: Path) -> "Clause":
    """Return the findings about a ledger's history; an altered one is refused."""
    from hushrec.curator.verify import verify
    from hushrec.documents.words import Clause

    recorded = verify(history, release)
    facts = {"records": recorded.records, "release": (recorded.release_index or 0) + 1}
    return Clause("card.ledger.history", {"file": history.name, **facts})


def _options(subject: "ReviewedFile") -> "tuple[tuple[str, str], ...] | None":
    """The settings that are not the model's defaults; None for what is unknown.

    A name is looked up among hushrec's own alone: a file must not have a module of its choice imported.
    """
    from hushrec import registry

    if subject.maker not in registry.MODELS:
        return None
    try:
        default = registry.class_of(subject.maker, registry.MODELS)().settings()
        return tuple((name, str(value)) for name, value in _changed(subject.settings, default))
    except (ConfigError, KeyError, TypeError):  # a file may name anything as a setting
        return None


def _changed(
    settings: "Mapping[str, Any]", default: "Mapping[str, Any]", outer: str = ""
) -> "Iterator[tuple[str, Any]]":
    for name, value in settings.items():
        usual = default[name]
        if isinstance(value, dict) and isinstance(usual, dict):
            yield from _changed(value, usual, f"{outer}{name}.")
        elif value != usual:
            yield f"{outer}{name}", value


def _text(path: Path) -> str:
    return read_text(path, ReleaseError, fix="give what the command printed with --json")
