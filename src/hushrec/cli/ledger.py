"""``hushrec ledger``: a population's privacy ledger."""

from itertools import groupby
from pathlib import Path
from typing import TYPE_CHECKING, Annotated, Any

import typer

from hushrec.cli import console, options
from hushrec.cli.verify import verify

if TYPE_CHECKING:
    from hushrec.privacy.ledger.ledger import Ledger

app = typer.Typer(
    rich_markup_mode=None, no_args_is_help=True, help="Show, create, extend, export or verify a ledger."
)
_File = Annotated[Path, typer.Argument(help="The ledger.")]
_MaxReleases = Annotated[int, typer.Option(min=1, help="How many releases the owner plans to make.")]


_Population = Annotated[str, typer.Option(help="Whose data they are; stands in every statement.")]
_Controller = Annotated[str, typer.Option(help="Who answers for the data; stands in every statement.")]
_Contact = Annotated[str, typer.Option(help="Whom to ask; stands in every statement.")]


@app.command()
def show(path: _File, json: options.Json = False) -> None:
    """Show a population's total ε, what is spent, and on which releases."""
    from hushrec.figures import above
    from hushrec.privacy.accounting.accountant import Spent
    from hushrec.privacy.ledger.ledger import Ledger

    opened = Ledger.open(path)
    if json:
        console.print_json(_facts(opened))
        return
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
    population: _Population = "",
    controller: _Controller = "",
    contact: _Contact = "",
) -> None:
    """Create a population's ledger, with the owner's total over all releases."""
    from hushrec.data.domain import Domain
    from hushrec.privacy.accounting.budget import Budget
    from hushrec.privacy.ledger.ledger import Ledger

    total = Budget(epsilon=epsilon, delta=delta, unit=unit, adjacency=adjacency)
    people = None if domain is None else Domain.open(domain).digest
    told = {"population": population, "controller": controller, "contact": contact}
    console.print_ledger(Ledger.create(path, total, max_releases, domain=people, **told))


@app.command()
def declare(
    path: _File, population: _Population = "", controller: _Controller = "", contact: _Contact = ""
) -> None:
    """Record whose data they are, who answers for them and whom to ask, for later statements."""
    from hushrec.privacy.ledger.ledger import Ledger

    opened = Ledger.open(path)
    opened.declare(population=population, controller=controller, contact=contact)
    for name, text in opened.declared.items():
        console.out().print(f"{name}: {text}", soft_wrap=True)


@app.command()
def export(
    path: _File,
    out: Annotated[Path | None, typer.Option("--out", "-o", help="The file to write; else printed.")] = None,
) -> None:
    """Write the whole history with its hashes as JSON, which anybody can verify."""
    from json import dumps

    from hushrec.errors import LedgerError
    from hushrec.privacy.ledger.ledger import Ledger

    facts = Ledger.open(path).export()
    if out is None:
        console.print_json(facts)
        return
    try:
        with out.open("x", encoding="utf-8") as file:
            file.write(dumps(facts, indent=2) + "\n")
    except OSError as error:
        raise LedgerError(f"{out} cannot be written: {error.strerror}; choose another file with -o") from None
    console.out().print(f"Wrote {out}: {len(facts['records']):,} records", soft_wrap=True)


app.command()(verify)


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


def _facts(ledger: "Ledger") -> dict[str, Any]:
    """A ledger and its releases as JSON values."""
    from hushrec.privacy.accounting.accountant import Spent

    delta, releases = ledger.total.delta, []
    for _, entries in groupby(ledger.entries(), key=lambda entry: entry.charge):
        booked = list(entries)
        cost = sum((entry.spent for entry in booked), Spent())
        releases.append(
            {
                "release_index": booked[0].release_index,
                "model": booked[0].model,
                "state": booked[0].state,
                "caveat": booked[0].caveat,
                "measurements": len(booked),
                "epsilon": None if cost.unbounded else cost.epsilon(delta),
            }
        )
    head = ledger.head
    return {
        "ledger": ledger.id,
        **ledger.total.model_dump(),
        "max_releases": ledger.max_releases,
        "remaining": ledger.remaining,
        "holds": ledger.holds,
        "seq": head.seq,
        "head": head.hash,
        **ledger.declared,
        "releases": releases,
    }
