"""The types in the comments of the client in JavaScript hold: TypeScript's compiler checks them."""

import subprocess
from pathlib import Path

import pytest

HERE = Path(__file__).parent
pytestmark = pytest.mark.page


def checked(config):
    return subprocess.run(["tsc", "--project", str(config)], capture_output=True, text=True, timeout=300)


def test_all_types_hold():
    done = checked(HERE / "tsconfig.json")
    assert done.returncode == 0, done.stdout
