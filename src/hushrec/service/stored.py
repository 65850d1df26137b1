"""Bytes that are ready to be sent: mapped from an anonymous file, compressed once, with their ETag."""

import gzip
import hashlib
import mmap
import re
from collections.abc import Iterator
from dataclasses import dataclass
from tempfile import TemporaryFile
from typing import Any

from starlette.responses import Response

FOREVER = "public, max-age=31536000, immutable"
"""``Cache-Control`` of what an address names by its SHA-256."""
ASK_AGAIN = "no-cache"
"""``Cache-Control`` of what changes: a cache keeps it, and asks each time whether it is still the same."""
HEAD = "hushrec.head"
"""The key of a scope whose request asks for headers alone."""
_PIECE = 64 * 1024
_LEAST_GAIN = 0.95
"""Compressed bytes are kept if they are fewer than this part."""
_MAPPED = 256 * 1024
"""Larger bytes are mapped from a file, which the system may take out of memory."""


@dataclass(frozen=True, slots=True, eq=False)
class Stored:
    """One representation of a resource, with its compressed form.

    Attributes:
        body: the bytes.
        packed: the same, compressed with gzip; None if that saves little.
        media: their media type.
        etag: SHA-256 of the bytes, hex.
        cache: value of ``Cache-Control``.

    Privacy: public.
    """

    body: "bytes | mmap.mmap"
    packed: "bytes | mmap.mmap | None"
    media: str
    etag: str
    cache: str

    @classmethod
    def of(cls, data: bytes, media: str, cache: str = ASK_AGAIN) -> "Stored":
        """Compress the bytes, and keep both forms."""
        packed = gzip.compress(data, 6, mtime=0)
        worth = len(packed) < _LEAST_GAIN * len(data)
        return cls(
            _kept(data), _kept(packed) if worth else None, media, hashlib.sha256(data).hexdigest(), cache
        )

    def response(self, headers: dict[str, str] | None = None) -> Response:
        """The response that sends it; a request for what the client already has is answered by 304."""
        return _Sent(self, headers or {})


class _Sent(Response):
    """Chooses the representation by the request's headers, and sends it in pieces.

    A client that reads slowly holds a few pieces in memory, not the file.
    """

    def __init__(self, stored: Stored, headers: dict[str, str]) -> None:
        super().__init__(media_type=stored.media, headers={"Cache-Control": stored.cache, **headers})
        self.stored = stored

    async def __call__(self, scope: Any, receive: Any, send: Any) -> None:
        asked = {name.lower(): value.decode("latin-1") for name, value in scope["headers"]}
        stored, body, etag = self.stored, self.stored.body, f'"{self.stored.etag}"'
        if stored.packed is not None:
            self.headers["Vary"] = "Accept-Encoding"
            if _takes_gzip(asked.get(b"accept-encoding", "")):
                body, etag = stored.packed, f'"{stored.etag}-gzip"'
                self.headers["Content-Encoding"] = "gzip"
        self.headers["ETag"] = etag
        known = re.findall(r'"[^"]*"|\*', asked.get(b"if-none-match", ""))
        if etag in known or known == ["*"]:
            for name in ("Content-Length", "Content-Type", "Content-Encoding"):
                if name in self.headers:
                    del self.headers[name]
            await send({"type": "http.response.start", "status": 304, "headers": self.raw_headers})
            await send({"type": "http.response.body", "body": b""})
            return
        self.headers["Content-Length"] = str(len(body))
        await send({"type": "http.response.start", "status": 200, "headers": self.raw_headers})
        if not scope.get(HEAD):
            for piece in _pieces(body):
                await send({"type": "http.response.body", "body": piece, "more_body": True})
        await send({"type": "http.response.body", "body": b""})


def _kept(data: bytes) -> "bytes | mmap.mmap":
    if len(data) < _MAPPED:
        return data
    with TemporaryFile() as file:  # has no name, so nobody else can open or change it
        file.write(data)
        file.flush()
        return mmap.mmap(file.fileno(), 0, access=mmap.ACCESS_READ)


def _pieces(body: "bytes | mmap.mmap") -> Iterator[bytes]:
    for start in range(0, len(body), _PIECE):
        yield body[start : start + _PIECE]


def _takes_gzip(accepted: str) -> bool:
    """Whether ``Accept-Encoding`` names gzip, or everything, with a weight above zero (RFC 9110, §12.5.3)."""
    weights = {}
    for part in accepted.lower().split(","):
        coding, _, weight = part.partition(";")
        weights[coding.strip()] = not re.fullmatch(r"\s*q\s*=\s*0(\.0*)?\s*", weight)
    return weights.get("gzip", weights.get("*", False))
