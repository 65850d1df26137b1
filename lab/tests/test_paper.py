"""Published noise: ε and δ add up, b = Δ′/ε, σ = Δ′√(2 ln(2/δ))/ε; and its cost is by the true Δ."""

import math
from dataclasses import replace
from typing import ClassVar

import numpy as np
import pytest

import hushrec as hr
from hushrec.errors import BudgetUnsupported
from hushrec.kernels.csr import CSR
from hushrec.privacy.accounting.budget import Budget, Unprotected
from hushrec.privacy.accounting.measurement import Measurement
from hushrec.privacy.accounting.plan import Plan
from hushrec.privacy.grant import SEAL, Grant
from hushrec.privacy.noise.entropy import Seeded
from hushrec.privacy.noisy import Cells
from lab import published
from lab.paper import PaperNoise, PaperRun, PublishedModel, SphericalRows
from lab.published import Cost, cost

DOMAIN = hr.Domain(range(9), scale=(1, 5, 1), max_users=100, users=range(20))
KINDS = published.MODELS


class Toy(PublishedModel):
    """Two sums of one norm, the second of which the paper bounds wrongly; or one of its other queries."""

    supports: ClassVar = frozenset({("user", "add-remove")})

    kind: str = "l1"

    def queries(self, domain, terms):
        if self.kind == "draw":
            return [Measurement("first", 6.0, "loss", 2.0**-20, 12)]
        if self.kind == "rows":
            return [SphericalRows.of("first", 1.5, 60), SphericalRows.of("second", math.inf, 60)]
        return [
            Measurement("first", 3.0, self.kind, 2.0**-20, 4),
            Measurement("second", 5.0, self.kind, 2.0**-20, 4),
        ]

    def claims(self, domain, terms):
        return {"first": 24.0} if self.kind == "draw" else {"second": 4.0}

    def default_split(self, domain, budget):
        return {"first": 0.25, "second": 0.75}

    def fit(self, feedback, run):
        raise NotImplementedError


def noises(kind, budget, epsilon=2.0, delta=1e-6):
    return Toy(kind=kind).printed(DOMAIN, budget(epsilon, "user", delta=delta)).values()


def worth(kind, budget, epsilon=2.0, delta=1e-6):
    return cost(Toy(kind=kind), DOMAIN, budget(epsilon, "user", delta=delta))


@pytest.mark.parametrize("epsilon", [0.1, 2.0, 30.0])
def test_laplace_noise_has_the_papers_scale_and_the_true_sensitivity(budget, epsilon):
    first, second = noises("l1", budget, epsilon, 0.0)
    assert first.norm == second.norm == "l1"
    assert (first.sensitivity, second.sensitivity) == (3.0, 5.0)
    assert [first.noise, second.noise] == pytest.approx([3.0 / (0.25 * epsilon), 4.0 / (0.75 * epsilon)])


def test_where_the_paper_is_right_its_noise_costs_exactly_its_claim(budget):
    first, _ = noises("l1", budget, 2.0, 0.0)
    assert first.spent().epsilon == 500_000_000_000


@pytest.mark.parametrize("epsilon", [0.1, 2.0, 30.0])
def test_gaussian_noise_is_that_of_dwork_et_al_with_delta_in_equal_parts(budget, epsilon):
    """σ = Δ′ √(2 ln(2/δ_k))/ε_k, δ_k = δ/2 (McSherry & Mironov 2009, Theorem 3)."""
    first, second = noises("l2", budget, epsilon)
    assert first.norm == second.norm == "l2"
    root = math.sqrt(2 * math.log(2 / (1e-6 / 2)))
    assert [first.noise, second.noise] == pytest.approx(
        [3.0 * root / (0.25 * epsilon), 4.0 * root / (0.75 * epsilon)]
    )
    assert (first.sensitivity, second.sensitivity) == (3.0, 5.0)


def test_a_draw_is_claimed_at_the_papers_bound_and_priced_at_the_true_one(budget):
    (noise,) = noises("draw", budget)
    assert (noise.norm, noise.sensitivity, noise.noise) == ("loss", 6.0, pytest.approx(24.0 / 2.0))
    assert worth("draw", budget) == Cost(2.0, pytest.approx(0.5))


def test_rows_are_counted_in_units_of_their_claim(budget):
    first, second = noises("rows", budget)
    assert isinstance(first, PaperNoise)
    assert [first.noise, second.noise] == pytest.approx([1 / 0.5, 1 / 1.5])
    assert (first.loss, second.loss) == (1.5, math.inf)
    spent = first.spent()
    assert spent.epsilon_at(0.0) == pytest.approx(1.5 * 0.5)
    assert worth("rows", budget) == Cost(2.0, math.inf)


