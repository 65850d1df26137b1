import math

import polars as pl
import pytest

from lab.experiments.runner import Experiment
from lab.reproduction import Trial, Trials, mean


class Doubles:
    """A bench; 3 fails until it is mended."""

    def __init__(self, mended=True):
        self.mended, self.seen = mended, []

    def open(self):
        pass

    def measure(self, trial):
        self.seen.append(trial.name)
        if trial.settings["x"] == 3 and not self.mended:
            raise ArithmeticError("three")
        return [{"times": times, "found": times * trial.settings["x"]} for times in (1, 2)]


TYPES = {"x": pl.Int64, "times": pl.Int64, "found": pl.Int64}
TRIALS = [Trial(f"x = {x}", {"x": x}) for x in (4, 3, 5)]


def test_a_trial_has_several_rows_and_is_made_once(tmp_path):
    first = Experiment(Trials(TRIALS, Doubles(mended=False), TYPES), tmp_path / "out.parquet")
    assert [done.error for done in first.run()] == [None, "ArithmeticError: three", None]
    first.table()
    bench = Doubles()
    again = Experiment(Trials(TRIALS, bench, TYPES), tmp_path / "out.parquet")
    list(again.run())
    assert bench.seen == ["x = 3"]
    table = again.table()
    assert table.select("name", "times", "found").rows() == [
        (f"x = {x}", times, times * x) for x in (4, 3, 5) for times in (1, 2)
    ]


def test_a_key_changes_with_the_settings_and_not_with_the_name():
    keys = {trial.key({}) for trial in TRIALS}
    assert len(keys) == 3
    assert Trial("other", {"x": 4}).key({}) in keys


def test_a_mean_has_students_interval_over_seeds():
    assert mean([1.0, 2.0, 3.0]) == pytest.approx((2.0, 4.303 / math.sqrt(3)), rel=1e-3)
    centre, half = mean([5.0])
    assert centre == 5
    assert math.isnan(half)
