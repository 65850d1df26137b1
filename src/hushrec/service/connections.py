"""Connections that are slow, or too many, are closed: nobody keeps others from being answered."""

import asyncio
import socket
from collections.abc import Collection
from typing import Any, ClassVar

from uvicorn.protocols.http.h11_impl import H11Protocol

from hushrec.service.guard import HEADERS, REFUSED
from hushrec.service.problems import problem
from hushrec.service.token_buckets import network

MOST = 2_000
"""Connections at a time."""
MOST_OF_CLIENT = 256
"""Connections at a time of one client: an address of IPv4, a network of 64 bits of IPv6."""
SECONDS = 10.0
"""Between two looks at a connection."""
LEAST = 16 * 1024
"""Bytes that a client must read between two looks, if there are as many for it."""


class Connection(H11Protocol):
    """A connection that is closed at once if it does not get on.

    Every 10 seconds a client must have completed a request that was let through, or have read 16 KiB of its
    answer. uvicorn by itself waits for ever for the rest of a request's headers, and for a client to read.
    If there are too many connections, the client that has the most loses its oldest.
    """

    proxies: Collection[str] = ()
    """Addresses that many clients share."""
    seconds = SECONDS
    _of_client: ClassVar[dict[str, dict["Connection", None]]] = {}  # oldest first

    def connection_made(self, transport: Any) -> None:
        """Count the connection, or refuse it."""
        self._written = _Counted(transport)
        super().connection_made(self._written)  # type: ignore[arg-type]
        if hasattr(socket, "TCP_NOTSENT_LOWAT"):  # else what the system holds looks as if it were read
            made = transport.get_extra_info("socket")
            made.setsockopt(socket.IPPROTO_TCP, socket.TCP_NOTSENT_LOWAT, LEAST)
        self._requests, self._seen = 0, (0, 0)
        address = self.client[0] if self.client else ""
        self._shared, self._who = address in self.proxies, network(address)
        if not self._shared and len(self._of_client.get(self._who, ())) >= MOST_OF_CLIENT:
            transport.abort()
            return
        self._of_client.setdefault(self._who, {})[self] = None
        if sum(map(len, self._of_client.values())) > MOST:
            self._largest().close()
        self._look_again: asyncio.TimerHandle | None = self.loop.call_later(self.seconds, self._look)

    def connection_lost(self, exc: Exception | None) -> None:
        """Forget the connection."""
        self._forget()
        if (timer := getattr(self, "_look_again", None)) is not None:
            timer.cancel()
        super().connection_lost(exc)

    def on_response_complete(self) -> None:
        """Count an answer, unless the request was refused."""
        self._requests += not self.scope.get(REFUSED)
        super().on_response_complete()

    def send_400_response(self, msg: str) -> None:
        """Answer what is not HTTP as any other problem."""
        answer = problem("bad-request")
        head = [b"HTTP/1.1 400 Bad Request", b"connection: close"]
        head += [name + b": " + value for name, value in (*answer.raw_headers, *HEADERS.items())]
        self.transport.write(b"\r\n".join([*head, b"", bytes(answer.body)]))
        self.transport.close()

    def close(self) -> None:
        """Close the connection at once; it counts no more."""
        self._forget()
        self.transport.abort()

    def _forget(self) -> None:
        own = self._of_client.get(self._who, {})
        own.pop(self, None)
        if not own:
            self._of_client.pop(self._who, None)

    def _largest(self) -> "Connection":
        """The oldest connection of the client that has the most; this one if all come through proxies."""
        oldest = [(len(own), next(iter(own))) for own in self._of_client.values()]
        clients = [(size, one) for size, one in oldest if not one._shared]
        return max(clients, key=lambda pair: pair[0])[1] if clients else self

    def _look(self) -> None:
        """Close the connection if it did not get on since the last look."""
        waiting = self.transport.get_write_buffer_size()
        read = self._written.count - waiting
        requests, read_before = self._seen
        answering = self.cycle is not None and not self.cycle.response_complete
        idle = not answering and self._requests == requests
        if read - read_before < LEAST if waiting else idle:
            self.transport.abort()
            return
        self._seen = self._requests, read
        self._look_again = self.loop.call_later(self.seconds, self._look)


class _Counted:
    """A transport that counts what is written to it."""

    def __init__(self, transport: Any) -> None:
        self.transport, self.count = transport, 0

    def write(self, data: bytes) -> None:
        self.count += len(data)
        self.transport.write(data)

    def __getattr__(self, name: str) -> Any:
        return getattr(self.transport, name)
