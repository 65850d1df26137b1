"""The page as the service sends it: under its headers, and with the files that it has at the moment."""

import pytest

from support.services import running

pytestmark = pytest.mark.page
READY = "html[data-ready]"


def test_the_page_works_under_the_policy_of_the_service(page, heard, films, titles, star, listed, tmp_path):
    made = films()
    made.save(tmp_path / "films.safetensors")
    shown = titles(made.items)
    with running(tmp_path, titles=shown) as service:
        answer = page.goto(f"{service.url}/".replace("127.0.0.1", "localhost"))
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
    assert listed() == after, "the service has stopped, and the page works on"
    assert not heard


def test_the_statement_is_shown_as_it_is_meant_to_be(page, heard, films, tmp_path):
    films().save(tmp_path / "films.safetensors")
    with running(tmp_path) as service:
        found = page.request.get(f"{service.url}/releases/latest").json()
        page.goto(service.url + found["statement_page"])
        assert page.evaluate("document.styleSheets[0].cssRules.length") > 5
        page.get_by_role("link").first.click()
        page.wait_for_selector(READY)
    assert not heard
