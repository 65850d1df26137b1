"""``hushrec domain``: declare what is public."""

from pathlib import Path
from typing import TYPE_CHECKING, Annotated, Any

import typer

from hushrec.cli import console, options

if TYPE_CHECKING:
    from hushrec.data.domain import Domain


def domain(
    items: Annotated[
        Path,
        typer.Option(help="The public catalogue: csv, tsv, parquet, movies.dat, u.item, or a list."),
    ],
    max_users: Annotated[int, typer.Option(help="A public upper bound on the number of users.")],
    expected_users: Annotated[
        int | None,
        typer.Option(
            metavar="N", help="About how many users there are, from public knowledge, never from the data."
        ),
    ] = None,
    expected_records: Annotated[
        int | None,
        typer.Option(
            metavar="N", help="About how many ratings, or interactions, they give in all; likewise."
        ),
    ] = None,
    scale: Annotated[
        tuple[float, float, float] | None,
        typer.Option(help="People rate: lowest rating, highest rating, step.", metavar="LO HI STEP"),
    ] = None,
    likes: Annotated[
        float | None,
        typer.Option(help="Only likes are used: ratings on --scale of at least this much.", metavar="RATING"),
    ] = None,
    interactions: Annotated[
        bool, typer.Option("--interactions", help="People give items without ratings: clicks, purchases.")
    ] = False,
    counts: Annotated[
        int | None,
        typer.Option(help="How often an item is given counts, up to this often (with --interactions)."),
    ] = None,
    out: Annotated[Path, typer.Option("--out", "-o", help="The file to write.")] = Path("domain.json"),
    max_per_user: Annotated[
        int, typer.Option(help="The largest number of items of one user that count (unit user).")
    ] = 500,
    column: options.Column = None,
    titles: options.Titles = None,
    feature: Annotated[
        list[str] | None,
        typer.Option(
            metavar="COLUMN",
            help="A column of public texts to take along; genres and year by default; may be repeated.",
        ),
    ] = None,
    separator: options.Separator = None,
    users: Annotated[
        Path | None,
        typer.Option(help="The public list of accounts, if any: csv, users.dat, u.user, or a list."),
    ] = None,
    user_column: Annotated[str | None, typer.Option(help="Column of the ids in --users.")] = None,
    personal_epsilon: Annotated[
        list[str] | None,
        typer.Option(
            metavar="NAME=EPSILON",
            help="A privacy class that users may choose, such as strict=0.5; may be repeated.",
        ),
    ] = None,
    json: options.Json = False,
) -> None:
    """Declare what is public: items, scale, cap, number of users.

    People give ratings (--scale), likes (--scale and --likes) or items without ratings (--interactions).
    Take all of it from public knowledge, never from the ratings. Only models that publish a vector for every
    user need --users.
    """
    from hushrec.data.domain import Domain
    from hushrec.data.readers.catalogue import read_list
    from hushrec.errors import DomainError

    if (scale is None) != interactions:
        raise DomainError("say what people give: either --scale LO HI STEP for ratings, or --interactions")
    declared = Domain.from_catalogue(
        items,
        scale=scale,
        likes=likes,
        counts=counts,
        max_users=max_users,
        max_per_user=max_per_user,
        column=column,
        titles=titles,
        features=feature,
        separator=separator,
        users=users,
        user_column=user_column,
        personal_epsilon=options.personal_epsilon(personal_epsilon),
        expected_users=expected_users,
        expected_records=expected_records,
    )
    declared.save(out)
    if json:
        console.print_json({"file": out.name, **_facts(declared)})
        return
    console.out().print(f"Wrote {out}: {declared}")
    first = " and ".join(declared.items[:2])
    console.out().print(f"{declared.n_items:,} items; the first ids: {first}", soft_wrap=True)
    if declared.titles is None and (names := read_list(items, column, separator).names):
        console.out().print(
            f"No titles: the columns are {', '.join(names)}; --titles COLUMN takes one", soft_wrap=True
        )
    delta = min(1e-2 / max_users, 1e-6)
    console.out().print(
        f"Next: hushrec plan --domain {out} --epsilon 1 --delta {delta:.0e} --unit user "
        "--adjacency add-remove",
        soft_wrap=True,
    )


def _facts(domain: "Domain") -> dict[str, Any]:
    """A domain as JSON values; of ids and titles only how many, or whether there are any."""
    return {
        "digest": domain.digest,
        "feedback": domain.feedback,
        "n_items": domain.n_items,
        "scale": domain.rating_scale and list(domain.rating_scale),
        "likes": domain.likes,
        "counts": domain.counts,
        "max_per_user": domain.max_per_user,
        "max_users": domain.max_users,
        "expected_users": domain.expected_users,
        "expected_records": domain.expected_records,
        "n_users": domain.n_users,
        "personal_epsilon": dict(domain.personal_epsilon or {}),
        "titles": domain.titles is not None,
        "features": list(domain.features or {}),
    }
