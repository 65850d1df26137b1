"""The same release files for both clients, spoilt or forged: Python's and JavaScript's must agree on each."""

import json
import math
import struct
import subprocess
import sys
from contextlib import suppress
from pathlib import Path
from random import Random

import numpy as np
import releases
from mutations import rearranged, spoilt

from hushrec.errors import ReleaseError
from hushrec.release.artefact import Release
from hushrec.release.client import Client
from hushrec.release.kinds import POSITIVE

sys.path.insert(0, str(Path(__file__).parents[1]))
from javascript import cases

ROOT = Path(__file__).resolve().parents[2]
SOURCE = [ROOT / "src" / "hushrec" / "javascript"]
"""The folder of the client, which a plant exchanges."""
FILES = [made.to_bytes() for made in cases.releases().values() if not made.values]
"""Without values of features: no score needs their tensors, and JavaScript does not look into them."""
WORDS = ["1e308", "1e999", "-1", "-0", "0.0", "1.0", "01", "1E2", str(2**53 + 1), str(2**64), "9" * 500]
WORDS += ["true", "null", "[]", "{}", "NaN", "Infinity", '""', '"\\ud800"', '"\\u0000"', '"__proto__"', '"5"']
NAMES = ["__proto__", "constructor", "toString", "hasOwnProperty", "items", "sha256", "format", "\\ud800"]
STATED = "the statement of privacy"
"""In the errors of what Python proves and JavaScript reads."""
LARGEST = 1e6  # numbers up to which equations are well conditioned


def parts(data):
    """Header, facts as text, and tensors' bytes by name."""
    size = int.from_bytes(data[:8], "little")
    header, rest = json.loads(data[8 : 8 + size]), data[8 + size :]
    text = header.pop("__metadata__")["hushrec"]
    return header, text, {name: rest[slice(*told["data_offsets"])] for name, told in header.items()}


def sealed(header, text, body):
    """A file of this header and body, whose digest fits."""
    told = {"__metadata__": {"hushrec": text}} | header
    data = releases.packed(json.dumps(told, separators=(",", ":")), body)
    start, end = releases.artefact._START, releases.artefact._END
    return data[:start] + releases.artefact._digest(data) + data[end:]


def as_parsed(data):
    """The file as JSON.parse sees it: the last of repeated fields, 3 for 3.0, no overflow where unread."""

    def number(part):
        return (
            int(float(part)) if float(part).is_integer() else float(part) if math.isfinite(float(part)) else 0
        )

    size = int.from_bytes(data[:8], "little")
    header = json.loads(data[8 : 8 + size], parse_float=number)
    facts = json.loads(header.pop("__metadata__")["hushrec"], parse_float=number)
    text = json.dumps({**facts, "sha256": "0" * 64}, separators=(",", ":"))
    return sealed(header, text, data[8 + size :])


def moved(data, random):
    """Tensors put elsewhere in the file, with offsets that say so, under a digest that still fits."""
    header, text, tensors = parts(data)
    order = random.sample(sorted(header), len(header))
    body = b""
    for name in order:
        gap = random.choice([0, 0, 0, 0, 1, 4, 8]) if random.random() < 0.5 else 0
        body += bytes(gap)
        start = len(body) - random.choice([0, 0, 0, 0, 0, 4])
        header[name]["data_offsets"] = [start, start + len(tensors[name])]
        body += tensors[name]
    told = random.choice(["", "", "", "shape", "extra", "end"])
    if told == "shape":
        shape = header[random.choice(order)]["shape"]
        shape.insert(random.randrange(len(shape) + 1), random.choice([1, 0, -1, 2**61, 1.0]))
    if told == "extra":
        header[random.choice(order)][random.choice(["x", "__proto__"])] = random.choice([1, 0.5, None, [1]])
    body += bytes(4) if told == "end" else b""
    return sealed(header, text, body)


def reworded(data, random):
    """Facts whose text was edited, under a digest that still fits."""
    text = parts(data)[1]
    for _ in range(random.choice([1, 1, 2])):
        at = random.randrange(len(text))
        kind = random.randrange(4)
        colon = text.find(":", at)
        comma = text.find(",", colon)
        if kind == 0 and 0 < colon < comma:
            text = text[: colon + 1] + random.choice(WORDS) + text[comma:]
        elif kind == 1 and comma > 0:
            text = f'{text[:comma]},"{random.choice(NAMES)}":{random.choice(WORDS)}{text[comma:]}'
        elif kind == 2:
            text = text[:at] + random.choice([*WORDS, " ", ",", '"', "\\", "}", "\ufeff", "\x7f"]) + text[at:]
        elif 0 < colon < comma:
            text = text[:comma] + text[text.rfind(",", 0, colon) : comma] + text[comma:]
    try:
        return releases.artefact._seal(text[text.index(",") :].replace(",", "{", 1), releases.opened(data)[1])
    except (UnicodeEncodeError, ValueError):
        return data