def test_the_claim_stands_beside_the_truth(budget):
    assert worth("l1", budget, 2.0, 0.0) == Cost(2.0, pytest.approx(0.5 + 1.5 * 5 / 4))


@pytest.mark.parametrize("kind", KINDS)
def test_every_published_model_claims_its_budget_for_every_unit_and_adjacency(kind, budget):
    for unit, adjacency in sorted(kind.supports):
        config = kind(rank=2) if "rank" in kind.model_fields else kind()
        allowed = budget(2.0, unit, adjacency)
        names = [query.name for query in config.queries(DOMAIN, allowed)]
        assert set(config.printed(DOMAIN, allowed)) <= set(names)
        assert cost(config, DOMAIN, allowed).claimed == 2.0
        assert math.fsum(config.budget_split(DOMAIN, allowed).values()) == pytest.approx(1)
        assert set(config.claims(DOMAIN, allowed)) <= {*names, "global sum", "global count"}, (
            "claims of nothing"
        )


def test_gaussian_noise_without_delta_and_another_unit_are_refused(budget):
    with pytest.raises(BudgetUnsupported, match="set delta"):
        noises("l2", budget, delta=0.0)
    with pytest.raises(BudgetUnsupported, match="Toy protects user under add-remove"):
        Toy().printed(DOMAIN, budget())


# -- the run: exact values, then the paper's noise from the keys of a seed ----------------------------------

STEP = 2.0**-8
NORMAL = Measurement("sums", 1.0, "l2", STEP, 6, noise=3.0)
WIDE = Measurement("cells", 1.0, "l1", STEP, 24, noise=2.0)
ROWS = SphericalRows.of("users, epoch 1", 1.25, 60)
VALUES, SCALES = np.arange(60.0).reshape(12, 5), np.linspace(0.5, 2.0, 12)
TERMS = Unprotected("record", "add-remove")
STEPS = np.arange(-3, 3) * 10_000
SPARSE = CSR(np.array([0, 1, 2, 2, 3]), np.array([5, 0, 3], np.int32), np.array([256, -512, 90]))
CELLS = Cells((4, 6), *SPARSE, 300, 700)


def run(*noises, seed=3):
    return PaperRun(terms=TERMS, printed={noise.name: noise for noise in noises}, keys=Seeded(seed))


def grant(noise, seed=3):
    budget = Budget(epsilon=1000.0, delta=1e-6, unit="record", adjacency="add-remove")
    return Grant(Plan("toy", {}, "0" * 64, 100, budget, (noise,)), Seeded(seed), seal=SEAL)


def test_sums_get_the_noise_that_a_grant_would_draw_from_these_keys():
    for noise in (NORMAL, replace(NORMAL, norm="l1")):
        found, drawn = (own.measure(noise.listed, STEPS) for own in (run(noise), grant(noise)))
        np.testing.assert_array_equal(found.values, drawn.values)
        assert (found.sigma, found.step, found.measurement) == (drawn.sigma, drawn.step, noise)
        assert (found.values != STEPS * STEP).all()


def test_cells_get_it_too_and_what_stays_below_the_threshold_is_dropped():
    found, drawn = (own.measure_cells(WIDE.listed, CELLS) for own in (run(WIDE), grant(WIDE)))
    for name in ("indptr", "columns", "values"):
        np.testing.assert_array_equal(getattr(found, name), getattr(drawn, name))
    assert np.abs(found.values).min() >= 300
    assert found.sigma == drawn.sigma == WIDE.deviation


def test_a_draw_gets_one_key_and_keys_follow_each_other():
    draw = Measurement("draw", 1.0, "loss", 1.0, 3, noise=4.0)
    measured = run(draw, NORMAL)
    assert measured.sample(draw.listed, lambda key: key, 1) == Seeded(3).key()
    after = measured.measure(NORMAL.listed, STEPS).values
    assert (after != run(draw, NORMAL).measure(NORMAL.listed, STEPS).values).any()
    assert measured.noise(draw.listed) == 4.0


def test_every_row_gets_noise_of_its_own_scale():
    noise = PaperNoise(ROWS.name, 1.25, 2.0)
    noisy, again = (run(noise).measure_rows(ROWS, VALUES, scales) for scales in (SCALES, 2 * SCALES))
    np.testing.assert_allclose(again.values - VALUES, 2 * (noisy.values - VALUES))
    assert (noisy.values != VALUES).all()
    assert noisy.sigma == pytest.approx(math.sqrt(6 * np.mean(SCALES**2)))
    assert (run(noise, seed=4).measure_rows(ROWS, VALUES, SCALES).values != noisy.values).all()
