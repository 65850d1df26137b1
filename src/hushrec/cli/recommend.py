"""``hushrec recommend``: a user's own list on their own device, or the items most like one."""

import json
from pathlib import Path
from typing import TYPE_CHECKING, Annotated, Any

import typer

from hushrec.cli import console, keys, options
from hushrec.errors import DataError

if TYPE_CHECKING:
    from hushrec.release.artefact import Release
    from hushrec.release.client import Client


def recommend(
    ctx: typer.Context,
    release: Annotated[Path, typer.Argument(help="A release.")],
    rating: Annotated[
        list[str] | None,
        typer.Option(
            metavar="ITEM=STARS",
            help="A rating of yours, of an id or a title; may be repeated.",
        ),
    ] = None,
    item: Annotated[
        list[str] | None,
        typer.Option(
            metavar="ITEM",
            help="An item that you liked, bought or used, by id or title, for a release of interactions; "
            "may be repeated.",
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
    allowed: options.Allowed = None,
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
    key: keys.Pinned = None,
    seen: keys.SeenFile = None,
    why: Annotated[bool, typer.Option("--why", help="Show which items of yours moved each most.")] = False,
    like: Annotated[
        str | None,
        typer.Option(
            metavar="ITEM",
            help="List instead the items most like this one, by id or title: the same for everybody.",
        ),
    ] = None,
    json_: options.Json = False,
) -> None:
    """Recommend from a release on your own device.

    Give your own ratings or items; nothing leaves this machine. If the release lists you, you can give your
    id instead; your own ratings are often better. With --like, the release alone says which items are most
    alike.
    """
    from hushrec.cli.called import by_id, called, said
    from hushrec.cli.filters import allowed_items
    from hushrec.release.client import Client

    client = Client(release, **keys.check(key, seen))
    if like is not None:
        because = "--like lists what is like one item, the same for everybody"
        options.require_only(ctx, because, "release like n key seen json_")
        _print_similar(client, like, n, json_)
        return
    if user is not None and (ratings or rating or item):
        raise DataError("give either --user or ratings of your own, not both")
    if user is not None and why:
        raise DataError("--why names ratings of your own; give them in place of --user")
    own = _own(client.release, rating or [], item or [], ratings)
    own = by_id(client, own)
    without = called(client, exclude or ()).values()
    rows = client.recommend(
        own if user is None else None,
        n,
        user=user,
        exclude=without,
        allowed=allowed_items(client.release.items, allowed, where or (), features, client.release.features),
        diversity=diversity,
    )
    reasons = {name: client.reasons(own, name) if why else [] for name, *_ in rows}
    if json_:
        listed_items = [
            {
                **said(client, name),
                "score": score,
                "rank": rank,
                "rating": predicted,
                "reasons": [{**said(client, mine), "contribution": added} for mine, added in reasons[name]],
            }
            for name, score, rank, predicted in rows
        ]
        about = {"model": client.release.model, "taste": client.release.taste}
        console.print_json({**about, "dimensions": client.release.dimensions, "items": listed_items})
        return
    stars, titles = client.release.feedback == "ratings", bool(client.release.titles)
    columns = ["rank", "item", *["title"] * titles, "score", *["rating"] * stars, *["why"] * why]
    listed = console.table(*columns, left=0)
    for column_, name_ in zip(listed.columns, columns, strict=True):
        if name_ in ("item", "title", "why"):
            column_.justify = "left"
    for name, score, rank, predicted in rows:
        because = "; ".join(
            f"{'pulled up' if added > 0 else 'pushed down'} by {client.title(mine)} "
            f"{_figure(added, stars, '+')}"
            for mine, added in reasons[name]
        )
        title = [client.title(name)] * titles
        shown = [f"{predicted:.2f}"] if predicted is not None else []
        listed.add_row(str(rank), name, *title, _figure(score, stars), *shown, *[because] * why)
    console.out().print(listed)
    if not client.release.personal:
        console.err().print(client.release.taste.replace("Lists are", "This list is"), soft_wrap=True)


def _print_similar(client: "Client", item: str, n: int, json_: bool) -> None:
    """The items most like an item. The similarity has no unit."""
    from hushrec.cli.called import one, said

    item = one(client, item)
    found, titles = client.similar(item, n), bool(client.release.titles)
    if json_:
        alike = [
            {**row._asdict(), "title": said(client, row.item_id)["title"], "score": float(row.score)}
            for row in found
        ]
        console.print_json({"item": item, "similar": alike})
        return
    listed = console.table("rank", "item", *["title"] * titles, "similarity", left=0)
    for column in listed.columns[1:-1]:
        column.justify = "left"
    for name, score, rank in found:
        listed.add_row(str(rank), name, *[client.title(name)] * titles, f"{score:.2f}")
    console.out().print(listed)


def _figure(value: float, stars: bool, sign: str = "-") -> str:
    """Stars to two decimals; a score, which has no unit, to three significant digits."""
    if stars:
        return f"{value:{sign}.2f}"
    return f"{value:{sign}.0f}" if abs(value) >= 1000 else f"{value:{sign}.3g}"


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
