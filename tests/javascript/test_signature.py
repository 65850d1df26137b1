"""The check of signatures in JavaScript beside the one in Python, on the same forgeries, in Node."""

import json
import os
import re
import subprocess
from pathlib import Path

import pytest

from support import signed
from support.releases import release

pytestmark = pytest.mark.page
HERE = Path(__file__).parent


def run(tmp_path, forged):
    data = release().save(tmp_path / "films.safetensors").read_bytes()
    cases = {
        "release": list(data),
        "signature": signed.signature(data),
        "key": signed.KEY,
        "forged": [[name, list(data), text, key] for name, (data, text, key) in forged.items()],
        "no_keys": signed.NO_KEYS,
    }
    (tmp_path / "cases.json").write_text(json.dumps(cases), "utf-8")
    command = ["node", "--test", "--test-reporter=tap", str(HERE / "signature.test.js")]
    environment = {**os.environ, "CASES": str(tmp_path / "cases.json")}
    return subprocess.run(command, env=environment, capture_output=True, text=True, timeout=300)


def test_it_refuses_as_python_does(tmp_path):
    done = run(tmp_path, signed.FORGED)
    assert done.returncode == 0, done.stdout
    assert f"# pass {len(signed.FORGED) + 5}" in done.stdout


def test_a_forgery_that_is_accepted_is_noticed(tmp_path):
    done = run(tmp_path, {"right": (signed.DATA, signed.TEXT, signed.KEY)})
    assert re.findall(r"^not ok \d+ - (.*)$", done.stdout, re.MULTILINE) == ["refused: right"]
