"""What every request passes: limits before the routes, headers after them, and counts."""

import logging
import time
from typing import Any

from hushrec.service.problems import Code, problem
from hushrec.service.request_counts import RequestCounts
from hushrec.service.stored import HEAD
from hushrec.service.token_buckets import TokenBuckets

POLICY = (
    "default-src 'none'; script-src 'self'; style-src 'self'; connect-src 'self'; img-src 'self'; "
    "manifest-src 'self'; worker-src 'self'; base-uri 'none'; form-action 'none'; frame-ancestors 'none'"
)
"""Content Security Policy: nothing from elsewhere, and nothing inline."""
HEADERS = {
    b"content-security-policy": POLICY.encode(),
    b"x-content-type-options": b"nosniff",
    b"referrer-policy": b"no-referrer",
    b"cross-origin-opener-policy": b"same-origin",
    b"cross-origin-resource-policy": b"same-origin",
    b"permissions-policy": b"camera=(), geolocation=(), microphone=(), browsing-topics=()",
}
"""Of every response, unless the response has its own."""
LONGEST = 1024
"""Bytes of an address with its query."""
LARGEST_HEADERS = 16 * 1024
"""Bytes of all headers together."""
ELSEWHERE = "other"
"""The route, in counts, of requests that reach none."""
REFUSED = "hushrec.refused"
"""The key of a scope whose request is not let through."""

_log = logging.getLogger("hushrec.service")


class Guard:
    """ASGI middleware, the outermost.

    Args:
        app: answers what is let through.
        buckets: what each client may ask.
        counts: counts all requests.
    """

    def __init__(self, app: Any, buckets: TokenBuckets, counts: RequestCounts) -> None:
        self.app, self.buckets, self.counts = app, buckets, counts

    async def __call__(self, scope: Any, receive: Any, send: Any) -> None:
        """Answer one request."""
        if scope["type"] != "http":
            await self.app(scope, receive, send)
            return
        begun, status, sent = time.monotonic(), 0, 0
        head, whole = scope["method"] == "HEAD", scope
        scope = {**scope, "method": "GET", HEAD: True} if head else scope  # routes are those of GET

        async def counted(message: Any) -> None:
            nonlocal status, sent
            if message["type"] == "http.response.start":
                status = message["status"]
                given = {name for name, _ in message["headers"]}
                more = [(name, value) for name, value in HEADERS.items() if name not in given]
                message = {**message, "headers": [*message["headers"], *more]}
            else:
                message = {**message, "body": b""} if head else message
                sent += len(message["body"])
            await send(message)

        refused = self._refused(scope, begun)
        whole[REFUSED] = refused is not None  # the connection's own scope, not the changed copy
        try:
            if refused is None:
                await self.app(scope, receive, counted)
            else:
                code, headers = refused
                await problem(code, **headers)(scope, receive, counted)
        except Exception:
            _log.exception("a request failed")
            if status:  # too late for another answer: what was sent is cut off
                raise
            await problem("internal-error")(scope, receive, counted)
        finally:
            route = ELSEWHERE if refused else getattr(scope.get("route"), "path", ELSEWHERE)
            self.counts.add(route, status, sent, time.monotonic() - begun)

    def _refused(self, scope: Any, now: float) -> "tuple[Code, dict[str, str]] | None":
        """Why a request is not let through, with headers that say so; None if it is."""
        client = scope.get("client") or ("", 0)
        if wait := self.buckets.wait(client[0], now):
            return "too-many-requests", {"Retry_After": str(wait)}
        if scope["method"] != "GET":
            return "method-not-allowed", {"Allow": "GET, HEAD", "Connection": "close"}
        if len(scope["raw_path"]) + len(scope["query_string"]) > LONGEST:
            return "address-too-long", {"Connection": "close"}
        if sum(len(name) + len(value) for name, value in scope["headers"]) > LARGEST_HEADERS:
            return "headers-too-large", {"Connection": "close"}
        lengths = [value for name, value in scope["headers"] if name == b"content-length"]
        if any(value.strip() != b"0" for value in lengths) or any(
            name == b"transfer-encoding" for name, _ in scope["headers"]
        ):
            return "body-refused", {"Connection": "close"}
        return None
