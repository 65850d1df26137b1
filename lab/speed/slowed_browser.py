"""A user's list by the client in JavaScript, in Chromium with its processor slowed four times, as on a phone.

    python -m lab bench slowed_browser

The user gave 100 of 17,770 items; each call changes one of them and lists the twelve best of the catalogue
again, at the ranks that releases of ratings and of interactions have. Milliseconds by the page's own clock:
medians of 40 calls, and the first, for which nothing is compiled yet. It needs ``make test-page``, whose
Playwright drives Debian's Chromium.
"""

import functools
import http.server
import tempfile
import threading
from dataclasses import replace
from pathlib import Path

import numpy as np
import recommend_all
from playwright.sync_api import sync_playwright
from rows import report

import hushrec.javascript
from lab.pages.picture import CHROMIUM, FLAGS, Quiet

ITEMS, GIVEN, CALLS, SLOWED = 17_770, 100, 40, 4
CASES = ("factors", 20), ("linear items", 128)
SCRIPT = """async ([name, rated, given, calls]) => {
  const { Client } = await import("/client.js");
  const client = await Client.open(await (await fetch(name)).arrayBuffer());
  const ids = Array.from({ length: given }, (_, at) => `item-${at * 170}`);
  const took = [];
  for (let call = 0; call < calls; call += 1) {
    ids[call % given] = `item-${call * 170 + 1}`;
    const own = rated ? new Map(ids.map((id, at) => [id, 1 + (at % 5)])) : ids;
    const start = performance.now();
    client.recommend(own, { n: 12 });
    took.push(performance.now() - start);
  }
  return took;
}"""


def write_releases(folder: Path) -> None:
    """A release of random numbers for each case, beside the modules of the client."""
    for module in Path(hushrec.javascript.__path__[0]).glob("*.js"):
        (folder / module.name).write_bytes(module.read_bytes())
    rng = np.random.default_rng(0)
    for kind, rank in CASES:
        made = recommend_all.release(kind, ITEMS)
        tensors = {**made.tensors, "item_factors": rng.standard_normal((ITEMS, rank), dtype=np.float32)}
        if kind == "linear items":
            tensors["intercept"] = np.zeros(rank, dtype=np.float32)
        replace(made, tensors=tensors).save(folder / f"{rank}.hushrec.safetensors")


def main() -> None:
    with tempfile.TemporaryDirectory() as folder, sync_playwright() as playwright:
        write_releases(Path(folder))
        handler = functools.partial(Quiet, directory=folder)
        server = http.server.ThreadingHTTPServer(("127.0.0.1", 0), handler)
        threading.Thread(target=server.serve_forever, daemon=True).start()
        browser = playwright.chromium.launch(executable_path=CHROMIUM, args=FLAGS)
        for kind, rank in CASES:
            page = browser.new_page()
            page.goto(f"http://localhost:{server.server_port}/lists.js")
            slowed = page.context.new_cdp_session(page)
            slowed.send("Emulation.setCPUThrottlingRate", {"rate": SLOWED})
            took = page.evaluate(SCRIPT, [f"/{rank}.hushrec.safetensors", kind == "factors", GIVEN, CALLS])
            work = f"JavaScript in Chromium, slowed {SLOWED} ×: {kind}, rank {rank}, twelve best"
            note = f"the first took {took[0]:.0f} ms"
            report(
                "prediction", work, f"{ITEMS:,} items", "ms", np.median(took[1:]), mark="≤ 30 ms", note=note
            )
            page.close()
        browser.close()
        server.shutdown()


if __name__ == "__main__":
    main()
