"""``hushrec recommend``: a user's own list, on their own device."""

from collections.abc import Iterable, Mapping
from dataclasses import dataclass
from json import loads
from pathlib import Path
from typing import TYPE_CHECKING, Annotated, Any

import typer

from hushrec.cli import console, options
from hushrec.cli.options import Group, explained, grouped
from hushrec.errors import DataError
from hushrec.text import escaped

if TYPE_CHECKING:
    from hushrec.release.client import Client, Recommendation
    from hushrec.release.lists import Reason


_NAMED = 2  # own items that are named with a feature; chosen by hand
_SHOWN = 10  # ids that an error lists at most; chosen by hand


@dataclass(frozen=True, kw_only=True)
class OwnOptions(Group):
    """Return the records of a user."""

    rating: Annotated[
        list[str] | None,
        typer.Option(metavar="ITEM=STARS", help="A rating of yours, of an id or a title; may be repeated."),
    ] = None
    item: Annotated[
        list[str] | None,
        typer.Option(
            metavar="ITEM",
            help="An item that you liked, bought or used, by id or title, for a release of interactions; "
            "may be repeated.",
        ),
    ] = None
    ratings: Annotated[
        Path | None,
        typer.Option(
            help="Your ratings or counts as JSON, {item: number, …}, or items alone, [item, …].",
            exists=True,
            dir_okay=False,
        ),
    ] = None

    def records(self) -> dict[str, float] | list[str] | None:
        """Numbers by item, or items alone; None if nothing was given."""
        file = _read(self.ratings) if self.ratings else []
        numbers = dict(file if isinstance(file, dict) else {}) | dict(map(_pair, self.rating or []))
        items = [*([] if isinstance(file, dict) else file), *(self.item or [])]
        if numbers and items:
            raise DataError("give either items with a number or items alone (--item), not both")
        return numbers or items or None


@explained("hushrec.release.client:Client.recommend")
@grouped
def recommend(
    ctx: typer.Context,
    release: Annotated[Path, typer.Argument(help="A release.")],
    *,
    profile: OwnOptions,
    similar: Annotated[
        str | None,
        typer.Option(
            metavar="ITEM",
            help="List the items most like this one instead, the same for everybody; no ratings are needed.",
        ),
    ] = None,
    user: Annotated[str | None, typer.Option(metavar="ID")] = None,
    n: options.Length = 10,
    exclude: Annotated[
        list[str] | None, typer.Option(metavar="ITEM", help="An item not to recommend; may be repeated.")
    ] = None,
    allowed: options.Allowed = None,
    diversity: Annotated[float, typer.Option(min=0, max=1)] = 0,
    why: Annotated[
        bool, typer.Option("--why", help="Show which items of yours, or features of them, moved each most.")
    ] = False,
    key: options.Key = None,
    json: options.Json = False,
) -> None:
    """Recommend from a release on your own device.

    Give your own ratings or items; nothing leaves this machine. If the release lists you, you can give your
    id instead; your own ratings are often better.
    """
    from hushrec.release.client import Client

    client = Client(release, key=key)
    if similar is not None:
        options.require_only(ctx, "--similar needs no ratings", "release similar n key json")
        _print_similar(client, similar, n, json)
        return
    feedback = profile.records()
    if feedback is None and user is None:
        feedback = {} if client.release.feedback == "ratings" else []
    ids = _item_ids(client, feedback or ())
    if feedback is not None:
        feedback = (
            {ids[it]: value for it, value in feedback.items()}
            if isinstance(feedback, dict)
            else [ids[it] for it in feedback]
        )
    rows = client.recommend(
        feedback,
        n,
        user=user,
        exclude=_item_ids(client, exclude or ()).values(),
        allowed=_ids_of(allowed) if allowed else None,
        diversity=diversity,
    )
    reasons = {row.item_id: client.reasons(feedback, row.item_id) for row in rows} if why else {}
    if json:
        console.print_json(_facts(client, rows, reasons))
        return
    _print(client, rows, reasons)
    if not client.release.personal:
        console.tell(f"This list is the same for everyone: {client.release.why_same}.")


def _ids_of(path: Path) -> list[str]:
    from hushrec.data.readers.catalogue import read_list  # needs more than a device's install

    return read_list(path).ids


