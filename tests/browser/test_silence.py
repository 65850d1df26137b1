"""Nothing leaves the device after the page is loaded: by the browser's own log, and by the host's."""

import struct
import time
import zlib

import pytest

pytestmark = pytest.mark.page


def png():
    """A whole picture of one grey pixel."""

    def chunk(kind, data):
        body = kind + data
        return struct.pack(">I", len(data)) + body + struct.pack(">I", zlib.crc32(body))

    header = chunk(b"IHDR", struct.pack(">IIBBBBB", 1, 1, 8, 0, 0, 0, 0))
    return b"\x89PNG\r\n\x1a\n" + header + chunk(b"IDAT", zlib.compress(b"\0\x80")) + chunk(b"IEND", b"")


@pytest.fixture
def log(page):
    """Addresses of all requests to a network that Chromium's own log shows."""
    session, sent = page.context.new_cdp_session(page), []
    session.send("Network.enable")
    own = ("blob:", "data:")
    session.on(
        "Network.requestWillBeSent",
        lambda event: event["request"]["url"].startswith(own) or sent.append(event["request"]["url"]),
    )
    for kind in ("webSocketCreated", "webTransportCreated"):
        session.on(f"Network.{kind}", lambda event: sent.append(event["url"]))
    return sent


def everything(page):
    """All that a reader can do on the page."""
    for nth in range(10):
        page.locator("#found > li").nth(nth % 6).get_by_role("radio").nth(nth % 5).click()
        page.click("#others")
    for text in ("a", "amber", "no such title"):
        page.fill("#search", text)
    page.fill("#search", "")
    page.click("#more")
    page.locator("#ranked button.away").first.click()  # not for me, whose titles the second summary shows
    for nth in range(3):
        page.locator("summary").nth(nth % 2).click()
    with page.expect_download() as download:
        page.click("#export")
    page.set_input_files("#import-file", download.value.path())
    page.click("#erase")
    page.click("#erase-yes")
    page.wait_for_timeout(300)


def test_nothing_is_sent_after_the_load(page, log, visit):
    host = visit()
    page.wait_for_timeout(300)
    assert log, "the log shows the load"
    loaded, asked = len(log), len(host.asked)
    everything(page)
    assert log[loaded:] == []
    assert host.asked[asked:] == []
    assert {address.startswith(host.url) for address in log} == {True}, "nobody else is asked, ever"


@pytest.mark.parametrize(
    "send",
    [
        "fetch('./there', {method: 'POST', body: 'stars'}).catch(() => 0)",
        "navigator.sendBeacon('./there', 'stars')",
        "new Promise(done => { const x = new XMLHttpRequest(); x.onloadend = done; "
        "x.open('POST', './there'); x.send('stars'); })",
    ],
)
@pytest.mark.full
def test_what_a_page_would_send_is_seen(page, log, host, written, films, send):
    """The same checks, on a page that sends: each of them shows it."""
    served = host(written(films()))
    page.goto(served.url)
    page.wait_for_selector("html[data-ready]")
    page.wait_for_timeout(300)
    loaded, asked = len(log), len(served.asked)
    page.evaluate(send)
    soon = time.monotonic() + 30  # a beacon is sent later
    while not (served.asked[asked:] and log[loaded:]) and time.monotonic() < soon:
        page.wait_for_timeout(20)
    assert served.asked[asked:]
    assert log[loaded:]


@pytest.mark.parametrize(
    "ask",
    [
        "fetch('./there.png?stars=1,2,3').then(answer => answer.status)",
        "fetch('./?stars=1,2,3').then(answer => answer.status)",
        "new Promise(done => { const x = new Image(); x.onload = x.onerror = done; x.src = 'there.png?'; })",
    ],
)
@pytest.mark.full
def test_what_a_page_would_ask_of_its_host_stays_on_the_device(page, host, written, films, ask):
    """Also if the host has an answer; the same address is then visited, which is no request of the page."""
    served = host(written(films()))
    page.goto(served.url)
    page.wait_for_selector("html[data-ready]")
    page.wait_for_timeout(300)
    (served.folder / "there.png").write_bytes(png())
    asked = len(served.asked)
    page.evaluate(ask)
    page.wait_for_timeout(300)
    assert served.asked[asked:] == []
    assert page.goto(f"{served.url}there.png").status == 200


def test_pictures_come_out_of_the_cache_alone(page, visit, films, titles, tmp_path):
    """Else the host would learn which titles are looked at."""
    (tmp_path / "a.png").write_bytes(png())
    made = films()
    served = visit(made, titled=titles(made.items, pictures=["a.png"] * len(made.items), folder=tmp_path))
    page.wait_for_selector("#found img")
    assert page.locator("#found img").first.evaluate("one => one.decode().then(() => one.naturalWidth)") == 1
    asked = len(served.asked)
    page.fill("#search", "amber")
    page.wait_for_timeout(300)
    assert page.locator("#found img").count()
    assert served.asked[asked:] == []
