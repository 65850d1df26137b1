"""The examples as a newcomer has them: a copy of a folder, and the commands of its README."""

import os
import re
import shutil
import subprocess
import sys
from pathlib import Path

ROOT = Path(__file__).resolve().parents[2]
LEFT_OVER = shutil.ignore_patterns(
    *("week-*", "ledger.db*", "owner.*", "public", "node_modules", "package-lock.json", "*.safetensors"),
    "__pycache__",
)
"""Files that a run of the examples in the repository itself has written."""


def copied(name, folder):
    """A copy of an example in a folder with the sources of hushrec where the repository has them."""
    if not (folder / "src").exists():
        (folder / "src").symlink_to(ROOT / "src")
    return Path(shutil.copytree(ROOT / "examples" / name, folder / "examples" / name, ignore=LEFT_OVER))


def blocks(example, language):
    """The blocks of code of one language in an example's README."""
    text = (example / "README.md").read_text("utf-8")
    return re.findall(rf"^```{language}\n(.*?)^```", text, re.MULTILINE | re.DOTALL)


def environment():
    """The environment of a shell in which hushrec is installed."""
    return {**os.environ, "PATH": f"{Path(sys.executable).parent}{os.pathsep}{os.environ['PATH']}"}


def typed(commands, example):
    """Run commands in an example's folder, and return what they print."""
    done = subprocess.run(
        ["sh", "-e", "-c", commands],
        cwd=example,
        env=environment(),
        capture_output=True,
        text=True,
        timeout=300,
    )
    assert done.returncode == 0, done.stdout + done.stderr
    return done.stdout
