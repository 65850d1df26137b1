"""``hushrec show``: what a release is and what it promises."""

from json import loads
from pathlib import Path
from typing import TYPE_CHECKING, Annotated, Any

import typer

from hushrec.cli import console, options
from hushrec.errors import ConfigError
from hushrec.escapes import escaped

if TYPE_CHECKING:
    from hushrec.release.artefact import Release
    from hushrec.release.statement import Statement


def show(
    release: Annotated[Path | None, typer.Argument(help="A release, or a released data set.")] = None,
    json: options.Json = False,
    schema: Annotated[bool, typer.Option("--schema", help="Print the JSON schema of statements.")] = False,
) -> None:
    """Show a release's statement of privacy."""
    if schema:
        from hushrec.release.statement import SCHEMA

        console.print_json(loads(SCHEMA.read_text("utf-8")))
        return
    if release is None:
        raise ConfigError("give a release to show, or --schema for the form of its statement")
    if json:
        console.print_json(_facts(release))
        return
    about, statement, taste = _data(release) if release.suffix in (".parquet", ".csv") else _model(release)
    console.out().print(escaped(f"{release.name}: {about}"), soft_wrap=True)
    if taste:
        console.out().print(taste, soft_wrap=True)
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


def _facts(path: Path) -> dict[str, Any]:
    """What the file is, and its statement of privacy, as JSON values."""
    if path.suffix in (".parquet", ".csv"):
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

    release = Release.open(path)
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
        "statement": release.statement.to_json(),
    }


def _model(path: Path) -> "tuple[str, Statement, str]":
    from hushrec.release.artefact import Release

    opened = Release.open(path)
    people = f"{len(opened.users):,} people listed, " if opened.users else ""
    about = f"{opened.model}, {len(opened.items):,} items, {people}{_given(opened)}"
    return about, opened.statement, opened.taste


def _data(path: Path) -> "tuple[str, Statement, str]":
    from hushrec.local.released import ReleasedData

    opened = ReleasedData.open(path)
    domain = opened.ratings.domain
    about = (
        f"data set by {opened.method}, {opened.n_people:,} people, {opened.ratings.n_ratings:,} cells, "
        f"{domain.n_items:,} items, {_scale(domain.scale)}"
    )
    return about, opened.statement, ""


def _given(release: "Release") -> str:
    """What people give, as in a domain."""
    if release.likes is not None and release.scale is not None:
        return f"likes: ratings of at least {release.likes:g} on the {_scale(release.scale)}"
    if release.scale is not None:
        return _scale(release.scale)
    return "interactions" if release.counts is None else f"interactions counted up to {release.counts}"


def _scale(scale: tuple[float, float, float]) -> str:
    lo, hi, step = scale
    return f"scale {lo:g} to {hi:g} by {step:g}"
