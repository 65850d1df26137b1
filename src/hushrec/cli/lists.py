"""``hushrec lists``: the curator's private lists, one for every user of a table."""

from pathlib import Path
from typing import TYPE_CHECKING, Annotated, Literal

import typer

from hushrec.cli import console, options, sources
from hushrec.errors import DataError

if TYPE_CHECKING:
    from hushrec.data.domain import Domain


def lists(
    release: Annotated[Path, typer.Argument(help="A release.")],
    ratings: Annotated[
        str,
        typer.Argument(
            help="The private ratings or interactions: a file, a packed folder, or a database (--query)."
        ),
    ],
    domain: options.DomainFile,
    out: Annotated[Path, typer.Option("--out", "-o", help="The private lists to write, .parquet or .csv.")],
    n: Annotated[int, typer.Option("-n", min=1, help="Length of each list.")] = 10,
    allowed: options.Allowed = None,
    engine: Annotated[
        Literal["local", "spark"],
        typer.Option(help="Where the lists are made: spark writes a folder of Parquet files."),
    ] = "local",
    query: sources.Query = None,
    column: options.Columns = None,
    format: options.Format = None,
    separator: options.Separator = None,
    decimal: options.Decimal = ".",
) -> None:
    """Write a private list for every user of a table.

    For the curator alone: each list is made of its user's own rows, as on their own device. Show each user
    their own list, and never publish the file.
    """
    from hushrec.data.domain import Domain
    from hushrec.data.readers.catalogue import read_ids
    from hushrec.progress import progress_bar
    from hushrec.release.artefact import Release

    if engine == "spark" and (query or format or separator or decimal != "."):
        raise DataError("--engine spark takes no --query, --format, --separator or --decimal")
    opened, declared = Release.open(release), Domain.open(domain)
    ids = None if allowed is None else read_ids(allowed)
    if ids is not None and (unknown := set(ids) - set(opened.items)):
        console.err().print(f"Ignored, not in this release's catalogue: {len(unknown):,} ids of {allowed}")
    if engine == "spark":
        from hushrec.curator.recommend_on_spark import recommend_on_spark, write_folder
        from hushrec.data.spark.intake import load_spark

        if out.exists():
            raise DataError(f"{out} exists; choose another folder with -o")
        with load_spark(ratings, _rated(declared), columns=options.named_columns(column)) as held:
            write_folder(recommend_on_spark(opened, held, n, allowed=ids), str(out))
    else:
        from hushrec.curator.recommend_all import recommend_all, write_lists

        options.require_writable(out, ".parquet", ".csv")
        (table,) = sources.named([ratings], query)
        form = sources.Form(column, format, separator, decimal)
        with console.bars():
            known = sources.packed_or_loaded(table, _rated(declared, table), form, blocks=None)
        console.print_confidential(table.name, known)
        write_lists(recommend_all(opened, known, n, allowed=ids, progress=progress_bar(console.err())), out)
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
