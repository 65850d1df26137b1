"""Sums of several releases are combined by their precision, follow what drifts, and are kept by item.

Statistical bounds are six standard errors or more wide: a false alarm has a chance below 1e-6, and the seeds
are fixed.
"""

import math
from contextlib import nullcontext

import numpy as np
import pytest

from hushrec.errors import LedgerWarning
from hushrec.estimation.yearly import SMOOTHING, UNKNOWN, Sums, YearlySums, crowd, places
from hushrec.privacy.carried import Carried
from hushrec.privacy.noisy import Noisy

ITEMS = ("a", "b", "c", "d")


# -- the size of the crowd --------------------------------------------------------------------------------


def likeliest(sizes, deviations):
    """The last state of a random walk from the first size on, by one dense Gaussian in place of a filter."""
    now, largest = np.array(sizes[1:]) - sizes[0], max(*sizes, 1.0) ** 2
    found = []
    for part in (0.0, *(1e-5 * (0.3 / 1e-5) ** (k / 12) for k in range(13))):
        at = np.arange(1, len(sizes))
        walk = deviations[0] ** 2 + part * largest * np.minimum.outer(at, at)
        seen = walk + np.diag(np.square(deviations[1:]))
        surprise = np.linalg.slogdet(seen)[1] + now @ np.linalg.solve(seen, now)
        found.append((surprise, sizes[0] + walk[-1] @ np.linalg.solve(seen, now)))
    return min(found)[1]


@pytest.mark.parametrize("seed", range(5))
def test_the_crowd_is_that_of_the_likeliest_random_walk(seed):
    rng = np.random.default_rng(seed)
    deviations = rng.uniform(5, 60, 9)
    sizes = 500 + 40 * rng.normal(size=9).cumsum() * (seed % 3) + deviations * rng.normal(size=9)
    assert crowd(sizes, deviations) == pytest.approx(likeliest(sizes, deviations), rel=1e-9)


def test_the_sum_of_all_counts_stands_for_the_crowd_and_new_items_add_none():
    counts = Noisy("item counts", np.array([1.0, 2.0, 3.0, 4.0]), 3.0, 1.0, None)
    year = YearlySums().follow_total(counts)
    assert (year.sizes, year.deviations) == ((10.0,), (6.0,))
    before = Sums(np.array([5.0, 5.0, 0.0, 0.0]), np.array([1.0, 1.0, np.inf, np.inf]))
    grown = YearlySums((100.0,), (0.0,), {"item counts": before})
    exact = Noisy("item counts", np.array([50.0, 50.0, 150.0, 150.0]), 0.0, 1.0, None)
    now = grown.follow_total(exact)
    assert now.size == 400
    assert now.sums["item counts"].values[:2].tolist() == [5, 5], "as many people as before"


def test_far_fewer_than_before_is_told_only_beyond_the_noise_and_without_new_items():
    before = Sums(np.array([400.0, 600.0, 0.0, 0.0]), np.array([4.0, 4.0, np.inf, np.inf]))
    year = YearlySums((100.0,), (1.0,), {"item counts": before})
    cases = (
        (499, 0.1, False),
        (480, 0.1, True),
        (480, 3, False),
        (400, 1, True),
        (400, 15, False),
        (501, 0, False),
    )
    for total, sigma, told in cases:
        counts = Noisy("item counts", np.array([total - 100.0, 100.0, 900.0, 900.0]), sigma, 1.0, None)
        with pytest.warns(LedgerWarning, match="less than half") if told else nullcontext():
            year.warn_of_fewer(counts)
    YearlySums().warn_of_fewer(counts)


# -- one kind of sums -------------------------------------------------------------------------------------


def known(values, variance, misfit=0.0):
    return Sums(np.array(values, dtype=float), np.full(len(values), float(variance)), misfit)


def test_exact_sums_replace_earlier_ones():
    after = known([10.0, 20.0], 0.0).combine(np.array([12.0, 20.0]), 0.0)
    assert after.values.tolist() == [12.0, 20.0]
    assert after.variance.tolist() == [0.0, 0.0]


def test_where_nothing_moves_sums_stay_at_their_precision():
    """20 releases of 2,000 items: a twentieth of the variance, and what is said of it is so."""
    rng, truth = np.random.default_rng(3), np.full(2000, 100.0)
    sums = Sums(truth + 5 * rng.normal(size=2000), np.full(2000, 25.0))
    for _ in range(19):
        sums = sums.combine(truth + 5 * rng.normal(size=2000), 5.0)
    said = float(sums.variance.mean())
    assert 25 / 20 <= said < 25 / 16
    errors = np.square(sums.values - truth)
    assert abs(errors.mean() / said - 1) < 6 * math.sqrt(2 / 2000)


