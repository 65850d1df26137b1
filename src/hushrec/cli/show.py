"""``hushrec show``: what a release is and what it promises."""

from json import loads
from pathlib import Path
from typing import TYPE_CHECKING, Annotated, Any

import typer

from hushrec.cli import console, keys, options
from hushrec.errors import ConfigError, ReleaseError
from hushrec.escapes import escaped

if TYPE_CHECKING:
    from hushrec.release.statement import Statement

_DATA_SETS = ".parquet", ".csv"


def show(
    release: Annotated[Path | None, typer.Argument(help="A release, or a released data set.")] = None,
    key: keys.Pinned = None,
    seen: keys.SeenFile = None,
    json: options.Json = False,
    schema: Annotated[bool, typer.Option("--schema", help="Print the JSON schema of statements.")] = False,
) -> None:
    """Show a release's statement of privacy, and who signed it."""
    if schema:
        from hushrec.release.statement import SCHEMA

        console.print_json(loads(SCHEMA.read_text("utf-8")))
        return
    if release is None:
        raise ConfigError("give a release to show, or --schema for the form of its statement")
    given = keys.check(key, seen)
    if given and release.suffix in _DATA_SETS:
        raise ReleaseError(f"{release} is a data set, which hushrec does not sign; leave out --key")
    if json:
        console.print_json(_facts(release, given))
        return
    about, statement, lines = _data(release) if release.suffix in _DATA_SETS else _model(release, given)
    console.out().print(escaped(f"{release.name}: {about}"), soft_wrap=True)
    for line in filter(None, lines):
        console.out().print(line, soft_wrap=True)
    console.out().print()
    console.print_statement(statement)
    _print_undeclared(statement)
    console.print_symbols()


def _print_undeclared(statement: "Statement") -> None:
    """Say what the owner of a kept ledger has not declared: a reader asks who answers for the file."""
    from hushrec.release.statement_text import DECLARED

    kept = statement.ledger.get("file")
    missing = [name for name in DECLARED if kept and name not in statement.ledger]
    if missing:
        told = f"Not declared: {', '.join(missing)}."
        console.out().print(f"{told} The ledger's owner can, for later releases: hushrec ledger declare")
        console.out().print()


def _facts(path: Path, given: dict[str, Any]) -> dict[str, Any]:
    """What the file is, and its statement of privacy, as JSON values."""
    if path.suffix in _DATA_SETS:
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


def _model(path: Path, given: dict[str, Any]) -> "tuple[str, Statement, list[str]]":
    from hushrec.pages.cards.subject import Subject
    from hushrec.release.artefact import Release

    opened = Release.open(path, **given)
    return Subject.of(opened).about, opened.statement, [opened.taste, f"Signature: {opened.signature}"]


def _data(path: Path) -> "tuple[str, Statement, list[str]]":
    from hushrec.local.released import ReleasedData
    from hushrec.pages.cards.subject import on_scale

    opened = ReleasedData.open(path)
    domain = opened.ratings.domain
    about = (
        f"data set by {opened.method}, {opened.n_people:,} people, {opened.ratings.n_ratings:,} cells, "
        f"{domain.n_items:,} items, {on_scale(domain.scale)}"
    )
    return about, opened.statement, []
