"""``hushrec domain``: declare what is public."""

from pathlib import Path
from typing import TYPE_CHECKING, Annotated, Any

import typer

from hushrec.cli import console, options

if TYPE_CHECKING:
    from hushrec.data.domain import Domain


@options.explained("hushrec.data.domain:Domain.from_catalogue", "hushrec.data.domain:Domain")
def domain(
    items: Annotated[
        Path,
        typer.Option(help="The public catalogue: csv, tsv, parquet, movies.dat, u.item, or a list."),
    ],
    max_users: Annotated[int, typer.Option()],
    expected_users: int | None = None,
    expected_records: int | None = None,
    scale: Annotated[tuple[float, float, float] | None, typer.Option(metavar="LO HI STEP")] = None,
    likes: float | None = None,
    interactions: Annotated[
        bool, typer.Option("--interactions", help="People give items without ratings: clicks, purchases.")
    ] = False,
    counts: int | None = None,
    out: Annotated[Path, typer.Option("--out", "-o", help="The file to write.")] = Path("domain.json"),
    max_per_user: int = 500,
    column: str | None = None,
    titles: str | None = None,
    feature: Annotated[list[str] | None, typer.Option(metavar="COLUMN")] = None,
    separator: str | None = None,
    users: Path | None = None,
    user_column: str | None = None,
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
    console.say(f"Wrote {out}: {declared}")
    first = " and ".join(declared.items[:2])
    console.say(f"{declared.n_items:,} items; the first ids: {first}")
    if declared.titles is None and (names := read_list(items, column, separator).names):
        console.say(f"No titles: the columns are {', '.join(names)}; --titles COLUMN takes one")
    delta = min(1e-2 / max_users, 1e-6)
    console.say(
        f"Next: hushrec plan --domain {out} --epsilon 1 --delta {delta:.0e} --unit user "
        "--adjacency add-remove",
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
