"""The step of the grid that is added to each Δ: with it nobody moves a sum by more, without it somebody does.

A step is some 1e-9 of Δ, so distances are compared in exact arithmetic.
"""

import itertools

import numpy as np
import pytest

from hushrec.models.mcsherry_mironov.sums import CovarianceSums
from hushrec.sums import sensitivity
from support.sums import summed


def moved_matrices(search, unit, adjacency, norm):
    """What a neighbour moves of a sum of others that lies anywhere between two steps of its grid."""
    n, company = (2, 1) if unit == "user" else (1, 2)
    chosen = {"clip": 0.3, "limit": 2.0, "reg": 1, "contribution_cap": 1.7, "offset": 5.0, "threads": 1}
    sums = CovarianceSums(search.domain(n, 1 + company), unit, adjacency, norm, **chosen)
    nobody, worst = (None,) * n, 0.0
    rows = [*itertools.product([None, 0, 2, 4], repeat=n)]
    for others in itertools.product(rows, repeat=company):
        made = {}
        for row in rows:
            people = search.people(sums.domain, [row, *others])
            made[row] = next(summed(sums.measure(people, np.array([1.0, 4.3][:n]), 0.0)))
        for one, other in itertools.combinations(rows, 2):
            if (nobody in (one, other)) == (adjacency == "add-remove"):
                (query, here), (_, there) = made[one], made[other]
                worst = max(worst, search.exceeds(query, here, there))
    return worst


@pytest.mark.parametrize("norm", ["l2", "l1"])
@pytest.mark.parametrize(
    ("unit", "adjacency", "rule"),
    [
        ("record", "add-remove", "matrix_add_remove"),
        ("record", "replace", "matrix_replace"),
        ("user", "add-remove", "matrix_user"),
    ],
)
def test_the_step_of_the_grid_is_needed_for_covariances(search, unit, adjacency, rule, norm, monkeypatch):
    assert moved_matrices(search, unit, adjacency, norm) <= 1
    bound = getattr(sensitivity, rule)

    def without(weights, most, unit, norm, **moved):
        return bound(weights, most, 0.0, norm, **moved)

    monkeypatch.setattr(sensitivity, rule, without)
    assert moved_matrices(search, unit, adjacency, norm) > 1
