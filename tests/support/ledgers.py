"""What people do with a ledger: finish a release, keep what shows it, and raise the total."""

import json
import struct
from pathlib import Path

from hushrec.privacy.accounting.budget import Budget
from hushrec.privacy.grant import Grant
from hushrec.privacy.ledger.ledger import Ledger


def finish(ledger: Ledger, grant: Grant, artefact: bytes = b"factors") -> None:
    ledger.finish(grant, artefact)


def write_release(folder: Path, name: str, ledger: object) -> Path:
    """A release with nothing in its header but what it says of its ledger."""
    statement = json.dumps({"statement": {"ledger": ledger}})
    header = json.dumps({"__metadata__": {"hushrec": statement}}).encode()
    file = folder / f"{name}.safetensors"
    file.write_bytes(struct.pack("<Q", len(header)) + header)
    return file


def write_facts(folder: Path, name: str, ledger: object) -> Path:
    """What stands beside a data set, with nothing in it but its ledger."""
    file = folder / f"{name}.parquet.statement.json"
    file.write_text(json.dumps({"statement": {"ledger": ledger}}))
    return file


def raise_total(place: str, total: Budget, max_releases: int | None = None) -> None:
    """As the owner does: alone in a file, and with a second raiser in a database."""
    Ledger.open(place).extend(total, max_releases)
    if "://" in place:
        Ledger.open(as_user(place, "second", "hushrec_raiser")).confirm(total, max_releases)


def as_user(url: str, user: str, *roles: str) -> str:
    """The URL of a ledger for another login of the same database and password, which is a member of these
    roles."""
    import psycopg

    start, rest = url.split("://postgres:", 1)
    word = rest.partition("@")[0]
    with psycopg.connect(url.partition("?ledger=")[0], autocommit=True) as database:
        database.execute("SELECT pg_advisory_lock(7)")
        if not database.execute("SELECT 1 FROM pg_roles WHERE rolname = %s", (user,)).fetchone():
            database.execute(f"CREATE ROLE {user} LOGIN PASSWORD '{word}'".encode())
        for role in roles:
            database.execute(f"GRANT {role} TO {user}".encode())
    return f"{start}://{user}:{rest}"
