import asyncio

import httpx
import pytest

from hushrec.service.api import application
from hushrec.service.public_releases import PublicReleases
from support.releases import release, statement
from support.services import running

LEDGER = "9f" * 16


def saved(folder, seq, ledger=LEDGER, n=300, **changes):
    """A release of a ledger's entry, in the folder."""
    facts = {**statement().ledger, "seq": seq, "id": ledger}
    made = release(n=n, seed=seq, statement=statement(ledger=facts, **changes))
    return made.save(folder / f"week-{seq:02}.safetensors")


@pytest.fixture(name="saved", scope="session")
def _saved():
    return saved


@pytest.fixture
def folder(tmp_path):
    """Releases of three weeks."""
    made = tmp_path / "public"
    made.mkdir()
    for seq in (1, 2, 10):
        saved(made, seq)
    return made


@pytest.fixture
def fetch(folder):
    """Sends requests to the service of the folder, without a network."""
    app = application(PublicReleases(folder), rate=0)

    def send(path, method="GET", **more):
        async def ask():
            transport = httpx.ASGITransport(app=app, client=("192.0.2.1", 1))
            async with httpx.AsyncClient(transport=transport, base_url="http://test") as client:
                return await client.request(method, path, **more)

        return asyncio.run(ask())

    send.app = app
    return send


@pytest.fixture(name="running", scope="session")
def _running():
    return running
