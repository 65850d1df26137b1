import json
import os
import re
import shlex
import shutil
import signal
import subprocess
import sys
from pathlib import Path

import httpx
import pytest
from typer.main import get_command

from hushrec.cli.app import app

COMMAND = [sys.executable, "-c", "from hushrec.cli import main; main()", "serve"]


@pytest.fixture
def served(release, tmp_path):
    """Starts the command on a free port; gives its process and address."""
    started = []

    def start(*more):
        made = subprocess.Popen(
            [*COMMAND, str(release.parent), "--port", "0", *more],
            stderr=subprocess.PIPE,
            text=True,
            env={**os.environ, "PYTHONUNBUFFERED": "1"},
        )
        started.append(made)
        line = made.before = ""
        while "http://" not in line:
            line = made.stderr.readline()
            assert line, "stopped before it served"
            made.before += line
        return made, re.search(r"http://[^ ]+\d", line)[0]

    yield start
    for made in started:
        made.kill()
        made.wait()
        made.stderr.close()


def test_a_release_is_served_until_the_service_is_told_to_stop(served, release):
    process, url = served()
    facts = httpx.get(url + "/releases/latest").json()
    assert httpx.get(url + facts["url"]).content == release.read_bytes()
    process.send_signal(signal.SIGTERM)
    assert process.wait(20) == -signal.SIGTERM, "as systemd expects"
    assert "Traceback" not in process.stderr.read()


def test_without_a_key_it_says_that_signatures_are_not_checked(served, release, hushrec):
    process, _ = served()
    assert "Signatures are not checked: give the owner's key file with --key" in process.before
    hushrec("keys new -o owner.key")
    hushrec(f"keys sign {release} --key owner.key")
    process, url = served("--key", "owner.pub")
    assert "not checked" not in process.before
    assert httpx.get(url + "/releases/latest").json()["signature"]


def test_a_folder_without_releases_is_refused(hushrec, here):
    (here / "empty").mkdir()
    assert "holds no release that can be served" in hushrec("serve empty", code=2).err
    assert "give the folder of the releases" in hushrec("serve nowhere", code=2).err


def test_without_the_extra_it_says_what_to_install(hushrec, release, monkeypatch):
    for name in [*sys.modules]:
        if name.startswith(("hushrec.service", "uvicorn")):
            monkeypatch.delitem(sys.modules, name)
    monkeypatch.setitem(sys.modules, "uvicorn", None)
    assert "pip install 'hushrec[serve]'" in hushrec("serve .", code=2).err


def test_what_is_deployed_starts_a_command_that_there_is():
    deploy = Path(__file__).resolve().parents[2] / "deploy"
    unit, week = ((deploy / f"{name}.service").read_text("utf-8") for name in ("hushrec", "hushrec-week"))
    entry = re.search(r"ENTRYPOINT (.*)$", (deploy / "Containerfile").read_text("utf-8"))[1]
    started = [
        re.search(r"hushrec (serve .*)$", unit, re.MULTILINE)[1],
        " ".join(json.loads(entry)[1:]),
        re.search(r"hushrec (fit .*?) -o", week, re.DOTALL)[1],
    ]
    assert all("--key /etc/hushrec/owner.pub" in line for line in started[:2])
    commands = get_command(app).commands
    for line in started:
        name, *words = shlex.split(line)
        command = commands[name]
        with command.make_context(name, words, resilient_parsing=True) as context:
            command.parse_args(context, words)
        known = {option for parameter in command.params for option in parameter.opts}
        assert {word for word in words if word.startswith("-")} <= known


def test_systemd_takes_the_units(tmp_path):
    verify = shutil.which("systemd-analyze")
    if not verify:
        pytest.skip("systemd is not on this machine")
    deploy = Path(__file__).resolve().parents[2] / "deploy"
    for unit in ("hushrec.service", "hushrec-week.service", "hushrec-week.timer"):
        text = (deploy / unit).read_text("utf-8").replace("/opt/hushrec/bin/hushrec", "/bin/true")
        (tmp_path / unit).write_text(text, "utf-8")
    units = sorted(map(str, tmp_path.iterdir()))
    done = subprocess.run([verify, "verify", *units], capture_output=True, text=True)
    ours = [line for line in done.stderr.splitlines() if "hushrec" in line]
    assert not ours
