"""``python -m lab bench``: the benchmarks, which are scripts of their own."""

import ast
import os
import subprocess
import sys
from pathlib import Path
from typing import Annotated

import typer

from hushrec.cli import console
from hushrec.documents.document import Table
from hushrec.errors import ConfigError

_LAB = Path(__file__).parents[1]
FOLDERS = (_LAB / "scoreboard", _LAB / "speed")


def bench(
    context: typer.Context,
    name: Annotated[str | None, typer.Argument(help="Which; without it, all are listed.")] = None,
) -> None:
    """Run a benchmark; what follows its name are its own options.

    Speed, memory, and models beside those of other packages, on public or made-up data.
    """
    scripts = {path.stem: path for path in sorted(_scripts(), key=lambda path: path.stem)}
    if name is None:
        rows = [
            (stem, (ast.get_docstring(ast.parse(path.read_text("utf-8"))) or "").split("\n")[0])
            for stem, path in scripts.items()
        ]
        console.show_blocks([Table("Benchmarks", ("name", "measures"), rows, left=2)])
        return
    if name not in scripts:
        raise ConfigError(f"there is no benchmark {name!r}; there are {', '.join(scripts)}")
    paths = os.pathsep.join(filter(None, [str(_LAB.parent), os.environ.get("PYTHONPATH", "")]))
    command = [sys.executable, str(scripts[name]), *context.args]
    raise typer.Exit(subprocess.run(command, env={**os.environ, "PYTHONPATH": paths}).returncode)


def _scripts() -> list[Path]:
    every = [path for folder in FOLDERS for path in folder.glob("*.py")]
    return [path for path in every if "__main__" in path.read_text("utf-8")]
