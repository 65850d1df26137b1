"""A short run of the fuzzer, and that it finds what it is there for. Longer: make fuzz SECONDS=600."""

import json
import subprocess
import sys
from pathlib import Path

import pytest

pytestmark = [
    pytest.mark.full,
    pytest.mark.skipif(not Path("/proc/self/clear_refs").exists(), reason="peak memory is read from /proc"),
]


def fuzzed(reader, seconds, *more):
    command = [sys.executable, str(Path(__file__).with_name("fuzz.py")), reader, str(seconds), "7", *more]
    done = subprocess.run(command, capture_output=True, text=True, timeout=seconds + 200)
    assert done.stderr == ""
    return json.loads(done.stdout)


@pytest.mark.parametrize("reader", ["ratings", "releases"])
def test_hostile_files_are_read_or_refused(reader):
    found = fuzzed(reader, 15)
    assert found["faults"] == []
    assert found["aborted"] <= 5  # of some thousand files: docs/known-limits.md
    assert found["valid"] > 20  # some are spoilt where it does not matter, or repaired as a forger would
    assert found["refused"] > 200


@pytest.mark.parametrize(
    ("reader", "plant", "fault", "seconds"),
    [
        ("releases", "headers", "takes", 40),
        ("releases", "escapes", "shows a character that acts", 40),
        ("ratings", "cells", "shows a cell", 40),
        ("ratings", "escapes", "shows a character that acts", 150),  # one in two thousand files
    ],
)
def test_a_planted_fault_is_found(reader, plant, fault, seconds):
    found = fuzzed(reader, seconds, "--plant", plant, "--until", fault)["faults"]
    assert any(fault in one["fault"] for one in found)
