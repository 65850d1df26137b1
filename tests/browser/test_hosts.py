"""A site on nginx and on Caddy, with the configurations of ``deploy/``: what a client sees, and a browser."""

import httpx
import pytest

from hushrec.pages import site
from support.hosts import HEADERS, KINDS, hosted
from support.sites import released

pytestmark = pytest.mark.page
READY = "html[data-ready]"
MEDIA = {
    "": "text/html",
    "page.js": "text/javascript",
    "style.css": "text/css",
    "icon.svg": "image/svg+xml",
    "statement.json": "application/json",
    "page.webmanifest": "application/manifest+json",
}


@pytest.fixture(params=KINDS)
def served(request, signed, tmp_path):
    """A site with a signed release, and a client of a host of it."""
    folder = signed()
    scratch = tmp_path / request.param
    scratch.mkdir()
    with hosted(request.param, folder, scratch) as url, httpx.Client(base_url=url) as client:
        client.headers["Accept-Encoding"] = "identity"
        yield folder, client


def names(folder):
    return sorted(path.relative_to(folder).as_posix() for path in folder.rglob("*") if path.is_file())


def test_every_file_arrives_as_it_is_with_all_headers(served):
    folder, client = served
    for name in names(folder):
        answer = client.get(f"/{name}")
        assert answer.status_code == 200, name
        assert answer.content == (folder / name).read_bytes(), name
        assert {key: answer.headers.get(key) for key in HEADERS} == HEADERS, name
    assert client.get("/").content == (folder / "index.html").read_bytes()


def test_media_types_are_those_that_browsers_want(served):
    folder, client = served
    release = next(name for name in names(folder) if name.endswith(".safetensors"))
    for name, media in (MEDIA | {release: "application/octet-stream"}).items():
        found = client.get(f"/{name}").headers["content-type"]
        assert found.partition(";")[0].replace("application/javascript", "text/javascript") == media, name
    assert "utf-8" in client.get("/").headers["content-type"].lower()


def test_text_is_compressed_and_what_is_known_is_not_sent_again(served):
    folder, client = served
    for name in ("", "page.js", "style.css", "contents.json"):
        packed = client.get(f"/{name}", headers={"Accept-Encoding": "gzip"})
        assert packed.headers["content-encoding"] == "gzip", name
        assert "accept-encoding" in packed.headers["vary"].lower()
        assert packed.content == (folder / (name or "index.html")).read_bytes()
        assert int(packed.num_bytes_downloaded) < len(packed.content)
    for name in ("", *names(folder)):
        plain = client.get(f"/{name}")
        again = client.get(f"/{name}", headers={"If-None-Match": plain.headers["etag"]})
        assert (again.status_code, again.content) == (304, b""), name


def test_what_is_not_there_is_404_and_kept_by_nobody(served):
    _, client = served
    for path in ("/ledger.db", "/other.safetensors"):
        answer = client.get(path)
        assert answer.status_code == 404
        assert {key: answer.headers.get(key) for key in HEADERS} == HEADERS
    assert client.post("/lists", json={"n": 1}).status_code in (404, 405)


def test_a_new_site_is_served_at_once(served, signed):
    folder, client = served
    before = client.get("/release.safetensors").content
    assert signed(version=4) == folder
    assert before != client.get("/release.safetensors").content == released(folder).read_bytes()


def test_the_page_works_under_its_hosts_policy(page, heard, films, titles, star, listed, tmp_path):
    made = films()
    shown = titles(made.items)
    site.write(made.save(tmp_path / "films.safetensors"), tmp_path / "site", titles=shown)
    with hosted("nginx", tmp_path / "site", tmp_path) as url:
        answer = page.goto(url.replace("127.0.0.1", "localhost"))
        assert "frame-ancestors 'none'" in answer.headers["content-security-policy"]
        page.wait_for_selector(READY)
        before = listed()
        for nth, stars in ((0, 5), (1, 1), (2, 5)):
            star(shown.titles[nth], stars)
        page.wait_for_timeout(300)
        after = listed()
        assert before != after
        page.wait_for_function("navigator.serviceWorker.ready")
        page.wait_for_timeout(500)
    page.reload()
    page.wait_for_selector(READY)
    assert listed() == after, "the host has stopped, and the page works on"
    assert not heard


def test_the_statement_is_shown_as_it_is_meant_to_be(page, heard, films, tmp_path):
    path = films().save(tmp_path / "films.safetensors")
    site.write(path, tmp_path / "site")
    with hosted("nginx", tmp_path / "site", tmp_path) as url:
        page.goto(f"{url.replace('127.0.0.1', 'localhost')}/statement.html")
        assert page.evaluate("document.styleSheets[0].cssRules.length") > 5
        page.get_by_role("link").first.click()
        page.wait_for_selector(READY)
    assert not heard
