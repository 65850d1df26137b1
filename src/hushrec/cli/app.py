"""All commands, and how their errors are printed.

A command is imported when it is called, so ``hushrec --help`` answers at once.
"""

import sys
import warnings
from importlib import import_module
from typing import Annotated, Any

import typer
from typer.core import TyperGroup
from typer.main import get_command

import hushrec
from hushrec.errors import HushrecError, LedgerWarning

REFUSED, STOPPED = 2, 130
"""Exit codes for wrong usage and errors whose message names the fix, and for Ctrl-C. Others exit with 1 and a
traceback."""

COMMANDS = {
    "demo": "See what privacy costs, on made-up clicks.",
    "domain": "Declare what is public: items, scale, cap, number of users.",
    "models": "List the models, or show one with its settings.",
    "check": "Check a file before a fit is charged. CONFIDENTIAL.",
    "plan": "Show the noise and the cost of a fit. Reads no ratings.",
    "fit": "Make a release from private ratings, or from released data.",
    "add-items": "Add new items to a release, by their features.",
    "randomize": "Release a randomized data set, charged to a ledger.",
    "show": "Show a release and its promise; sign it.",
    "recommend": "Recommend from a release on your own device.",
    "lists": "Write a private list for every user of a table.",
    "synthesize": "Draw synthetic people to train recommenders on.",
    "page": "Write a site on which people get their own list.",
    "evaluate": "Measure on held-out ratings or interactions. NOT private.",
    "audit": "Attack a model's fits on made-up ratings.",
    "ledger": "Show, create, extend or export a ledger.",
}
"""In the order of use. Each is a file of its name, with a function of its name, or a program for several."""
# Rich's boxes would take longer to import than everything else. Python's own tracebacks show no local
# variables, which may be private.
FORM: dict[str, Any] = {
    "rich_markup_mode": None,
    "pretty_exceptions_enable": False,
    "add_completion": False,
    "context_settings": {"help_option_names": ["-h", "--help"]},
}


class Program(TyperGroup):
    """Prints hushrec's own errors as one line."""

    def invoke(self, ctx: Any) -> Any:
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


class Commands(Program):
    """The commands in the order of use, each imported when it is called."""

    def list_commands(self, ctx: Any) -> list[str]:
        """Command names in the order of use."""
        return list(COMMANDS)

    def get_command(self, ctx: Any, cmd_name: str) -> Any:
        """Import a command; None if there is none of this name."""
        if cmd_name not in COMMANDS:
            return None
        name = cmd_name.replace("-", "_")
        found = getattr(import_module(f"hushrec.cli.{name}"), name)
        if not isinstance(found, typer.Typer):
            alone = typer.Typer(**FORM)
            alone.command(cmd_name)(found)
            found = alone
        return get_command(found)

    def format_commands(self, ctx: Any, formatter: Any) -> None:
        """Write what each command does, without importing any."""
        with formatter.section("Commands"):
            formatter.write_dl([*COMMANDS.items()])


def _warn(message: Warning | str, *_: object, **__: object) -> None:
    """Print a warning as one line, without its line of source."""
    print(f"hushrec: warning: {message}", file=sys.stderr)


def _notes(error: BaseException) -> list[str]:
    """The notes of an error, which say what became of a charge."""
    return list(getattr(error, "__notes__", []))


app = typer.Typer(cls=Commands, no_args_is_help=True, **FORM)


@app.callback(invoke_without_command=True)
def _root(
    ctx: typer.Context,
    version: Annotated[bool, typer.Option("--version", help="Show the version and exit.")] = False,
) -> None:
    """Recommender systems under differential privacy.

    In this order: domain declares what is public, check looks at the data, plan shows what a release costs,
    fit makes it, and recommend lists from it. To see all of it on made-up clicks: hushrec demo
    """
    if version:
        print(f"hushrec {hushrec.__version__}")
        raise typer.Exit
    if ctx.invoked_subcommand is None:
        ctx.fail("Missing command.")
