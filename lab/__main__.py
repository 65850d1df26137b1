"""``python -m lab``: reproduce a paper, run a grid, fetch data sets, run a benchmark."""

from typing import Any

import typer

from hushrec.cli.app import Program
from lab.commands import bench, data, grid, reproduce

COMMANDS = ("reproduce", "grid", "data", "bench")


class LabCommands(Program):
    """Lists the commands in the order of use; prints hushrec's own errors as one line."""

    def list_commands(self, ctx: Any) -> list[str]:
        """Command names in the order of use."""
        return list(COMMANDS)


app = typer.Typer(
    cls=LabCommands,
    rich_markup_mode=None,
    pretty_exceptions_enable=False,
    no_args_is_help=True,
    context_settings={"help_option_names": ["-h", "--help"]},
    help="Reproduce what papers print, and measure. NOT private. Run it from the root of the repository.",
)
app.command()(reproduce)
app.command()(grid)
app.add_typer(data, name="data")
app.command(context_settings={"allow_extra_args": True, "allow_interspersed_args": False})(bench)

if __name__ == "__main__":
    app(prog_name="python -m lab")
