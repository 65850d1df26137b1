"""Units of ``deploy/`` under the mounts that they ask for: read-only but for the folders that they name."""

import re
import shlex
import shutil
import subprocess
from pathlib import Path

import pytest
from pyarrow import csv
from typer.main import get_command

import hushrec as hr
from hushrec.cli.app import app
from hushrec.privacy.ledger.ledger import Ledger
from support import units

DEPLOY = Path(__file__).resolve().parents[1] / "deploy"
needs_mounts = pytest.mark.skipif(not units.mounts(), reason=units.UNMOUNTABLE)


@pytest.fixture
def curator(tmp_path):
    """The curator's folder, with clicks, a domain and a ledger for three weeks."""
    folder = tmp_path / "curator"
    folder.mkdir()
    clicks = hr.synthetic.interactions(users=60, items=20, interactions=900, seed=1)
    clicks.domain.save(folder / "domain.json")
    csv.write_csv(clicks.table(), folder / "clicks.csv")
    total = hr.Budget(epsilon=4.0, delta=1e-6, unit="user", adjacency="add-remove")
    Ledger.create(folder / "ledger.db", total, max_releases=3)
    return folder


@needs_mounts
@pytest.mark.full
@pytest.mark.parametrize(
    "kept", [True, False], ids=["as it is", "with nothing to write to but its own folder"]
)
def test_the_weekly_unit_makes_its_release_under_its_own_mounts(curator, tmp_path, kept):
    unit, cache = units.service("hushrec-week.service"), tmp_path / "cache"
    cache.mkdir()
    if not kept:
        del unit["CacheDirectory"], unit["Environment"], unit["PrivateTmp"]
    done = units.started(unit, curator, cache)
    assert done.returncode == 0, done.stderr
    assert len([*curator.glob("week-*.safetensors")]) == 1
    assert len(Ledger.open(curator / "ledger.db").state().charges) == 1
    assert bool([*cache.rglob("*.nbc")]) == kept


@needs_mounts
def test_the_mounts_are_what_the_unit_asks_for(tmp_path):
    unit, cache = units.service("hushrec-week.service"), tmp_path / "cache"
    (tmp_path / "curator").mkdir()
    cache.mkdir()
    places = "/opt/hushrec /usr /root /home /srv /srv/curator /var/cache/hushrec /tmp"
    unit["ExecStart"] = [f"/bin/sh -c 'for p in {places}; do touch $p/x 2>&- && echo $p; done; true'"]
    done = units.started(unit, tmp_path / "curator", cache)
    assert (done.stdout.split(), done.stderr) == (["/srv/curator", "/var/cache/hushrec", "/tmp"], "")
    assert (cache / "x").exists()


def test_the_unit_starts_a_command_that_there_is():
    week = (DEPLOY / "hushrec-week.service").read_text("utf-8")
    name, *words = shlex.split(re.search(r"hushrec (fit .*?) -o", week, re.DOTALL)[1])
    command = get_command(app).commands[name]
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
