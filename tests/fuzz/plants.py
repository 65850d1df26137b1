"""Faults that the fuzzer must find: each puts back what was mended once."""

import json
import shutil
import sys
from functools import partial
from pathlib import Path

from hushrec import errors
from hushrec.cli import console
from hushrec.data import clean
from hushrec.release import untrusted_json


def headers():
    untrusted_json.parse = lambda text, **_: json.loads(text)


def cells():
    clean.explained = lambda error, name: f"{name}: {error}"


def escapes():
    errors.HushrecError.__str__ = Exception.__str__
    console.escaped = str


def exchanged(file, text, other):
    """The client in JavaScript with another text in one of its files."""
    import clients

    folder = Path(sys.argv[sys.argv.index("--folder") + 1]) / "javascript"
    shutil.copytree(clients.SOURCE[0], folder, dirs_exist_ok=True)
    written = (folder / file).read_text("utf-8")
    assert text in written
    (folder / file).write_text(written.replace(text, other), encoding="utf-8")
    clients.SOURCE[0] = folder


PLANTS = {plant.__name__: plant for plant in (headers, cells, escapes)}
PLANTS |= {
    "offsets": partial(exchanged, "safetensors.js", "start !== filled || ", ""),
    "ends": partial(exchanged, "safetensors.js", "filled !== data.length", "false"),
    "digests": partial(exchanged, "artefact.js", "demand(intact, ", "demand(true, "),
    "brackets": partial(exchanged, "untrusted_json.js", "if (brackets > ", "if (Infinity < "),
    "infinities": partial(exchanged, "artefact.js", "values.every(Number.isFinite)", "true"),
    "formats": partial(exchanged, "artefact.js", "facts.format === FORMAT", "true"),
}
