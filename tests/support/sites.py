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


def sign(path, key=0):
    """Sign a release; the signature lies next to it."""
    text = signature(path.read_bytes(), key=key)
    path.with_name(path.name + ".sig").write_text(text, "utf-8")
    return text
