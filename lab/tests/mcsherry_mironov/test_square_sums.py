"""A matrix under noise on all d² entries: its law, and its Δ against neighbours that are searched."""

import math
from dataclasses import fields

import numpy as np
import pytest

from hushrec.data.domain import Domain
from hushrec.data.people import People
from hushrec.kernels.csr import diagonal_positions, packed_size, unpack
from hushrec.models.mcsherry_mironov.sums import CovarianceSums
from hushrec.privacy.accounting.budget import Unprotected
from hushrec.privacy.accounting.measurement import Measurement
from hushrec.privacy.noise.entropy import Seeded
from lab.paper import PaperRun, SquareSum
from lab.published import McSherrySVD
from support.sums import summed

N, STEP = 200, 2.0**-8
SIZE = packed_size(N)
DIAGONAL = np.isin(np.arange(SIZE), diagonal_positions(N))
UNITS = [("record", "add-remove"), ("record", "replace"), ("user", "add-remove")]


def run(event):
    return PaperRun(terms=Unprotected("record", "add-remove"), printed={event.name: event}, keys=Seeded(3))


@pytest.mark.parametrize("norm", ["l2", "l1"])
def test_a_pair_has_the_mean_of_two_draws_and_the_diagonal_one(norm):
    event, steps = Measurement("square", 1.0, norm, STEP, SIZE, noise=3.0), np.arange(SIZE)
    found = run(event).measure(SquareSum("square", 1.0, norm, STEP, SIZE), steps)
    both = run(event)
    upper, lower = (both.measure(event.listed, steps).values for _ in range(2))
    np.testing.assert_array_equal(found.values, np.where(DIAGONAL, upper, (upper + lower) / 2))
    assert found.sigma == event.deviation / math.sqrt(2)
    off = (found.values - steps * STEP)[~DIAGONAL]
    # Of 19,900 draws; the mean square is seven deviations away about once in 1e11 seeds.
    assert np.mean(off**2) == pytest.approx(found.sigma**2, rel=7 * math.sqrt(5 / off.size))


def test_what_neighbours_agree_on_stays_exact():
    steps = np.arange(SIZE)
    event = Measurement("square", 1.0, "l2", STEP, SIZE, noise=3.0)
    found = run(event).measure(SquareSum("square", 0.0, "l2", STEP, SIZE), steps)
    np.testing.assert_array_equal(found.values, steps * STEP)


def ratings_of(domain, row):
    """One user's ratings, given as stars by item; 0 where there is none."""
    items = np.flatnonzero(row)
    return People(
        domain,
        ["u"][: items.size],
        np.array([0, items.size][: 1 + items.size]),
        items.astype(np.int32),
        (row[items] - 1).astype(np.uint8),
    )


def moved(sums, one, other, released):
    """Name → distance of the whole matrices of one user's rows, its Δ, and Δ of the triangle."""
    made = [
        {query.name: (query, values) for query, values in summed(sums.measure(people, *released))}
        for people in (ratings_of(sums.domain, row) for row in (one, other))
    ]
    settings = {field.name: getattr(sums, field.name) for field in fields(sums)}
    triangle = {query.name: query.sensitivity for query in CovarianceSums(**settings).queries()}
    for name, (query, values) in made[0].items():
        change = np.abs(unpack((values - made[1][name][1]) * query.step, sums.n_items))
        size = change.sum() if query.norm == "l1" else np.sqrt((change**2).sum())
        yield size, query.sensitivity, triangle[name]


@pytest.mark.parametrize(("unit", "adjacency"), UNITS)
@pytest.mark.parametrize("noise", ["gaussian", "laplace"])
def test_no_neighbours_move_a_whole_matrix_by_more_than_its_sensitivity(unit, adjacency, noise):
    n, rng = 40, np.random.default_rng(5)
    domain = Domain(range(n), scale=(1, 5, 1), max_users=100, max_per_user=n)
    sums = McSherrySVD(noise=noise)._covariance(domain, Unprotected(unit, adjacency))
    within = beyond = 0.0
    for rated in (1, 2, 5, 20, 39) * 12:
        one, effects = np.zeros(n, dtype=np.int64), np.full(n, rng.choice([1.0, 3.0, 5.0]))
        one[:rated] = rng.choice([1, 5], rated) if rng.random() < 0.5 else rng.choice([1, 5])
        other = np.zeros_like(one) if unit == "user" else one.copy()
        if unit == "record":
            other[0 if adjacency == "replace" else rated] = 6 - one[0]
            effects[0 if adjacency == "replace" else rated] = one[0]
        for size, whole, triangle in moved(sums, one, other, (effects, rng.choice([-4.0, 0.0, 4.0]))):
            within = max(within, size / whole if whole else size)
            beyond = max(beyond, size / triangle if triangle else size)
    assert within <= 1
    if (unit, adjacency) == ("record", "add-remove"):
        assert beyond > 1, "half of the matrix would have been enough"
