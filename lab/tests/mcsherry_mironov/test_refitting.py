import math
from dataclasses import dataclass, replace

import numpy as np
import pytest

from hushrec.data.synthetic import netflix_like
from lab.experiments.source import Split
from lab.mcsherry_mironov import refitting

SPLIT = Split(kind="holdout", fraction=0.2, splits=1)
CURVES = {"kNN, raw": ("McSherryKNN", "none"), "SVD, cleaned": ("McSherrySVD", "shrink")}


@dataclass(frozen=True)
class Made:
    """Generated ratings, of which the test part may be told wrong."""

    wrong: bool = False
    title: str = "made up"

    def load(self):
        made = netflix_like(users=150, items=30, ratings=2500, seed=3)
        if not self.wrong:
            return made
        test = SPLIT.parts(replace(made, timestamps=np.arange(made.n_entries)), 0).test.timestamps
        steps = made.values.copy()
        steps[test] = steps.max() - steps[test]
        return replace(made, values=steps)


def row(name, theta, data=None):
    work = refitting.work(data or Made(), SPLIT, (theta,), CURVES)
    (trial,) = (trial for trial in work.cases() if trial.name == name)
    (found,) = work.bench().measure(trial)
    return {"name": name, **trial.settings, **found}


def test_a_walk_ends_where_no_single_step_improves():
    seen = []

    def error(place):
        seen.append(place)
        return (place[0] - 3) ** 2 + (place[1] + 2) ** 2 + place[0] * place[1] / 2

    steps = [range(-9, 10), range(-9, 10)]
    best = min((error((i, j)), (i, j)) for i in steps[0] for j in steps[1])[1]
    seen.clear()
    assert refitting.descend(error, steps) == best == (4, -3)
    assert len(seen) < 40
    assert refitting.descend(error, [range(0, 3), range(0, 1)]) == (2, 0)


def test_much_noise_asks_for_a_larger_ridge_and_forgives_a_raw_covariance():
    noisy, exact = row("kNN, raw", 2.0), row("kNN, raw", None)
    assert noisy["ridge"] > 20 * exact["ridge"]
    assert noisy["looks"] > math.log2(noisy["ridge"])


@pytest.mark.parametrize("name", CURVES)
def test_the_test_part_chooses_nothing(name):
    usual, wrong = row(name, 10.0), row(name, 10.0, Made(wrong=True))
    for column in ("ridge", "diagonal", "rest", "looks", "held_rmse"):
        assert usual[column] == wrong[column]
    assert usual["rmse"] != wrong["rmse"]
