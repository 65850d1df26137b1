"""The service: a site's files by the framework's own means, and a list for one user by JSON.

Privacy: post-processing of a release and of the user's request. Nothing of it is kept or logged.
"""

import mimetypes
import sys
from os import PathLike
from pathlib import Path
from typing import Annotated, Any, Self
from unicodedata import normalize

from fastapi import FastAPI, Request, Response
from fastapi.exceptions import RequestValidationError
from pydantic import BaseModel, ConfigDict, Field, FiniteFloat, StringConstraints, model_validator
from starlette.middleware.body_limit import RequestBodyLimitMiddleware
from starlette.responses import JSONResponse
from starlette.staticfiles import StaticFiles

from hushrec.errors import ReleaseError
from hushrec.pages.site import HEADERS, cached
from hushrec.release.artefact import LARGEST_ID
from hushrec.release.client import Client, Recommendation
from hushrec.release.lists import Reason

MOST_ITEMS = 2_000
"""Items or ratings in one request, and exclusions; chosen by hand."""
LONGEST = 200
"""The longest list; chosen by hand."""
LARGEST_BODY = 2**20
"""Bytes in one request; chosen by hand."""
MOST_REASONS = 10
"""Most reasons of one item; chosen by hand."""

ItemId = Annotated[str, StringConstraints(min_length=1, max_length=LARGEST_ID)]
_NOT_KEPT = {"Cache-Control": "no-store"}

mimetypes.add_type("application/octet-stream", ".safetensors")  # else the framework says text/plain
mimetypes.add_type("application/manifest+json", ".webmanifest")


class Own(BaseModel):
    """A user's items or ratings, and the length of the list. Without both, everyone gets the same list."""

    model_config = ConfigDict(
        extra="forbid",
        json_schema_extra={"examples": [{"ratings": {"i00017": 5, "i00042": 2}, "n": 10}]},
    )

    ratings: dict[ItemId, FiniteFloat] | None = Field(
        None,
        max_length=MOST_ITEMS,
        description="item id → rating; or, from a release of counted interactions, how often it was given",
    )
    items: list[ItemId] | None = Field(
        None, max_length=MOST_ITEMS, description="ids of the user's own items, for a release of interactions"
    )
    n: int = Field(10, ge=1, le=LONGEST, description="length of the list")
    exclude: list[ItemId] = Field(
        default=[], max_length=MOST_ITEMS, description="ids of items that are not listed"
    )
    reasons: int = Field(3, ge=0, le=MOST_REASONS, description="largest number of reasons of each item")

    @model_validator(mode="after")
    def _one_of_both(self) -> Self:
        if self.ratings is not None and self.items is not None:
            raise ValueError("give either ratings or items, not both")
        return self


class WhyListed(BaseModel):
    """The contribution of one of the user's own items, or of a feature of them, to an item of the list."""

    item_id: str | None = Field(description="id of the own item; null of a feature")
    title: str = Field(description="its title, or its id where the release has none; empty of a feature")
    contribution: float = Field(
        description="to the predicted rating, in stars; of interactions, to the score"
    )
    feature: str = Field(description="name of the feature, such as genres; empty of an item")
    value: str = Field(description="its value, such as Comedy; empty of an item")
    items: list[str] = Field(description="ids of the own items that have the value; empty of an item")


class Row(BaseModel):
    """One item of the list."""

    item_id: str
    title: str = Field(description="its title, or its id where the release has none")
    score: float = Field(description="the number that orders the list, without a unit")
    rank: int = Field(description="1 for the best")
    rating: float | None = Field(description="the predicted rating; null from a release of interactions")
    reasons: list[WhyListed] = Field(
        description="own items, and features of them, that raise or lower the item most; empty if the "
        "release tells none"
    )


class Answer(BaseModel):
    """A list, best first."""

    rows: list[Row]
    unknown: list[str] = Field(
        description="ids that were given, own or excluded, and are not in the release's catalogue"
    )


