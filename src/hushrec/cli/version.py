"""``hushrec --version``: which hushrec this is, and whether this machine has what releases need."""

import os
import platform
import sqlite3
import tempfile
import time
from importlib import metadata, util
from pathlib import Path

import typer

import hushrec
from hushrec.cli import console
from hushrec.errors import SamplerError

_PARTS = ("numpy", "scipy", "numba", "pyarrow", "duckdb", "pydantic", "safetensors", "cryptography")
_EXTRAS = {
    "postgres": ("psycopg",),
}


def version(*, verbose: bool, json: bool) -> None:
    """Print the version, or check this installation.

    Versions, noise sampler, processors, memory, compiled loops, SQLite, extras. Exits with 1 if one fails.
    """
    if not verbose:
        print(f"hushrec {hushrec.__version__}")
        return
    with console.working("testing the noise sampler"):
        noise = _sampler()
    sqlite = _sqlite()
    facts = {
        "hushrec": f"{hushrec.__version__}, Python {platform.python_version()}",
        "parts": ", ".join(f"{part} {metadata.version(part)}" for part in _PARTS),
        "noise sampler": noise,
        "processors": str(os.cpu_count()),
        "memory": _memory(),
        "compiled loops": _loops(),
        "SQLite": sqlite,
    }
    for extra, modules in _EXTRAS.items():
        missing = [module for module in modules if util.find_spec(module) is None]
        facts[f"extra {extra}"] = (
            f"missing {', '.join(missing)}: pip install 'hushrec[{extra}]'" if missing else "present"
        )
    if json:
        console.print_json(facts)
    else:
        listed = console.table("", "", left=2)
        listed.show_header = False
        for row in facts.items():
            listed.add_row(*row)
        console.out().print(listed)
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
    try:
        place = tempfile.TemporaryDirectory()
    except OSError:
        return f"{sqlite3.sqlite_version}, log not tried: there is no folder for temporary files"
    with place as folder:
        connection = sqlite3.connect(Path(folder) / "test.db")
        (mode,) = connection.execute("PRAGMA journal_mode=WAL").fetchone()
        connection.close()
    return f"{sqlite3.sqlite_version}, " + ("WAL" if mode == "wal" else "FAILED: no write-ahead log here")
