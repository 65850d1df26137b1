"""kill -9 in the middle of a fit with a checkpoint: it goes on under the same charge, to the same bytes."""

import json
import os
import signal
import subprocess
import sys
import time
from pathlib import Path
from typing import Any

import pytest

from hushrec.errors import CheckpointError
from hushrec.privacy.checkpoint.checkpoint import Checkpoint

pytestmark = pytest.mark.filterwarnings("ignore:This process .* is multi-threaded:DeprecationWarning")

POINTS: dict[str, dict[str, Any]] = {
    name: {"point": name}
    for name in (
        "after-key",
        "after-bind",
        "before-charge",
        "inside-charge",
        "after-charge",
        "after-mark",
        "after-sample",
        "inside-keep",
        "after-keep",
        "inside-store",
        "after-store",
        "after-publish",
    )
} | {
    "in the last round": {"point": "after-sample", "passes": 7},
    "while it is kept": {"point": "inside-keep", "passes": 6},
    "between two rounds": {"point": "after-keep", "passes": 6},
    "in a slot": {"point": "after-keep", "passes": 5, "release_index": 0},
    "after-shred": {"point": "after-shred", "release_index": 0},
}
"""UserLevelSGD of three rounds: four measurements of averages, then a gradient a round."""

WHOLE: dict[str, dict[str, Any]] = {
    "uninterrupted": {"delays": []},
    "uninterrupted in a slot": {"delays": [], "release_index": 0},
}

FAULTS: dict[str, dict[str, Any]] = {
    "a fresh key": {"point": "after-keep", "passes": 6, "fault": "fresh key"},
    "other noise": {"point": "after-sample", "passes": 6, "fault": "keys of the process"},
}


def played(root: Path, scenarios: dict[str, dict[str, Any]]) -> dict[str, dict[str, Any]]:
    script = Path(__file__).with_name("going_on.py")
    done = subprocess.run(
        [sys.executable, script, root], input=json.dumps(scenarios), capture_output=True, text=True
    )
    assert done.returncode == 0, done.stderr
    found: dict[str, dict[str, Any]] = json.loads(done.stdout)
    return found


@pytest.fixture(scope="module")
def outcomes(tmp_path_factory: pytest.TempPathFactory) -> dict[str, dict[str, Any]]:
    return played(tmp_path_factory.mktemp("fits"), WHOLE | POINTS | FAULTS)


def whole_of(outcomes: dict[str, dict[str, Any]], scenario: dict[str, Any]) -> dict[str, Any]:
    """The fit that nobody killed; the slot that is asked for is part of what the noise depends on."""
    return outcomes["uninterrupted in a slot" if "release_index" in scenario else "uninterrupted"]


def went_on(outcome: dict[str, Any], whole: dict[str, Any]) -> bool:
    """One charge, one release, the bytes of a fit that nobody killed, and nothing left behind."""
    once = outcome["charges"] == 1 and outcome["spent once"] and not outcome["left"]
    return once and outcome["release"] == whole["release"]


@pytest.mark.full
def test_an_uninterrupted_fit_removes_its_checkpoint(outcomes: dict[str, dict[str, Any]]) -> None:
    for whole in (outcomes[name] for name in WHOLE):
        assert (whole["statuses"], whole["states"]) == ([0], ["published"])
        assert went_on(whole, whole)


@pytest.mark.parametrize("name", POINTS)
def test_a_killed_fit_goes_on_to_the_same_bytes(outcomes: dict[str, dict[str, Any]], name: str) -> None:
    outcome = outcomes[name]
    assert outcome["statuses"] == [-signal.SIGKILL, 0]
    own_key = name == "after-key"  # all others start with the key of the uninterrupted fit
    assert went_on(outcome, outcome if own_key else whole_of(outcomes, POINTS[name]))
    assert outcome["states"] == ["published"]


def test_what_was_released_was_on_disk_at_the_kill(outcomes: dict[str, dict[str, Any]]) -> None:
    kept = {name: outcomes[name]["states kept"] for name in POINTS}
    assert (kept["after-sample"], kept["inside-keep"], kept["after-keep"]) == (0, 0, 1)
    assert (kept["in the last round"], kept["while it is kept"], kept["between two rounds"]) == (6, 5, 6)


@pytest.mark.parametrize("fault", FAULTS)
def test_a_planted_fault_is_found(outcomes: dict[str, dict[str, Any]], fault: str) -> None:
    outcome = outcomes[fault]
    assert outcome["statuses"] == [-signal.SIGKILL, 0]
    assert not went_on(outcome, outcomes["uninterrupted"])
    assert (outcome["charges"] == 2) == (fault == "a fresh key")


def test_every_failpoint_of_a_checkpoint_is_rehearsed(crash) -> None:
    assert set(crash.of_checkpoints) < {scenario["point"] for scenario in POINTS.values()}


@pytest.mark.full
def test_kills_at_any_moment_end_in_the_same_bytes(tmp_path: Path) -> None:
    hounds = {
        f"hounded {n}": {"delays": [0.01 + 0.007 * ((7 * n + k) % 31) for k in range(6)], "release_index": 0}
        for n in range(12)
    }
    found = played(tmp_path, WHOLE | hounds)
    whole = whole_of(found, {"release_index": 0})
    assert all(went_on(found[name], whole) and found[name]["statuses"][-1] == 0 for name in hounds)
    assert sum(found[name]["statuses"].count(-signal.SIGKILL) for name in hounds) > 12


def test_two_processes_are_refused_and_a_dead_one_is_no_obstacle(tmp_path: Path, crash) -> None:
    folder, ready = tmp_path / "checkpoint", tmp_path / "ready"

    def work() -> None:
        checkpoint = Checkpoint(folder)
        ready.touch()
        time.sleep(60)
        checkpoint.close()

    child = crash.fork(work)
    deadline = time.monotonic() + 30
    while not ready.exists():
        assert time.monotonic() < deadline
        time.sleep(0.01)
    with pytest.raises(CheckpointError, match="another process is using"):
        Checkpoint(folder)
    os.kill(child, signal.SIGKILL)
    assert crash.status(child) == crash.killed
    Checkpoint(folder).close()
