"""Releases and released data sets, spoilt or forged, and what may come of using them."""

import io
import json
import struct
import sys
import warnings
from contextlib import redirect_stderr, redirect_stdout
from pathlib import Path

import numpy as np
import safetensors.numpy
from mutations import rearranged, spoilt

from hushrec.cli import console
from hushrec.data import tables
from hushrec.data.people import People
from hushrec.models.du_leighton_patel import released_data
from hushrec.models.du_leighton_patel.released_data import ReleasedData, public_domain
from hushrec.release import artefact
from hushrec.release.artefact import Release
from hushrec.release.client import Client
from hushrec.text import escaped

sys.path.insert(0, str(Path(__file__).parents[1]))
from support.releases import release, statement


def rows():
    n_people = 9
    return People(
        public_domain(("a", "b", "\x1b[2Jc\nd"), (1.0, 5.0, 1.0), n_people),
        released_data.anonymous_ids(n_people),
        np.arange(n_people + 1) * 2,
        np.tile(np.array([0, 2], dtype=np.int32), n_people),
        np.tile(np.array([0, 4], dtype=np.uint8), n_people),
    )


KINDS = [release(kind) for kind in ("factors", "factors and people", "neighbours", "dense neighbours")]
KINDS.append(release(items=("\x1b[31mx", "a\nb", "\u202ec", "[red]d")))
FILES = [made.to_bytes() for made in KINDS]
SET = ReleasedData("RandomizedResponse", {"sample": 3}, rows(), 9, statement(adjacency="replace", ledger={}))


def opened(data):
    header = json.loads(data[8 : 8 + int.from_bytes(data[:8], "little")])
    return json.loads(header["__metadata__"]["hushrec"]), safetensors.numpy.load(data)


def closed(facts, tensors):
    """As a forger writes it: with a digest that fits, if there can be one."""
    facts.pop("sha256", None)
    try:
        return artefact._seal(json.dumps(facts), tensors)
    except (TypeError, ValueError, RecursionError, AttributeError):
        return b""


def packed(header, rest=b""):
    data = header.encode(errors="surrogatepass")
    return struct.pack("<Q", len(data)) + data + rest


def bracketed(random):
    """Megabytes of brackets, digits, or short strings, which parse to far more."""
    part = random.choice(["[],", "[],", "{},", "[[]],", "1.5,", '"ab",', "[", '{"a":', "9", '\\"'])
    text = '{"items":[' + part * random.choice([10_000, 8_000_000 // len(part), 8_000_000 // len(part)])
    if random.random() < 0.5:
        text += "0]}"
    return packed(json.dumps({"__metadata__": {"hushrec": text}}) if random.random() < 0.5 else text)


def other_tensors(tensors, random):
    name = random.choice(sorted(tensors))
    array = tensors[name]
    changes = [
        lambda: array.astype(random.choice([np.float64, np.float16, np.int8, np.int64])),
        lambda: np.full_like(array, random.choice([np.nan, np.inf, 0, -1, 3e38, 1e-38])),
        lambda: array[:-1].copy(),
        lambda: np.zeros((0, *array.shape[1:]), np.float32),
        lambda: np.append(array, array).astype(np.float32),
        lambda: array * np.float32(random.choice([1e30, 1e-30, -1, 1e19])),
    ]
    tensors[name] = random.choice(changes)()


def written(table, name, note):
    buffer = io.BytesIO()
    tables.write([table], table.schema, buffer, Path(name).suffix, {"hushrec": note})
    return buffer.getvalue()


def made(random):
    """Name and bytes of a file, and of one that stands beside it."""
    kind = random.random()
    data = random.choice(FILES)
    file = random.choice(["r.safetensors", "r.safetensors", "\x1b[31mr\n.safetensors"])
    if kind < 0.02:
        return file, bracketed(random)
    if kind < 0.45:
        facts, tensors = opened(data)
        rearranged(facts, random)
        if random.random() < 0.3:
            with np.errstate(all="ignore"):
                other_tensors(tensors, random)
        return file, closed(facts, tensors)
    if kind < 0.6:
        size = int.from_bytes(data[:8], "little")
        header = json.loads(data[8 : 8 + size])
        if random.random() < 0.3:
            header["__metadata__"]["hushrec"] = spoilt(
                header["__metadata__"]["hushrec"].encode(), random
            ).decode(errors="replace")
        else:
            rearranged(header, random)
        return file, packed(json.dumps(header), data[8 + size :])
    if kind < 0.75:
        return file, spoilt(data, random)
    if kind < 0.76:
        return random.choice(["r.safetensors", "r.parquet", "r.csv"]), random.randbytes(
            random.randrange(5000)
        )
    name = random.choice(["d.parquet", "d.csv"])
    if random.random() < 0.5:
        facts = SET._facts()
        rearranged(facts, random)
        facts.pop("sha256", None)
        try:
            facts["sha256"] = released_data.digest(facts, SET.ratings)
            return name, written(SET.table, name, json.dumps(facts)), json.dumps(facts).encode()
        except (TypeError, ValueError, RecursionError):
            return name, b"", b"{"
    table = written(SET.table, name, released_data.text(SET._facts()))
    note = released_data.text(SET._facts()).encode()
    if name == "d.csv" and random.random() < 0.5:
        return name, table, spoilt(note, random)
    return name, spoilt(table, random), note


def used(path, random):
    """Open it and do with it what a person does; what is printed meanwhile."""
    printed = io.StringIO()
    with (
        redirect_stdout(printed),
        redirect_stderr(printed),
        warnings.catch_warnings(),
        np.errstate(all="ignore"),
    ):
        warnings.simplefilter("ignore")
        if path.suffix == ".safetensors":
            made = Release.open(path)
            print(repr(made).replace("\n", " "))
            client = Client(made)
            for item, score, rank, _ in client.recommend({made.items[0]: 5} if made.items else {}, 3):
                console.say(f"{rank} {item} {score:.2f}")
            if made.users:
                client.predict(user=made.users[0])
        else:
            made = ReleasedData.open(path)
            print(escaped(repr(made)))
            console.say(path.name)
        console.show(made.statement.document())
        made.statement._repr_html_()
    return printed.getvalue()
