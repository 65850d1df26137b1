"""Sites that were written, as tests look into them."""

import json

from support.signed import signature


def released(folder, signed=False):
    """The release of a site's page, or its signature."""
    contents = json.loads((folder / "contents.json").read_text("utf-8"))
    return folder / (contents["release"] + (".sig" if signed else ""))


def found(page):
    """Wait until a browser keeps a newer page next to the one that is shown."""
    page.evaluate(
        """async () => {
            const registration = await navigator.serviceWorker.getRegistration();
            while (!registration.waiting) await new Promise((again) => setTimeout(again, 50));
        }"""
    )


def close_tab(page):
    """Close the site, and wait until the newer page that was found takes over, as no tab has the older one.

    A visit at that very moment is left waiting for ever by Chromium 156.
    """
    states = {}
    session = page.context.new_cdp_session(page)

    def note(event):
        states.update({one["versionId"]: one["status"] for one in event["versions"]})

    def wait_until_newer_is(status):
        """Wait half a minute for the latest worker."""
        for _ in range(1500):
            if states and states[max(states, key=int)] == status:
                return
            page.wait_for_timeout(20)
        raise AssertionError(f"the latest worker is not {status}: {states}")

    session.on("ServiceWorker.workerVersionUpdated", note)
    session.send("ServiceWorker.enable")
    wait_until_newer_is("installed")
    page.goto("about:blank")
    wait_until_newer_is("activated")


def sign(path, key=0):
    """Sign a release; the signature lies next to it."""
    text = signature(path.read_bytes(), key=key)
    path.with_name(path.name + ".sig").write_text(text, "utf-8")
    return text
