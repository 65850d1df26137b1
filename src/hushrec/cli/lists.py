"""``hushrec lists``: the curator's private lists, one for every user of a table."""

from pathlib import Path
from typing import TYPE_CHECKING, Annotated

import typer

from hushrec.cli import console, options
from hushrec.cli.options import Given, Where, grouped
from hushrec.errors import DataError

if TYPE_CHECKING:
    from hushrec.data.domain import Domain


@grouped
def lists(
    release: Annotated[Path, typer.Argument(help="A release.")],
    ratings: Annotated[
        str,
        typer.Argument(help="The private ratings or interactions: a file, or a folder of people."),
    ],
    domain: options.DomainFile,
    *,
    out: Annotated[Path, typer.Option("--out", "-o", help="The private lists to write, .parquet or .csv.")],
    n: options.Length = 10,
    allowed: options.Allowed = None,
    where: Where = "auto",
    source: Given,
) -> None:
    """Write a private list for every user of a table.

    For the curator alone: each list is made of its user's own rows, as on their own device. Show each user
    their own list, and never publish the file.
    """
    from hushrec.data.domain import Domain
    from hushrec.data.load import loaded_folder
    from hushrec.data.readers.catalogue import read_list
    from hushrec.progress import progress_bar
    from hushrec.release.artefact import Release

    opened, declared = Release.open(release), Domain.open(domain)
    ids = None if allowed is None else read_list(allowed).ids
    if ids is not None and (unknown := set(ids) - set(opened.items)):
        console.tell(f"Ignored, not in this release's catalogue: {len(unknown):,} ids of {allowed}")
    if where == "spark":
        from hushrec.curator.recommend_all import recommend_on_spark, write_folder

        if out.exists():
            raise DataError(f"{out} exists; choose another folder with -o")
        with source.load([ratings], _rated(declared), where) as rows:
            write_folder(recommend_on_spark(opened, rows, n, allowed=ids), str(out))
    else:
        from hushrec.curator.admit import require_writable
        from hushrec.curator.recommend_all import recommend_all, write_lists

        require_writable(out, ".parquet", ".csv")
        rated = declared if loaded_folder(ratings) else _rated(declared)
        with console.bars():
            people = source.load([ratings], rated, where)
        console.print_confidential(source.described([ratings]), people)
        write_lists(recommend_all(opened, people, n, allowed=ids, progress=progress_bar(console.err())), out)
    console.say(
        f"Wrote {out}, for you alone: each list is made of its user's own rows, and no guarantee covers it. "
        f"Show each user their own list; never publish the {'folder' if out.is_dir() else 'file'}.",
    )


def _rated(domain: "Domain") -> "Domain":
    """The domain to read a file with: of likes, one that keeps the other ratings as well."""
    if domain.likes is None:
        return domain
    return type(domain)(
        domain.items,
        scale=domain.rating_scale,
        max_users=domain.max_users,
        max_per_user=domain.max_per_user,
        users=domain.users,
        personal_epsilon=domain.personal_epsilon,
    )
