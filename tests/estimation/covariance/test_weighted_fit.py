"""A low-rank fit of a noisy covariance: signal stays, noise goes, and few ratings are not trusted as many."""

import numpy as np
import pytest

from hushrec.estimation.covariance import weighted_fit
from hushrec.estimation.covariance.weighted_fit import weighted_factors

N, WEIGHT, SIGMA = 150, 200.0, 3.0
OFF = np.triu_indices(N, 1)


def noise_of(rng):
    upper = np.triu(rng.normal(0, SIGMA, (N, N)))
    return (upper + np.triu(upper, 1).T + 100 * np.eye(N)).astype(np.float32)


def fitted(covariance, *, own=0.0, sigma=SIGMA, rank=5, prior=None):
    weights = np.full((N, N), WEIGHT, dtype=np.float32)
    return weighted_factors(
        covariance.copy(),
        weights,
        sigma=sigma,
        kappa=0.01,
        own=np.broadcast_to(np.asarray(own, dtype=np.float64), (N,)),
        rank=rank,
        prior=prior,
    )


def test_components_that_noise_hides_vanish_and_a_planted_one_is_found():
    rng = np.random.default_rng(3)
    noise, planted = noise_of(rng), rng.normal(0, 0.3, N)
    assert not fitted(noise).any()
    found = fitted(noise + (WEIGHT * np.outer(planted, planted)).astype(np.float32))
    assert np.count_nonzero(found.any(axis=0)) < 5
    recovered = (found @ found.T)[OFF]
    assert np.corrcoef(recovered, np.outer(planted, planted)[OFF])[0, 1] > 0.95


def test_rounds_stop_where_nothing_is_left(monkeypatch):
    rounds = []
    real = weighted_fit._round
    monkeypatch.setattr(weighted_fit, "_round", lambda *given: rounds.append(1) or real(*given))
    fitted(noise_of(np.random.default_rng(5)))
    assert len(rounds) < 0.75 * weighted_fit.ROUNDS


def simulated(rng, raters):
    """People with one taste rate every item but the last, which only some of them rate.

    Returns:
        Covariance and co-rating weights without added noise, and the true factors.
    """
    people, items, noise = 400, 60, 0.6
    truth = rng.normal(0, 0.5, items)
    ratings = np.outer(rng.normal(size=people), truth) + rng.normal(0, noise, (people, items))
    rated = np.ones((people, items))
    rated[raters:, -1] = 0
    ratings *= rated
    return (ratings.T @ ratings).astype(np.float32), (rated.T @ rated).astype(np.float32), truth, noise**2


def test_an_item_of_few_raters_is_not_trusted_as_its_many_pairs_suggest():
    """Three people's noise is in all pairs of their item. Without S, their item's factor is taken for sure.

    Means over 40 draws: the error with S is at most 0.8 of that without; the ratio is 0.5 or so.
    """
    errors = {"with": [], "without": []}
    for seed in range(40):
        covariance, weights, truth, variance = simulated(np.random.default_rng(seed), raters=3)
        counts = np.diag(weights).astype(np.float64)
        for name, own in (("with", variance / counts), ("without", np.zeros(len(counts)))):
            found = weighted_factors(
                covariance.copy(), weights.copy(), sigma=0.0, kappa=variance**2, own=own, rank=1
            )[:, 0]
            sign = np.sign(found[:-1] @ truth[:-1])
            errors[name].append((sign * found[-1] - truth[-1]) ** 2)
    assert np.mean(errors["with"]) < 0.8 * np.mean(errors["without"])


def test_what_is_known_before_stays_where_noise_hides_the_rest():
    rng = np.random.default_rng(7)
    known = rng.normal(0, 0.02, (N, 1))
    kept = fitted(noise_of(rng), prior=known, sigma=300.0)
    np.testing.assert_allclose(kept[:, :1], known, atol=0.02)
    assert np.corrcoef(kept[:, 0], known[:, 0])[0, 1] > 0.9
    assert not kept[:, 1:].any()


def test_what_is_known_before_gives_way_to_what_is_measured():
    rng = np.random.default_rng(8)
    planted, wrong = rng.normal(0, 0.3, N), rng.normal(0, 0.3, (N, 1))
    signal = noise_of(rng) + (WEIGHT * np.outer(planted, planted)).astype(np.float32)
    found = fitted(signal, prior=wrong)
    recovered = (found @ found.T)[OFF]
    assert np.corrcoef(recovered, np.outer(planted, planted)[OFF])[0, 1] > 0.9


@pytest.mark.parametrize("rows", [1, 7])
def test_weighing_does_not_depend_on_how_many_rows_are_processed_at_a_time(rows, monkeypatch):
    rng = np.random.default_rng(6)
    factors = rng.normal(size=(N, 3))
    signal = (WEIGHT * factors @ factors.T).astype(np.float32)
    expected = fitted(signal, own=0.01)
    monkeypatch.setattr(weighted_fit, "_ROWS", rows)
    found = fitted(signal, own=0.01)
    np.testing.assert_allclose(found @ found.T, expected @ expected.T, rtol=1e-4, atol=1e-4)
