"""Takes the README's picture, docs/page.png: ``make picture``.

Makes a release of the demo's clicks and its page, and likes three titles in Chromium. Playwright comes with
``make test-page``.
"""

import functools
import http.server
import sys
import tempfile
import threading
from pathlib import Path

from playwright.sync_api import Browser, Page, sync_playwright

import hushrec as hr
from hushrec.cli.demo import FULL
from hushrec.pages import site

PICTURE = Path(__file__).parents[2] / "docs" / "page.png"
CHROMIUM = "/usr/bin/chromium"
FLAGS = ["--no-sandbox", "--disable-gpu", "--hide-scrollbars"]
SIZE, SCALE = {"width": 1250, "height": 765}, 0.8


class Quiet(http.server.SimpleHTTPRequestHandler):
    """Serves a folder, and logs nothing."""

    def log_message(self, *_):
        """Log nothing."""


def write_page(folder, size=FULL):
    """Write the page of a release at ε = 1 of the demo's clicks; return its folder and titles to like."""
    clicks = size.make_clicks()
    budget = hr.Budget(epsilon=1.0, delta=1e-6, unit="user", adjacency="add-remove")
    ledger = hr.Ledger.create(folder / "ledger.db", budget)
    hr.fit(clicks, hr.PrivateEASE(), budget, ledger=ledger).save(folder / "films.safetensors")
    site.write(folder / "films.safetensors", folder / "page")
    return folder / "page", size.tastes[0]


def like(page: Page, titles):
    """Like these titles on an open page, and wait for the person's own list."""
    page.wait_for_selector("html[data-ready]")
    for title in titles:
        page.fill("#search", title)
        row = page.locator("#found > li").filter(has=page.get_by_text(title, exact=True))
        row.locator(".like").click()
    page.fill("#search", titles[0].split()[1])  # its row says that it is liked


def shoot(browser: Browser, url, titles, path):
    """Like titles on the page at an address, and take its picture."""
    page = browser.new_page(viewport=SIZE, device_scale_factor=SCALE, color_scheme="light")
    page.goto(url)
    like(page, titles)
    page.evaluate("document.activeElement.blur()")
    page.wait_for_timeout(600)  # until the rows of the list have moved to their places
    page.screenshot(path=path)
    page.close()


def main():
    """Take the picture."""
    path = Path(sys.argv[1]) if len(sys.argv) > 1 else PICTURE
    with tempfile.TemporaryDirectory() as folder, sync_playwright() as playwright:
        page_folder, titles = write_page(Path(folder))
        handler = functools.partial(Quiet, directory=str(page_folder))
        browser = playwright.chromium.launch(executable_path=CHROMIUM, args=FLAGS)
        with http.server.ThreadingHTTPServer(("127.0.0.1", 0), handler) as server:
            threading.Thread(target=server.serve_forever, daemon=True).start()
            shoot(browser, f"http://localhost:{server.server_port}/", titles, path)
            server.shutdown()
        browser.close()
    print(f"{path} ({path.stat().st_size / 1000:,.0f} kB)")


if __name__ == "__main__":
    main()
