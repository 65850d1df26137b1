"""kill -9 of a data set: it resumes under its charge, with what was drawn before."""

import json
import subprocess
import sys
from pathlib import Path

import pytest

BEFORE = ("after-key", "after-bind", "before-charge", "inside-charge")
CHARGED = ("after-charge", "after-sample", "inside-store", "after-store")


@pytest.fixture(scope="module")
def outcomes(tmp_path_factory):
    script = Path(__file__).with_name("killed_data.py")
    folder = tmp_path_factory.mktemp("killed")
    done = subprocess.run(
        [sys.executable, "-W", "ignore", script, folder, *BEFORE, *CHARGED], capture_output=True, text=True
    )
    assert done.returncode == 0, done.stderr
    return json.loads(done.stdout)


@pytest.mark.parametrize("point", [*BEFORE, *CHARGED])
@pytest.mark.full
def test_a_kill_loses_no_budget_and_draws_nothing_twice(outcomes, point):
    found = outcomes[point]
    assert found["statuses"] == [-9, 0]
    assert (found["charges"], found["states"], found["drawn twice"]) == (1, ["published"], [])
    assert (found["written"], found["left"]) == (True, 0)


@pytest.mark.full
def test_what_was_drawn_before_the_kill_is_drawn_again(outcomes):
    assert outcomes["after-sample"]["draws"] == 2
    assert outcomes["after-charge"]["draws"] == 1
