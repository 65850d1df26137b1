"""Sites that were written, as tests look into them."""

import json

from support.signed import signature


def released(folder, signed=False):
    """The release of a site's page, or its signature."""
    contents = json.loads((folder / "contents.json").read_text("utf-8"))
    return folder / (contents["release"] + (".dsse.json" if signed else ""))


def sign(path, **how):
    """Sign a release; the signature lies next to it."""
    text = signature(path.read_bytes(), name=path.name, **how)
    path.with_name(path.name + ".dsse.json").write_text(text, "utf-8")
    return text
