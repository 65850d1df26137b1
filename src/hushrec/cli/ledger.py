"""``hushrec ledger``: a population's privacy ledger."""

from dataclasses import asdict, dataclass
from json import dumps
from pathlib import Path
from shlex import quote
from typing import TYPE_CHECKING, Annotated

import typer

from hushrec import files
from hushrec.cli import charges, console, options
from hushrec.cli.options import Command, Group, explained, grouped
from hushrec.errors import ConfigError, LedgerError

if TYPE_CHECKING:
    from hushrec.documents.document import Block
    from hushrec.privacy.accounting.budget import Budget

app = typer.Typer(
    rich_markup_mode=None, no_args_is_help=True, help="Show, create, extend or export a ledger."
)


@dataclass(frozen=True, kw_only=True)
class Declared(Group):
    """The owner's declaration."""

    population: str = ""
    controller: str = ""
    contact: str = ""


def _print_sql(value: bool) -> None:
    if value:
        from hushrec.privacy.ledger.stores.connection import script

        typer.echo(f"BEGIN;\n{script('postgres')}COMMIT;")
        raise typer.Exit


@app.command(cls=Command)
def show(path: charges.LedgerArgument, json: options.Json = False) -> None:
    """Show a population's total ε, what is spent, and on which releases."""
    from hushrec.privacy.ledger.ledger import Ledger

    opened = Ledger.open(path)
    if json:
        console.show(opened.document(), json=True)
    else:
        console.print_ledger(opened)


@app.command(cls=Command)
@explained("hushrec.privacy.ledger.ledger:Ledger.create")
@grouped
def create(
    path: charges.LedgerArgument,
    *,
    epsilon: options.Epsilon,
    terms: options.BudgetOptions,
    max_releases: Annotated[int, typer.Option(min=1)] = 1,
    domain: Annotated[
        Path | None,
        typer.Option(help="The domain that will be charged, for the usual δ and the command to plan it."),
    ] = None,
    releases: Path | None = None,
    owner: Declared,
    print_sql: Annotated[
        bool,
        typer.Option(
            "--print-sql",
            callback=_print_sql,
            is_eager=True,
            help="Print the SQL that sets up a PostgreSQL database for ledgers, for its administrator to "
            "read and run, and exit.",
        ),
    ] = False,
) -> None:
    """Create a population's ledger, with the owner's total over all releases."""
    from hushrec.data.domain import Domain
    from hushrec.privacy.ledger.ledger import Ledger

    declared = None if domain is None else Domain.open(domain)
    total = terms.with_epsilon(epsilon, options.usual_delta(declared))
    assert total is not None  # ε is given
    created = Ledger.create(path, total, max_releases, releases=releases, **asdict(owner))
    console.print_ledger(created)
    if max_releases > 1:
        console.show_blocks([_plan_of(total, max_releases, domain)])
    if not owner.controller:
        console.say(
            "Statements will not say who answers for the data: hushrec ledger extend LEDGER "
            "--controller NAME --contact ADDRESS",
        )


def _plan_of(total: "Budget", releases: int, domain: Path | None) -> "Block":
    """Lead to the plan of equal releases, which reads no data."""
    from hushrec.documents.document import Commands
    from hushrec.text import above

    named = "DOMAIN" if domain is None else quote(str(domain))
    figures = f"--total {above(total.epsilon, 15)} --delta {above(total.delta, 15)}"
    kind = f"--unit {total.unit} --adjacency {total.adjacency}"
    command = f"hushrec plan --domain {named} --releases {releases} {figures} {kind}"
    return Commands("What each release may cost, and whether its lists hold taste", [command])


@app.command(cls=Command)
def export(
    path: charges.LedgerArgument,
    out: Annotated[Path | None, typer.Option("--out", "-o", help="The file to write; else printed.")] = None,
) -> None:
    """Write the whole history with its hashes as JSON, which anybody can verify."""
    from hushrec.privacy.ledger.ledger import Ledger

    facts = Ledger.open(path).export()
    if out is None:
        console.print_json(facts)
        return
    fix = "choose another file with -o"
    files.write(out, dumps(facts, indent=2) + "\n", LedgerError, fix=fix, new=True)
    console.say(f"Wrote {out}: {len(facts['records']):,} records")


@app.command(cls=Command)
@explained("hushrec.privacy.ledger.ledger:Ledger.create")
@grouped
def extend(
    path: charges.LedgerArgument,
    *,
    epsilon: Annotated[float | None, typer.Option(help="The new total ε; unchanged by default.")] = None,
    max_releases: Annotated[int | None, typer.Option(min=1, help="The new number of releases.")] = None,
    confirm: Annotated[
        bool,
        typer.Option(
            "--confirm",
            help="Confirm what another raiser proposed for a ledger in PostgreSQL, by saying the same.",
        ),
    ] = False,
    owner: Declared,
) -> None:
    """Record the owner's decision: to allow more, or who answers for the data.

    More is a larger total, more releases, or both: in PostgreSQL this proposes it, and another raiser
    confirms it. Whose data they are, who answers for them and whom to ask stands in later statements.
    """
    from hushrec.privacy.accounting.budget import Budget
    from hushrec.privacy.ledger.ledger import Ledger

    more, declares = not (epsilon is None and max_releases is None), owner != Declared()
    if declares and (more or confirm):
        raise ConfigError(
            "to allow more and to declare who answers for the data are two decisions: give --epsilon and "
            "--max-releases alone, then --population, --controller and --contact"
        )
    if not (more or declares):
        raise ConfigError(
            "nothing to extend: give --epsilon, --max-releases or both, or declare --population, "
            "--controller or --contact"
        )
    opened = Ledger.open(path)
    total = opened.state().total
    if epsilon is not None:
        total = Budget(**total.model_dump() | {"epsilon": epsilon})
    if declares:
        opened.declare(**asdict(owner))
    elif confirm:
        opened.confirm(total, max_releases)
    else:
        opened.extend(total, max_releases)
    console.print_ledger(opened)


@app.command(cls=Command)
def fetch(
    path: charges.LedgerArgument,
    release_index: Annotated[int, typer.Argument(help="The release index, as hushrec ledger show lists it.")],
    out: Annotated[
        Path, typer.Option("--out", "-o", help="The file to write, with the ending of the first.")
    ],
) -> None:
    """Write a release again that was made: the same bytes, at no cost."""
    from hushrec.curator.admit import require_writable
    from hushrec.models.du_leighton_patel.released_data import SUFFIXES, ReleasedData
    from hushrec.privacy.ledger.ledger import Ledger
    from hushrec.release.artefact import Release

    require_writable(out, ".safetensors", *SUFFIXES)
    content, fix = Ledger.open(path).artefact(release_index), "choose another file with -o"
    if out.suffix in SUFFIXES:
        with files.refusing(out, "written", LedgerError, fix):
            ReleasedData.from_bytes(content).save(out)
    else:
        Release.from_bytes(content)
        files.write(out, content, LedgerError, fix=fix, new=True)
    console.say(f"Wrote {out}: release {release_index}; nothing was charged")


@app.command(cls=Command)
def forfeit(
    path: charges.LedgerArgument,
    release_index: Annotated[int, typer.Argument(help="The release index, as hushrec ledger show lists it.")],
) -> None:
    """Give up a release that was charged and never made. Its ε stays spent; the next release takes its
    index."""
    from hushrec.privacy.ledger.ledger import Ledger

    opened = Ledger.open(path)
    opened.forfeit(release_index)
    console.say(f"Release {release_index} is forfeited: its ε stays spent")
    console.print_ledger(opened)
