"""The command line: one file per command, which parses, calls the library, and prints."""

import sys

from hushrec.cli import console
from hushrec.errors import ExtraMissing, require_curator


def main() -> None:
    console.prepare()
    try:
        try:
            from hushrec.cli.app import app

            app()
        except ModuleNotFoundError as error:
            require_curator("the command line", error)
            raise
    except ExtraMissing as error:
        sys.exit(f"hushrec: {error}")
