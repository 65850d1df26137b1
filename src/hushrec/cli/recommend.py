"""``hushrec recommend``: a user's own list, on their own device."""

from collections.abc import Iterable, Mapping
from csv import DictReader
from json import loads
from pathlib import Path
from typing import Annotated, Any, NamedTuple

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
"""A user's own: numbers by item, or items alone, the latest last."""


class Kept(NamedTuple):
    """A file of a user's own, when they gave each item if it says so, and what they dismissed."""

    own: Own
    times: dict[str, float | str] | None = None
    dismissed: tuple[str, ...] = ()


@options.of(Client, Client.recommend)
def recommend(
    release: str,
    *,
    key: str | None,
    rating: Annotated[
        Mapping[str, float] | None, "ITEM=STARS: a rating of yours, of an id or a title; may be repeated."
    ] = None,
    item: Annotated[
        Strings, "An item that you liked, bought or used, by id or title; may be repeated, the latest last."
    ] = None,
    ratings: Annotated[
        Path | None,
        "Your own as CSV with the columns item_id[, rating or count][, timestamp]; or as JSON, {item: "
        "number, …}, or items alone, the latest last, [item, …]; or what a page saved.",
    ] = None,
    similar: Annotated[
        str | None, "List the items most like this one instead, the same for everybody; give no ratings."
    ] = None,
    user: str | None,
    exclude: Annotated[Strings, "An item not to recommend, by id or title; may be repeated."] = None,
    allowed: Path | None,
    why: Annotated[bool, "Show which items of yours, or features of them, moved each most."] = False,
    n: int,
    recency: bool,
    diversity: float,
) -> None:
    """Recommend from a release on your own device.

    Give your own ratings or items; nothing leaves this machine. If the release lists you, you can give your
    id instead; your own ratings are often better.
    """
    client, kept = Client(release, key=key), _read(ratings) if ratings else Kept([])
    own = _own(rating, item, kept.own)
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
    times = None if kept.times is None else {ids[it]: time for it, time in kept.times.items()}
    order: Any = {"times": times, "recency": recency}
    left_out = _item_ids(client, [*(exclude or ()), *kept.dismissed]).values()
    listable = _ids_of(allowed) if allowed else None
    shape: Any = {"exclude": left_out, "allowed": listable, "diversity": diversity}
    rows = client.recommend(own, n, user=user, **order, **shape)
    reasons = {row.item_id: client.reasons(own, row.item_id, **order) for row in rows} if why else {}
    _print(client, rows, reasons)
    if not client.release.personal:
        console.tell(f"This list is the same for everyone: {client.release.why_same}.")


def _own(rating: Mapping[str, float] | None, item: Strings, kept: Own) -> Own | None:
    """What was given, on the command line and in a file; None if nothing was."""
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


def _read(path: Path) -> Kept:
    try:
        if path.suffix == ".csv":
            return _of_rows(path)
        content: Any = loads(path.read_text(encoding="utf-8"))
        if isinstance(content, dict) and isinstance(content.get("not_for_me"), list):
            return Kept(_of_json(content["own"]), dismissed=tuple(map(str, content["not_for_me"])))
        return Kept(_of_json(content))
    except (OSError, ValueError, TypeError, LookupError, AttributeError):
        raise DataError(
            f"{path} is neither CSV with the columns item_id[, rating or count][, timestamp] nor JSON of the "
            'form {"item": stars, …}, or ["item", …] for items alone'
        ) from None


def _of_json(content: Any) -> Own:
    if isinstance(content, list) and all(isinstance(item, str) for item in content):
        return content
    return {str(item): float(value) for item, value in content.items()}


def _of_rows(path: Path) -> Kept:
    """Own items of a CSV; of several rows of an item the last counts, by time if there are times."""
    with path.open(encoding="utf-8-sig", newline="") as file:
        rows = [*DictReader(file)]
    times = None
    if "timestamp" in rows[0]:
        stamps = _comparable([row["timestamp"] for row in rows])
        order = sorted(range(len(rows)), key=stamps.__getitem__)
        rows, times = [rows[at] for at in order], {rows[at]["item_id"]: stamps[at] for at in order}
    numbers = next((name for name in ("rating", "count") if name in rows[0]), None)
    if numbers is None:
        return Kept([row["item_id"] for row in rows], times)
    return Kept({row["item_id"]: float(row[numbers]) for row in rows}, times)


def _comparable(stamps: list[str]) -> Any:
    """Times as numbers if all are, or else the texts of ISO 8601."""
    try:
        return [float(stamp) for stamp in stamps]
    except ValueError:
        return stamps
