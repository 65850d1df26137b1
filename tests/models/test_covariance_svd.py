import numpy as np
import pytest

import hushrec as hr
from hushrec.estimation import low_rank
from hushrec.models.phases.covariance import CovarianceSettings

UNITS = [("rating", "add-remove"), ("rating", "replace"), ("user", "add-remove")]


def test_factors_find_what_global_effects_leave(rmse, budget):
    assert rmse(hr.CovarianceSVD(rank=8)) < rmse(hr.GlobalEffects()) - 0.02
    assert rmse(hr.CovarianceSVD(rank=8), budget(20.0)) < rmse(hr.GlobalEffects()) - 0.01


@pytest.mark.parametrize("way", ["weighted", "shrink", "none"])
@pytest.mark.parametrize("analysis", ["corrected", "published"])
def test_every_way_of_cleaning_runs(rmse, budget, way, analysis):
    config = hr.CovarianceSVD(rank=8, analysis=analysis, covariance=CovarianceSettings(cleaning=way))
    assert 0.5 < rmse(config, budget(20.0)) < 1.6


@pytest.mark.parametrize(("unit", "adjacency"), UNITS)
@pytest.mark.parametrize("noise", ["gaussian", "laplace"])
@pytest.mark.parametrize("analysis", ["corrected", "published"])
def test_the_plan_is_what_the_ledger_books(world, budget, tmp_path, unit, adjacency, noise, analysis):
    train, _ = world
    config = hr.CovarianceSVD(rank=4, noise=noise, analysis=analysis)
    allowed = budget(2.0, unit, adjacency)
    plan = hr.plan(config, train.domain, allowed)
    total = allowed.model_copy(update={"epsilon": max(2.0, plan.epsilon * (1 + 1e-9))})
    ledger = hr.Ledger.create(tmp_path / "ledger.db", total)
    release = hr.fit(train, config, allowed, ledger=ledger)
    booked = [(e.measurement, e.mechanism, e.sensitivity, e.sigma, e.size) for e in ledger.entries()]
    assert booked == [(e.name, e.mechanism, e.sensitivity, e.deviation, e.size) for e in plan.events]
    assert ledger.spent == plan.spent
    assert release.statement.epsilon == plan.epsilon
    if analysis == "corrected":
        assert plan.epsilon <= 2.0 < plan.epsilon * 1.001
        assert release.statement.private
    else:
        assert plan.claimed_epsilon == 2.0
        assert "Not a valid guarantee" in str(release.statement)


def test_under_replace_nothing_but_values_is_noisy(world, budget):
    train, _ = world
    plan = hr.plan(hr.CovarianceSVD(), train.domain, budget(adjacency="replace"))
    assert [m.event.name for m in plan.measurements] == ["item sums", "covariance"]


def test_components_that_noise_hides_vanish():
    """Pure noise gives factors of next to no size; a planted component is found under the same noise."""
    rng = np.random.default_rng(3)
    n, sigma = 150, 3.0
    weights = np.full((n, n), 200.0, dtype=np.float32)
    noise = np.triu(rng.normal(0, sigma, (n, n)))
    noise = (noise + np.triu(noise, 1).T).astype(np.float32)
    planted = rng.normal(0, 0.3, n)
    signal = (200 * np.outer(planted, planted) + 100 * np.eye(n)).astype(np.float32)
    hidden = low_rank.weighted_factors(noise + 100 * np.eye(n, dtype=np.float32), weights, sigma, 0.01, 5)
    found = low_rank.weighted_factors(noise + signal, weights, sigma, 0.01, 5)
    assert np.abs(hidden @ hidden.T).mean() < 0.1 * np.abs(np.outer(planted, planted)).mean()
    recovered = found @ found.T
    assert (
        np.corrcoef(recovered[np.triu_indices(n, 1)], np.outer(planted, planted)[np.triu_indices(n, 1)])[0, 1]
        > 0.95
    )


def test_spectral_cleaning_keeps_signal_and_drops_noise():
    rng = np.random.default_rng(4)
    n = 200
    noise = np.triu(rng.normal(0, 1.0, (n, n)))
    noise = noise + np.triu(noise, 1).T
    direction = np.full(n, 1 / np.sqrt(n))
    factors = low_rank.spectral_factors((noise + 80 * np.outer(direction, direction)).astype(np.float32), 1.0)
    assert factors.shape[1] == 1
    assert np.linalg.norm(factors @ factors.T - 80 * np.outer(direction, direction)) < 0.6 * np.linalg.norm(
        noise
    )
    assert not low_rank.spectral_factors(noise.astype(np.float32), 1.0).any()


def test_leading_eigenvectors_equal_lapack():
    rng = np.random.default_rng(5)
    basis = np.linalg.qr(rng.normal(size=(120, 120)))[0]
    spectrum = np.concatenate([[50, 30, 20], rng.normal(0, 1, 117)])
    matrix = ((basis * spectrum) @ basis.T).astype(np.float32)
    values, vectors = low_rank.leading(matrix, 3)
    np.testing.assert_allclose(values, [50, 30, 20], rtol=1e-4)
    np.testing.assert_allclose(np.abs(vectors.T @ basis[:, :3]), np.eye(3), atol=1e-3)


@pytest.mark.parametrize("variance", [0.0, 1e-300, 1e-9, 1e-5, 0.3, 0.9799, 5.0])
def test_unclipping_has_an_answer_for_every_variance(variance):
    assert 1 <= low_rank.unclipped(variance, 1.0) < 100


def test_after_a_seeded_release_a_ledger_promises_nothing(world, budget, tmp_path):
    """Who knows the seed has the exact sums, so what is released from them later is not private either."""
    train, _ = world
    ledger = hr.Ledger.create(tmp_path / "ledger.db", budget(9.0), horizon=2)
    seeded = hr.fit(train, hr.GlobalEffects(), budget(1.0), ledger=ledger, entropy=hr.testing.Seeded(1))
    later = hr.fit(train, hr.GlobalEffects(), budget(1.0), ledger=ledger)
    assert str(seeded.statement).startswith("NOT PRIVATE: seeded")
    assert str(later.statement).startswith("NOT PRIVATE")


def test_entropy_cannot_vouch_for_itself(world, budget, tmp_path):
    class Zero:
        private = True

        def key(self, name="", purpose="noise"):
            return bytes(32)

    ledger = hr.Ledger.create(tmp_path / "l.db", budget())
    release = hr.fit(world[0], hr.GlobalEffects(), budget(), ledger=ledger, entropy=Zero())
    assert not release.statement.private


def test_a_fit_that_fails_burns_its_charge_and_says_so(world, budget, tmp_path, monkeypatch):
    def fail(*_):
        raise ArithmeticError("planted")

    monkeypatch.setattr(low_rank, "weighted_factors", fail)
    ledger = hr.Ledger.create(tmp_path / "ledger.db", budget(9.0), horizon=2)
    with pytest.raises(ArithmeticError) as caught:
        hr.fit(world[0], hr.CovarianceSVD(rank=4), budget(1.0), ledger=ledger)
    assert "stays spent" in caught.value.__notes__[0]
    assert {entry.state for entry in ledger.entries()} == {"burnt"}


def test_unclipping_is_one_without_clipping_and_more_with_it():
    assert low_rank.unclipped(0.01, 1.0) == pytest.approx(1.0, abs=1e-3)
    assert low_rank.unclipped(0.5, 1.0) > 1.1
    assert low_rank.unclipped(1.0, 1.0) == 1.0
