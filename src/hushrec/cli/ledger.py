"""``hushrec ledger``: a population's privacy ledger."""

from itertools import groupby
from pathlib import Path
from typing import Annotated

import typer

from hushrec.cli import console, options

app = typer.Typer(rich_markup_mode=None, no_args_is_help=True, help="Show, create or extend a ledger.")
_File = Annotated[Path, typer.Argument(help="The ledger.")]
_MaxReleases = Annotated[int, typer.Option(min=1, help="How many releases the owner plans to make.")]


@app.command()
def show(path: _File) -> None:
    """Show a population's total ε, what is spent, and on which releases."""
    from hushrec.figures import above
    from hushrec.privacy.accounting.accountant import Spent
    from hushrec.privacy.ledger.ledger import Ledger

    opened = Ledger.open(path)
    delta = opened.total.delta
    listed = console.table("release", "model", "state", "measurements", "ε by itself", left=3)
    for _, entries in groupby(opened.entries(), key=lambda entry: entry.charge):
        booked = list(entries)
        cost = sum((entry.spent for entry in booked), Spent())
        state = booked[0].state + (f" ({booked[0].caveat})" if booked[0].caveat else "")
        listed.add_row(
            str(booked[0].release_index), booked[0].model, state, str(len(booked)), above(cost.epsilon(delta))
        )
    console.print_ledger(opened)
    if listed.row_count:
        console.out().print()
        console.out().print(listed)


@app.command()
def create(
    path: _File,
    epsilon: options.Epsilon,
    delta: options.Delta,
    unit: options.Unit,
    adjacency: options.Adjacency,
    max_releases: _MaxReleases = 1,
    domain: Annotated[
        Path | None,
        typer.Option(help="The domain that will be charged; a second ledger for its users is refused."),
    ] = None,
) -> None:
    """Create a population's ledger, with the owner's total over all releases."""
    from hushrec.data.domain import Domain
    from hushrec.privacy.accounting.budget import Budget
    from hushrec.privacy.ledger.ledger import Ledger

    total = Budget(epsilon=epsilon, delta=delta, unit=unit, adjacency=adjacency)
    people = None if domain is None else Domain.open(domain).digest
    console.print_ledger(Ledger.create(path, total, max_releases, domain=people))


@app.command()
def extend(
    path: _File,
    epsilon: Annotated[float | None, typer.Option(help="The new total ε; unchanged by default.")] = None,
    max_releases: Annotated[int | None, typer.Option(min=1, help="The new number of releases.")] = None,
) -> None:
    """Record the owner's decision to allow more: a larger total, more releases, or both."""
    from hushrec.errors import ConfigError
    from hushrec.privacy.ledger.ledger import Ledger

    if epsilon is None and max_releases is None:
        raise ConfigError("nothing to extend: give --epsilon, --max-releases or both")
    opened = Ledger.open(path)
    total = opened.total
    if epsilon is not None:
        from hushrec.privacy.accounting.budget import Budget

        total = Budget(**total.model_dump() | {"epsilon": epsilon})
    opened.extend(total, max_releases)
    console.print_ledger(opened)
