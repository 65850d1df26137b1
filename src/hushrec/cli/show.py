"""``hushrec show``: what a release is and what it promises."""

from pathlib import Path
from typing import TYPE_CHECKING, Annotated

import typer

from hushrec.cli import console
from hushrec.escapes import escaped

if TYPE_CHECKING:
    from hushrec.release.artefact import Release
    from hushrec.release.statement import Statement


def show(release: Annotated[Path, typer.Argument(help="A release, or a released data set.")]) -> None:
    """Show a release's statement of privacy."""
    about, statement, taste = _data(release) if release.suffix in (".parquet", ".csv") else _model(release)
    console.out().print(escaped(f"{release.name}: {about}"), soft_wrap=True)
    if taste:
        console.out().print(taste, soft_wrap=True)
    console.out().print()
    console.print_statement(statement)


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
