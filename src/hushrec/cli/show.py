"""``hushrec show``: what a release is and what it promises, in the terminal or as a card for reviewers."""

from dataclasses import asdict, replace
from pathlib import Path
from typing import TYPE_CHECKING, Annotated, Any

import typer

from hushrec.cli import console, keys, options
from hushrec.cli.groups import grouped
from hushrec.errors import ConfigError, ReleaseError
from hushrec.files import read_text, sha256, write

if TYPE_CHECKING:
    from collections.abc import Iterator, Mapping

    from hushrec.documents.document import Document
    from hushrec.documents.words import Clause
    from hushrec.local.released import ReleasedData
    from hushrec.pages.reviewed_file import ReviewedFile
    from hushrec.release.artefact import Release


@grouped
def show(
    ctx: typer.Context,
    pinned: keys.Pinned,
    release: Annotated[
        Path | None, typer.Argument(help="A release, a released data set, or synthetic people.")
    ] = None,
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
    schema: Annotated[
        str | None,
        typer.Option(
            metavar="KIND", help="Print the JSON schema of a kind of document, such as statement or plan."
        ),
    ] = None,
) -> None:
    """Show a release: its promise and who signed it, or its card.

    The card is a page of HTML or Markdown for the person who answers for privacy: promise, evidence,
    checklist.
    """
    from hushrec.documents import schema as schemas
    from hushrec.documents.document import Paragraph

    if schema:
        if schema not in schemas.KINDS:
            raise ConfigError(f"there is no schema {schema!r}; choose one of {', '.join(schemas.KINDS)}")
        console.print_json(schemas.schema(schema))
        return
    if release is None:
        raise ConfigError("give a release to show, or --schema statement for the form of its statement")
    if pinned.key and _is_data_set(release):
        raise ReleaseError(f"{release} is a data set, which hushrec does not sign; leave out --key")
    if html or md:
        options.require_only(
            ctx, "--html and --md write a card", "release key seen html md audit accuracy history lang"
        )
        _write_card(release, asdict(pinned), lang, html, md, audit, accuracy, history)
        return
    if audit or accuracy or history:
        raise ConfigError("--audit, --accuracy and --history are for the card: give --html or --md as well")
    document = _people(release, lang) or _opened(release, pinned.arguments()).document(lang)
    digest = sha256(release)
    if json:
        named = replace(document, facts={"file": release.name, "sha256": digest, **document.facts})
        console.show(named, json=True)
        return
    heads = Paragraph(f"{release.name}: {document.title}"), Paragraph(f"SHA-256 {digest}")
    symbols = Paragraph("Symbols: docs/glossary.md#symbols. What ε means: docs/choosing.md.")
    console.show_blocks([*heads, *document.blocks, symbols])


def _people(path: Path, lang: str) -> "Document | None":
    """Describe a file of synthetic people; None if it is something else."""
    if not _is_data_set(path):
        return None
    from hushrec.curator.write_people import described

    return described(path, lang)


def _is_data_set(path: Path) -> bool:
    from hushrec.local.dataset_files import SUFFIXES

    return path.suffix in SUFFIXES


def _opened(path: Path, pinned: dict[str, Any]) -> "Release | ReleasedData":
    """The release, or the released data set."""
    if _is_data_set(path):
        from hushrec.local.released import ReleasedData

        return ReleasedData.open(path)
    from hushrec.release.artefact import Release

    return Release.open(path, **pinned)


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


def _write_card(release: Path, pinned: dict[str, Any], lang: str, *paths: Path | None) -> None:
    """Write a card as HTML and as Markdown, with what audit, accuracy and history are in files."""
    from hushrec.documents.html import page
    from hushrec.documents.markdown import markdown
    from hushrec.pages import card

    html, md, audit, accuracy, history = paths
    for out, suffix in ((html, "html"), (md, "md")):
        if out:
            options.require_suffix(out, f"--{suffix}", f".{suffix}")
    subject = _subject(_opened(release, pinned), release)
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
