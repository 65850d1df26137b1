"""What released averages leave of a rating, on its grid, and how far one rating moves it."""

import numpy as np
import pytest

from hushrec.sums.residuals import Residuals
from support.people import SCALES


def test_residuals_are_ratings_less_both_effects_clamped(search):
    domain = search.domain(3, 3)
    found = Residuals(domain, "add-remove", 1.5)
    rows = [(0, 4, None), (None, None, None), (2, None, 3)]
    items, people = np.array([3.0, 4.5, 1.25]), np.array([0.5, 9.0, -0.25])
    entries = found.entries(search.people(domain, rows), items, people)
    assert entries.indptr.tolist() == [0, 2, 2, 4], "somebody without ratings has a row"
    assert entries.columns.tolist() == [0, 1, 0, 2]
    # 1 − 3 − 0.5 is below the clip, 4 − 1.25 + 0.25 above it.
    assert (entries.values * found.grid.step).tolist() == [-1.5, 0.0, 0.25, 1.5]


@pytest.mark.parametrize("scale", SCALES, ids=str)
@pytest.mark.parametrize("part", [0.1, 0.5, 0.7, 1.0])
def test_a_change_is_twice_the_clip_or_the_whole_scale(search, scale, part):
    """One rating from end to end, around an effect where that weighs most; no less would do."""
    domain = search.domain(1, 1, scale)
    lo, hi, _ = scale
    largest = {"add-remove": 0.0, "replace": 0.0}
    for effect in (lo, (lo + hi) / 2, hi):
        sums = Residuals(domain, "replace", part * (hi - lo))
        ends = [
            int(sums.entries(search.people(domain, [(step,)]), np.array([effect]), np.zeros(1)).values[0])
            for step in (0, domain.scale.n_values - 1)
        ]
        largest["replace"] = max(largest["replace"], (ends[1] - ends[0]) * sums.grid.step)
        largest["add-remove"] = max(largest["add-remove"], *(abs(end) * sums.grid.step for end in ends))
    for adjacency, moved in largest.items():
        assert moved == Residuals(domain, adjacency, part * (hi - lo)).change
