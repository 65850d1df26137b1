"""Sites that were written, as tests look into them."""

import json


def released(folder, signed=False):
    """The release of a site's page, or its signature."""
    contents = json.loads((folder / "contents.json").read_text("utf-8"))
    return folder / (contents["release"] + (".dsse.json" if signed else ""))
