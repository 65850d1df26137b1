import contextlib
import dataclasses
import functools
import hashlib
import json
import os
import sqlite3
import subprocess
import sys
from pathlib import Path

import polars as pl
import pytest
import typer.testing

import hushrec as hr

with contextlib.suppress(ImportError):  # which environments of other libraries do not have
    from hypothesis import settings

    settings.register_profile("hushrec", deadline=None)  # a busy machine is no failure
    settings.load_profile("hushrec")

# An application's commands are the same each time, and building them takes as long as most of them run.
typer.testing._get_command = functools.cache(typer.testing._get_command)


@pytest.fixture(scope="session")
def real():
    """Finds a real file, or skips: they may not be redistributed, so they are not in the repository."""
    default = Path(__file__).resolve().parents[2] / "shared" / "data"
    folder = Path(os.environ.get("HUSHREC_DATA", default))

    def find(name: str) -> Path:
        if not (folder / name).exists():
            pytest.skip(f"{name} is not on this machine; set HUSHREC_DATA to the folder that has it")
        return folder / name

    return find


@pytest.fixture(scope="session")
def postgres():
    """A PostgreSQL server of this session's own; or skips, without the server's programs."""
    from support.postgres import programs, running

    if programs() is None:
        pytest.skip("no PostgreSQL server on this machine; install it (Debian: apt-get install postgresql)")
    with running() as server:
        yield server


@pytest.fixture(scope="session")
def spark():
    """A Spark session of this test run's own, on two cores; or skips, without pyspark or Java."""
    from support.spark import missing, running

    if reason := missing():
        pytest.skip(reason)
    with running() as session:
        yield session


# -- from end to end --------------------------------------------------------------------------------------


@pytest.fixture(scope="session")
def table():
    """Ratings as somebody would export them, with user ids that would be noticed where they do not belong."""
    made = hr.synthetic.netflix_like(60, 12, 400, 7)
    return pl.from_arrow(made.table()).with_columns("secret-" + pl.col("user_id"))


@pytest.fixture
def csv(table, tmp_path):
    table.write_csv(tmp_path / "ratings.csv")
    return tmp_path / "ratings.csv"


DEVICE = """
import json, sys

class Device:
    def find_spec(self, name, path=None, target=None):
        package, _, rest = name.partition(".")
        ground = {"", "arrays", "errors", "files", "text"}
        ours = package == "hushrec" and rest in ground | {"documents", "release"}
        known = name.partition(".")[0] in {*sys.stdlib_module_names, "numpy", "safetensors"}
        if not (ours or known or name.startswith(("hushrec.documents.", "hushrec.release."))):
            raise ImportError(f"{name} is not on this device")

sys.meta_path.insert(0, Device())

from hushrec.release.client import Client

client = Client(sys.argv[1])
for asked in json.loads(sys.argv[2]):
    found = client.predict(**asked), client.recommend(**asked, n=4), str(client.release.statement)
    print(json.dumps(found))
"""


def on_another_device(path, *asked):
    """Predictions, recommendations and statement, by what is asked, in a process that has NumPy, safetensors
    and the client."""
    done = subprocess.run(
        [sys.executable, "-c", DEVICE, str(path), json.dumps(asked)],
        capture_output=True,
        text=True,
        env={**os.environ, "OPENBLAS_NUM_THREADS": "1"},
    )
    assert done.returncode == 0, done.stderr
    return [json.loads(line) for line in done.stdout.splitlines()]


def chain(ledger):
    """Every record's hash, recomputed from the file without the library."""
    with sqlite3.connect(ledger) as database:
        records = database.execute("SELECT seq, body, hash FROM log ORDER BY seq").fetchall()
    database.close()
    before, hashes = bytes(32), []
    for seq, body, digest in records:
        before = hashlib.sha256(before + seq.to_bytes(8, "big") + body).digest()
        assert digest == before
        hashes.append(before.hex())
    return hashes


def shape(release):
    """All of a release that may not depend on the ratings."""
    statement = dataclasses.replace(release.statement, ledger={})
    kept = {name: (t.dtype, t.shape) for name, t in release.tensors.items() if name != "similarity_factors"}
    constants = {name: value for name, value in release.constants.items() if name != "user_mean"}
    facts = release.model, release.settings, release.kind, release.items, release.scale
    return facts, statement, kept, constants, sorted(release.constants), sorted(release.tensors)


def arranged(table):
    """The same ratings, as other exports would give them."""
    shuffled = table.sample(fraction=1.0, shuffle=True, seed=3)
    yield table.reverse()
    yield shuffled
    yield shuffled.select("rating", "item_id", "user_id")
    yield pl.concat([shuffled, table.head(40)])
    renamed = {user: f"secret-{k}" for k, user in enumerate(shuffled["user_id"].unique(maintain_order=True))}
    yield table.with_columns(pl.col("user_id").replace(renamed))


@pytest.fixture(scope="session", name="device")
def _device():
    return DEVICE


@pytest.fixture(scope="session", name="on_another_device")
def _on_another_device():
    return on_another_device


@pytest.fixture(scope="session", name="chain")
def _chain():
    return chain


@pytest.fixture(scope="session", name="shape")
def _shape():
    return shape


@pytest.fixture(scope="session", name="arranged")
def _arranged():
    return arranged
