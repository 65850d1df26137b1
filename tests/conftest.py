import contextlib
import functools
import os
from pathlib import Path

import pytest
import typer.testing

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
