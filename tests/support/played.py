"""Plays of ``tests/crash/stopped.py``: fits that are stopped, in processes of their own."""

import json
import subprocess
import sys
from pathlib import Path
from typing import Any

SCRIPT = Path(__file__).parents[1] / "crash" / "stopped.py"


def played(root: Path, plays: dict[str, dict[str, Any]]) -> dict[str, dict[str, Any]]:
    """What became of each play, by its name."""
    done = subprocess.run(
        [sys.executable, "-W", "ignore", SCRIPT, root],
        input=json.dumps(plays),
        capture_output=True,
        text=True,
    )
    assert done.returncode == 0, done.stderr
    return {name: found | {"said": done.stderr} for name, found in json.loads(done.stdout).items()}


def one_release(found: dict[str, Any]) -> bool:
    """There is one release, written and stored, under one charge, and every measurement has one value."""
    return bool(
        (found["charges"], found["states"], found["second values"]) == (1, ["made"], [])
        and found["stored"] == [found["written"]]
        and found["measured"] > 0
    )
