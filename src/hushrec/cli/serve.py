"""``hushrec serve``: releases, their statements and the page, to anyone."""

import logging
import sys
from pathlib import Path
from typing import Annotated

import typer

from hushrec.cli.page import TitlesColumn, title_table
from hushrec.errors import ConfigError


def serve(
    folder: Annotated[Path, typer.Argument(metavar="DIR", help="A folder of releases of one ledger.")],
    host: Annotated[str, typer.Option(help="Address to listen on.")] = "127.0.0.1",
    port: Annotated[int, typer.Option(min=0, max=65535, help="Port to listen on.")] = 8765,
    key: Annotated[
        Path | None,
        typer.Option(
            help="The owner's key file: a release that it does not verify is left out.",
            exists=True,
            dir_okay=False,
        ),
    ] = None,
    titles: Annotated[
        Path | None,
        typer.Option(
            help="Public titles of the items for the page, as for hushrec page.", exists=True, dir_okay=False
        ),
    ] = None,
    titles_column: TitlesColumn = None,
    rate: Annotated[
        float, typer.Option(min=0, help="Requests a second of one client, on average; 0 for no limit.")
    ] = 50.0,
    proxy: Annotated[
        list[str] | None,
        typer.Option(help="Address of a proxy, whose X-Forwarded-For tells the client; repeat it."),
    ] = None,
) -> None:
    """Serve releases, statements and the page over HTTP."""
    try:
        from hushrec.service.public_releases import PublicReleases
        from hushrec.service.server import allow_open_files, listen, server
    except ModuleNotFoundError as error:
        raise ConfigError(
            f"serving needs {error.name}, which is not installed: pip install 'hushrec[serve]'"
        ) from None
    logging.basicConfig(format="hushrec: %(message)s", stream=sys.stderr, level=logging.WARNING)
    allow_open_files()
    releases = PublicReleases(folder, None if key is None else key.read_text("utf-8"))
    if releases.latest is None:
        raise ConfigError(f"{folder} holds no release that can be served; hushrec fit writes one")
    table = title_table(titles, titles_column)
    listening = listen(host, port)
    address = f"http://{f'[{host}]' if ':' in host else host}:{listening.getsockname()[1]}"
    if key is None:
        print("Signatures are not checked: give the owner's key file with --key", file=sys.stderr)
    print(f"Releases that are served on {address}: {len(releases.history)}", file=sys.stderr)
    server(releases, titles=table, rate=rate, proxies=proxy or ()).run([listening])
