"""The command line: one file per command, which parses, calls the library, and prints."""


def main() -> None:
    """Run ``hushrec``."""
    from hushrec.cli.app import app

    app()