class Lister:
    """Lists from one release.

    Args:
        client: of the release.
    """

    def __init__(self, client: Client) -> None:
        self._client = client
        self._catalogue = frozenset(client.release.items)

    def answer(self, body: Own) -> Answer:
        """List items for one user."""
        feedback = self._given(body)
        rows = self._client.recommend(feedback, body.n, exclude=body.exclude)
        if any(name in self._catalogue for name in rows.ignored):
            raise ReleaseError("an own item counts less than one time; leave it out")
        item_ids = dict.fromkeys([*feedback, *body.exclude])
        unknown = [name for name in item_ids if normalize("NFC", name) not in self._catalogue]
        return Answer(rows=[self._row(row, feedback, body.reasons) for row in rows], unknown=unknown)

    def _given(self, body: Own) -> dict[str, float] | list[str]:
        if body.ratings is not None:
            return body.ratings
        if body.items is not None:
            return body.items
        return {} if self._client.release.feedback == "ratings" else []

    def _row(self, row: Recommendation, feedback: dict[str, float] | list[str], n: int) -> Row:
        title = self._client.title
        return Row(
            **row._asdict(),
            title=title(row.item_id),
            reasons=[
                WhyListed(**why._asdict(), title=title(why.item_id) if why.item_id else "")
                for why in self._reasons(row.item_id, feedback, n)
            ],
        )

    def _reasons(self, item: str, feedback: dict[str, float] | list[str], n: int) -> list[Reason]:
        try:
            return self._client.reasons(feedback, item, n) if feedback and n else []
        except ReleaseError:  # this kind of release does not add up own items
            return []


class Refusal(BaseModel):
    """The reason why a request is refused."""

    detail: str


def application(site: Path, client: Client) -> FastAPI:
    """Build the service as an ASGI application.

    Args:
        site: the folder of a site; all its files are sent.
        client: of the release that gives the lists.
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
    def lists(body: Own, response: Response) -> Answer:
        """List items for a user, from their own items or ratings. Nothing of it is kept or logged."""
        response.headers.update(_NOT_KEPT)
        return lister.answer(body)

    app.mount("/", _Files(directory=site.resolve(), html=True))
    return app


class _Files(StaticFiles):
    """The files of a site, each with a ``Cache-Control`` header."""

    def file_response(self, full_path: str | PathLike[str], *arguments: Any, **options: Any) -> Response:
        """Add ``Cache-Control`` to the framework's answer."""
        response = super().file_response(full_path, *arguments, **options)
        name = Path(full_path).relative_to(str(self.directory)).as_posix()
        response.headers["Cache-Control"] = cached(name)
        return response


class _Headers:
    """Middleware that adds the headers of a site to every answer."""

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
    """Name the field that is wrong, without any of the values sent."""
    if not isinstance(error, RequestValidationError):
        return JSONResponse({"detail": str(error)}, 422, _NOT_KEPT)
    first = error.errors()[0]
    field = str(first["loc"][1]) if len(first["loc"]) > 1 else ""
    if first["type"] == "extra_forbidden":
        detail = f"a field is none of {', '.join(Own.model_fields)}; leave it out"
    elif first["type"] == "value_error":
        detail = str(first["ctx"]["error"])
    elif field in Own.model_fields:
        detail = f"{field}: {first['msg']}"
    else:
        detail = "the body is not an object of JSON; send one, with Content-Type: application/json"
    return JSONResponse({"detail": detail}, 422, _NOT_KEPT)


async def _failed(_: Request, error: Exception) -> Response:
    """Answer an unexpected error, and log only its type: its text may hold values from the request."""
    print(f"hushrec: a request failed ({type(error).__name__})", file=sys.stderr, flush=True)
    return JSONResponse(
        {"detail": "the service failed; ask its operator to look into the log"}, 500, _NOT_KEPT
    )
