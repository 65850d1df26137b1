"""The routes: what can be fetched, described by OpenAPI."""

import asyncio
import json
import logging
import time
from collections.abc import AsyncIterator
from contextlib import asynccontextmanager
from typing import Annotated, Any, Literal

from fastapi import FastAPI, Path
from fastapi.exceptions import RequestValidationError
from starlette.responses import Response

import hushrec.service.website as website
from hushrec.errors import ReleaseError
from hushrec.pages.item_table import ItemTable
from hushrec.release.signing.signature import SUFFIX
from hushrec.release.statement import SCHEMA
from hushrec.service.answers import Health, History, ReleaseFacts
from hushrec.service.guard import Guard
from hushrec.service.problems import Problem, problem
from hushrec.service.public_releases import PublicReleases, Published, named
from hushrec.service.request_counts import MEDIA, RequestCounts
from hushrec.service.stored import FOREVER, Stored
from hushrec.service.token_buckets import TokenBuckets

BURST = 10
"""Seconds of its rate that a client may ask for at once."""
EVERY = 15.0
"""Seconds between two looks into the folder."""
STALE = 4 * EVERY
"""Seconds without a look that succeeded, after which the service is not healthy."""

_log = logging.getLogger("hushrec.service")

PROBLEMS: dict[int | str, dict[str, Any]] = {
    "default": {
        "description": "Problem details (RFC 9457), with a stable code.",
        "content": {"application/problem+json": {"schema": Problem.model_json_schema()}},
    }
}
Digest = Annotated[str, Path(pattern="^[0-9a-f]{64}$", description="SHA-256 of a release")]


class Service:
    """What is sent at the moment: the releases, and what is made from them.

    Args:
        releases: of one folder.
        titles: what the page shows of the items; by default what the release holds.

    Privacy: public.
    """

    def __init__(self, releases: PublicReleases, titles: ItemTable | None = None) -> None:
        self.releases, self.titles, self.counts = releases, titles, RequestCounts()
        self._make()
        self._looked = time.monotonic()

    @property
    def looked(self) -> int:
        """Seconds since the last look that succeeded."""
        return int(time.monotonic() - self._looked)

    def _make(self) -> None:
        releases = self.releases
        self.pages = website.page(releases.latest, self.titles, releases.key)
        self._made_of = releases.history
        self.history = _json(releases.facts().model_dump())
        self.latest = None if releases.latest is None else _json(releases.latest.facts.model_dump())

    def read_again(self) -> None:
        """Look into the folder, and make everything again if it differs."""
        self.releases.read_again()
        if self.releases.history != self._made_of:
            self._make()
            served = len(self.releases.history)
            _log.warning("%d release%s served", served, " is" if served == 1 else "s are")
        if not self.releases.hindered:
            self._looked = time.monotonic()

    async def look(self) -> None:
        """Look into the folder from time to time, beside the answers."""
        while True:
            await asyncio.sleep(EVERY)
            try:
                await asyncio.to_thread(self.read_again)
            except ReleaseError as error:  # the folder is away: what was read from it is still served
                _log.warning("%s", error)
            except Exception as error:  # such as a full temporary folder; its text may hold a file's content
                _log.warning("a look into the folder failed (%s); the next one follows", named(error))


def application(releases: PublicReleases, rate: float, titles: ItemTable | None = None) -> Guard:
    """The service as an ASGI application.

    Args:
        releases: what is served.
        rate: requests a second of one client; 0 for no limit.
        titles: what the page shows of the items.

    Raises:
        ReleaseError: The temporary folder has no room.
    """
    try:
        service = Service(releases, titles)
    except OSError as error:
        raise ReleaseError(
            f"the page cannot be made ({named(error)}); give the service a temporary folder with room"
        ) from None

    @asynccontextmanager
    async def lifespan(_: FastAPI) -> AsyncIterator[None]:
        looking = asyncio.create_task(service.look())
        yield
        looking.cancel()

    app = FastAPI(
        title="hushrec",
        summary="Releases of recommenders under differential privacy, and their statements.",
        version="1",
        docs_url=None,  # the pages of documentation load scripts from elsewhere
        redoc_url=None,
        lifespan=lifespan,
        responses=PROBLEMS,
        redirect_slashes=False,
        exception_handlers={404: _not_found, 405: _not_allowed, RequestValidationError: _not_found},
    )
    _add_releases(app, service)
    _add_facts(app, service)

    @app.get("/{path:path}", include_in_schema=False)
    async def page(path: str) -> Response:
        return _or_not_found(service.pages.get(f"/{path}"))

    return Guard(app, TokenBuckets(rate, BURST * rate), service.counts)


