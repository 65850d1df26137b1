"""Hostile files: both clients open them or both refuse. Longer: make fuzz SECONDS=600."""

import json
import subprocess
import sys
from pathlib import Path

import pytest

pytestmark = pytest.mark.page
FUZZ = Path(__file__).parents[1] / "fuzz" / "fuzz.py"


def fuzzed(seconds, *more):
    command = [sys.executable, str(FUZZ), "clients", str(seconds), "7", *more]
    done = subprocess.run(command, capture_output=True, text=True, timeout=seconds + 200)
    assert done.stderr == ""
    return json.loads(done.stdout)


@pytest.mark.full
def test_both_clients_open_or_refuse_the_same_files():
    found = fuzzed(20)
    assert found["faults"] == []
    # Some are spoilt where it does not matter, or signed again as a forger would. A busy machine tries fewer.
    assert found["valid"] > 3
    assert found["refused"] > 30


@pytest.mark.parametrize(
    ("plant", "fault"),
    [
        ("offsets", "JavaScript reads what Python refuses"),
        ("ends", "JavaScript reads what Python refuses"),
        ("digests", "JavaScript reads what Python refuses"),
        ("brackets", "in JavaScript: "),
        ("infinities", "JavaScript reads what Python refuses"),
        ("formats", "JavaScript reads what Python refuses"),
    ],
)
@pytest.mark.full
def test_a_planted_fault_is_found(plant, fault):
    found = fuzzed(300, "--plant", plant, "--until", fault)["faults"]  # a busy machine has others before
    assert any(fault in one["said"] for one in found)
