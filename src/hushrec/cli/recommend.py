"""``hushrec recommend``: a user's own list, on their own device."""

from collections.abc import Iterable, Mapping
from json import loads
from pathlib import Path
from typing import Annotated, Any

from hushrec.cli import console, options
from hushrec.documents.document import Table
from hushrec.errors import ConfigError, DataError
from hushrec.release.client import Client, Recommendation
from hushrec.release.lists import Reason
from hushrec.text import escaped

_NAMED = 2  # own items that are named with a feature; chosen by hand
_SHOWN = 10  # ids that an error lists at most; chosen by hand
Strings = list[str] | None
Own = dict[str, float] | list[str]
"""A user's own: numbers by item, or items alone."""


@options.of(Client, Client.recommend)
def recommend(
    release: str,
    *,
    key: str | None,
    rating: Annotated[
        Mapping[str, float] | None, "ITEM=STARS: a rating of yours, of an id or a title; may be repeated."
    ] = None,
    item: Annotated[
        Strings, "An item that you liked, bought or used, by id or title; may be repeated."
    ] = None,
    ratings: Annotated[
        Path | None, "Your ratings or counts as JSON, {item: number, …}, or items alone, [item, …]."
    ] = None,
    similar: Annotated[
        str | None, "List the items most like this one instead, the same for everybody; give no ratings."
    ] = None,
    user: str | None,
    exclude: Annotated[Strings, "An item not to recommend, by id or title; may be repeated."] = None,
    allowed: Path | None,
    why: Annotated[bool, "Show which items of yours, or features of them, moved each most."] = False,
    n: int,
    **others: Any,
) -> None:
    """Recommend from a release on your own device.

    Give your own ratings or items; nothing leaves this machine. If the release lists you, you can give your
    id instead; your own ratings are often better.
    """
    client, own = Client(release, key=key), _own(rating, item, ratings)
    if similar is not None:
        if own or user:
            raise ConfigError("--similar needs no ratings: leave out yours, and --user")
        _print_similar(client, similar, n)
        return
    if own is None and user is None:
        own = {} if client.release.feedback == "ratings" else []
    ids = _item_ids(client, own or ())
    if own is not None:
        own = {ids[it]: own[it] for it in own} if isinstance(own, dict) else [ids[it] for it in own]
    left_out, listable = _item_ids(client, exclude or ()).values(), _ids_of(allowed) if allowed else None
    rows = client.recommend(own, n, user=user, exclude=left_out, allowed=listable, **others)
    _print(client, rows, {row.item_id: client.reasons(own, row.item_id) for row in rows} if why else {})
    if not client.release.personal:
        console.tell(f"This list is the same for everyone: {client.release.why_same}.")


def _own(rating: Mapping[str, float] | None, item: Strings, file: Path | None) -> Own | None:
    """What was given, on the command line and in a file; None if nothing was."""
    kept = _read(file) if file else []
    numbers = dict(kept if isinstance(kept, dict) else {}) | dict(rating or {})
    items = [*([] if isinstance(kept, dict) else kept), *(item or ())]
    if numbers and items:
        raise DataError("give either items with a number or items alone (--item), not both")
    return numbers or items or None


def _ids_of(path: Path) -> list[str]:
    from hushrec.data.readers.catalogue import read_list  # needs more than a device's install

    return read_list(path).ids


def _item_ids(client: Client, names: Iterable[str]) -> dict[str, str]:
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


def _print_similar(client: Client, item: str, n: int) -> None:
    (item,) = _item_ids(client, [item]).values()
    alike = client.similar(item, n)
    _show(client, ["similarity"], [(str(rank), name, f"{score:.2f}") for name, score, rank in alike])


def _print(client: Client, rows: Iterable[Recommendation], reasons: Mapping[str, Iterable[Reason]]) -> None:
    stars, listed = client.release.feedback == "ratings", list[tuple[str, ...]]()
    for item, score, rank, rating in rows:
        because = "; ".join(
            f"{'pulled up' if why.contribution > 0 else 'pushed down'} by {_cause(client, why)} "
            f"{_figure(why.contribution, stars, '+')}"
            for why in reasons.get(item, ())
        )
        predicted = [f"{rating:.2f}"] if rating is not None else []
        listed.append((str(rank), item, _figure(score, stars), *predicted, *[because] * bool(reasons)))
    _show(client, ["score", *["rating"] * stars, *["why"] * bool(reasons)], listed)


def _show(client: Client, heads: list[str], rows: list[tuple[str, ...]]) -> None:
    """Print rows that begin with a rank and an item, with titles if the release has some."""
    heads = ["rank", "item", *["title"] * bool(client.release.titles), *heads]
    if client.release.titles:
        rows = [(rank, item, client.title(item), *more) for rank, item, *more in rows]
    console.show_blocks([Table("List", heads, rows, left=len(heads))])


def _cause(client: Client, why: Reason) -> str:
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


def _read(path: Path) -> Own:
    try:
        content: Any = loads(path.read_text(encoding="utf-8"))
        if isinstance(content, list) and all(isinstance(item, str) for item in content):
            return content
        return {str(item): float(value) for item, value in content.items()}
    except (OSError, ValueError, TypeError, AttributeError):
        raise DataError(
            f'{path} is not JSON of the form {{"item": stars, …}}, or ["item", …] for items alone'
        ) from None
