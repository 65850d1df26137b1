"""A canary in a table of synthetic people: a person who has everything, added to the data or not.

An attacker sees one table, and guesses from its number of rows whether the person was there. Half of the
runs choose the threshold. False alarms: each error rate on the other half is replaced by its Clopper–Pearson
upper limit, which is below the true rate with chance 2.5e-7; so a true ε is refuted with chance 5e-7 at
most. Seeds are fixed.
"""

import math

import numpy as np
import polars as pl
import pytest

import hushrec as hr
from hushrec.audit.canary import at_most
from hushrec.privacy import grant as grant_module
from hushrec.release.synthesis import simulated_moments
from hushrec.testing import Seeded, fit

ITEMS, PEOPLE, EACH, RUNS, EPSILON = 30, 1000, 8, 140, 1.0
DOMAIN = hr.Domain([f"i{k:02d}" for k in range(ITEMS)], max_users=2000, max_per_user=ITEMS)
BUDGET = hr.Budget(epsilon=EPSILON, delta=1e-6, unit="user", adjacency="add-remove")


@pytest.fixture(autouse=True)
def fewer_made_up_people(monkeypatch):
    """Rounds of calibration that take less time: how near the moments come does not matter here."""
    monkeypatch.setattr(simulated_moments, "_PEOPLE", 300)


def crowd(*, canary):
    rng = np.random.default_rng(0)
    half = ITEMS // 2
    tastes = rng.permuted(np.tile(np.arange(half), (PEOPLE, 1)), axis=1)[:, :EACH]
    tastes += half * (np.arange(PEOPLE) % 2)[:, None]
    rows = [(f"u{user:04d}", f"i{item:02d}") for user, own in enumerate(tastes) for item in own]
    rows += [("canary", f"i{item:02d}") for item in range(ITEMS)] * canary
    return hr.load(pl.DataFrame(rows, schema=["user_id", "item_id"], orient="row"), DOMAIN)


def rows_of(data, seed):
    """How many rows a table of 1,000 synthetic people has."""
    release = fit(data, hr.PrivateEASE(rank=4), BUDGET, entropy=Seeded(seed))
    return len(release.synthesize(1000, seed=seed).columns()["item_id"])


def proven(runs):
    """The ε that the attacker's errors prove."""
    absent, present = (
        np.array([rows_of(data, seed + 10_000 * world) for seed in range(runs)])
        for world, data in enumerate((crowd(canary=False), crowd(canary=True)))
    )
    half = runs // 2
    best, bounds = 0.0, []
    for guess in (1, -1):
        first, second = guess * absent[:half], guess * present[:half]
        for threshold in np.unique(np.concatenate([first, second])):
            right = (second > threshold).mean() - (first > threshold).mean()
            if right > best:
                best, bounds = right, [guess, threshold]
    guess, threshold = bounds or [1, 0]
    wrong = np.array([(guess * absent[half:] > threshold).sum(), (guess * present[half:] <= threshold).sum()])
    positive, negative = at_most(wrong, runs - half)
    return max(math.log(max(1 - BUDGET.delta - negative, 1e-300) / positive), 0.0)


@pytest.mark.full
def test_a_person_of_extreme_activity_stays_within_the_guarantee():
    assert proven(RUNS) <= EPSILON


@pytest.mark.full
def test_noise_that_is_too_narrow_shows_in_the_table(monkeypatch):
    """The planted fault: a thousandth of the noise that was booked."""
    width = grant_module._width
    monkeypatch.setattr(grant_module, "_width", lambda event: 1e-3 * width(event))
    assert proven(RUNS) > EPSILON
