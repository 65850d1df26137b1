"""What the page refuses, in words: altered files and wrong signatures."""

import json
from pathlib import Path

import pytest

from hushrec.documents.sentences import Unprotected
from hushrec.pages import site
from javascript import cases
from support.releases import statement
from support.signed import signature
from support.sites import close_tab, found, released

pytestmark = pytest.mark.page


def opened(page, served):
    """Open the page anew, without what the browser keeps for use without a network."""
    page.goto("about:blank")
    kinds = {"origin": served.url, "storageTypes": "service_workers,cache_storage"}
    session = page.context.new_cdp_session(page)
    session.send("Storage.clearDataForOrigin", kinds)
    session.send("Network.clearBrowserCache")  # this host dates its files to the second
    page.goto(served.url)
    page.wait_for_selector("html[data-ready], #trouble:not([hidden])")
    return page.text_content("#trouble") if page.is_visible("#trouble") else ""


def test_a_right_signature_is_shown(page, signed, host, heard):
    assert opened(page, host(signed())) == ""
    assert "checked, by the key" in page.inner_text("#facts")
    assert not heard


def test_a_forged_signature_is_refused(page, signed, host, relist):
    folder = signed()
    file = released(folder, signed=True)
    file.write_text(signature(released(folder).read_bytes(), key=1), "utf-8")
    relist(folder)
    assert "not signed by this key" in opened(page, host(folder))
    assert not page.is_visible("#main")


def test_a_release_that_was_altered_after_it_was_signed_is_refused(page, signed, host, films, relist):
    folder = signed()
    films(seed=9).save(released(folder))
    assert "altered" in opened(page, host(folder))
    relist(folder)
    assert "not signed by this key" in opened(page, host(folder))
    assert not page.is_visible("#main")


def starred(page):
    page.locator("#found > li").nth(0).get_by_role("radio").nth(4).click()


def test_a_refusal_tells_a_reader_what_to_do_and_lets_them_keep_their_stars(
    page, signed, host, films, relist
):
    folder = signed(version=5)
    served = host(folder)
    opened(page, served)
    starred(page)
    films(seed=9).save(released(folder))
    relist(folder)
    opened(page, served)
    assert page.inner_text("#trouble p").startswith(
        "This site’s list is not signed by the key that this page holds. Tell the owner."
    )
    assert "Your stars are kept on this device." in page.inner_text("#trouble")
    assert "fetch both again" not in page.inner_text("#trouble"), "only under the technical words"
    assert page.inner_text("h1") == "This list is not shown."
    assert not page.is_visible(".check")
    assert not page.is_visible(".lead")
    with page.expect_download() as download:
        page.get_by_role("button", name="Save my stars to a file").click()
    assert list(json.loads(Path(download.value.path()).read_text("utf-8")).values()) == [5]


@pytest.fixture
def exchanged(page, visit, films, tmp_path):
    """A page in use with one star; the next time that it looks, it finds a newer release. Gives its host.

    The browser looks for a newer page as well, about when a visit has loaded. If it were first, the newer
    page would be shown at once. So the folders are exchanged when the page looks, and it looks
    again if a look of the browser's was under way.
    """
    served = visit(films())
    page.locator("#found > li").nth(0).get_by_role("radio").nth(4).click()
    films(seed=5, version=4).save(tmp_path / "films.safetensors")
    site.write(tmp_path / "films.safetensors", tmp_path / "newer")
    page.expose_function("exchange", lambda: setattr(served, "folder", tmp_path / "newer"))
    page.add_init_script(
        """const workers = window.ServiceWorkerRegistration?.prototype ?? {}; // none on about:blank
        const update = workers.update;
        window.updates = 0;
        workers.update = async function () {
            window.updates += 1;
            await window.exchange();
            const found = await update.call(this);
            return found.installing || found.waiting ? found : update.call(this);
        };"""
    )
    return served


@pytest.mark.parametrize("leave", ["reload", "return"])
def test_the_next_visit_shows_the_newer_page(page, exchanged, listed, leave):
    before = listed()
    page.reload()
    found(page)
    assert listed() == before
    if leave == "reload":
        page.reload()
    else:
        close_tab(page)
        page.goto(exchanged.url)
    page.wait_for_function(
        "old => document.querySelector('#ranked > li')?.dataset.item !== old", arg=before[0]
    )
    page.wait_for_selector("html[data-ready]")
    assert page.locator("#own-list > li").count() == 1
    assert page.inner_text("#newer") == ""


def test_an_open_page_asks_for_a_newer_one_once_and_tells_nothing(page, exchanged):
    exchanged.asked.clear()
    page.reload()
    found(page)
    asked = list(exchanged.asked)
    assert page.evaluate("window.updates") == 1
    assert not [path for path in asked if "?" in path]
    page.locator("#found > li").nth(1).get_by_role("radio").nth(3).click()
    page.wait_for_timeout(300)
    assert set(exchanged.asked[len(asked) :]) <= {"/worker.js"}, "which the browser may look for by itself"


def test_a_page_that_was_loaded_past_the_cache_is_kept_again(page, visit):
    """A reload with Shift leaves a page without its worker."""
    served = visit()
    session = page.context.new_cdp_session(page)
    session.send("Page.reload", {"ignoreCache": True})
    page.wait_for_selector("html[data-ready]")
    assert page.evaluate("navigator.serviceWorker.controller !== null")
    assert served.url


def test_nothing_is_promised_where_nothing_is(page, visit, films):
    visit(films(statement=statement(caveats=(Unprotected.seeded(),))))
    assert page.inner_text("#sentence").startswith("Nothing is promised")
    assert "Protected" not in page.inner_text("#facts")
    assert not page.is_visible("#meaning")
    assert not page.is_visible("#together")


def panel(page):
    """The facts of the promise, by name."""
    facts = page.locator("#facts > *").all_inner_texts()
    return dict(zip(facts[::2], facts[1::2], strict=True))


def test_one_of_several_releases_says_first_what_all_of_them_may_reveal(page, visit, films):
    visit(films(statement=statement(ledger=dict(cases.SEVERAL))))
    lines = page.locator("#promise p:visible").all_inner_texts()
    assert lines[0].startswith("All 52 releases that this ledger allows, together: ε = 4 at δ = 1e-06")
    assert lines[1].startswith("Anyone who reads this file")
    assert panel(page).get("ε of this release") == "1.25 at δ = 1e-06, for each person"


@pytest.fixture(scope="module")
def questions(tmp_path_factory):
    """The shared cases of both clients, and this one beside them."""
    folder = tmp_path_factory.mktemp("cases")
    cases.write(folder)
    here = Path(cases.__file__).parent
    for file in [here / "checker.js", *Path(site.__file__).parents[1].glob("javascript/*.js")]:
        (folder / file.name).write_bytes(file.read_bytes())
    (folder / "index.html").write_text("<!doctype html><title>cases</title>")
    return folder


def test_the_client_answers_in_the_browser_as_in_python(page, host, questions):
    page.goto(host(questions).url)
    names = json.loads((questions / "index.json").read_text("utf-8"))
    assert len(names) >= 10
    found = page.evaluate(
        """async (names) => {
            const { Client } = await import("./client.js");
            const { differences } = await import("./checker.js");
            const found = [];
            for (const name of names) {
                const bytes = await (await fetch(`${name}.safetensors`)).arrayBuffer();
                const expected = await (await fetch(`${name}.json`)).json();
                found.push(...await differences(Client, new Uint8Array(bytes), expected));
            }
            return found;
        }""",
        names,
    )
    assert found == []
