"""A canary in a table of synthetic people: a person who has everything, added to the data or not.

An attacker sees one table, and guesses whether the person was there: of interactions from its number of
rows; of ratings, where the person loves what all others dislike, from how far liked items are above the
rest. Half of the runs choose the threshold. False alarms: each error rate on the other half is replaced by
its Clopper–Pearson upper limit, which is below the true rate with chance 2.5e-7; so a true ε is refuted with
chance 5e-7 at most. Seeds are fixed.
"""

import math

import numpy as np
import polars as pl
import pytest

import hushrec as hr
from hushrec.audit.canary import at_most
from hushrec.privacy import grant as grant_module
from hushrec.release.synthesis import moments
from hushrec.testing import Seeded, fit

ITEMS, PEOPLE, EACH, RUNS, EPSILON = 30, 1000, 8, 112, 1.0
CATALOGUE = [f"i{k:02d}" for k in range(ITEMS)]
DOMAIN = hr.Domain(CATALOGUE, max_users=2000, max_per_user=ITEMS)
RATED = hr.Domain(CATALOGUE, scale=(1, 5, 1), max_users=2000, max_per_user=ITEMS)
LIKED = np.arange(ITEMS) % 4 >= 2
BUDGET = hr.Budget(epsilon=EPSILON, delta=1e-6, unit="user", adjacency="add-remove")


@pytest.fixture(autouse=True)
def fewer_made_up_people(monkeypatch):
    """Rounds of calibration that take less time: how near the moments come does not matter here."""
    monkeypatch.setattr(moments, "_PEOPLE", 300)


def crowd(*, canary, domain):
    people = PEOPLE if domain is DOMAIN else PEOPLE // 16
    rng = np.random.default_rng(0)
    half = ITEMS // 2
    tastes = rng.permuted(np.tile(np.arange(half), (people, 1)), axis=1)[:, :EACH]
    tastes += half * (np.arange(people) % 2)[:, None]
    rows = [(f"u{user:04d}", f"i{item:02d}", 1 + item % 4) for user, own in enumerate(tastes) for item in own]
    rows += [("canary", f"i{item:02d}", 1 if LIKED[item] else 5) for item in range(ITEMS)] * canary
    return hr.load(pl.DataFrame(rows, schema=["user_id", "item_id", "rating"], orient="row"), domain)


def rows_of(data, seed):
    """How many rows a table of 1,000 synthetic people has."""
    release = fit(data, hr.PrivateEASE(rank=4), BUDGET, entropy=Seeded(seed))
    return len(release.synthesize(1000, seed=seed).columns()["item_id"])


def stars_of(data, seed):
    """How far the items that people like are above the others, in a table of 16,000 synthetic people."""
    release = fit(data, hr.GlobalEffects(), BUDGET, entropy=Seeded(seed))
    table = release.synthesize(16_000, seed=seed, mean_items=EACH).columns()
    liked = LIKED[np.array([int(item[1:]) for item in table["item_id"]])]
    return table["rating"][liked].mean() - table["rating"][~liked].mean()


SEEN = {DOMAIN: rows_of, RATED: stars_of}


def proven(runs, domain):
    """The ε that the attacker's errors prove."""
    seen = SEEN[domain]
    absent, present = (
        np.array([seen(data, seed + 10_000 * world) for seed in range(runs)])
        for world, data in enumerate(crowd(canary=canary, domain=domain) for canary in (False, True))
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


KINDS = pytest.mark.parametrize("domain", SEEN, ids=("interactions", "ratings"))


@pytest.mark.full
@KINDS
def test_a_person_of_extreme_activity_stays_within_the_guarantee(domain):
    assert proven(RUNS, domain) <= EPSILON


@pytest.mark.full
@KINDS
def test_noise_that_is_too_narrow_shows_in_the_table(monkeypatch, domain):
    """The planted fault: a thousandth of the noise that was booked."""
    width = grant_module._width
    monkeypatch.setattr(grant_module, "_width", lambda event: 1e-3 * width(event))
    assert proven(RUNS, domain) > EPSILON
