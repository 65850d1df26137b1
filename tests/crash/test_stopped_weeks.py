"""kill -9 at every point between the charge and the file: with the default checkpoint no budget is lost."""

import json
import os
import subprocess
import sys
from pathlib import Path
from typing import Any

import pytest

import hushrec as hr
from hushrec.privacy.ledger.ledger import Ledger
from support.units import DEPLOY, command, settings

POINTS = (
    "after-key",
    "after-bind",
    "before-charge",
    "inside-charge",
    "after-charge",
    "after-sample",
    "inside-keep",
    "after-keep",
    "inside-store",
    "after-store",
    "after-file",
    "after-publish",
    "after-shred",
)
ROUNDS = 40


@pytest.fixture
def url(postgres) -> str:
    return str(postgres.url(postgres.database()))


def created(place: str, weeks: int) -> None:
    total = hr.Budget(epsilon=4.0, delta=1e-6, unit="user", adjacency="add-remove")
    Ledger.create(place, total, max_releases=weeks)


def lived(folder: Path, place: str, weeks: int, fault: str | None = None, start: int = 0) -> dict[str, Any]:
    """What becomes of so many weekly fits, each of which is killed once, at the next of the points."""
    points = [POINTS[(start + week) % len(POINTS)] for week in range(weeks)]
    script = Path(__file__).with_name("stopped_weeks.py")
    done = subprocess.run(
        [sys.executable, "-W", "ignore", script, folder, place],
        input=json.dumps([points, fault]),
        capture_output=True,
        text=True,
    )
    assert done.returncode == 0, done.stderr
    found: dict[str, Any] = json.loads(done.stdout)
    return found


def nothing_was_lost(found: dict[str, Any], weeks: int) -> bool:
    """Every week was killed, has its release under one charge and one noise, and leaves nothing behind."""
    whole = all(
        week["statuses"] == [-9, 0] and week["charges"] == 1 and week["file"] and not week["drawn twice"]
        for week in found["weeks"]
    )
    # Killed after its file was written, a release stays marked as stored; the next fit clears up.
    states = set(found["states"]) <= {"published", "sampled"}
    return bool(whole and states and len(found["states"]) == weeks and found["left"] <= 1)


@pytest.mark.full
def test_no_week_is_lost_whenever_its_fit_is_killed(tmp_path: Path) -> None:
    place = str(tmp_path / "ledger.db")
    created(place, len(POINTS))
    found = lived(tmp_path, place, len(POINTS))
    assert nothing_was_lost(found, len(POINTS)), found


@pytest.mark.full
def test_forty_kills_lose_nothing_in_a_file(tmp_path: Path) -> None:
    place = str(tmp_path / "ledger.db")
    created(place, ROUNDS)
    found = lived(tmp_path, place, ROUNDS)
    assert nothing_was_lost(found, ROUNDS), found


@pytest.mark.full
@pytest.mark.postgres
def test_forty_kills_lose_nothing_in_a_database(url: str, tmp_path: Path) -> None:
    created(url, ROUNDS)
    found = lived(tmp_path, url, ROUNDS)
    assert nothing_was_lost(found, ROUNDS), found


@pytest.mark.parametrize("fault", ["other noise", "no checkpoint"])
@pytest.mark.full
def test_a_planted_fault_is_found(tmp_path: Path, fault: str) -> None:
    place = str(tmp_path / "ledger.db")
    created(place, 3)
    after_sample = POINTS.index("after-sample")
    assert not nothing_was_lost(lived(tmp_path, place, 1, fault, start=after_sample), 1)


def started(unit: str, folder: Path, point: str = "") -> int:
    """Run what a unit starts, as systemd does, in a folder in place of the curator's; returns its status."""
    *shell, line = command(settings(unit))
    program = f"{sys.executable} {Path(sys.executable).with_name('hushrec')}"
    line = line.replace("/opt/hushrec/bin/hushrec", program)
    environment = {**os.environ, "HUSHREC_FAILPOINT": point}
    return subprocess.run([*shell, line], cwd=folder, env=environment, capture_output=True).returncode


@pytest.mark.parametrize("point", ["after-charge", "after-keep", "after-store"])
@pytest.mark.full
def test_the_weekly_unit_is_started_again_and_resumes(tmp_path: Path, point: str) -> None:
    unit = (DEPLOY / "hushrec-week.service").read_text("utf-8")
    clicks = hr.synthetic.interactions(users=60, items=20, interactions=900, seed=1)
    clicks.domain.save(tmp_path / "domain.json")
    clicks.to_polars().write_csv(tmp_path / "clicks.csv")
    created(str(tmp_path / "ledger.db"), 3)
    status = started(unit, tmp_path, point)
    assert status == -9
    assert "Restart=on-abnormal" in unit.splitlines(), "a signal starts it again, a refusal does not"
    assert started(unit, tmp_path) == 0
    ledger = Ledger.open(tmp_path / "ledger.db")
    assert {entry.charge: entry.state for entry in ledger.entries()} == {1: "published"}
    assert len([*tmp_path.glob("week-*.safetensors")]) == 1
    assert not (tmp_path / "ledger.db.checkpoints").exists()
    clicks.to_polars().slice(1).write_csv(tmp_path / "clicks.csv")
    assert started(unit, tmp_path) > 0, "the week's file is there: nothing is charged twice"
    assert len({entry.charge for entry in ledger.entries()}) == 1