def test_a_drift_is_found_as_misfit_and_followed():
    """Every count moves by ten deviations of the noise: precision alone would stay half-way behind."""
    rng, truth = np.random.default_rng(4), np.full(2000, 100.0)
    sums = Sums(truth + 5 * rng.normal(size=2000), np.full(2000, 25.0))
    now = truth + 50 * np.resize([1, -1], 2000)
    after = sums.combine(now + 5 * rng.normal(size=2000), 5.0)
    assert after.misfit == pytest.approx(SMOOTHING * 50**2, rel=0.1)
    assert np.abs(after.values - now).mean() < 5
    assert np.abs(np.mean([sums.values, now], axis=0) - now).mean() > 20


# -- a year of releases -----------------------------------------------------------------------------------


def carried(year, items=ITEMS):
    return Carried(items, year.arrays())


def test_the_first_release_is_what_was_measured_to_the_last_bit():
    rng = np.random.default_rng(5)
    for sigma in rng.lognormal(0, 5, 500).tolist():
        values = rng.normal(size=3)
        year = YearlySums.of(None, ITEMS).follow_size(7.0, 1.0)
        year = year.combine("item sums", values, sigma).combine("one", values[:1], sigma)
        assert year.sums["item sums"].values.tobytes() == values.tobytes()
        assert year.sums["item sums"].sigma.tolist() == [sigma] * 3
        assert (year.sums["one"].sigma, year.size) == (sigma, 7.0)


def test_a_catalogue_that_changes_is_matched_by_id(tmp_path):
    """Also through a file: items leave, come and change places; a single number has no item."""
    year = YearlySums().follow_size(10.0, 1.0)
    year = year.combine("item counts", np.array([1.0, 2.0, 3.0, 4.0]), 2.0)
    year = year.combine("crowd size", np.array([10.0]), 1.0)
    year = year._replace(
        sums={name: of._replace(misfit=-0.5 * len(of.values)) for name, of in year.sums.items()}
    )
    carried(year).save(tmp_path / "carried")
    now = YearlySums.of(Carried.open(tmp_path / "carried"), ("d", "new", "a"))
    assert now.sums["item counts"].values.tolist() == [4.0, 0.0, 1.0]
    assert now.sums["item counts"].variance.tolist() == [4.0, math.inf, 4.0]
    assert now.sums["crowd size"].values.tolist() == [10.0]
    assert {name: of.misfit for name, of in now.sums.items()} == {"item counts": -2.0, "crowd size": -0.5}
    assert (now.sizes, now.deviations) == ((10.0,), (1.0,))
    assert places(ITEMS, ("d", "new", "a")).tolist() == [3, -1, 0]


def by_hand(releases):
    """The formulas, an item at a time: averages of a person, then sums."""
    average, noise, drift, sizes, deviations = {}, {}, 0.0, [], []
    for items, values, sigma, size, deviation in releases:
        sizes.append(size)
        deviations.append(deviation)
        n = likeliest(sizes, deviations) if len(sizes) > 1 else size
        r, beyond, weights = (sigma / n) ** 2, 0.0, 0.0
        for item, value in zip(items, values, strict=True):
            if item in average:
                weight = max(abs(average[item]), math.sqrt(noise[item]))
                beyond += weight * ((value / n - average[item]) ** 2 - noise[item] - r)
                weights += weight
        if weights:  # a misfit of averages is n² times smaller than one of sums
            drift += 0.3 * (beyond / weights - drift)
        after, left = {}, {}
        for item, value in zip(items, values, strict=True):
            q, a = (noise[item], average[item]) if item in average else (UNKNOWN * r, 0.0)
            gain = (q + max(drift, 0.0)) / (q + max(drift, 0.0) + r)
            after[item] = a + gain * (value / n - a)
            left[item] = (1 - gain) ** 2 * q + gain**2 * r
        average, noise = after, left
    sums = {item: n * a for item, a in average.items()}
    return sums, {item: n**2 * q for item, q in noise.items()}, n**2 * drift


@pytest.mark.parametrize("drift", [0.0, 3.0])
def test_a_year_is_that_of_the_recipe(drift):
    """Five releases of a crowd that grows, and of a catalogue that is never twice the same."""
    rng, earlier, releases = np.random.default_rng(6), None, []
    for t in range(5):
        items = tuple(f"item {k}" for k in rng.permutation(30)[: 20 + t])
        truth = np.array([20 + int(item[5:]) + drift * t * (-1) ** int(item[5:]) for item in items])
        sigma, deviation = (1.0, 3.0) if t == 0 else (2.0, 9.0)
        values = (1 + t / 4) * truth + sigma * rng.normal(size=len(items))
        size = 100 * (1 + t / 4) + deviation * rng.normal()
        year = YearlySums.of(earlier, items).follow_size(size, deviation).combine("sums", values, sigma)
        earlier = carried(year, items)
        releases.append((items, values, sigma, size, deviation))
    found, (expected, noise, misfit) = year.sums["sums"], by_hand(releases)
    np.testing.assert_allclose(found.values, [expected[item] for item in items], rtol=1e-6)
    np.testing.assert_allclose(found.variance, [noise[item] for item in items], rtol=1e-6)
    assert found.misfit == pytest.approx(misfit, rel=1e-6)
