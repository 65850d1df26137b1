"""A series whose process is killed: no part is measured twice, and nobody is forgotten."""

import os
import signal
import subprocess
import sys

import pytest

import hushrec as hr
from hushrec.privacy.failpoints import VARIABLE

TOTAL = hr.Budget(epsilon=4.0, delta=1e-6, unit="user", adjacency="add-remove")
NEXT = """
import sys, hushrec as hr
ratings = hr.synthetic.netflix_like(40, 8, 160, 1)
hr.fit(ratings, hr.GlobalEffects(), series=sys.argv[1] + "/year", ledger=sys.argv[1] + "/ledger.db")
"""


def run(folder, kill=""):
    return subprocess.run(
        [sys.executable, "-c", NEXT, folder], env={**os.environ, VARIABLE: kill}, check=False
    ).returncode


@pytest.mark.parametrize(
    ("kill", "part", "place"),
    [("before-charge", 1, 1), ("after-charge", 2, 2), ("after-sample", 2, 2), ("after-store", 2, 2)],
)
@pytest.mark.full
def test_the_part_that_was_charged_is_the_last_of_its_number(tmp_path, kill, part, place):
    ledger = hr.Ledger.create(tmp_path / "ledger.db", TOTAL, 5)
    ratings = hr.synthetic.netflix_like(40, 8, 160, 1)

    def following(**index):
        return hr.fit(ratings, hr.GlobalEffects(), series=tmp_path / "year", ledger=ledger, **index)

    following()
    assert run(str(tmp_path), kill) == -signal.SIGKILL
    made = following().statement.ledger
    assert (made["part"], made["release_index"]) == (part, place)
    assert ledger.spent.epsilon(1e-6) == pytest.approx(4, abs=2e-3)
    if kill == "after-store":  # its release was stored, but never returned
        assert following(release_index=1).statement.ledger["part"] == 1
