import asyncio
import gzip
import mmap

import pytest

from hushrec.service import stored
from hushrec.service.stored import Stored

TEXT = b"the same line\n" * 100


def sent(one, scope=None, **headers):
    """Status, headers and pieces of the response to a request with these headers."""
    asked = [(name.replace("_", "-").encode(), value.encode()) for name, value in headers.items()]
    got = []

    async def send(message):
        got.append(message)

    asyncio.run(one.response()({"headers": asked, **(scope or {})}, None, send))
    told = {name.decode(): value.decode() for name, value in got[0]["headers"]}
    return got[0]["status"], told, [message["body"] for message in got[1:]]


def test_who_takes_gzip_gets_it_and_everyone_else_the_bytes():
    one = Stored.of(TEXT, "text/plain")
    for accepted in ("gzip", "br, gzip;q=0.5", "*", "deflate, GZIP"):
        status, headers, pieces = sent(one, accept_encoding=accepted)
        assert (status, headers["content-encoding"], headers["vary"]) == (200, "gzip", "Accept-Encoding")
        assert gzip.decompress(b"".join(pieces)) == TEXT
        assert int(headers["content-length"]) == len(b"".join(pieces))
    for accepted in ("", "br", "gzip;q=0", "gzip; q=0.000, *", "identity", "xgzip"):
        status, headers, pieces = sent(one, accept_encoding=accepted)
        assert "content-encoding" not in headers
        assert headers["vary"] == "Accept-Encoding"
        assert b"".join(pieces) == TEXT


def test_what_does_not_shrink_is_sent_as_it_is():
    noise = bytes(range(256))
    _, headers, pieces = sent(Stored.of(noise, "application/octet-stream"), accept_encoding="gzip")
    assert "content-encoding" not in headers
    assert b"".join(pieces) == noise


@pytest.mark.parametrize("accepted", ["gzip", "identity"])
def test_what_the_client_has_is_not_sent_again(accepted):
    one = Stored.of(TEXT, "text/plain")
    _, headers, _ = sent(one, accept_encoding=accepted)
    tag = headers["etag"]
    for known in (tag, f"W/{tag}", f'"other", {tag}', "*"):
        status, told, pieces = sent(one, accept_encoding=accepted, if_none_match=known)
        assert (status, b"".join(pieces), told["etag"]) == (304, b"", tag)
        assert not {"content-length", "content-type"} & told.keys()
    for unknown in ('"other"', tag.strip('"'), ""):
        assert sent(one, accept_encoding=accepted, if_none_match=unknown)[0] == 200
    other = sent(one, accept_encoding="gzip" if accepted == "identity" else "")[1]["etag"]
    assert other != tag, "two representations, two tags"


def test_a_head_has_all_headers_and_no_body():
    one = Stored.of(TEXT, "text/plain")
    whole, head = sent(one), sent(one, scope={stored.HEAD: True})
    assert head[:2] == whole[:2]
    assert b"".join(head[2]) == b""


def test_a_large_body_is_mapped_and_sent_in_pieces():
    data = bytes(stored._MAPPED + 5)
    one = Stored.of(data, "application/octet-stream")
    assert isinstance(one.body, mmap.mmap)
    _, _, pieces = sent(one)
    assert b"".join(pieces) == data
    assert max(map(len, pieces)) == stored._PIECE
