"""The service as a process: one server on one port, with its limits."""

import contextlib
import os
import resource
import socket
from collections.abc import Collection

import uvicorn

from hushrec.errors import ConfigError
from hushrec.pages.item_table import ItemTable
from hushrec.service.api import application
from hushrec.service.connections import MOST, Connection
from hushrec.service.guard import LARGEST_HEADERS
from hushrec.service.public_releases import PublicReleases

_FILES = 4 * MOST


def server(
    releases: PublicReleases,
    *,
    titles: ItemTable | None = None,
    rate: float = 50.0,
    proxies: Collection[str] = (),
) -> uvicorn.Server:
    """The server, which ``run([listening])`` starts and SIGTERM stops: answers under way are completed first.

    Args:
        releases: what is served.
        titles: what the page shows of the items.
        rate: requests a second of one client; 0 for no limit.
        proxies: addresses of proxies, whose ``X-Forwarded-For`` tells the client.
    """

    class Listening(Connection):
        pass

    Listening.proxies = frozenset(proxies)
    return uvicorn.Server(
        uvicorn.Config(
            application(releases, rate, titles),
            http=Listening,
            ws="none",
            loop="asyncio",
            log_config=None,
            log_level="error",  # malformed requests would fill the log
            access_log=False,  # no addresses, no paths
            server_header=False,
            proxy_headers=bool(proxies),
            forwarded_allow_ips=list(proxies),
            h11_max_incomplete_event_size=LARGEST_HEADERS,
            timeout_keep_alive=10,
            timeout_graceful_shutdown=20,
        )
    )


def listen(host: str, port: int) -> socket.socket:
    """A socket that takes connections.

    Args:
        host: address, or name of one.
        port: 0 takes a free one.

    Raises:
        ConfigError: The address is not this machine's, or the port is taken.
    """
    try:
        family = socket.AF_INET6 if ":" in host else socket.AF_INET
        return socket.create_server((host, port), family=family, backlog=MOST)
    except OSError as error:
        raise ConfigError(
            f"cannot listen on {host}, port {port}: {os.strerror(error.errno or 0)}; choose another"
        ) from None


def allow_open_files() -> None:
    """Let the process hold as many connections as it may have, if the system allows it."""
    soft, hard = resource.getrlimit(resource.RLIMIT_NOFILE)
    wanted = _FILES if hard == resource.RLIM_INFINITY else min(_FILES, hard)
    if soft != resource.RLIM_INFINITY and soft < wanted:
        with contextlib.suppress(OSError, ValueError):  # a sandbox may forbid it
            resource.setrlimit(resource.RLIMIT_NOFILE, (wanted, hard))
