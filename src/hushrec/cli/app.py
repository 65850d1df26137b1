"""All commands, and how their errors are printed.

Nothing heavy is imported before a command runs, so ``hushrec --help`` answers at once.
"""

import sys
import warnings
from typing import Annotated, Any

import typer
from typer.core import TyperGroup

from hushrec.cli import ledger, options
from hushrec.cli.add_items import add_items
from hushrec.cli.audit import audit
from hushrec.cli.check import check
from hushrec.cli.demo import demo
from hushrec.cli.domain import domain
from hushrec.cli.evaluate import evaluate
from hushrec.cli.fit import fit
from hushrec.cli.lists import lists
from hushrec.cli.models import models
from hushrec.cli.page import page
from hushrec.cli.plan import plan
from hushrec.cli.randomize import randomize
from hushrec.cli.recommend import recommend
from hushrec.cli.show import show
from hushrec.cli.synthesize import synthesize
from hushrec.cli.version import version as version_
from hushrec.errors import ConfigError, HushrecError, LedgerWarning

REFUSED, STOPPED = 2, 130
"""Exit codes for wrong usage and errors whose message names the fix, and for Ctrl-C. Others exit with 1 and a
traceback."""


COMMANDS: dict[str, Any] = {
    "demo": demo,
    "domain": domain,
    "models": models,
    "check": check,
    "plan": plan,
    "fit": fit,
    "add-items": add_items,
    "randomize": randomize,
    "show": show,
    "recommend": recommend,
    "lists": lists,
    "synthesize": synthesize,
    "page": page,
    "evaluate": evaluate,
    "audit": audit,
    "ledger": ledger.app,
}
"""In the order of use."""


class Commands(TyperGroup):
    """Lists the commands in the order of use; prints hushrec's own errors as one line."""

    def list_commands(self, ctx: Any) -> list[str]:
        """Command names in the order of use."""
        return list(COMMANDS)

    def resolve_command(self, ctx: Any, args: list[str]) -> Any:
        """Find a command; where only a group of commands has it, name that one in the error."""
        if args[0] not in self.commands:
            for group, below in self.commands.items():
                if args[0] in getattr(below, "commands", {}):
                    ctx.fail(f"No such command '{args[0]}'. Did you mean hushrec {group} {args[0]}?")
        return super().resolve_command(ctx, args)

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


def _warn(message: Warning | str, *_: object, **__: object) -> None:
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
    add_completion=False,
    context_settings={"help_option_names": ["-h", "--help"]},
)
for name, command in COMMANDS.items():
    if isinstance(command, typer.Typer):
        app.add_typer(command, name=name)
    else:
        app.command(name, cls=options.Command)(command)


@app.callback(invoke_without_command=True)
def _root(
    ctx: typer.Context,
    version: Annotated[bool, typer.Option("--version", help="Show the version and exit.")] = False,
    verbose: Annotated[
        bool,
        typer.Option("--verbose", help="With --version: check the installation; exits with 1 if it fails."),
    ] = False,
) -> None:
    """Recommender systems under differential privacy.

    In this order: domain declares what is public, check looks at the data, plan shows what a release costs,
    fit makes it, and recommend lists from it. To see all of it on made-up clicks: hushrec demo
    """
    if verbose and not version:
        raise ConfigError("--verbose goes with --version")
    if version:
        version_(verbose=verbose)
        raise typer.Exit
    if ctx.invoked_subcommand is None:
        ctx.fail("Missing command.")