def _item_ids(client: "Client", names: Iterable[str]) -> dict[str, str]:
    """The id of the item that each name means; the name itself where it means none of the catalogue.

    Standard error says which item a title was taken for, and which titles are unknown.
    """
    ids_by_name, unknown = {}, []
    for name in dict.fromkeys(names):
        ids = client.find(name) or [name]
        if len(ids) > 1:
            choices = [f"{item} ({client.title(item)})" for item in ids[:_SHOWN]]
            choices += [f"{len(ids) - _SHOWN:,} more"] * (len(ids) > _SHOWN)
            raise DataError(f"{name!r} may be {', '.join(choices)}: give another id, or a title in full")
        (ids_by_name[name],) = ids
        if ids[0] != name:
            console.tell(f"{escaped(name)}: {client.title(ids[0])} ({ids[0]})")
        elif not client.find(name):
            unknown.append(name)
    if unknown:
        console.tell(f"Ignored, not in this release's catalogue: {escaped(', '.join(sorted(unknown)))}")
    return ids_by_name


def _item_json(client: "Client", item: str) -> dict[str, str | None]:
    """An item in JSON: its id, and its title or null."""
    title = client.title(item)
    return {"id": item, "title": title if client.release.titles and title != item else None}


def _print_similar(client: "Client", item: str, n: int, json: bool) -> None:
    (item,) = _item_ids(client, [item]).values()
    rows = client.similar(item, n)
    if json:
        alike = [
            {**_item_json(client, row.item_id), "score": float(row.score), "rank": row.rank} for row in rows
        ]
        console.print_json({"item": item, "similar": alike})
        return
    titles = bool(client.release.titles)
    _show(
        ["rank", "item", *["title"] * titles, "similarity"],  # which has no unit
        [(str(rank), name, *[client.title(name)] * titles, f"{score:.2f}") for name, score, rank in rows],
    )


def _show(heads: list[str], rows: list[tuple[str, ...]]) -> None:
    from hushrec.documents.document import Table

    console.show_blocks([Table("List", heads, rows, left=len(heads))])


def _facts(
    client: "Client", rows: "Iterable[Recommendation]", reasons: "Mapping[str, Iterable[Reason]]"
) -> dict[str, Any]:
    """A list as JSON values."""
    items = [
        {
            **_item_json(client, row.item_id),
            "score": row.score,
            "rank": row.rank,
            "rating": row.rating,
            "reasons": [
                {
                    **(_item_json(client, why.item_id) if why.item_id else {"id": None, "title": None}),
                    "contribution": why.contribution,
                    "feature": why.feature,
                    "value": why.value,
                    "items": [_item_json(client, item) for item in why.items],
                }
                for why in reasons.get(row.item_id, ())
            ],
        }
        for row in rows
    ]
    about = {"model": client.release.model, "taste": client.release.taste}
    return {**about, "dimensions": client.release.dimensions, "items": items}


def _print(
    client: "Client", rows: "Iterable[Recommendation]", reasons: "Mapping[str, Iterable[Reason]]"
) -> None:
    stars, titles, why = client.release.feedback == "ratings", bool(client.release.titles), bool(reasons)
    listed = []
    for item, score, rank, rating in rows:
        because = "; ".join(
            f"{'pulled up' if why.contribution > 0 else 'pushed down'} by {_cause(client, why)} "
            f"{_figure(why.contribution, stars, '+')}"
            for why in reasons.get(item, ())
        )
        title = [client.title(item)] * titles
        predicted = [f"{rating:.2f}"] if rating is not None else []
        listed.append((str(rank), item, *title, _figure(score, stars), *predicted, *[because] * why))
    _show(["rank", "item", *["title"] * titles, "score", *["rating"] * stars, *["why"] * why], listed)


def _cause(client: "Client", why: "Reason") -> str:
    """Name an own item, or a feature with some own items that have it."""
    if why.item_id:
        return client.title(why.item_id)
    some = [client.title(item) for item in why.items[:_NAMED]]
    more = [f"{len(why.items) - _NAMED:,} more"] * (len(why.items) > _NAMED)
    return f"{why.feature}: {why.value} ({', '.join([*some, *more])})"


def _figure(value: float, stars: bool, sign: str = "-") -> str:
    """Stars to two decimals; a score, which has no unit, to three significant digits."""
    if stars:
        return f"{value:{sign}.2f}"
    return f"{value:{sign}.0f}" if abs(value) >= 1000 else f"{value:{sign}.3g}"


def _read(path: Path) -> dict[str, float] | list[str]:
    try:
        content: Any = loads(path.read_text(encoding="utf-8"))
        if isinstance(content, list) and all(isinstance(item, str) for item in content):
            return content
        return {str(item): float(value) for item, value in content.items()}
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
