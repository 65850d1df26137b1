import asyncio
import contextlib
import json
import re

import pytest

from hushrec.errors import ReleaseError
from hushrec.release.artefact import Release
from hushrec.service import api, website
from hushrec.service.guard import HEADERS
from hushrec.service.public_releases import PublicReleases
from hushrec.service.stored import FOREVER
from support.signed import signature


@pytest.fixture
def latest(fetch):
    return fetch("/releases/latest").json()


def test_a_device_finds_the_latest_release(fetch, latest, folder):
    answer = fetch(latest["url"])
    assert answer.headers["cache-control"] == FOREVER
    assert Release.from_bytes(answer.content).statement.ledger["seq"] == latest["version"] == 10
    assert answer.content == (folder / "week-10.safetensors").read_bytes()
    again = fetch(latest["url"], headers={"If-None-Match": answer.headers["etag"]})
    assert (again.status_code, again.content) == (304, b"")


def test_the_pointer_and_the_history_are_asked_for_again(fetch, latest):
    for path in ("/releases/latest", "/releases", "/"):
        answer = fetch(path)
        assert answer.headers["cache-control"] == "no-cache"
        assert fetch(path, headers={"If-None-Match": answer.headers["etag"]}).status_code == 304
    listed = fetch("/releases").json()["releases"]
    assert [one["version"] for one in listed] == [10, 2, 1]
    assert listed[0] == latest


def test_the_statement_follows_its_schema(fetch, latest):
    jsonschema = pytest.importorskip("jsonschema")
    schema = fetch("/schemas/statement-v1.json")
    assert schema.headers["content-type"] == "application/schema+json"
    statement = fetch(latest["statement"])
    assert statement.headers["cache-control"] == FOREVER
    jsonschema.validate(statement.json(), schema.json())
    page = fetch(latest["statement_page"])
    assert page.headers["content-type"] == "text/html; charset=utf-8"
    assert "<script" not in page.text


def test_a_signature_is_served_beside_its_release(fetch, folder, latest):
    assert latest["signature"] is None
    assert fetch(latest["url"] + ".dsse.json").status_code == 404
    path = folder / "week-10.safetensors"
    text = signature(path.read_bytes(), version=10, name=path.name)
    path.with_name(f"{path.name}.dsse.json").write_text(text, "utf-8")
    service = api.Service(PublicReleases(folder))
    assert json.loads(service.latest.body)["signature"] == latest["url"] + ".dsse.json"
    assert bytes(service.releases.latest.signature.body) == text.encode()


ODD = [
    "/nothing",
    "/releases/",
    "/releases/latest/",
    "/releases/" + "0" * 64 + ".safetensors",
    "/releases/" + "A" * 64 + ".safetensors",
    "/releases/x.safetensors",
    "/releases/week-10.safetensors",
    "/releases/../pyproject.toml",
    "/releases/..%2f..%2fetc%2fpasswd",
    "/releases/%252e%252e%252fetc%252fpasswd.safetensors",
    "/releases/..%5c..%5cetc%5cpasswd.safetensors",
    "/releases/%00.safetensors",
    "/releases/" + "0" * 64 + ".safetensors%00",
    "/statements/" + "0" * 64 + ".json",
    "/statements/" + "0" * 64 + ".html",
    "//etc/passwd",
    "/%2e%2e/%2e%2e/etc/passwd",
    "/docs",
    "/redoc",
    "/%ff%fe",
]


@pytest.mark.parametrize("path", ODD)
def test_what_is_not_there_is_one_and_the_same_problem(fetch, path):
    answer = fetch(path)
    assert answer.status_code == 404
    assert answer.headers["content-type"] == "application/problem+json"
    assert answer.json()["code"] == "not-found"
    assert "etc" not in answer.text


def test_every_answer_has_the_headers_and_head_is_get_without_body(fetch, latest):
    paths = ["/", "/releases", "/health", "/metrics", "/openapi.json", "/nothing"]
    paths += [latest["url"], latest["statement"], latest["statement_page"], "/schemas/statement-v1.json"]
    for path in paths:
        whole, head = fetch(path), fetch(path, "HEAD")
        assert {name.decode() for name in HEADERS} <= whole.headers.keys()
        assert head.content == b""
        assert (head.status_code, head.headers.get("etag")) == (whole.status_code, whole.headers.get("etag"))
        assert fetch(path, "POST").status_code == 405


