"""A page that is refused never replaces the one that a browser keeps; any other comes with the next visit."""

import hashlib

import pytest

from hushrec.pages import site
from support.signed import public_key, signature
from support.sites import found, released

pytestmark = pytest.mark.page
READY = "html[data-ready]"
RECOMMENDER = "pages/assets/recommender"
STAYS = "Yours stays."


def ids(page):
    return page.locator("#ranked > li").evaluate_all("rows => rows.map(row => row.dataset.item)")


def visited(page):
    """Visit anew, until the page has looked at what the host has and the worker is installed or refused."""
    page.add_init_script(
        """const workers = window.ServiceWorkerRegistration?.prototype ?? {}; // none on about:blank
        const update = workers.update;
        window.looked = new Promise((resolve) => {
            workers.update = async function () {
                try {
                    return await update.call(this);
                } finally {
                    while (this.installing) await new Promise((again) => setTimeout(again, 50));
                    resolve();
                }
            };
        });"""
    )
    page.reload()
    page.wait_for_selector(READY)
    page.evaluate("() => window.looked")


def followed(page, before):
    """Visit until the page that the host has is found and kept, and once more: it is shown."""
    visited(page)
    found(page)
    assert ids(page) == before
    url = page.url
    page.goto(url, wait_until="commit")  # the page reloads itself where the other one takes over late
    page.wait_for_selector(f"#ranked > li:first-child:not([data-item='{before[0]}'])")
    page.wait_for_selector(READY)


@pytest.fixture
def kept(page, signed, host):
    """A page of release 5 that a browser keeps; gives its host."""
    served = host(signed(version=5))
    page.goto(served.url)
    page.wait_for_selector(READY)
    return served


def older(signed, **_):
    signed(version=4)


def unsigned(signed, tmp_path, **_):
    signed(version=6)
    (tmp_path / "films.safetensors.sig").unlink()
    site.write(tmp_path / "films.safetensors", tmp_path / "page")


def resigned(signed, **_):
    """The owner's key signed the release, and the page brings another key for later ones."""
    folder = signed(version=6)
    contents, worker = folder / "contents.json", folder / "worker.js"
    before = contents.read_bytes()
    after = before.replace(public_key().encode(), public_key(1).encode())
    contents.write_bytes(after)
    digests = [hashlib.sha256(data).hexdigest() for data in (before, after)]
    worker.write_text(worker.read_text("utf-8").replace(*digests), "utf-8")


def another_key(signed, **_):
    signed(version=6, signer=1)


def forged(signed, relist, **_):
    folder = signed(version=6)
    text = signature(released(folder).read_bytes(), key=1)
    released(folder, signed=True).write_text(text, "utf-8")
    relist(folder)


def altered(signed, relist, films, **_):
    folder = signed(version=6)
    films(seed=9, version=6).save(released(folder))
    relist(folder)


def half_uploaded(signed, **_):
    """The scripts and the list of files are of the next page, and the release is missing yet."""
    released(signed(version=6)).unlink()


def damaged(signed, **_):
    path = released(signed(version=6))
    path.write_bytes(path.read_bytes()[:-1] + b"x")


def stays(page, kept, spoil, **given):
    """What this browser has stays, at each later visit, also without the host."""
    before = ids(page)
    spoil(**given)
    for _ in range(2):
        visited(page)
        assert ids(page) == before, "it takes the place of the list that was kept"
    said = page.inner_text("#newer")
    page.goto("about:blank")
    page.goto(kept.url)
    page.wait_for_selector(READY)
    assert ids(page) == before, "it takes the place of the list that was kept, when every tab was closed"
    kept.stop()
    page.context.set_offline(True)
    page.reload()
    page.wait_for_selector(READY)
    assert ids(page) == before
    return said


@pytest.fixture
def given(signed, relist, films, tmp_path):
    return {"signed": signed, "relist": relist, "films": films, "tmp_path": tmp_path}


@pytest.mark.parametrize(
    "spoil",
    [
        older,
        forged,
        resigned,
        *(pytest.param(other, marks=pytest.mark.full) for other in (unsigned, another_key, altered)),
    ],
)
def test_a_page_that_is_refused_does_not_replace_the_kept_one(page, kept, given, spoil):
    assert STAYS in stays(page, kept, spoil, **given)


@pytest.mark.parametrize("spoil", [half_uploaded, damaged])
def test_a_page_that_is_not_whole_does_not_replace_the_kept_one(page, kept, given, spoil):
    assert stays(page, kept, spoil, **given) == ""


FAULTS = {
    "the worker asks nobody": ("worker.js", "if (!(await allowed()))", "if (false)"),
    "whatever is refused may follow": (
        "newer.js",
        "showDoubt(error);\n    return false;",
        "showDoubt(error);\n    return true;",
    ),
}


