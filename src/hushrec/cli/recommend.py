"""``hushrec recommend``: a user's own list on their own device, or private lists for all users of a table."""

import json
from pathlib import Path
from typing import TYPE_CHECKING, Annotated, Any, Literal

import typer

from hushrec.cli import console, keys, options, sources
from hushrec.errors import DataError

if TYPE_CHECKING:
    from hushrec.data.domain import Domain
    from hushrec.release.artefact import Release


def recommend(
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
    key: keys.Pinned = None,
    seen: keys.SeenFile = None,
    why: Annotated[bool, typer.Option("--why", help="Show which items of yours moved each most.")] = False,
    table: Annotated[
        str | None,
        typer.Option(
            "--all",
            metavar="RATINGS",
            help="Recommend for every user of these private ratings or interactions: a file, a packed "
            "folder, or a database (--query). Needs --domain and -o.",
        ),
    ] = None,
    domain: Annotated[Path | None, typer.Option(help="The domain of --all.")] = None,
    out: Annotated[
        Path | None,
        typer.Option("--out", "-o", help="The private lists of --all to write, .parquet or .csv."),
    ] = None,
    engine: Annotated[
        Literal["spark"] | None,
        typer.Option(help="Where the lists of --all are made: spark writes a folder of Parquet files."),
    ] = None,
    query: sources.Query = None,
    column: options.Columns = None,
    format: options.Format = None,
    separator: options.Separator = None,
    decimal: options.Decimal = ".",
    json_: options.Json = False,
) -> None:
    """Recommend from a release: for yourself, or for all users.

    Give your own ratings or items; nothing leaves this machine. If the release lists you, you can give your
    id instead; your own ratings are often better. With --all, the curator gets a list for every user of a
    table. These lists are private: never publish them.
    """
    if table is not None:
        if rating or item or ratings or user is not None:
            raise DataError("give either --all or ratings of your own, not both")
        if exclude or where or features or diversity or why or json_ or key or seen:
            raise DataError(
                "--all takes no --exclude, --where, --features, --diversity, --why, --key, --seen or --json"
            )
        if domain is None or out is None:
            raise DataError("--all needs --domain, as for hushrec fit, and -o, the file to write")
        if engine is not None:
            if query or format or separator or decimal != ".":
                raise DataError("--engine spark takes no --query, --format, --separator or --decimal")
            _recommend_on_spark(release, table, domain, out, n, allowed, column)
            return
        (source,) = sources.named([table], query)
        _recommend_all(release, source, domain, out, n, allowed, (column, format, separator, decimal))
        return
    if domain or out or engine or query or column or format or separator or decimal != ".":
        raise DataError("--domain, -o, --engine and the options of a file's format need --all")
    from hushrec.cli.called import by_id, called, said
    from hushrec.cli.filters import allowed_items
    from hushrec.release.client import Client

    client = Client(release, **keys.check(key, seen))
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


def _figure(value: float, stars: bool, sign: str = "-") -> str:
    """Stars to two decimals; a score, which has no unit, to three significant digits."""
    if stars:
        return f"{value:{sign}.2f}"
    return f"{value:{sign}.0f}" if abs(value) >= 1000 else f"{value:{sign}.3g}"


def _recommend_all(
    release: Path,
    table: "sources.Source",
    domain: Path,
    out: Path,
    n: int,
    allowed: Path | None,
    form: tuple[list[str] | None, str | None, str | None, str],
) -> None:
    """Write the lists of every user of a table."""
    from hushrec.curator.recommend_all import recommend_all, write_lists
    from hushrec.progress import progress_bar

    opened, declared, ids = _opened(release, domain, allowed)
    options.require_writable(out, ".parquet", ".csv")
    with console.bars():
        known = sources.packed_or_loaded(table, _rated(declared, table), *form, blocks=None)
    console.print_confidential(table.name, known)
    write_lists(recommend_all(opened, known, n, allowed=ids, progress=progress_bar(console.err())), out)
    _warn(out)


def _recommend_on_spark(
    release: Path,
    table: str,
    domain: Path,
    out: Path,
    n: int,
    allowed: Path | None,
    columns: list[str] | None,
) -> None:
    """Write the lists of every user whom a table of Spark has, as a folder."""
    from hushrec.curator.recommend_on_spark import recommend_on_spark, write_folder
    from hushrec.data.spark.intake import load_spark

    opened, declared, ids = _opened(release, domain, allowed)
    if out.exists():
        raise DataError(f"{out} exists; choose another folder with -o")
    with load_spark(table, _rated(declared), columns=options.named_columns(columns)) as known:
        write_folder(recommend_on_spark(opened, known, n, allowed=ids), str(out))
    _warn(out)


def _opened(release: Path, domain: Path, allowed: Path | None) -> "tuple[Release, Domain, list[str] | None]":
    """The release, the domain, and the ids that may be listed."""
    from hushrec.data.domain import Domain
    from hushrec.data.readers.catalogue import read_ids
    from hushrec.release.artefact import Release

    opened = Release.open(release)
    ids = None if allowed is None else read_ids(allowed)
    if ids is not None and (unknown := set(ids) - set(opened.items)):
        console.err().print(f"Ignored, not in this release's catalogue: {len(unknown):,} ids of {allowed}")
    return opened, Domain.open(domain), ids


def _warn(out: Path) -> None:
    console.out().print(
        f"Wrote {out}, for you alone: each list is made of its user's own rows, and no guarantee covers it. "
        f"Show each user their own list; never publish the {'folder' if out.is_dir() else 'file'}.",
        soft_wrap=True,
    )


def _rated(domain: "Domain", table: "sources.Source | None" = None) -> "Domain":
    """The domain to read a file with: of likes, one that keeps the other ratings as well."""
    if domain.likes is None or (table is not None and sources.is_packed(table)):
        return domain
    return type(domain)(
        domain.items,
        scale=domain.rating_scale,
        max_users=domain.max_users,
        cap=domain.cap,
        users=domain.users,
        privacy_classes=domain.privacy_classes,
    )


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
