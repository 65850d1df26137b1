"""All commands, and how their errors are printed.

Nothing heavy is imported before a command runs, so ``hushrec --help`` answers at once.
"""

import sys
import warnings
from typing import Annotated, Any, TextIO

import typer
from typer.core import TyperGroup

import hushrec
from hushrec.cli import data, keys, ledger
from hushrec.cli.audit import audit
from hushrec.cli.card import card
from hushrec.cli.check import check
from hushrec.cli.collect import collect
from hushrec.cli.demo import demo
from hushrec.cli.doctor import doctor
from hushrec.cli.domain import domain
from hushrec.cli.evaluate import evaluate
from hushrec.cli.experiment import experiment
from hushrec.cli.fit import fit
from hushrec.cli.fit_next import fit_next
from hushrec.cli.models import models
from hushrec.cli.page import page
from hushrec.cli.pilot import pilot
from hushrec.cli.plan import plan
from hushrec.cli.recommend import recommend
from hushrec.cli.release_data import release_data
from hushrec.cli.reproduce import reproduce
from hushrec.cli.serve import serve
from hushrec.cli.show import show
from hushrec.cli.sign import sign
from hushrec.cli.similar import similar
from hushrec.errors import HushrecError, LedgerWarning

REFUSED, STOPPED = 2, 130
"""Exit codes for wrong usage and errors whose message names the fix, and for Ctrl-C. Others exit with 1 and a
traceback."""


COMMANDS = (
    "demo",
    "data",
    "domain",
    "models",
    "check",
    "pilot",
    "plan",
    "fit",
    "fit-next",
    "release-data",
    "collect",
    "keys",
    "sign",
    "show",
    "card",
    "recommend",
    "similar",
    "page",
    "serve",
    "evaluate",
    "experiment",
    "reproduce",
    "audit",
    "ledger",
    "doctor",
)


class Commands(TyperGroup):
    """Lists the commands in the order of use; prints hushrec's own errors as one line."""

    def list_commands(self, ctx: Any) -> list[str]:
        """Command names in the order of use."""
        return list(COMMANDS)

    def invoke(self, ctx: Any) -> Any:
        """Run a command."""
        try:
            with warnings.catch_warnings():
                warnings.simplefilter("default", LedgerWarning)
                warnings.showwarning = _warn
                return super().invoke(ctx)
        except HushrecError as error:
            print("\n".join([f"hushrec: {error}", *_notes(error)]), file=sys.stderr)
            raise typer.Exit(REFUSED) from None
        except KeyboardInterrupt as error:
            print("\n".join(["hushrec: stopped.", *_notes(error)]), file=sys.stderr)
            raise typer.Exit(STOPPED) from None


def _warn(
    message: Warning | str,
    category: type[Warning],
    filename: str,
    lineno: int,
    file: TextIO | None = None,
    line: str | None = None,
) -> None:
    """Print a warning as one line, without its line of source."""
    print(f"hushrec: warning: {message}", file=sys.stderr)


def _notes(error: BaseException) -> list[str]:
    """The notes of an error, which say what became of a charge."""
    return list(getattr(error, "__notes__", []))


# Rich's boxes would take longer to import than everything else. Python's own tracebacks show no local
# variables, which may be private.
app = typer.Typer(
    cls=Commands,
    rich_markup_mode=None,
    pretty_exceptions_enable=False,
    no_args_is_help=True,
    context_settings={"help_option_names": ["-h", "--help"]},
)
app.command()(demo)
app.add_typer(data.app, name="data")
app.command()(domain)
app.command()(models)
app.command()(check)
app.command()(pilot)
app.command()(plan)
app.command()(fit)
app.command("fit-next")(fit_next)
app.command("release-data")(release_data)
app.command()(collect)
app.add_typer(keys.app, name="keys")
app.command()(sign)
app.command()(show)
app.command()(card)
app.command()(recommend)
app.command()(similar)
app.command()(page)
app.command()(serve)
app.command()(evaluate)
app.command()(experiment)
app.command()(reproduce)
app.command()(audit)
app.add_typer(ledger.app, name="ledger")
app.command()(doctor)


def _version(asked: bool) -> None:
    if asked:
        print(f"hushrec {hushrec.__version__}")
        raise typer.Exit


@app.callback()
def _root(
    version: Annotated[
        bool, typer.Option("--version", callback=_version, is_eager=True, help="Show the version and exit.")
    ] = False,
) -> None:
    """Recommender systems under differential privacy.

    Start with: hushrec demo
    """
