"""``hushrec show``: what a release is and what it promises, in the terminal or as a card for reviewers."""

from dataclasses import asdict, replace
from json import loads
from pathlib import Path
from typing import TYPE_CHECKING, Annotated, Any

import typer

from hushrec.cli import console, keys, options
from hushrec.cli.groups import grouped
from hushrec.errors import ConfigError, ReleaseError
from hushrec.escapes import escaped
from hushrec.files import read_text, sha256, write

if TYPE_CHECKING:
    from collections.abc import Iterator, Mapping

    from hushrec.pages.cards.subject import Subject
    from hushrec.release.statement import Statement


@grouped
def show(
    ctx: typer.Context,
    pinned: keys.Pinned,
    release: Annotated[Path | None, typer.Argument(help="A release, or a released data set.")] = None,
    html: Annotated[
        Path | None,
        typer.Option(help="Write the card instead, a page for whoever answers for privacy: a name in .html."),
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
    json: options.Json = False,
    schema: Annotated[bool, typer.Option("--schema", help="Print the JSON schema of statements.")] = False,
) -> None:
    """Show a release: its promise and who signed it, or its card.

    The card is a page of HTML or Markdown for whoever answers for privacy: promise, evidence, checklist.
    """
    if schema:
        from hushrec.release.statement import SCHEMA

        console.print_json(loads(SCHEMA.read_text("utf-8")))
        return
    if release is None:
        raise ConfigError("give a release to show, or --schema for the form of its statement")
    if pinned.key and _is_data_set(release):
        raise ReleaseError(f"{release} is a data set, which hushrec does not sign; leave out --key")
    if html or md:
        options.require_only(
            ctx, "--html and --md write a card", "release key seen html md audit accuracy history"
        )
        _write_card(release, asdict(pinned), html, md, audit, accuracy, history)
        return
    if audit or accuracy or history:
        raise ConfigError("--audit, --accuracy and --history are for the card: give --html or --md as well")
    if json:
        console.print_json(_facts(release, pinned.arguments()))
        return
    shown = _subject(release, pinned.arguments())
    screen = console.out()
    screen.print(escaped(f"{release.name}: {shown.about}"), soft_wrap=True)
    if shown.sort == "release":
        screen.print(shown.taste, soft_wrap=True)
        screen.print(f"Signature: {shown.signature}", soft_wrap=True)
    screen.print()
    console.print_statement(shown.statement)
    _print_undeclared(shown.statement)
    console.print_symbols()


def _print_undeclared(statement: "Statement") -> None:
    """Say what the owner of a kept ledger has not declared: a reader asks who answers for the file."""
    from hushrec.release.statement_text import DECLARED

    kept = statement.ledger.get("file")
    missing = [name for name in DECLARED if kept and name not in statement.ledger]
    if missing:
        told = f"Not declared: {', '.join(missing)}."
        console.out().print(f"{told} The ledger's owner can, for later releases: hushrec ledger extend")
        console.out().print()


def _is_data_set(path: Path) -> bool:
    from hushrec.local.dataset_files import SUFFIXES

    return path.suffix in SUFFIXES


def _facts(path: Path, given: dict[str, Any]) -> dict[str, Any]:
    """What the file is, and its statement of privacy, as JSON values."""
    if _is_data_set(path):
        from hushrec.local.released import ReleasedData

        data = ReleasedData.open(path)
        return {
            "file": path.name,
            "method": data.method,
            "settings": dict(data.settings),
            "n_people": data.n_people,
            "n_cells": data.ratings.n_ratings,
            "n_items": data.ratings.domain.n_items,
            "scale": list(data.ratings.domain.scale),
            "statement": data.statement.to_json(),
        }
    from hushrec.release.artefact import Release

    release = Release.open(path, **given)
    return {
        "file": path.name,
        "model": release.model,
        "settings": dict(release.config),
        "kind": release.kind,
        "feedback": release.feedback,
        "n_items": len(release.items),
        "n_people": len(release.users),
        "scale": release.scale and list(release.scale),
        "likes": release.likes,
        "counts": release.counts,
        "taste": release.taste,
        "signature": release.signature.to_json(),
        "statement": release.statement.to_json(),
    }


def _subject(path: Path, given: dict[str, Any]) -> "Subject":
    """What the file is, as a reader sees it."""
    from hushrec.pages.cards.subject import Subject, on_scale

    if not _is_data_set(path):
        from hushrec.release.artefact import Release

        return Subject.of(Release.open(path, **given), path.name)
    from hushrec.local.released import ReleasedData

    opened = ReleasedData.open(path)
    domain = opened.ratings.domain
    return Subject(
        sort="data set",
        maker=opened.method,
        settings=opened.settings,
        n_items=domain.n_items,
        given=on_scale(domain.scale),
        holds=f"{opened.n_people:,} people, {opened.ratings.n_ratings:,} cells",
        statement=opened.statement,
        named=path.name,
    )


def _write_card(release: Path, given: dict[str, Any], *paths: Path | None) -> None:
    """Write a card as HTML and as Markdown, with what audit, accuracy and history are in files."""
    from hushrec.pages import card

    html, md, audit, accuracy, history = paths
    for out, suffix in ((html, "html"), (md, "md")):
        if out:
            options.require_suffix(out, f"--{suffix}", f".{suffix}")
    subject = replace(_subject(release, given), sha256=sha256(release))
    evidence = card.Given(
        audit=(audit.name, _text(audit)) if audit else None,
        accuracy=(accuracy.name, _text(accuracy)) if accuracy else None,
        history=_recorded(history, release) if history else "",
        options=_options(subject),
    )
    page = card.card(subject, evidence)
    for out, text in ((html, card.html), (md, card.markdown)):
        if out:
            write(out, text(page), ReleaseError, fix=f"choose another file with --{out.suffix[1:]}")
            console.out().print(f"Wrote {out}", soft_wrap=True)


def _recorded(history: Path, release: Path) -> str:
    """What the check of a ledger's history found; an altered one is refused."""
    from hushrec.curator.verify import verify

    found = verify(history, release)
    return (
        f"{history.name} holds {found.records:,} records, all as they were hashed, and records this file, "
        f"byte for byte, as release {(found.release_index or 0) + 1}."
    )


def _options(subject: "Subject") -> "tuple[tuple[str, str], ...] | None":
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
