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
) -> None:
    """Recommend from a release and your own ratings or items.

    Nothing leaves this machine. If the release lists you, you can give your id instead; your own ratings are
    often better.
    """
    from hushrec.release.client import Client

    client = Client(release)
    if user is not None and (ratings or rating or item):
        raise DataError("give either --user or ratings of your own, not both")
    own = _own(client.release, rating or [], item or [], ratings)
    unknown = sorted(set(own) - set(client.release.items))
    if unknown:
        console.err().print(f"Ignored, not in this release's catalogue: {escaped(', '.join(unknown))}")
    of_ratings = client.release.feedback == "ratings"
    listed = console.table("rank", "item", "score", *(["rating"] if of_ratings else []), left=0)
    listed.columns[1].justify = "left"
    for name, score, rank, rating_ in client.recommend(own if user is None else None, n, user=user):
        listed.add_row(str(rank), name, f"{score:.2f}", *([] if rating_ is None else [f"{rating_:.2f}"]))
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