def _add_releases(app: FastAPI, service: Service) -> None:
    releases = service.releases

    @app.get("/releases/latest", response_model=ReleaseFacts)
    async def latest() -> Response:
        """The latest release: where it is, and its SHA-256."""
        return _or_not_found(service.latest)

    @app.get("/releases", response_model=History)
    async def history() -> Response:
        """All releases, newest first."""
        return service.history.response()

    @app.get(
        "/releases/{sha256}.safetensors",
        responses=_of("application/octet-stream"),
        response_class=Response,
    )
    async def release(sha256: Digest) -> Response:
        """A release. It never changes: keep it."""
        return _or_not_found(_part(releases.find(sha256), "file"))

    @app.get(
        "/releases/{sha256}.safetensors" + SUFFIX,
        responses=_of("application/json"),
        response_class=Response,
    )
    async def signature(sha256: Digest) -> Response:
        """The signature of a release, as a DSSE envelope."""
        return _or_not_found(_part(releases.find(sha256), "signature"))

    @app.get("/statements/{sha256}.json", responses=_of("application/json"), response_class=Response)
    async def statement(sha256: Digest) -> Response:
        """The statement of privacy of a release, by /schemas/statement-v1.json."""
        return _or_not_found(_part(releases.find(sha256), "statement"))

    @app.get("/statements/{sha256}.html", responses=_of("text/html"), response_class=Response)
    async def statement_page(sha256: Digest) -> Response:
        """The statement of privacy of a release, as a page."""
        return _or_not_found(_part(releases.find(sha256), "statement_page"))


def _add_facts(app: FastAPI, service: Service) -> None:
    schema = Stored.of(SCHEMA.read_bytes(), "application/schema+json", FOREVER)

    @app.get(
        f"/schemas/{SCHEMA.name.replace('.schema', '')}",
        responses=_of("application/schema+json"),
        response_class=Response,
    )
    async def statement_schema() -> Response:
        """The JSON schema of statements of privacy."""
        return schema.response()

    @app.get("/health", response_model=Health, responses={503: {"model": Health}})
    async def health() -> Response:
        """Whether there is a release to send, and the folder is looked into."""
        served, left_out = len(service.releases.history), service.releases.left_out
        status: Literal["ok", "empty", "stale"] = "ok" if served else "empty"
        status = "stale" if service.looked >= STALE else status
        told = Health(status=status, releases=served, left_out=left_out, looked=service.looked)
        return Response(
            told.model_dump_json(),
            status_code=200 if status == "ok" else 503,
            media_type="application/json",
            headers={"Cache-Control": "no-store"},
        )

    @app.get("/metrics", responses=_of("text/plain"), response_class=Response)
    async def metrics() -> Response:
        """Counts of requests, for Prometheus."""
        gauges = {
            "hushrec_releases": ("Releases that are served.", len(service.releases.history)),
            "hushrec_left_out_files": ("Files that are not served.", service.releases.left_out),
            "hushrec_look_seconds": ("Seconds since a look into the folder succeeded.", service.looked),
        }
        return Response(service.counts.text(gauges), media_type=MEDIA, headers={"Cache-Control": "no-store"})


def _of(media: str) -> dict[int | str, dict[str, Any]]:
    """The media type of a file, for OpenAPI."""
    return {200: {"content": {media: {}}}}


def _part(published: Published | None, part: str) -> Stored | None:
    return getattr(published, part) if published is not None else None


def _or_not_found(stored: Stored | None) -> Response:
    return problem("not-found") if stored is None else stored.response()


def _json(facts: dict[str, Any]) -> Stored:
    return Stored.of(json.dumps(facts, allow_nan=False).encode(), "application/json")


async def _not_found(*_: Any) -> Response:
    return problem("not-found")


async def _not_allowed(*_: Any) -> Response:
    return problem("method-not-allowed", Allow="GET, HEAD")
