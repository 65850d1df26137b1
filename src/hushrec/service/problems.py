"""What the service answers if it cannot answer a request: problem details (RFC 9457) with stable codes."""

import json
from http import HTTPStatus
from typing import Literal

from pydantic import BaseModel, Field
from starlette.responses import Response

Code = Literal[
    "bad-request",
    "not-found",
    "method-not-allowed",
    "body-refused",
    "address-too-long",
    "too-many-requests",
    "headers-too-large",
    "internal-error",
]
"""Codes, which stay the same over all versions of the service."""
STATUS: dict[Code, int] = {
    "bad-request": 400,
    "not-found": 404,
    "method-not-allowed": 405,
    "body-refused": 413,
    "address-too-long": 414,
    "too-many-requests": 429,
    "headers-too-large": 431,
    "internal-error": 500,
}
DETAILS: dict[Code, str] = {
    "bad-request": "This is not a request by HTTP/1.1.",
    "not-found": "There is nothing here. /releases lists what there is.",
    "method-not-allowed": "Only GET and HEAD are answered.",
    "body-refused": "A request here has no body. Send nothing: ratings stay on your device.",
    "address-too-long": "The address is longer than any here.",
    "too-many-requests": "Too many requests from one client. Wait as long as Retry-After says.",
    "headers-too-large": "The headers are larger than any request here needs.",
    "internal-error": "The service failed to answer. Its operator finds more in the log.",
}
"""What is wrong, and what to do. Never anything of the request."""


class Problem(BaseModel):
    """Problem details."""

    type: str = Field(description="urn:hushrec:problem: and the code")
    title: str
    status: int
    code: Code
    detail: str


def problem(code: Code, **headers: str) -> Response:
    """The response for a code.

    Args:
        code: what is wrong.
        headers: more headers, with underscores for hyphens.
    """
    status = STATUS[code]
    told = Problem(
        type=f"urn:hushrec:problem:{code}",
        title=HTTPStatus(status).phrase,
        status=status,
        code=code,
        detail=DETAILS[code],
    )
    more = {name.replace("_", "-"): value for name, value in headers.items()}
    return Response(
        json.dumps(told.model_dump()),
        status_code=status,
        media_type="application/problem+json",
        headers={"Cache-Control": "no-store", **more},
    )
