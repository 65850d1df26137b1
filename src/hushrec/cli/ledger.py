"""``hushrec ledger``: a population's privacy ledger."""

from json import dumps
from pathlib import Path
from typing import Annotated, Any

import typer

from hushrec import files
from hushrec.cli import console, options
from hushrec.cli.app import FORM
from hushrec.curator.admit import require_writable
from hushrec.documents.document import Commands
from hushrec.errors import ConfigError, LedgerError
from hushrec.models.du_leighton_patel.released_data import SUFFIXES, ReleasedData
from hushrec.privacy.accounting.budget import Budget
from hushrec.privacy.ledger.ledger import Ledger
from hushrec.privacy.ledger.stores.connection import script
from hushrec.release.artefact import Release

ledger = typer.Typer(no_args_is_help=True, help="Show, create, extend or export a ledger.", **FORM)
Index = Annotated[int, "The release index, as hushrec ledger show lists it."]
FIX = "choose another file with -o"


@ledger.command()
@options.of()
def show(ledger: Ledger, *, json: options.Json = False) -> None:
    """Show a population's total ε, what is spent, and on which releases."""
    if json:
        console.show(ledger.document(), json=True)
    else:
        console.print_ledger(ledger)


@ledger.command()
@options.of(Ledger.create)
def create(
    path: str,
    *,
    total: Budget,
    max_releases: int,
    **others: Any,
) -> None:
    """Create a population's ledger, with the owner's total over all releases."""
    console.print_ledger(Ledger.create(path, total, max_releases, **others))
    if max_releases > 1:
        line = f"hushrec plan --domain DOMAIN {options.budget_options(total)} --max-releases {max_releases}"
        told = "What each release may cost, and whether its lists hold taste"
        console.show_blocks([Commands(told, [line])])
    if not others["controller"]:
        console.say(
            "Statements will not say who answers for the data: hushrec ledger extend LEDGER --controller "
            "NAME --contact ADDRESS"
        )


@ledger.command()
@options.of()
def sql() -> None:
    """Print the SQL that sets up a PostgreSQL database for ledgers, for its administrator to read and run."""
    print(f"BEGIN;\n{script('postgres')}COMMIT;")


@ledger.command()
@options.of()
def export(ledger: Ledger) -> None:
    """Print the whole history with its hashes as JSON, which anybody can verify."""
    print(dumps(ledger.export(), indent=2))


@ledger.command()
@options.of(Ledger.declare)
def extend(
    ledger: Ledger,
    *,
    epsilon: Annotated[float | None, "The new total ε; unchanged by default."] = None,
    max_releases: Annotated[int | None, "The new number of releases; unchanged by default."] = None,
    confirm: Annotated[
        bool, "Confirm what another raiser proposed for a ledger in PostgreSQL, by saying the same."
    ] = False,
    **declared: str,
) -> None:
    """Record the owner's decision: to allow more, or who answers for the data.

    More is a larger total, more releases, or both: in PostgreSQL this proposes it, and another raiser
    confirms it. Whose data they are, who answers for them and whom to ask stands in later statements.
    """
    more, declares = not (epsilon is None and max_releases is None), any(declared.values())
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
    total = ledger.state().total
    if epsilon is not None:
        total = Budget(**total.model_dump() | {"epsilon": epsilon})
    if declares:
        ledger.declare(**declared)
    elif confirm:
        ledger.confirm(total, max_releases)
    else:
        ledger.extend(total, max_releases)
    console.print_ledger(ledger)


@ledger.command()
@options.of()
def fetch(
    ledger: Ledger,
    release_index: Index,
    *,
    out: Annotated[Path, "The file to write, with the ending of the first."],
) -> None:
    """Write a release again that was made: the same bytes, at no cost."""
    require_writable(out, ".safetensors", *SUFFIXES)
    content = ledger.artefact(release_index)
    if out.suffix in SUFFIXES:
        with files.refusing(out, "written", LedgerError, FIX):
            ReleasedData.from_bytes(content).save(out)
    else:
        Release.from_bytes(content)
        files.write(out, content, LedgerError, fix=FIX, new=True)
    console.say(f"Wrote {out}: release {release_index}; nothing was charged")


@ledger.command()
@options.of()
def forfeit(ledger: Ledger, release_index: Index) -> None:
    """Give up a release that was charged and never made. Its ε stays spent; the next release takes its
    index."""
    ledger.forfeit(release_index)
    console.say(f"Release {release_index} is forfeited: its ε stays spent")
    console.print_ledger(ledger)
