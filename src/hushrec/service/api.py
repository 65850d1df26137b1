"""The application: a site's files by the framework's own means, and lists by JSON."""

import mimetypes
import sys
from os import PathLike
from pathlib import Path
from typing import Any

from fastapi import FastAPI, Request
from fastapi.exceptions import RequestValidationError
from pydantic import BaseModel
from starlette.middleware.body_limit import RequestBodyLimitMiddleware
from starlette.responses import JSONResponse, Response
from starlette.staticfiles import StaticFiles

from hushrec.errors import ReleaseError
from hushrec.pages.site import HEADERS, cached
from hushrec.release.client import Client
from hushrec.service.lists import LARGEST_BODY, Answer, Lister, Own

_NOT_KEPT = {"Cache-Control": "no-store"}

mimetypes.add_type("application/octet-stream", ".safetensors")  # else the framework says text/plain
mimetypes.add_type("application/manifest+json", ".webmanifest")


class Refusal(BaseModel):
    """Why a request is not answered."""

    detail: str


def application(site: Path, client: Client) -> FastAPI:
    """The service as an ASGI application.

    Args:
        site: the folder of a site, all files of which are sent.
        client: of the release of which lists are made.
    """
    app = FastAPI(
        title="hushrec",
        summary="Lists of recommendations from a release under differential privacy.",
        version="1",
        docs_url=None,  # the pages of documentation load scripts from elsewhere
        redoc_url=None,
        exception_handlers={RequestValidationError: _refused, ReleaseError: _refused, Exception: _failed},
    )
    app.add_middleware(RequestBodyLimitMiddleware, max_body_size=LARGEST_BODY)
    app.add_middleware(_Headers)
    lister = Lister(client)

    @app.post(
        "/lists",
        responses={
            413: {"description": "The request is too large.", "content": {"text/plain": {}}},
            422: {"description": "Nothing can be listed for this.", "model": Refusal},
        },
    )
    def lists(own: Own, response: Response) -> Answer:
        """List items for a user, from their own items or ratings. Nothing of it is kept or logged."""
        response.headers.update(_NOT_KEPT)
        return lister.answer(own)

    app.mount("/", _Files(directory=site.resolve(), html=True))
    return app


class _Files(StaticFiles):
    """The files of a site, each with how long it may be kept."""

    def file_response(self, full_path: str | PathLike[str], *given: Any, **named: Any) -> Response:
        """The framework's answer, with ``Cache-Control``."""
        response = super().file_response(full_path, *given, **named)
        name = Path(full_path).relative_to(str(self.directory)).as_posix()
        response.headers["Cache-Control"] = cached(name)
        return response


class _Headers:
    """Adds the headers of a site to every answer."""

    def __init__(self, app: Any) -> None:
        self.app = app

    async def __call__(self, scope: Any, receive: Any, send: Any) -> None:
        more = [(name.lower().encode(), value.encode()) for name, value in HEADERS.items()]

        async def with_headers(message: Any) -> None:
            if message["type"] == "http.response.start":
                message = {**message, "headers": [*message["headers"], *more]}
            await send(message)

        await self.app(scope, receive, with_headers)


async def _refused(_: Request, error: Exception) -> Response:
    """Say what is wrong: the field by its name, and nothing of what was sent."""
    if not isinstance(error, RequestValidationError):
        return JSONResponse({"detail": str(error)}, 422, _NOT_KEPT)
    first = error.errors()[0]
    field = str(first["loc"][1]) if len(first["loc"]) > 1 else ""
    if first["type"] == "extra_forbidden":
        detail = f"there is a field that is none of {', '.join(Own.model_fields)}; leave it out"
    elif first["type"] == "value_error":
        detail = str(first["ctx"]["error"])
    elif field in Own.model_fields:
        detail = f"{field}: {first['msg']}"
    else:
        detail = "the body is not an object of JSON; send one, with Content-Type: application/json"
    return JSONResponse({"detail": detail}, 422, _NOT_KEPT)


async def _failed(_: Request, error: Exception) -> Response:
    """Answer what should not happen, and log its type alone: its text may hold what was sent."""
    print(f"hushrec: a request failed ({type(error).__name__})", file=sys.stderr, flush=True)
    return JSONResponse({"detail": "the service failed; its operator finds more in the log"}, 500, _NOT_KEPT)