def test_openapi_describes_what_there_is(fetch, latest):
    told = fetch("/openapi.json").json()
    assert sorted(told["paths"]) == [
        "/health",
        "/metrics",
        "/releases",
        "/releases/latest",
        "/releases/{sha256}.safetensors",
        "/releases/{sha256}.safetensors.dsse.json",
        "/schemas/statement-v1.json",
        "/statements/{sha256}.html",
        "/statements/{sha256}.json",
    ]
    assert {*told["paths"]["/releases"]} == {"get"}
    facts = told["components"]["schemas"]["ReleaseFacts"]
    assert facts["properties"].keys() == latest.keys()
    for path, methods in told["paths"].items():
        answers = methods["get"]["responses"]
        assert answers.keys() <= {"200", "503", "default"}, path
        assert answers["default"]["content"].keys() == {"application/problem+json"}
        given = fetch(path.replace("{sha256}", latest["sha256"]))
        if given.status_code == 200:
            assert given.headers["content-type"].partition(";")[0] in answers["200"]["content"]


def test_metrics_count_routes_and_nobody(fetch, latest):
    fetch(latest["url"] + "?who=me")
    fetch("/nothing/of/mine")
    text = fetch("/metrics").text
    assert 'hushrec_requests_total{route="/releases/{sha256}.safetensors",status="200"} 1' in text
    assert "hushrec_releases 3" in text
    assert not re.search("192|who|mine", text)


def test_a_service_without_a_release_says_so(tmp_path):
    service = api.Service(PublicReleases(tmp_path))
    assert service.latest is None
    assert b"no release here yet" in bytes(service.pages["/"].body)


def test_what_is_added_is_served_and_made_again(folder, saved, caplog):
    service = api.Service(PublicReleases(folder))
    page = service.pages["/"]
    service.read_again()
    assert service.pages["/"] is page, "nothing is made again without need"
    saved(folder, 11)
    service.read_again()
    assert json.loads(service.latest.body)["version"] == 11
    assert service.pages["/"] is not page
    assert "4 releases are served" in caplog.text
    for path in folder.glob("*-0*.safetensors"):
        path.unlink()
    (folder / "week-11.safetensors").unlink()
    service.read_again()
    assert "1 release is served" in caplog.text


def full(*_, **__):
    raise OSError(28, "No space left on device")


def test_a_page_that_had_no_room_is_made_at_the_next_look(folder, saved, monkeypatch):
    service = api.Service(PublicReleases(folder))
    saved(folder, 11)
    with monkeypatch.context() as patched:
        patched.setattr(website, "TemporaryDirectory", full)
        with pytest.raises(OSError, match="No space"):
            service.read_again()
        with pytest.raises(ReleaseError, match="a temporary folder with room"):
            api.application(PublicReleases(folder), rate=0)
    service.read_again()
    assert json.loads(service.latest.body)["version"] == 11


@pytest.mark.parametrize("error", [OSError(28, "full"), ValueError("secret"), ReleaseError("it is away")])
def test_looking_goes_on_after_every_error(folder, monkeypatch, caplog, error):
    service, looks = api.Service(PublicReleases(folder)), []
    monkeypatch.setattr(api, "EVERY", 0.001)

    def fails():
        looks.append(1)
        raise error

    monkeypatch.setattr(service, "read_again", fails)

    async def some():
        with contextlib.suppress(TimeoutError):
            await asyncio.wait_for(service.look(), 0.5)

    asyncio.run(some())
    assert len(looks) > 2
    assert "it is away" in caplog.text or f"failed ({type(error).__name__}" in caplog.text
    assert "Traceback" not in caplog.text


def test_health_tells_that_no_look_succeeds(fetch, monkeypatch):
    assert fetch("/health").json() == {"status": "ok", "releases": 3, "left_out": 0, "looked": 0}
    now = api.time.monotonic() + api.STALE + 1
    monkeypatch.setattr(api.time, "monotonic", lambda: now)
    stale = fetch("/health")
    assert (stale.status_code, stale.json()["status"]) == (503, "stale")
    assert stale.json()["looked"] >= api.STALE
    assert re.search("^hushrec_look_seconds 6[01]$", fetch("/metrics").text, re.MULTILINE)
