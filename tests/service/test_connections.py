import contextlib
import socket
import time

import httpx
import pytest

from hushrec.service import connections
from hushrec.service.guard import HEADERS


@pytest.fixture
def quick(monkeypatch):
    """Looks at connections often."""
    monkeypatch.setattr(connections.Connection, "seconds", 0.3)


def dial(service):
    made = socket.create_connection(("127.0.0.1", service.port))
    made.settimeout(10)
    return made


def closed(made):
    """Seconds until the other side closes."""
    begun = time.monotonic()
    with contextlib.suppress(ConnectionError):
        while made.recv(1 << 16):
            pass
    return time.monotonic() - begun


@pytest.mark.parametrize("sent", [b"", b"GET / HTTP/1.1\r\n", b"GET / HTTP/1.1\r\nHost: x\r\nX-A: "])
def test_who_does_not_complete_a_request_is_closed(folder, running, quick, sent):
    with running(folder) as service, dial(service) as made:
        made.sendall(sent)
        assert 0.2 < closed(made) < 3


def test_who_sends_a_header_byte_by_byte_is_closed(folder, running, quick):
    with running(folder) as service, dial(service) as made:
        begun = time.monotonic()
        made.sendall(b"GET / HTTP/1.1\r\nX-Slow: ")
        with contextlib.suppress(ConnectionError):
            while time.monotonic() - begun < 5:
                made.sendall(b"a")
                time.sleep(0.05)
        assert time.monotonic() - begun < 3


def test_who_asks_from_time_to_time_stays(folder, running, quick):
    with running(folder) as service, dial(service) as made:
        for _ in range(8):
            made.sendall(b"HEAD /health HTTP/1.1\r\nHost: x\r\n\r\n")
            assert made.recv(1 << 16).startswith(b"HTTP/1.1 200 OK\r\n")
            time.sleep(0.15)


def test_who_does_not_read_is_closed_and_who_reads_slowly_gets_all(folder, running, quick, saved):
    path = saved(folder, 20, n=200_000)
    with running(folder) as service:
        url = httpx.get(service.url + "/releases/latest").json()["url"]
        ask = f"GET {url} HTTP/1.1\r\nHost: x\r\nConnection: close\r\n\r\n".encode()
        with socket.socket() as deaf, socket.socket() as slow:
            for made in (deaf, slow):
                made.setsockopt(socket.SOL_SOCKET, socket.SO_RCVBUF, 4096)
                made.settimeout(10)
                made.connect(("127.0.0.1", service.port))
                made.sendall(ask)
            got, size = 0, path.stat().st_size
            while piece := slow.recv(1 << 14):
                got += len(piece)
                time.sleep(0.001)
            assert got > size
            time.sleep(0.7)
            assert service.server.server_state.connections == set()
            with contextlib.suppress(ConnectionError):
                assert len(b"".join(iter(lambda: deaf.recv(1 << 20), b""))) < size


def test_one_address_has_so_many_connections_and_no_more(folder, running, monkeypatch):
    monkeypatch.setattr(connections, "MOST_OF_CLIENT", 5)
    with running(folder) as service, contextlib.ExitStack() as kept:
        for _ in range(5):
            kept.enter_context(dial(service))
        with dial(service) as sixth:
            assert closed(sixth) < 1
    with running(folder, proxies=["127.0.0.1"]) as service, contextlib.ExitStack() as kept:
        many = [kept.enter_context(dial(service)) for _ in range(9)]
        many[-1].sendall(b"GET /health HTTP/1.1\r\nHost: x\r\n\r\n")
        assert many[-1].recv(1 << 16).startswith(b"HTTP/1.1 200"), "a proxy is many clients"


def dial_from(service, address):
    made = socket.create_connection(("127.0.0.1", service.port), source_address=(address, 0))
    made.settimeout(10)
    return made


def answered(made):
    made.sendall(b"HEAD /health HTTP/1.1\r\nHost: x\r\n\r\n")
    return made.recv(1 << 16).startswith(b"HTTP/1.1 200")


def test_too_many_together_cost_the_client_that_has_the_most_its_oldest(folder, running, monkeypatch):
    monkeypatch.setattr(connections, "MOST", 5)
    with running(folder) as service, contextlib.ExitStack() as kept:
        many = [kept.enter_context(dial_from(service, "127.0.0.2")) for _ in range(4)]
        first = kept.enter_context(dial_from(service, "127.0.0.3"))
        assert answered(first)
        second, third = (kept.enter_context(dial_from(service, "127.0.0.4")) for _ in range(2))
        assert all(map(answered, (second, third, first)))
        assert max(map(closed, many[:2])) < 1
        assert all(map(answered, many[2:]))


def test_a_new_connection_through_a_full_proxy_is_refused(folder, running, monkeypatch):
    monkeypatch.setattr(connections, "MOST", 5)
    with running(folder, proxies=["127.0.0.1"]) as service, contextlib.ExitStack() as kept:
        many = [kept.enter_context(dial(service)) for _ in range(5)]
        assert all(map(answered, many))
        with dial(service) as sixth:
            assert closed(sixth) < 1
        assert all(map(answered, many))
        kept.close()
        time.sleep(0.2)
        assert httpx.get(service.url + "/health").status_code == 200


def test_a_network_of_ipv6_is_one_client(folder, running, monkeypatch):
    monkeypatch.setattr(connections, "MOST_OF_CLIENT", 5)
    asked = []
    monkeypatch.setattr(connections, "network", lambda address: asked.append(address) or "2001:db8::")
    with running(folder) as service, contextlib.ExitStack() as kept:
        for last in range(5):
            kept.enter_context(dial_from(service, f"127.0.0.{2 + last}"))
        with dial_from(service, "127.0.0.9") as sixth:
            assert closed(sixth) < 1
    assert asked[0] == "127.0.0.2"


def test_refused_requests_keep_no_connection(folder, running, quick):
    with running(folder, rate=0.01) as service, dial(service) as made:
        begun = time.monotonic()
        with contextlib.suppress(ConnectionError):
            while time.monotonic() - begun < 5:
                made.sendall(b"HEAD /health HTTP/1.1\r\nHost: x\r\n\r\n")
                if not made.recv(1 << 16):
                    break
                time.sleep(0.05)
        assert time.monotonic() - begun < 3


def test_what_is_not_http_is_a_problem_as_any_other(folder, running):
    with running(folder) as service, dial(service) as made:
        made.sendall(b"EHLO mail\r\n\r\n")
        answer = b"".join(iter(lambda: made.recv(1 << 16), b""))
        assert answer.startswith(b"HTTP/1.1 400 Bad Request\r\n")
        assert b'"code": "bad-request"' in answer
        for name, value in HEADERS.items():
            assert b"\r\n" + name + b": " + value + b"\r\n" in answer
