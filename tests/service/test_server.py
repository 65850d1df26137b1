import resource
import time

import httpx
import pytest

from hushrec.errors import ConfigError
from hushrec.service import server


def test_a_client_that_asks_too_much_is_told_to_wait(folder, running):
    with running(folder, rate=1) as service, httpx.Client(base_url=service.url) as client:
        answers = [client.get("/health") for _ in range(20)]
    assert [answer.status_code for answer in answers[:10]] == [200] * 10
    assert answers[-1].status_code == 429
    assert int(answers[-1].headers["retry-after"]) >= 1
    assert answers[-1].json()["code"] == "too-many-requests"


def test_the_word_of_a_proxy_is_taken_and_of_nobody_else(folder, running):
    def asked(**settings):
        with running(folder, rate=0.1, **settings) as service, httpx.Client(base_url=service.url) as client:
            told = [{"X-Forwarded-For": f"192.0.2.{n}"} for n in range(5)]
            return [client.get("/health", headers=headers).status_code for headers in told]

    assert asked(proxies=["127.0.0.1"]) == [200] * 5
    assert asked() == [200, 429, 429, 429, 429]
    assert asked(proxies=["192.0.2.200"]) == [200, 429, 429, 429, 429]


def test_an_answer_under_way_is_completed_when_the_service_stops(folder, running, saved):
    path = saved(folder, 20, n=200_000)
    with running(folder) as service, httpx.Client(base_url=service.url) as client:
        url = client.get("/releases/latest").json()["url"]
        got = b""
        with client.stream("GET", url, headers={"Accept-Encoding": "identity"}) as answer:
            for piece in answer.iter_bytes():
                got += piece
                service.server.should_exit = True
                time.sleep(0.005)
        with pytest.raises(httpx.ConnectError):
            httpx.get(service.url + "/health")
    assert got == path.read_bytes()


def test_the_server_tells_nothing_of_itself(folder, running):
    with running(folder) as service:
        headers = httpx.get(service.url + "/").headers
    assert "server" not in headers


def test_an_address_that_cannot_be_had_is_named():
    with server.listen("127.0.0.1", 0) as taken, pytest.raises(ConfigError, match="choose another"):
        server.listen("127.0.0.1", taken.getsockname()[1])
    with pytest.raises(ConfigError, match=r"cannot listen on 192\.0\.2\.1"):
        server.listen("192.0.2.1", 0)


def test_as_many_files_may_be_open_as_connections_need():
    before = resource.getrlimit(resource.RLIMIT_NOFILE)
    try:
        resource.setrlimit(resource.RLIMIT_NOFILE, (min(256, before[1]), before[1]))
        server.allow_open_files()
        assert resource.getrlimit(resource.RLIMIT_NOFILE)[0] >= min(server._FILES, before[1])
    finally:
        resource.setrlimit(resource.RLIMIT_NOFILE, before)
