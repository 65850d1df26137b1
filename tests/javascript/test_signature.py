"""The check of signatures in JavaScript beside the one in Python, on the same forgeries, in Node."""

import json
import os
import re
import subprocess
from pathlib import Path

import pytest

from hushrec.release.signing.signature import verified
from javascript import signature_cases
from support.releases import release
from support.signed import key_file, signature

pytestmark = pytest.mark.page
HERE = Path(__file__).parent
SOURCE = HERE.parents[1] / "src" / "hushrec" / "javascript"


@pytest.fixture(scope="module")
def cases(tmp_path_factory):
    made = tmp_path_factory.mktemp("signatures") / "cases.json"
    signature_cases.write(made)
    return made


def run(cases):
    command = ["node", "--test", "--test-reporter=tap", str(HERE / "signature.test.js")]
    return subprocess.run(
        command, env={**os.environ, "CASES": str(cases)}, capture_output=True, text=True, timeout=300
    )


def test_it_refuses_as_python_does(cases):
    told = json.loads(cases.read_text("utf-8"))["cases"]
    done = run(cases)
    assert done.returncode == 0, done.stdout
    assert f"# pass {len(told) + 5}" in done.stdout
    refused = [case for case in told if "refused" in case["verified"]]
    assert 12 < len(refused) < len(told) - 10


@pytest.mark.parametrize("name", ["older release", "altered file", "rotation: signed by a stranger"])
def test_a_forgery_that_is_accepted_is_noticed(cases, tmp_path, name):
    told = json.loads(cases.read_text("utf-8"))
    (case,) = [case for case in told["cases"] if case["name"] == name]
    (good,) = [case for case in told["cases"] if case["name"] == "right"]
    case.update({field: good[field] for field in ("data", "signature", "key", "seen")})
    (tmp_path / "cases.json").write_text(json.dumps(told), encoding="utf-8")
    done = run(tmp_path / "cases.json")
    assert done.returncode == 1
    (wrong,) = re.findall(r"^not ok \d+ - (.*)$", done.stdout, re.MULTILINE)
    assert wrong == f"the same as in Python: {name}"


SCRIPT = """
import {{ readFileSync }} from "node:fs";
import {{ Client }} from "{source}/client.js";
const [file, signature, key] = process.argv.slice(1);
const trust = {{ signature: readFileSync(signature, "utf8"), key: key && readFileSync(key, "utf8") }};
const client = await Client.open(readFileSync(file), key ? trust : {{ signature: trust.signature }});
console.log(JSON.stringify(client.release.signature));
"""


def test_a_release_is_verified_as_in_python(tmp_path):
    path = release().save(tmp_path / "films.safetensors")
    data, text = path.read_bytes(), signature(path.read_bytes(), 7)
    (tmp_path / "signature").write_text(text)
    (tmp_path / "owner.pub").write_text(key_file((1, 9)))
    files = [str(path), str(tmp_path / "signature"), str(tmp_path / "owner.pub")]
    code = SCRIPT.format(source=SOURCE.as_uri())
    command = ["node", "--input-type=module", "-e", code, *files]
    told = json.loads(subprocess.run(command, check=True, capture_output=True, text=True).stdout)
    made = verified(data, text, key_file((1, 9)))
    assert told == {
        "state": "verified",
        "keyId": made.key_id,
        "version": 7,
        "ledger": made.ledger,
        "chain": list(made.chain),
    }
    told = json.loads(subprocess.run(command[:-1], check=True, capture_output=True, text=True).stdout)
    assert (told["state"], told["version"]) == ("unchecked", 7)
    (tmp_path / "signature").write_text(signature(b"other"))
    told = json.loads(subprocess.run(command[:-1], check=True, capture_output=True, text=True).stdout)
    assert told["state"] == "unchecked"
    assert "not the file that was signed" in told["problem"]
    done = subprocess.run(command, capture_output=True, text=True)
    assert done.returncode == 1
    assert "not the file that was signed" in done.stderr
