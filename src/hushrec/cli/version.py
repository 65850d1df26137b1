"""``hushrec --version``: which hushrec this is, and whether this machine has what releases need."""

import sqlite3
import tempfile
import time
from importlib import metadata
from pathlib import Path

import typer

import hushrec
from hushrec.cli import console
from hushrec.errors import SamplerError

_PARTS = ("numpy", "scipy", "numba", "pyarrow", "duckdb", "pydantic", "safetensors", "cryptography")


def version(*, verbose: bool) -> None:
    """Print the version, or check this installation. Exits with 1 if a check fails."""
    if not verbose:
        print(f"hushrec {hushrec.__version__}")
        return
    from hushrec.documents.document import Facts

    with console.working("testing the noise sampler"):
        noise = _sampler()
    sqlite = _sqlite()
    facts = [
        ("hushrec", hushrec.__version__),
        ("parts", ", ".join(f"{part} {metadata.version(part)}" for part in _PARTS)),
        ("noise sampler", noise),
        ("memory", _memory()),
        ("compiled loops", _loops()),
        ("SQLite", sqlite),
    ]
    console.show_blocks([Facts(facts)])
    if "FAILED" in noise + sqlite:
        raise typer.Exit(1)


def _sampler() -> str:
    from hushrec.privacy.grant import sampler

    start = time.perf_counter()
    try:
        sampler()
    except SamplerError as error:
        return f"FAILED: {error}"
    return f"passed its self-test in {time.perf_counter() - start:.1f} s"


def _memory() -> str:
    from hushrec.data.machine import machine
    from hushrec.sums.footprint import in_bytes

    whole, free = machine()
    return f"{in_bytes(whole)}, with {in_bytes(free)} free"


def _loops() -> str:
    from hushrec.kernels.keyed_choice import hashes

    if folder := hashes.stats.cache_path:
        return f"kept in {folder}"
    return (
        "compiled anew in every process, because numba finds no folder to write to: set NUMBA_CACHE_DIR to "
        "one that only this user can write to"
    )


def _sqlite() -> str:
    """Ledgers need STRICT tables (SQLite 3.37) and a write-ahead log."""
    if sqlite3.sqlite_version_info < (3, 37):
        return f"FAILED: {sqlite3.sqlite_version} is older than 3.37; install a newer Python"
    with tempfile.TemporaryDirectory() as folder:
        connection = sqlite3.connect(Path(folder) / "test.db")
        (mode,) = connection.execute("PRAGMA journal_mode=WAL").fetchone()
        connection.close()
    return f"{sqlite3.sqlite_version}, " + ("WAL" if mode == "wal" else "FAILED: no write-ahead log here")