def forged(data, random):
    """Facts and tensors exchanged for others, with a digest that fits."""
    facts, tensors = releases.opened(data)
    if random.random() < 0.7:
        rearranged(facts, random)
    else:
        with np.errstate(all="ignore"), suppress(OverflowError):  # bytes hold no negative numbers
            releases.other_tensors(tensors, random)
    return releases.closed(facts, tensors)


def headed(data, random):
    """Another length of the header, or another header."""
    size = int.from_bytes(data[:8], "little")
    if random.random() < 0.5:
        return (
            struct.pack("<Q", random.choice([0, 7, size - 1, size + 1, 10**8, 10**8 + 1, 2**63])) + data[8:]
        )
    header = json.loads(data[8 : 8 + size])
    rearranged(header, random)
    return releases.packed(json.dumps(header), data[8 + size :])


def made(random):
    """Name and bytes of a file."""
    kind, data = random.random(), random.choice(FILES)
    if kind < 0.02:
        return "r.safetensors", releases.bracketed(random)
    ways = [forged, forged, reworded, reworded, moved, headed, spoilt]
    return "r.safetensors", random.choice(ways)(data, random)


class Node:
    """The client in JavaScript, in a process of its own with little memory."""

    def __init__(self):
        command = [
            "node",
            "--expose-gc",
            "--max-old-space-size=512",
            str(Path(__file__).with_name("reader.mjs")),
        ]
        self.process = subprocess.Popen(
            [*command, str(SOURCE[0] / "client.js")], stdin=subprocess.PIPE, stdout=subprocess.PIPE, text=True
        )

    def ask(self, path):
        """What the client made of a file: its list, or why it refused."""
        self.process.stdin.write(f"{path}\n")
        self.process.stdin.flush()
        told = json.loads(self.process.stdout.readline() or '{"fault": "Node died"}')
        size = path.stat().st_size
        if told.get("peak", 0) > 16 * size + (160 << 20):
            told["fault"] = f"takes {told['peak'] >> 20} MiB for {size >> 10} KiB"
        return told


def used(path, random):
    """Ask both clients, and compare."""
    if not hasattr(used, "node"):
        used.node = Node()
    found = used.node.ask(path)
    if "fault" in found:
        raise AssertionError(f"in JavaScript: {found['fault']}")
    refused = None
    try:
        release = Release.open(path)
    except ReleaseError as error:
        if "listed" not in found or STATED in str(error):
            raise
        refused = error
    if refused:  # outside of the handler, so that what is raised has no context
        release = reread(path, refused)
    with np.errstate(all="ignore"):
        listed = python(release)  # refused where rounding decides whether there is a solution
    if "listed" not in found:
        raise AssertionError(f"Python reads what JavaScript refuses: {found['refused']}")
    if any(np.abs(array).max(initial=0) > LARGEST for array in release.tensors.values()):
        return ""  # rounding decides
    if any(release.tensors[name].min(initial=1) < 1 / LARGEST for name in POSITIVE & set(release.tensors)):
        return ""
    if not np.allclose([s for _, s in found["listed"]], [s for _, s in listed], rtol=1e-5, atol=1e-5):
        raise AssertionError(f"the lists differ: {found['listed']} {listed}")
    return ""


def reread(path, error):
    """What JavaScript alone reads, if it is the parser that tells less."""
    data = path.read_bytes()
    try:
        return Release.from_bytes(as_parsed(data) if releases.artefact._is_intact(data) else data)
    except ReleaseError as again:
        if STATED in str(again):
            raise
        raise AssertionError(f"JavaScript reads what Python refuses: {error}") from again


def python(release):
    """The list that the client makes from the catalogue's first two items."""
    client = Client(release)
    own = release.items[:2]
    if release.scale is not None or release.counts is not None:
        own = dict.fromkeys(own, (release.scale or (1, 2))[1])
    return [(row.item_id, row.score) for row in client.recommend(own, 3)]


if __name__ == "__main__":  # a file of a seed and number, to look at: python clients.py SEED NUMBER PATH
    Path(sys.argv[3]).write_bytes(made(Random(f"{sys.argv[1]} {sys.argv[2]}"))[1])
