"""A line to a server that breaks when it is told to commit: before the server hears of it, or after."""

import contextlib
import socket
import threading
from collections.abc import Iterator

COMMIT = b"COMMIT\0"


class Line:
    """Passes on what a client and a server tell each other.

    Attributes:
        breaks: "", "before" the commit reaches the server, or "after" the server's answer, which is dropped.
        broken: how often it broke.
        refuses: whether it takes no connection any more, once it broke.
        port: where clients connect.
    """

    def __init__(self, server: int) -> None:
        self.breaks, self.broken, self.refuses = "", 0, False
        self._server = server
        self._door = socket.create_server(("127.0.0.1", 0))
        self.port = int(self._door.getsockname()[1])
        threading.Thread(target=self._take, daemon=True).start()

    def close(self) -> None:
        self._door.close()

    def _take(self) -> None:
        with contextlib.suppress(OSError):
            while True:
                client, _ = self._door.accept()
                if self.refuses and self.broken:
                    client.close()
                    continue
                server = socket.create_connection(("127.0.0.1", self._server))
                cut = threading.Event()
                for serve in (self._forth, self._back):
                    threading.Thread(target=serve, args=(client, server, cut), daemon=True).start()

    def _forth(self, client: socket.socket, server: socket.socket, cut: threading.Event) -> None:
        with contextlib.suppress(OSError):
            while told := client.recv(65536):
                if self.breaks and COMMIT in told:
                    how, self.breaks = self.breaks, ""
                    self.broken += 1
                    if how == "after":
                        cut.set()
                        server.sendall(told)
                    else:
                        self._end(client, server)
                    return
                server.sendall(told)
        if not cut.is_set():
            self._end(client, server)

    def _back(self, client: socket.socket, server: socket.socket, cut: threading.Event) -> None:
        with contextlib.suppress(OSError):
            while told := server.recv(65536):
                if cut.is_set():
                    break
                client.sendall(told)
        self._end(client, server)

    def _end(self, *sockets: socket.socket) -> None:
        for one in sockets:
            with contextlib.suppress(OSError):
                one.shutdown(socket.SHUT_RDWR)
            one.close()


@contextlib.contextmanager
def line_to(port: int) -> Iterator[Line]:
    """A line to a server on this machine."""
    line = Line(port)
    try:
        yield line
    finally:
        line.close()
