"""``hushrec check``: what a file looks like, before a budget is spent on it."""

import typer

from hushrec.cli import console, options
from hushrec.data import check as library
from hushrec.data.domain import Domain
from hushrec.data.reading import Reading


@options.of(library.check)
def check(ratings: options.Ratings, *, domain: Domain, reading: Reading) -> None:
    """Check a file before a fit is charged. CONFIDENTIAL.

    Prints what was read, dropped or changed, and why. Charges nothing. The exit code is 2 if a fit
    would be refused.
    """
    with console.working("reading ratings"):
        report = library.check(ratings, domain, reading)
    console.show(report.document())
    if report.refused:
        raise typer.Exit(2)
