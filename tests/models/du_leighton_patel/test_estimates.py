"""Counts and means of randomized answers: unbiased, and their errors are those that they have."""

import math
from statistics import NormalDist

import numpy as np
import pyarrow as pa
import pyarrow.compute as pc
import pytest

from hushrec.data.domain import Domain
from hushrec.data.people import People
from hushrec.documents.sentences import Unprotected
from hushrec.errors import ReleaseError
from hushrec.models.du_leighton_patel import estimate, released_data
from hushrec.models.du_leighton_patel.released_data import ReleasedData
from hushrec.release.statement import Statement

N_PEOPLE, N_ITEMS, LEVELS = 400, 6, 5
FLIP = 0.3
RUNS = 300
ALARM = 1e-6
"""False alarms of all checks of one test together, by the union bound over items and figures."""
FAR = 5.5
"""Standard errors that a nearly normal mean, or a deviation (1/√(2n) of it), is off with chance 4e-8; six
items make 2.3e-7."""
UNSTATED = Statement((Unprotected.unstated(),), "user", "replace", math.inf, 0.0)


def settings(answered=None, **changes):
    facts = {"symbols": LEVELS + 1, "exponent": -math.log(FLIP), "answered": answered, "cells": N_ITEMS}
    return facts | changes


def truth(seed=0):
    """Symbols of everybody's cells, 0 for nothing: items from hardly rated to much rated, shape (n, m)."""
    rng = np.random.default_rng(seed)
    rated = rng.random((N_PEOPLE, N_ITEMS)) < np.linspace(0.02, 0.9, N_ITEMS)
    return np.where(rated, rng.choice(LEVELS, size=rated.shape, p=[0.05, 0.1, 0.2, 0.3, 0.35]) + 1, 0)


def answers(cells, rng, answered=None):
    """The law, written down again: keep, or one of the others alike; of a random part of the row."""
    said = np.where(rng.random(cells.shape) < FLIP, (cells + rng.integers(1, LEVELS + 1, cells.shape)), cells)
    said %= LEVELS + 1
    if answered is not None:
        place = np.argsort(np.argsort(rng.random(cells.shape), axis=1), axis=1)
        said[place >= answered] = 0
    return said


def released(said, **changes):
    """A data set of these answers."""
    people, items = np.nonzero(said)
    counts = np.bincount(people, minlength=len(said))
    frame = Domain(range(N_ITEMS), scale=(1, 5, 1), max_users=len(said), max_per_user=N_ITEMS)
    users = released_data.anonymous_ids(len(said)).filter(pa.array(counts > 0))
    indptr = np.concatenate([[0], np.cumsum(counts[counts > 0])])
    rows = People(frame, users, indptr, items, said[people, items] - 1)
    facts = {"method": "RandomizedResponse", "settings": settings(), "ratings": rows}
    return ReleasedData(**(facts | {"n_people": len(said), "statement": UNSTATED} | changes))


def runs(answered, **changes):
    """Estimates of many draws of the same people's answers, each shape (RUNS, N_ITEMS)."""
    cells, rng = truth(), np.random.default_rng(1)
    made = [
        released(answers(cells, rng, answered), settings=settings(answered, **changes)).estimates()
        for _ in range(RUNS)
    ]
    return cells, {
        name: np.array([table[name].to_pylist() for table in made], dtype=np.float64)
        for name in made[0].column_names
        if name != "item_id"
    }


def biased(cells, found, alarm=ALARM):
    """Items whose mean estimated count is not the true one: a z-test over the runs, two-sided."""
    z = (found["count"].mean(axis=0) - (cells > 0).sum(axis=0)) / (found["count"].std(axis=0) / RUNS**0.5)
    return np.flatnonzero(np.abs(z) > NormalDist().inv_cdf(1 - alarm / (2 * N_ITEMS)))


@pytest.mark.parametrize("answered", [None, 4])
@pytest.mark.full
def test_counts_are_unbiased_and_spread_as_they_say(answered):
    cells, found = runs(answered)
    assert biased(cells, found).size == 0
    spread = found["count"].std(axis=0, ddof=1) / found["count_error"].mean(axis=0)
    assert np.abs(spread - 1).max() < FAR * math.sqrt(1 / (2 * RUNS))


@pytest.mark.parametrize("answered", [None, 4])
@pytest.mark.full
def test_means_of_much_rated_items_are_right_within_their_errors(answered):
    cells, found = runs(answered)
    stars = np.array([0, 1, 2, 3, 4, 5])[cells]
    last = N_ITEMS - 1
    mean = stars[:, last].sum() / (cells[:, last] > 0).sum()
    told = ~np.isnan(found["mean"][:, last])
    assert told.all()
    z = (found["mean"][:, last] - mean) / found["mean_error"][:, last]
    # A ratio is biased by about its relative error, in standard errors: 0.05 here; z is near normal.
    assert abs(z.mean()) < FAR / math.sqrt(RUNS) + 0.1
    assert abs(z.std() - 1) < FAR * math.sqrt(1 / (2 * RUNS)) + 0.05


def test_a_wrong_formula_is_caught(monkeypatch):
    law = estimate._law
    monkeypatch.setattr(
        estimate, "_law", lambda *given: (law(*given)[0], law(*given)[1], law(*given)[2] * 1.1)
    )
    cells, found = runs(None)
    assert biased(cells, found).size


def test_a_mean_is_told_only_where_the_count_is_clear():
    made = released(
        answers(np.zeros((N_PEOPLE, N_ITEMS), dtype=np.int64), np.random.default_rng(2))
    ).estimates()
    hidden = made.filter(pc.field("count") <= pc.field("count_error") * 2)
    assert len(hidden) >= N_ITEMS - 2
    assert hidden["mean"].null_count == hidden["mean_error"].null_count == len(hidden)
    assert min(made["count"].to_pylist()) < 0  # cut off at 0, counts would be biased
    assert made["count"].null_count == made["count_error"].null_count == 0


def test_other_methods_are_not_counted_so():
    with pytest.raises(ReleaseError, match=r"made by DistanceBased .* read them with \.ratings"):
        released(truth(), method="DistanceBased").estimates()


@pytest.mark.parametrize(
    "change",
    [
        {"symbols": 5},
        {"exponent": 0.0},
        {"exponent": -1e6},
        {"answered": N_ITEMS + 1},
        {"cells": 0, "answered": 1},
    ],
    ids=str,
)
def test_settings_that_are_none_are_refused(change):
    with pytest.raises(ReleaseError, match="not describe randomized response"):
        released(truth(), settings=settings() | change).estimates()
    with pytest.raises(ReleaseError):
        released(truth(), settings={}).estimates()
