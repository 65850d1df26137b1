"""The types in the comments of the client in JavaScript hold: TypeScript's compiler checks them."""

import shutil
import subprocess
from pathlib import Path

import pytest

HERE = Path(__file__).parent
CLIENT = HERE.parents[1] / "src" / "hushrec" / "javascript"
pytestmark = pytest.mark.page


def checked(config):
    return subprocess.run(["tsc", "--project", str(config)], capture_output=True, text=True, timeout=300)


def test_all_types_hold():
    done = checked(HERE / "tsconfig.json")
    assert done.returncode == 0, done.stdout


def test_a_wrong_type_is_found(tmp_path):
    shutil.copytree(CLIENT, tmp_path / "src" / "hushrec" / "javascript")
    config = tmp_path / "tests" / "javascript"
    config.mkdir(parents=True)
    for name in ("tsconfig.json", "checker.js"):
        shutil.copy(HERE / name, config)
    file = tmp_path / "src" / "hushrec" / "javascript" / "client.js"
    written = file.read_text("utf-8")
    file.write_text(written.replace("this.#required(item)", "this.#required(7)"), encoding="utf-8")
    done = checked(config / "tsconfig.json")
    assert done.returncode
    assert "client.js" in done.stdout
