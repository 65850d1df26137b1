"""``hushrec recommend``: a user's own recommendations, on their own device."""

import json
from pathlib import Path
from typing import TYPE_CHECKING, Annotated, Any

import typer

from hushrec.cli import console
from hushrec.errors import DataError
from hushrec.escapes import escaped

if TYPE_CHECKING:
    from hushrec.release.artefact import Release


def recommend(
    release: Annotated[Path, typer.Argument(help="A release.")],
    rating: Annotated[
        list[str] | None, typer.Option(metavar="ITEM=STARS", help="A rating of yours; may be repeated.")
    ] = None,
    item: Annotated[
        list[str] | None,
        typer.Option(
            metavar="ITEM",
            help="An item that you liked, bought or used, for a release of interactions; may be repeated.",
        ),
    ] = None,
    ratings: Annotated[
        Path | None,
        typer.Option(
            help="Your ratings or counts as JSON, {item: number, …}, or items alone, [item, …].",
            exists=True,
            dir_okay=False,
        ),
    ] = None,
    user: Annotated[
        str | None, typer.Option(metavar="ID", help="A user whom the release lists, instead of ratings.")
    ] = None,
    n: Annotated[int, typer.Option("-n", min=1, help="Length of the list.")] = 10,
    exclude: Annotated[
        list[str] | None, typer.Option(metavar="ITEM", help="An item not to recommend; may be repeated.")
    ] = None,
    allowed: Annotated[
        Path | None,
        typer.Option(
            help="The only items to recommend: .txt with an id a line, or .csv, .tsv or .parquet.",
            exists=True,
            dir_okay=False,
        ),
    ] = None,
    where: Annotated[
        list[str] | None,
        typer.Option(
            metavar="FEATURE",
            help="Recommend only items with this feature: genres=Drama or year=1994; may be repeated.",
        ),
    ] = None,
    features: Annotated[
        Path | None,
        typer.Option(
            help="Public features of items, for --where: a table, or MovieLens' movies.dat or u.item.",
            exists=True,
            dir_okay=False,
        ),
    ] = None,
    diversity: Annotated[
        float, typer.Option(min=0, max=1, help="0: the best items; above: items less like each other.")
    ] = 0,
    why: Annotated[bool, typer.Option("--why", help="Show which items of yours moved each most.")] = False,
) -> None:
    """Recommend from a release and your own ratings or items.

    Nothing leaves this machine. If the release lists you, you can give your id instead; your own ratings are
    often better.
    """
    from hushrec.cli.filters import allowed_items
    from hushrec.release.client import Client

    client = Client(release)
    if user is not None and (ratings or rating or item):
        raise DataError("give either --user or ratings of your own, not both")
    if user is not None and why:
        raise DataError("--why names ratings of your own; give them in place of --user")
    own = _own(client.release, rating or [], item or [], ratings)
    unknown = sorted({*own, *(exclude or [])} - set(client.release.items))
    if unknown:
        console.err().print(f"Ignored, not in this release's catalogue: {escaped(', '.join(unknown))}")
    rows = client.recommend(
        own if user is None else None,
        n,
        user=user,
        exclude=exclude or (),
        allowed=allowed_items(client.release.items, allowed, where or (), features),
        diversity=diversity,
    )
    listed = console.table("rank", "item", "score", *["because of"] * why, left=0)
    for column in (1, 3)[: 1 + why]:
        listed.columns[column].justify = "left"
    for name, score, rank in rows:
        reasons = client.reasons(own, name) if why else []
        because = ", ".join(f"{mine} {added:+.2f}" for mine, added in reasons)
        listed.add_row(str(rank), name, f"{score:.2f}", *[because] * why)
    console.out().print(listed)


def _own(
    release: "Release", rating: list[str], item: list[str], path: Path | None
) -> dict[str, float] | list[str]:
    """What the user gave: numbers by item, or items alone."""
    from_file = _read(path) if path else None
    if release.feedback == "ratings" and (item or isinstance(from_file, list)):
        raise DataError("this release predicts ratings; give yours as --rating ITEM=STARS, not --item")
    if release.scale is None and rating:
        raise DataError("this release is of interactions, which have no ratings; give --item ITEM")
    if (rating or isinstance(from_file, dict)) and (item or isinstance(from_file, list)):
        raise DataError("give either items with a number or items alone (--item), not both")
    if item or isinstance(from_file, list):
        return [*(from_file or []), *item]
    numbers = dict(from_file or {}) | dict(map(_pair, rating))
    return numbers or ({} if release.feedback == "ratings" else [])


def _read(path: Path) -> dict[str, float] | list[str]:
    try:
        given: Any = json.loads(path.read_text(encoding="utf-8"))
        if isinstance(given, list) and all(isinstance(item, str) for item in given):
            return given
        return {str(item): float(value) for item, value in given.items()}
    except (OSError, ValueError, TypeError, AttributeError):
        raise DataError(
            f'{path} is not JSON of the form {{"item": stars, …}}, or ["item", …] for items alone'
        ) from None


def _pair(text: str) -> tuple[str, float]:
    item, _, stars = text.rpartition("=")  # item ids may contain =, stars do not
    try:
        return item, float(stars)
    except ValueError:
        raise DataError("--rating takes ITEM=STARS, for example --rating Alien=5") from None
