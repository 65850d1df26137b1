"""``hushrec serve``: a site over HTTP, and lists by JSON for programs that hold the users' items already."""

import os
import socket
import sys
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path
from tempfile import TemporaryDirectory
from typing import Annotated

import typer

from hushrec.cli.page import report
from hushrec.errors import ConfigError, ReleaseError


def serve(
    source: Annotated[
        Path,
        typer.Argument(
            metavar="SITE|RELEASE|FOLDER", help="A site of hushrec page, a release, or a folder of releases."
        ),
    ],
    host: Annotated[str, typer.Option(help="Address to listen on.")] = "127.0.0.1",
    port: Annotated[int, typer.Option(min=0, max=65535, help="Port to listen on.")] = 8765,
    key: Annotated[
        Path | None,
        typer.Option(
            help="The owner's key file: a release that it does not verify is not served.",
            exists=True,
            dir_okay=False,
        ),
    ] = None,
) -> None:
    """Serve a site, and lists by JSON.

    Nothing of a request is kept or logged.
    """
    try:
        import uvicorn

        from hushrec.service import application
    except ModuleNotFoundError as error:
        raise ConfigError(
            f"serving needs {error.name}, which is not installed: pip install 'hushrec[serve]'"
        ) from None
    from hushrec.pages.public_releases import listed
    from hushrec.release.client import Client

    with _site(source, key) as site:
        client, *_ = [Client(site / one.url, key=key) for one in listed(site)]
        listening = _listen(host, port)
        address = f"http://{f'[{host}]' if ':' in host else host}:{listening.getsockname()[1]}"
        print(f"Serving {address}, and lists at {address}/lists", file=sys.stderr, flush=True)
        config = uvicorn.Config(
            application(site, client),
            ws="none",
            log_config=None,
            log_level="critical",  # below it, what failed is logged with its text
            access_log=False,  # no addresses, no paths
            server_header=False,
        )
        uvicorn.Server(config).run([listening])


@contextmanager
def _site(source: Path, key: Path | None) -> Iterator[Path]:
    """The folder of a site: the one that is given, or one that is written for as long as it is served."""
    from hushrec.pages import site
    from hushrec.pages.public_releases import LIST, listed

    if (source / LIST).exists():
        if not listed(source):
            raise ReleaseError(f"{source} lacks its list of releases; write it again with hushrec page")
        site.require_ours(source)
        yield source
        return
    text = key.read_text("utf-8") if key else None
    with TemporaryDirectory(prefix="hushrec-") as folder:
        place = Path(folder) / "site"
        try:
            written = site.write(source, place, key=text)
        except ReleaseError as error:
            # Raises again if the page is not at fault.
            written = site.write(source, place, key=text, page=False)
            print(f"There is no page: {error}", file=sys.stderr)
        report(written, checked=bool(key))
        yield place


def _listen(host: str, port: int) -> socket.socket:
    """A socket that takes connections."""
    try:
        family = socket.AF_INET6 if ":" in host else socket.AF_INET
        return socket.create_server((host, port), family=family)
    except OSError as error:
        raise ConfigError(
            f"cannot listen on {host}, port {port}: {os.strerror(error.errno or 0)}; choose another"
        ) from None
