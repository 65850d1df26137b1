"""``hushrec fit-next``: make the next release of a series that was charged as a whole."""

from pathlib import Path
from typing import Annotated

import typer

from hushrec.cli import account, console, options, sources
from hushrec.errors import ConfigError


def fit_next(
    domain: options.DomainFile,
    ledger: account.LedgerOfMany,
    ratings: Annotated[
        list[str] | None,
        typer.Argument(
            help="All that people have given so far, in files, patterns, folders or zip archives, or in a "
            "database (--query): user_id, item_id[, rating][, …]."
        ),
    ] = None,
    series: Annotated[
        Path | None,
        typer.Option(
            help="The folder of the series, the same each time; new for the first release. It is as private "
            "as the ratings, and without it the series cannot go on."
        ),
    ] = None,
    out: Annotated[Path | None, typer.Option("--out", "-o", help="The release to write.")] = None,
    release_index: Annotated[
        int | None,
        typer.Option(help="Release index of a release of the series that was made before, free of charge."),
    ] = None,
    accept_dropped: options.AcceptDropped = False,
    plan: Annotated[
        bool, typer.Option("--plan", help="Show what the series measures and costs, and read no ratings.")
    ] = False,
    query: sources.Query = None,
    column: options.Columns = None,
    format: options.Format = None,
    separator: options.Separator = None,
    decimal: options.Decimal = ".",
) -> None:
    """Make the next release of a series under one charge."""
    from hushrec.curator.series.fit_next import fit_next
    from hushrec.curator.series.series_plan import plan_series
    from hushrec.data.domain import Domain
    from hushrec.models.global_effects import GlobalEffects
    from hushrec.models.popularity import Popularity
    from hushrec.privacy.ledger.ledger import Ledger

    declared = Domain.open(domain)
    config = GlobalEffects() if declared.feedback == "ratings" else Popularity()
    if plan:
        console.out().print(str(plan_series(config, declared, ledger)), soft_wrap=True)
        return
    if not (ratings and series and out):
        raise ConfigError(
            "a release needs RATINGS, --series and -o; to see only the cost, give --plan instead"
        )
    named = sources.named(ratings, query)
    options.require_writable(out, ".safetensors")
    charged = Ledger.open(ledger)
    with console.bars():
        private = sources.load(named, declared, column, format, separator, decimal)
    console.print_confidential(console.names(named), private)
    with console.bars():
        release = fit_next(
            private,
            config,
            series,
            ledger=charged,
            release_index=release_index,
            accept_dropped=accept_dropped,
        )
    made = release.statement.ledger
    options.save(release, out, fix=account.again(made["release_index"]))
    console.print_statement(release.statement)
    number, last = made["part"] + 1, made["parts"]
    later = "this was the last" if number == last else "later ones cost nothing more"
    console.out().print(
        f"Release {number} of the {last} of this series, which are charged together: {later}", soft_wrap=True
    )
    console.print_next(release, out)
