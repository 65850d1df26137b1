"""Units of ``deploy/`` under the mounts that they ask for: read-only but for the folders that they name."""

import re
import shlex
import shutil
import subprocess
from pathlib import Path

import pytest
from typer.main import get_command

from hushrec.cli.app import app

DEPLOY = Path(__file__).resolve().parents[1] / "deploy"


def test_the_unit_starts_a_command_that_there_is():
    week = (DEPLOY / "hushrec-week.service").read_text("utf-8")
    name, *words = shlex.split(re.search(r"hushrec (fit .*?) -o", week, re.DOTALL)[1])
    command = get_command(app).get_command(None, name)
    with command.make_context(name, words, resilient_parsing=True) as context:
        command.parse_args(context, words)
    known = {option for parameter in command.params for option in parameter.opts}
    assert {word for word in words if word.startswith("-")} <= known


def test_systemd_takes_the_units(tmp_path):
    verify = shutil.which("systemd-analyze")
    if not verify:
        pytest.skip("systemd is not on this machine")
    for unit in ("hushrec-week.service", "hushrec-week.timer"):
        text = (DEPLOY / unit).read_text("utf-8").replace("/opt/hushrec/bin/hushrec", "/bin/true")
        (tmp_path / unit).write_text(text, "utf-8")
    paths = sorted(map(str, tmp_path.iterdir()))
    done = subprocess.run([verify, "verify", *paths], capture_output=True, text=True)
    ours = [line for line in done.stderr.splitlines() if "hushrec" in line]
    assert not ours
