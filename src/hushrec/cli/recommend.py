"""``hushrec recommend``: a user's own recommendations, on their own device."""

import json
from pathlib import Path
from typing import Annotated, Any

import typer

from hushrec.cli import console
from hushrec.errors import DataError
from hushrec.escapes import escaped


def recommend(
    release: Annotated[Path, typer.Argument(help="A release.")],
    rating: Annotated[
        list[str] | None, typer.Option(metavar="ITEM=STARS", help="A rating of yours; may be repeated.")
    ] = None,
    ratings: Annotated[
        Path | None, typer.Option(help="Your ratings as JSON, {item: stars, …}.", exists=True, dir_okay=False)
    ] = None,
    user: Annotated[
        str | None, typer.Option(metavar="ID", help="A user whom the release lists, instead of ratings.")
    ] = None,
    n: Annotated[int, typer.Option("-n", min=1, help="Length of the list.")] = 10,
) -> None:
    """Recommend from a release and your own ratings.

    Nothing leaves this machine. If the release lists you, you can give your id instead; your own ratings are
    often better.
    """
    from hushrec.release.client import Client

    client = Client(release)
    own = _own(ratings) if ratings else {}
    own |= dict(map(_pair, rating or []))
    if user is not None and (ratings or rating):
        raise DataError("give either --user or ratings of your own, not both")
    unknown = sorted(set(own) - set(client.release.items))
    if unknown:
        console.err().print(f"Ignored, not in this release's catalogue: {escaped(', '.join(unknown))}")
    listed = console.table("rank", "item", "score", left=0)
    listed.columns[1].justify = "left"
    for item, score, rank in client.recommend(own if user is None else None, n, user=user):
        listed.add_row(str(rank), item, f"{score:.2f}")
    console.out().print(listed)


def _own(path: Path) -> dict[str, float]:
    try:
        stars: Any = json.loads(path.read_text(encoding="utf-8"))
        return {str(item): float(value) for item, value in stars.items()}
    except (OSError, ValueError, TypeError, AttributeError):
        raise DataError(f'{path} is not JSON of the form {{"item": stars, …}}') from None


def _pair(text: str) -> tuple[str, float]:
    item, _, stars = text.rpartition("=")  # item ids may contain =, stars do not
    try:
        return item, float(stars)
    except ValueError:
        raise DataError("--rating takes ITEM=STARS, for example --rating Alien=5") from None