@pytest.mark.parametrize("fault", FAULTS)
@pytest.mark.full
def test_a_fault_that_lets_an_older_page_in_is_noticed(page, planted, signed, host, given, fault):
    let_in(page, planted, signed, host, given, FAULTS[fault], older)


UNCHECKED = {
    "a page that comes checks no signature": ("newer.js", ", key: contents.facts.key }", " }", forged),
    "a page that comes may bring another key": (
        "newer.js",
        "contents.facts.key !== key",
        "false",
        another_key,
    ),
    "a page that comes may bring another key for later": (
        "newer.js",
        'if (key !== undefined && contents.facts.key !== key) throw new PageError("another_key");\n',
        "contents.facts.key = key ?? contents.facts.key;\n",
        resigned,
    ),
}
"""Faults with which a page shows what its owner did not sign, and a site that uses each."""


@pytest.mark.parametrize("fault", UNCHECKED)
@pytest.mark.full
def test_a_fault_that_lets_a_page_in_that_the_owner_did_not_sign_is_noticed(
    page, planted, signed, host, given, fault
):
    *change, spoil = UNCHECKED[fault]
    let_in(page, planted, signed, host, given, change, spoil)


def let_in(page, planted, signed, host, given, change, spoil):
    """A page with a fault follows one that it must not follow."""
    file, right, wrong = change
    planted(f"{RECOMMENDER}/{file}", right, wrong)
    served = host(signed(version=5))
    page.goto(served.url)
    page.wait_for_selector(READY)
    page.set_default_timeout(5000)
    from playwright.sync_api import Error as PlaywrightError  # of make test-page alone

    with pytest.raises((AssertionError, PlaywrightError)):
        stays(page, served, spoil, **given)


def test_a_later_release_is_shown_at_the_next_visit_and_kept(page, kept, signed):
    before = ids(page)
    signed(version=6)
    followed(page, before)
    after = ids(page)
    kept.stop()
    page.context.set_offline(True)
    page.reload()
    page.wait_for_selector(READY)
    assert ids(page) == after != before


def test_an_hour_of_an_older_folder_leaves_no_trace(page, kept, signed):
    before = ids(page)
    signed(version=4)
    visited(page)
    assert STAYS in page.inner_text("#newer")
    signed(version=5)
    visited(page)
    assert page.inner_text("#newer") == ""
    assert ids(page) == before
    signed(version=6)
    followed(page, before)


def test_the_same_release_with_other_titles_comes_with_the_next_visit(page, kept, signed):
    folder = signed(version=5)
    site.write(folder.parent / "films.safetensors", folder, key=public_key())
    visited(page)
    found(page)
    page.goto(kept.url, wait_until="commit")
    page.wait_for_selector("#ranked b:has-text('item')")


def unsigned_pages(page, films, written, host):
    """Pages that are made without a key go by the entries of their ledger."""
    served = host(written(films(version=5)))
    page.goto(served.url)
    page.wait_for_selector(READY)
    before = ids(page)
    written(films(seed=4, version=4))
    visited(page)
    visited(page)
    assert ids(page) == before, "an older list takes the place of the one that was kept"
    assert STAYS in page.inner_text("#newer")
    written(films(seed=6, version=6))
    followed(page, before)


def test_without_a_key_the_ledger_tells_which_page_is_older(page, films, written, host):
    unsigned_pages(page, films, written, host)


def test_an_older_list_without_a_key_is_noticed(page, films, written, host, planted):
    planted(f"{RECOMMENDER}/newer.js", " && next.seq < last.seq)", " && false)")
    with pytest.raises(AssertionError, match=r"an older list takes|Yours stays"):
        unsigned_pages(page, films, written, host)


def test_a_page_that_gets_a_key_later_is_followed(page, films, written, host, signed):
    served = host(written(films(version=5)))
    page.goto(served.url)
    page.wait_for_selector(READY)
    before = ids(page)
    signed(version=6)
    followed(page, before)
    assert "checked, by the key" in page.inner_text("#facts")


def refuses(page, signed, host, relist):
    folder = signed(version=5)
    forged(lambda **_: folder, relist)
    page.goto(host(folder).url)
    page.wait_for_selector(f"#trouble:not([hidden]), {READY}")
    assert page.inner_text("h1") == "This list is not shown."
    assert page.evaluate("caches.keys()") == []


def test_with_nothing_kept_a_refusal_is_shown(page, signed, host, relist):
    refuses(page, signed, host, relist)


def test_a_page_that_checks_no_signature_is_noticed(page, planted, signed, host, relist):
    planted(f"{RECOMMENDER}/page.js", "{ signature, key }", "{ signature }")
    with pytest.raises(AssertionError):
        refuses(page, signed, host, relist)
