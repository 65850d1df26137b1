import numpy as np
import pytest

from lab.du_leighton_patel import likelihood


@pytest.fixture(autouse=True)
def small(monkeypatch):
    monkeypatch.setattr(likelihood, "PEOPLE", 20)
    monkeypatch.setattr(likelihood, "EACH", 200)
    monkeypatch.setattr(likelihood, "SLOTS", 4000)


def test_what_is_found_is_below_what_is_true():
    """The lower bound is above the truth once in 1e9 of each of a few hundred pairs."""
    rows = [row for t in likelihood.work().cases() for row in likelihood.Simulation().measure(t)]
    assert len(rows) == 10
    assert all(0 < row["proven"] < row["true"] for row in rows)
    assert rows[0]["true"] == pytest.approx(np.log(5))  # published, where nothing is claimed


def test_a_leak_is_found():
    assert likelihood.found(np.array([[10_000, 100], [100, 10_000]])) > 4
    assert likelihood.found(np.array([[10_000, 10_000], [10_000, 10_000]])) < 0
