"""``hushrec show``: what a release is and what it promises."""

from pathlib import Path
from typing import Annotated

import typer

from hushrec.cli import console


def show(release: Annotated[Path, typer.Argument(help="A release.")]) -> None:
    """Show a release's statement of privacy."""
    from hushrec.release.artefact import Release

    opened = Release.open(release)
    lo, hi, step = opened.scale
    people = f"{len(opened.users):,} people listed, " if opened.users else ""
    console.out().print(
        f"{release.name}: {opened.model}, {len(opened.items):,} items, {people}"
        f"scale {lo:g} to {hi:g} by {step:g}"
    )
    console.out().print()
    console.print_statement(opened.statement)
