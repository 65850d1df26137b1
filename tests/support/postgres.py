"""A PostgreSQL server of one's own, in a temporary folder, forced to disk as in earnest, gone afterwards."""

import os
import shutil
import socket
import subprocess
import tempfile
from collections.abc import Iterator
from contextlib import closing, contextmanager
from itertools import count
from pathlib import Path

PASSWORD = "hunter2-of-the-tests"
"""Of every role over TCP; over the socket the server trusts whoever a client says they are."""
_UNPRIVILEGED = "postgres"
_PATIENCE = "300"
"""Seconds. After a crash a server flushes every file of every database, which takes long on a busy disk."""
_SETTINGS = {
    "listen_addresses": "'127.0.0.1'",
    "shared_buffers": "'32MB'",
    "max_connections": "60",
    "log_min_messages": "fatal",
}
_ACCESS = """\
local all all trust
local replication all trust
host all all 127.0.0.1/32 scram-sha-256
"""


def programs() -> Path | None:
    """The folder of the newest server's programs; None if none is installed."""
    found = [folder for folder in Path("/usr/lib/postgresql").glob("*/bin") if (folder / "initdb").exists()]
    if found:
        return max(found, key=lambda folder: float(folder.parent.name))
    here = shutil.which("initdb")
    return Path(here).parent if here else None


class Server:
    """One server.

    Attributes:
        folder: its data, its socket and its log.
        port: on 127.0.0.1, and in the name of its socket.
    """

    def __init__(self, folder: Path) -> None:
        self.folder, self.port = folder, _free_port()
        self.data = folder / "data"
        self._names = count()

    def make(self) -> None:
        """Make and start it, with the superuser ``postgres``."""
        word = self.folder / "word"
        word.write_text(PASSWORD)
        if os.geteuid() == 0:
            for path in (self.folder, word):
                shutil.chown(path, _UNPRIVILEGED, _UNPRIVILEGED)
        self.run(
            "initdb", "-D", self.data, "-U", "postgres", "--pwfile", word, "-A", "trust", "-E", "UTF8",
            "--locale", "C", "--no-sync",
        )  # fmt: skip
        (self.data / "pg_hba.conf").write_text(_ACCESS)
        self.start()

    def run(self, program: str, *arguments: object, check: bool = True) -> str:
        """Run one of PostgreSQL's programs, as an unprivileged user; returns what it printed."""
        folder = programs()
        assert folder is not None
        drop = ["runuser", "-u", _UNPRIVILEGED, "--"] if os.geteuid() == 0 else []
        with tempfile.TemporaryFile("w+") as out:  # a server would hold a pipe open
            done = subprocess.run(
                [*drop, str(folder / program), *map(str, arguments)],
                stdout=out, stderr=out, stdin=subprocess.DEVNULL, cwd="/",
            )  # fmt: skip
            out.seek(0)
            said = out.read()
        assert not check or done.returncode == 0, said
        return said

    def start(self, **settings: str) -> None:
        """Start it, with these settings beside the usual ones."""
        chosen = (
            _SETTINGS | {"unix_socket_directories": f"'{self.folder}'", "port": str(self.port)} | settings
        )
        lines = "".join(f"{name} = {value}\n" for name, value in chosen.items())
        (self.data / "postgresql.auto.conf").write_text(lines)
        log = self.folder / "log"
        self.run("pg_ctl", "start", "-D", self.data, "-l", log, "-w", "-t", _PATIENCE, "-s")

    def stop(self, mode: str = "fast") -> None:
        """Stop it; ``immediate`` is a crash."""
        self.run("pg_ctl", "stop", "-D", self.data, "-m", mode, "-w", "-t", _PATIENCE, "-s")

    def database(self, name: str = "") -> str:
        """Make an empty database; returns its name."""
        name = name or f"test_{next(self._names)}"
        self.psql(f"CREATE DATABASE {name}")
        return name

    def url(self, database: str, user: str = "postgres", *, query: str = "", tcp: bool = True) -> str:
        """Where a database is, with the password over TCP, or over the socket, which needs none."""
        if tcp:
            where = f"postgresql://{user}:{PASSWORD}@127.0.0.1:{self.port}/{database}"
            return where + (f"?{query}" if query else "")
        more = f"&{query}" if query else ""
        return f"postgresql:///{database}?host={self.folder}&port={self.port}&user={user}{more}"

    def psql(
        self, sql: str, *, user: str = "postgres", database: str = "postgres", check: bool = True
    ) -> str:
        """What ``psql`` prints, and its errors, as this user."""
        return self.run(
            "psql", "-X", "-q", "-A", "-t", "-v", "ON_ERROR_STOP=1", "-h", self.folder, "-p", self.port,
            "-U", user, "-d", database, "-c", sql, check=check,
        )  # fmt: skip


@contextmanager
def running() -> Iterator[Server]:
    """A server while the block runs."""
    with tempfile.TemporaryDirectory(prefix="hushrec-pg-", ignore_cleanup_errors=True) as folder:
        server = Server(Path(folder))
        try:
            server.make()
            yield server
        finally:
            if (server.data / "postmaster.pid").exists():
                server.stop("immediate")


def _free_port() -> int:
    with closing(socket.socket()) as probe:
        probe.bind(("127.0.0.1", 0))
        return int(probe.getsockname()[1])
