import asyncio
import logging
import re
from importlib.resources import files

import pytest

from hushrec.service.guard import HEADERS, LARGEST_HEADERS, LONGEST, POLICY, Guard
from hushrec.service.request_counts import RequestCounts
from hushrec.service.token_buckets import TokenBuckets


def ask(app, *, method="GET", path="/", query=b"", headers=(), rate=0.0):
    """Status, headers, body and counts after one request."""
    counts, got = RequestCounts(), []

    async def send(message):
        got.append(message)

    scope = {
        "type": "http",
        "method": method,
        "path": path,
        "raw_path": path.encode(),
        "query_string": query,
        "headers": list(headers),
        "client": ("192.0.2.1", 1),
    }
    guard = Guard(app, TokenBuckets(rate, rate), counts)
    asyncio.run(guard(scope, None, send))
    body = b"".join(message["body"] for message in got[1:])
    return got[0]["status"], dict(got[0]["headers"]), body, counts.text({})


async def hello(scope, receive, send):
    scope["route"] = type("Route", (), {"path": "/{name}"})
    await send({"type": "http.response.start", "status": 200, "headers": [(b"referrer-policy", b"origin")]})
    await send({"type": "http.response.body", "body": b"hello", "more_body": True})
    await send({"type": "http.response.body", "body": b"!"})


async def never(scope, receive, send):
    raise AssertionError("let through")


def test_what_is_let_through_has_all_headers_and_is_counted_by_its_route():
    status, headers, body, counts = ask(hello, path="/films")
    assert (status, body) == (200, b"hello!")
    assert headers == {**HEADERS, b"referrer-policy": b"origin"}, "a response may have its own"
    assert 'hushrec_requests_total{route="/{name}",status="200"} 1' in counts
    assert 'hushrec_sent_bytes_total{route="/{name}"} 6' in counts
    assert "films" not in counts


def test_head_is_get_without_the_body():
    status, _, body, counts = ask(hello, method="HEAD")
    assert (status, body) == (200, b"")
    assert 'hushrec_sent_bytes_total{route="/{name}"} 0' in counts


@pytest.mark.parametrize(
    ("request_", "status"),
    [
        ({"method": "POST"}, 405),
        ({"method": "OPTIONS"}, 405),
        ({"method": "GET\x00"}, 405),
        ({"path": "/" + "a" * LONGEST}, 414),
        ({"query": b"a" * LONGEST}, 414),
        ({"headers": [(b"x-a", b"a" * LARGEST_HEADERS)]}, 431),
        ({"headers": [(b"content-length", b"1")]}, 413),
        ({"headers": [(b"content-length", b"0"), (b"content-length", b"7")]}, 413),
        ({"headers": [(b"content-length", b"-1")]}, 413),
        ({"headers": [(b"transfer-encoding", b"chunked")]}, 413),
        ({"method": "HEAD", "headers": [(b"transfer-encoding", b"chunked")]}, 413),
    ],
)
def test_what_no_route_takes_is_refused_before_any_route(request_, status):
    found, headers, _, counts = ask(never, **request_)
    assert found == status
    assert HEADERS.items() <= headers.items()
    assert headers[b"connection"] == b"close"
    assert headers[b"content-type"] == b"application/problem+json"
    assert f'{{route="other",status="{status}"}} 1' in counts
    if status == 405:
        assert headers[b"allow"] == b"GET, HEAD"


def test_an_empty_body_is_none():
    assert ask(hello, headers=[(b"content-length", b"0")])[0] == 200


def test_too_many_requests_are_told_when_to_come_again():
    assert ask(hello, rate=1.0)[0] == 200
    status, headers, _, _ = ask(never, rate=0.5)
    assert (status, headers[b"retry-after"]) == (429, b"1")


def test_a_failure_is_logged_and_tells_nothing(caplog):
    async def fails(scope, receive, send):
        raise ValueError("secret")

    with caplog.at_level(logging.ERROR):
        status, headers, body, counts = ask(fails)
    assert status == 500
    assert b"secret" not in body
    assert b"Traceback" not in body
    assert HEADERS.items() <= headers.items()
    assert "secret" in caplog.text
    assert 'status="500"} 1' in counts


def test_a_failure_in_the_midst_cuts_the_answer_off():
    async def fails(scope, receive, send):
        await send({"type": "http.response.start", "status": 200, "headers": []})
        raise ValueError("secret")

    with pytest.raises(ValueError, match="secret"):
        ask(fails)


def test_the_policy_allows_what_the_page_declares_and_no_more():
    """A page without its worker would need the network at every visit."""
    index = (files("hushrec") / "pages" / "assets" / "recommender" / "index.html").read_text("utf-8")
    declared = re.search(r'Content-Security-Policy" content="([^"]+)"', index)[1]
    assert f"{declared}; frame-ancestors 'none'" == POLICY
