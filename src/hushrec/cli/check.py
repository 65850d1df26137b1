"""``hushrec check``: what a file looks like, before a budget is spent on it."""

from typing import Annotated

import typer

from hushrec.cli import console, options
from hushrec.cli.options import Given, grouped


@grouped
def check(
    ratings: Annotated[
        list[str],
        typer.Argument(help="The private ratings or interactions, or a folder of people, as for fit."),
    ],
    domain: options.DomainFile,
    source: Given,
    json: options.Json = False,
) -> None:
    """Check a file before a fit is charged. CONFIDENTIAL.

    Prints what was read, dropped or changed, and why. Charges nothing. The exit code is 2 if a fit
    would be refused.
    """
    from hushrec.data.check import check
    from hushrec.data.domain import Domain

    with console.working("reading ratings"):
        report = check(ratings, Domain.open(domain), source.reading)
    console.show(report.document(), json=json)
    if report.refused:
        raise typer.Exit(2)
