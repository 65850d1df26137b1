"""Faults that the fuzzer must find: each puts back what was mended once."""

import contextlib
import json
import shutil
import sys
from functools import partial
from pathlib import Path

from hushrec import errors
from hushrec.cli import console
from hushrec.data import cleaning
from hushrec.data.readers import binary, delimited
from hushrec.models.du_leighton_patel import released_data
from hushrec.release import untrusted_json


def headers():
    untrusted_json.parse = lambda text, **_: json.loads(text)


def panics():
    for module in (binary, delimited, cleaning, released_data):
        module.quiet = contextlib.nullcontext


def cells():
    def told(role, dtype, source):
        if not (dtype.is_numeric() or dtype == "String"):
            raise errors.DataError(f"{source}: column {role} is of type {dtype}")

    cleaning._check_type = told


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


PLANTS = {plant.__name__: plant for plant in (headers, panics, cells, escapes)}
PLANTS |= {
    "offsets": partial(exchanged, "safetensors.js", "start !== filled || ", ""),
    "ends": partial(exchanged, "safetensors.js", "filled !== data.length", "false"),
    "digests": partial(exchanged, "artefact.js", "if (head !==", "if (!head ==="),
    "brackets": partial(exchanged, "untrusted_json.js", "if (brackets > ", "if (Infinity < "),
    "infinities": partial(exchanged, "artefact.js", "!Number.isFinite(values[at])", "false"),
    "formats": partial(exchanged, "artefact.js", "if (facts.format !== FORMAT)", "if (false)"),
}
