"""Search for a rating that moves the sums of people by more than Δ: there is none."""

from functools import partial

import numpy as np
import pytest

from hushrec.sums.residuals import PeopleSums
from support.people import SCALES

ADJACENCIES = ["add-remove", "replace"]


@pytest.mark.parametrize("scale", SCALES, ids=str)
@pytest.mark.parametrize("adjacency", ADJACENCIES)
@pytest.mark.parametrize("overall", [False, True])
def test_no_neighbours_move_peoples_sums_by_more_than_their_sensitivity(search, scale, adjacency, overall):
    domain = search.domain(3, 3, scale)
    lo, hi, _ = scale
    largest = {}
    for norm, effects, part in (
        ("l1", [lo, hi, (lo + hi) / 2], 0.5),
        ("l2", [hi, hi, lo + 0.3], 1.0),
        ("l1", [lo, lo, hi], 0.11),
    ):
        sums = PeopleSums(domain, adjacency, norm, (hi - lo) * (1.0 if overall else part), overall)
        worst = search.exhaustive(domain, adjacency, partial(sums.measure, item_effects=np.array(effects)))
        assert max(worst.values()) <= 1
        largest = {name: max(largest.get(name, 0), ratio) for name, ratio in worst.items()}
    assert largest.pop("user counts") == (adjacency == "add-remove")
    assert min(largest.values()) > 0.9, "a bound this loose would not have noticed a fault"
