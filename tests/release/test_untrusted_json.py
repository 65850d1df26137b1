"""A release from a stranger is refused in little time and memory, whatever stands in its header."""

import dataclasses
import json
import os
import struct
import subprocess
import sys
import time

import numpy as np
import pytest

from hushrec.errors import ReleaseError
from hushrec.release import untrusted_json
from hushrec.release.artefact import Release
from hushrec.release.client import Client

SIZE = 12_000_000
OPEN = """
import sys
import numpy, safetensors.numpy
from hushrec.errors import ReleaseError
from hushrec.release.artefact import Release
def peak():
    return 1024 * int(next(line for line in open("/proc/self/status") if line.startswith("VmHWM")).split()[1])
before = peak()
try:
    Release.open(sys.argv[1])
except ReleaseError as error:
    print(error)
print(peak() - before)
"""


def packed(header):
    data = header.encode()
    return struct.pack("<Q", len(data)) + data


def inner(text):
    return packed(json.dumps({"__metadata__": {"hushrec": text}}, ensure_ascii=False))


def filled(part, end="0"):
    return part * (SIZE // len(part)) + end


HEADERS = {
    "lists": lambda: inner('{"items":[' + filled("[],") + "]}"),
    "objects": lambda: inner('{"items":[' + filled('{"a":{}},') + "]}"),
    "numbers": lambda: inner('{"items":[' + filled("1.5,") + "]}"),
    "more ids than such short ones can be": lambda: inner('{"items":[' + filled('"ab",') + "]}"),
    "fields": lambda: inner('{"items":{' + "".join(f'"{i:x}":0,' for i in range(SIZE // 9)) + '"x":0}}'),
    "tensors": lambda: packed(
        '{"__metadata__":{"hushrec":"{}"}'
        + "".join(f',"{i:x}":{{"dtype":"F32","shape":[0],"data_offsets":[0,0]}}' for i in range(SIZE // 55))
        + "}"
    ),
    "lists in the header itself": lambda: packed('{"t":[' + filled("[],") + "]}"),
    "other metadata": lambda: packed(
        '{"__metadata__":{' + "".join(f'"{i:x}":"",' for i in range(SIZE // 9)) + '"hushrec":"{}"}}'
    ),
    "depth": lambda: inner("[" * SIZE),
    "digits": lambda: inner('{"format":' + "9" * SIZE + "}"),
    "a string without an end": lambda: packed('"' + '\\"' * (SIZE // 2)),
    "a string that ends in an escape": lambda: packed('"' + '\\"' * (SIZE // 2) + "\\"),
}

FAST = "lists", "fields", "depth", "a string without an end"


@pytest.mark.skipif(not os.path.exists("/proc/self/status"), reason="peak memory is read from /proc")
@pytest.mark.parametrize(
    "kind",
    [kind if kind in FAST else pytest.param(kind, marks=pytest.mark.full) for kind in HEADERS],
)
def test_memory_and_time_go_with_the_size_of_the_file(tmp_path, kind):
    path = tmp_path / "r.safetensors"
    path.write_bytes(HEADERS[kind]())
    start = time.perf_counter()
    done = subprocess.run([sys.executable, "-c", OPEN, str(path)], capture_output=True, text=True, timeout=60)
    assert done.stderr == ""
    said, peak = done.stdout.splitlines()
    assert "not a hushrec release" in said
    assert int(peak) < 8 * path.stat().st_size
    assert time.perf_counter() - start < 15


@pytest.mark.parametrize(("count", "form"), [(1_000_000, "{:06d}"), (1_200_000, "{:05x}"), (65_536, "{:x}")])
@pytest.mark.full
def test_catalogues_of_many_short_ids_are_read(count, form):
    text = json.dumps([form.format(number) for number in range(count)], separators=(",", ":"))
    assert len(untrusted_json.parse(text)) == count


@pytest.mark.parametrize(
    "text",
    [
        '{"a":1,"a":2}',
        "[NaN]",
        "[Infinity]",
        "[-Infinity]",
        "[1e999]",
        "[" + "9" * 5000 + "]",
        '["\\ud800',
        "[1,]",
        "",
    ],
)
def test_what_is_no_plain_json_is_refused(text):
    with pytest.raises(ValueError):  # noqa: PT011
        untrusted_json.parse(text)


@pytest.mark.parametrize("value", [True, "1", None, [1]])
def test_only_numbers_are_numbers(value):
    assert untrusted_json.number(2) == 2.0
    with pytest.raises(TypeError):
        untrusted_json.number(value)
    with pytest.raises(TypeError):
        untrusted_json.typed(value, int)


@pytest.mark.parametrize("value", ["ab", {"a": 1}, None, 7])
def test_only_lists_have_entries(value):
    assert untrusted_json.entries([1, "a"]) == (1, "a")
    with pytest.raises(TypeError):
        untrusted_json.entries(value)


def test_limits_are_of_ids_and_of_what_stands_outside_of_quotes():
    assert untrusted_json.parse('["a","b"]', strings=1, others=0) == ["a", "b"]
    with pytest.raises(ValueError, match="more than facts hold"):
        untrusted_json.parse('["a","b"]', strings=0, others=0)
    assert untrusted_json.parse("[[],[]]", others=7) == [[], []]
    with pytest.raises(ValueError, match="more than facts hold"):
        untrusted_json.parse("[[],[]]", others=6)
    assert untrusted_json.parse('"[[[[[[[[[["', others=0) == "[[[[[[[[[["


def test_fields_that_are_there_twice_are_refused(release):
    data = release().to_bytes()
    size = int.from_bytes(data[:8], "little")
    outer = data[8 : 8 + size].decode().rstrip()
    for twice in (
        '"__metadata__":{"hushrec":"{}"},',
        '"item_noise":{"dtype":"F32","shape":[4],"data_offsets":[0,16]},',
    ):
        with pytest.raises(ReleaseError):
            Release.from_bytes(packed("{" + twice + outer[1:]) + data[8 + size :])


def test_ids_are_as_long_as_a_domains(release):
    assert release(items=("é" * 128, "b", "c", "d")).items[0] == "é" * 128
    with pytest.raises(ReleaseError, match="too long"):
        release(items=("é" * 128 + "x", "b", "c", "d"))


def test_numbers_that_no_equation_bears_are_refused_when_they_are_used(release):
    made = release()
    tensors = made.tensors | {"item_factors": np.full_like(made.tensors["item_factors"], 1e12)}
    client = Client(dataclasses.replace(made, tensors=tensors))
    for ask in (client.predict, client.recommend):
        with pytest.raises(ReleaseError, match="nothing can be predicted from") as caught:
            ask({made.items[0]: 5})
        assert caught.value.__context__ is None
