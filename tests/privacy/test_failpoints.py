"""A crash is rehearsed where the environment names it, and nowhere else."""

import os
import signal

import pytest

from hushrec.privacy import failpoints
from hushrec.privacy.failpoints import VARIABLE, failpoint


@pytest.fixture
def killed(monkeypatch: pytest.MonkeyPatch) -> list[tuple[int, int]]:
    """What would have been killed."""
    calls: list[tuple[int, int]] = []
    monkeypatch.setattr(failpoints.os, "kill", lambda *call: calls.append(call))
    return calls


def test_the_process_dies_at_the_point_that_is_named(
    killed: list[tuple[int, int]], monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setenv(VARIABLE, "after-charge")
    failpoint("before-charge")
    failpoint("after")
    assert killed == []
    failpoint("after-charge")
    assert killed == [(os.getpid(), signal.SIGKILL)]


def test_without_its_variable_nothing_dies(
    killed: list[tuple[int, int]], monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.delenv(VARIABLE, raising=False)
    failpoint("after-charge")
    monkeypatch.setenv(VARIABLE, "")
    failpoint("after-charge")
    assert killed == []
