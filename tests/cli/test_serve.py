import os
import re
import shlex
import shutil
import signal
import socket
import subprocess
import sys
from pathlib import Path

import httpx
import pytest
from typer.main import get_command

from hushrec.cli.app import app
from hushrec.pages import recommender
from hushrec.release.client import Client

COMMAND = [sys.executable, "-c", "from hushrec.cli import main; main()", "serve"]


@pytest.fixture
def served(release):
    """Starts the command on a free port; gives its process and address."""
    started = []

    def start(*more, source=release):
        made = subprocess.Popen(
            [*COMMAND, str(source), "--port", "0", *more],
            stdout=subprocess.PIPE,
            stderr=subprocess.PIPE,
            text=True,
            env={**os.environ, "PYTHONUNBUFFERED": "1"},
        )
        started.append(made)
        line = made.before = ""
        while "http://" not in line:
            line = made.stderr.readline()
            assert line, f"stopped before it served: {made.before}"
            made.before += line
        return made, re.search(r"http://[^ ,]+\d", line)[0]

    yield start
    for made in started:
        made.kill()
        made.wait()
        made.stderr.close()
        made.stdout.close()


def test_a_release_is_served_until_the_service_is_told_to_stop(served, release):
    process, url = served()
    (facts,) = httpx.get(f"{url}/releases.json").json()["releases"]
    assert httpx.get(f"{url}/{facts['url']}").content == release.read_bytes()
    assert httpx.get(url).text.startswith("<!doctype html>")
    answer = httpx.post(f"{url}/lists", json={"n": 2}).raise_for_status().json()
    assert [row["item_id"] for row in answer["rows"]] == [
        row.item_id for row in Client(release).recommend({}, 2)
    ]
    process.send_signal(signal.SIGTERM)
    assert process.wait(20) == -signal.SIGTERM, "as systemd expects"
    assert "Traceback" not in process.stderr.read()


def test_nothing_of_a_request_is_logged(served, release):
    process, url = served()
    known = Client(release).release.items[0]
    with httpx.Client(base_url=url) as client:
        for sent in (
            {"ratings": {known: 5, "unheard-of": 1}},
            {"ratings": {"unheard-of": 1}},
            {"ratings": {"unheard-of": "much"}},
            {"unheard-of": 1},
        ):
            client.post("/lists", json=sent)
        client.post("/lists?unheard-of", content=b"unheard-of")
        client.get("/unheard-of", headers={"Unheard-Of": "x"})
    with socket.create_connection(("127.0.0.1", int(url.rpartition(":")[2])), 10) as line:
        line.sendall(b"unheard-of\r\n\r\n")  # which is no HTTP
        line.recv(1000)
    process.send_signal(signal.SIGTERM)
    out, err = process.communicate(timeout=20)
    assert out == ""
    assert err == ""


@pytest.fixture
def stopped(monkeypatch):
    """Within this process, a server stops as soon as it runs."""
    import uvicorn

    monkeypatch.setattr(uvicorn.Server, "run", lambda self, sockets: sockets[0].close())


@pytest.mark.usefixtures("stopped")
def test_a_site_is_served_as_it_is_and_with_a_key_only_what_it_verifies(served, release, hushrec, refused):
    hushrec("keys new -o owner.key")
    hushrec(f"page {release} -o site")
    assert "is unsigned" in refused("serve site --key owner.pub")
    hushrec(f"keys sign {release} --key owner.key")
    process, _ = served()
    assert "Signatures are not checked: give the owner's key file with --key" in process.before
    hushrec(f"page {release} -o site --key owner.pub")
    process, url = served("--key", "owner.pub", source="site")
    assert "not checked" not in process.before
    for path in Path("site").rglob("*"):
        if path.is_file():
            assert httpx.get(f"{url}/{path.relative_to('site')}").content == path.read_bytes()
    Path("site/ledger.db").touch()
    assert "holds ledger.db" in refused("serve site")


def test_a_folder_without_releases_is_refused(hushrec, here):
    (here / "empty").mkdir()
    assert "holds no release that can be published" in hushrec("serve empty", code=2).err
    assert "cannot be read" in hushrec("serve nowhere", code=2).err
    (here / "empty" / "releases.json").write_text("{}")
    assert (
        "lacks its list of releases; write it again with hushrec page" in hushrec("serve empty", code=2).err
    )


@pytest.mark.usefixtures("stopped")
def test_what_no_page_can_be_made_of_is_served_without(hushrec, release, monkeypatch):
    monkeypatch.setattr(recommender, "LARGEST_RELEASE", 10)
    assert "There is no page: the release has" in hushrec(f"serve {release} --port 0").err


def test_without_the_extra_it_says_what_to_install(hushrec, release, monkeypatch):
    for name in [*sys.modules]:
        if name.startswith(("hushrec.service", "uvicorn")):
            monkeypatch.delitem(sys.modules, name)
    monkeypatch.setitem(sys.modules, "uvicorn", None)
    assert "pip install 'hushrec[serve]'" in hushrec("serve .", code=2).err


def test_what_is_deployed_starts_a_command_that_there_is():
    deploy = Path(__file__).resolve().parents[2] / "deploy"
    unit, week = ((deploy / f"{name}.service").read_text("utf-8") for name in ("hushrec", "hushrec-week"))
    started = [
        re.search(r"hushrec (serve .*)$", unit, re.MULTILINE)[1],
        re.search(r"hushrec (fit .*?) -o", week, re.DOTALL)[1],
    ]
    assert "--key /etc/hushrec/owner.pub" in started[0]
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
