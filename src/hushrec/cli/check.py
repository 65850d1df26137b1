"""``hushrec check``: what a file looks like, before a budget is spent on it."""

from typing import Annotated

import typer

from hushrec.cli import console, options, sources


def check(
    ratings: Annotated[
        list[str],
        typer.Argument(help="The private ratings or interactions, or a packed folder, as for fit."),
    ],
    domain: options.DomainFile,
    query: sources.Query = None,
    column: options.Columns = None,
    format: options.Format = None,
    separator: options.Separator = None,
    decimal: options.Decimal = ".",
    json: options.Json = False,
) -> None:
    """Check a file before a fit is charged. CONFIDENTIAL.

    Prints what was read, dropped or changed, why, and hints. Charges nothing. The exit code is 2 if a fit
    would be refused.
    """
    from hushrec.data.checks.checkup import check
    from hushrec.data.domain import Domain

    declared, named = Domain.open(domain), sources.named(ratings, query)
    form = sources.Form(column, format, separator, decimal)
    with console.working("reading ratings"):
        if len(named) == 1 and sources.is_packed(named[0]):
            found = check(sources.packed_or_loaded(named, declared, form), declared)
        else:
            found = check(named, declared, **form.arguments())
    if json:
        console.print_json(found.facts())
    else:
        console.out().print(str(found), soft_wrap=True)
    if found.refused:
        raise typer.Exit(2)
