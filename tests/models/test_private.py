"""Plans of models with noise: split, posterior draws and personal ε, made and stated."""

import dataclasses
import math
from collections.abc import Mapping, Sequence
from typing import ClassVar

import numpy as np
import pytest
from pydantic import Field

import hushrec as hr
from hushrec.curator.fit import fit
from hushrec.documents.sentences import Branch
from hushrec.errors import BudgetUnsupported, ConfigError, GrantError
from hushrec.models.base import PrivateModel
from hushrec.models.mcsherry_mironov.global_effects import GlobalEffects
from hushrec.privacy.accounting.accountant import gaussian_epsilon, largest_cost
from hushrec.privacy.accounting.calibration import divided, with_noise
from hushrec.privacy.accounting.measurement import Measurement
from hushrec.release.artefact import Release
from hushrec.release.statement import placeholder_statement
from support.releases import ranker

BUDGET = hr.Budget(epsilon=4.0, delta=1e-6, unit="user", adjacency="add-remove")
CHAIN = {"R̂": 1.0125, "effective sample size": 812.0, "chains": "4, of 2,000 rounds"}


class Rounds(GlobalEffects):
    """Item effects as usual, and beside them rounds that nothing is made from."""

    personal_epsilon: ClassVar = True

    chain: bool = False

    def beside(self) -> list[Measurement]:
        if self.chain:
            return [Measurement("item factors", 6.0, "loss", 2.0**-20, 12)]
        return [Measurement(f"round {i}", 1.5, "l2", 2.0**-14, 12) for i in range(5)]

    def queries(self, domain, terms) -> Sequence[Measurement]:
        return [*super().queries(domain, terms), *self.beside()]

    def default_split(self, domain, budget) -> Mapping[str, float]:
        return {
            **super().default_split(domain, budget),
            **{q.name: 1.0 / len(self.beside()) for q in self.beside()},
        }

    def fit(self, feedback, run) -> Release:
        made = super().fit(feedback, run)
        for query in self.beside():
            if self.chain:
                drawn = run.sample(query, lambda key: {"key": np.frombuffer(key, np.uint8)})
                assert drawn["key"].size == 32
                return dataclasses.replace(made, statement=placeholder_statement(CHAIN))
            run.measure(query, np.zeros(12, np.int64))
        return made


Rounds.__module__ = "hushrec.models.epochs"  # it stands for one of hushrec's own: see test_authors for others


@pytest.fixture(scope="module")
def small():
    return hr.synthetic.netflix_like(60, 6, 240, 1)


def test_the_plan_is_the_exact_one_to_the_bit(small) -> None:
    """As GlobalEffects alone plans it, given its part of μ²: nothing numerical is in it."""
    config = Rounds()
    planned = hr.plan(small.domain, config, BUDGET)
    costs = divided(BUDGET, config.budget_split(small.domain, BUDGET))
    for query in config.queries(small.domain, BUDGET):
        assert with_noise(query, costs[query.name], BUDGET.delta) in planned.noisy


def test_the_costs_that_a_release_states_add_up_to_its_epsilon(small, tmp_path) -> None:
    hr.Ledger.create(tmp_path / "ledger.db", BUDGET)
    statement = fit(small, Rounds(), BUDGET, ledger=tmp_path / "ledger.db").statement
    assert statement.private
    mu = math.sqrt(sum(line.cost**2 for line in statement.measurements))
    assert gaussian_epsilon(mu, 1e-6) == pytest.approx(4.0, rel=1e-9)
    assert hr.Ledger.open(tmp_path / "ledger.db").state().remaining < 1e-3


@pytest.mark.parametrize("noise", ["gaussian", "laplace"])
def test_a_posterior_sample_and_sums_share_the_budget(small, noise) -> None:
    config, budget = Rounds(chain=True, noise=noise), BUDGET
    if noise == "laplace":
        budget = BUDGET.model_copy(update={"delta": 0.0})
    planned = hr.plan(small.domain, config, budget)
    (sample,) = (event for event in planned.noisy if event.norm == "loss")
    share = config.budget_split(small.domain, budget)["item factors"]
    assert sample.spent().units(budget.delta) == pytest.approx(share * largest_cost(budget), rel=1e-9)
    assert 0 <= 4.0 - planned.epsilon < 1e-8
    assert [e.name for e in planned.noisy] == [q.name for q in config.queries(small.domain, budget)]


# -- split of the budget ---------------------------------------------------------------------------------


class Halved(GlobalEffects):
    """Forgets a share."""

    def default_split(self, domain, budget) -> Mapping[str, float]:
        return {"item sums": 1.0}


def test_shares_are_scaled_to_the_whole_and_overridden_by_name(small) -> None:
    own = GlobalEffects().budget_split(small.domain, BUDGET)
    usual = {
        "global sum": 0.01,
        "global count": 0.01,
        "weight ratios": 0.01,
        "item sums": 0.77,
        "item counts": 0.2,
    }
    assert own == pytest.approx(usual)
    more = GlobalEffects(split={"item sums": 1.77}).budget_split(small.domain, BUDGET)
    halves = {name: part / 2 for name, part in usual.items()}
    assert more == pytest.approx(halves | {"item sums": 1.77 / 2})
    assert math.fsum(more.values()) == pytest.approx(1)


class Mine(PrivateModel):
    """A model of an author's own, which measures ``made`` of what it plans."""

    supports: ClassVar = frozenset({("user", "add-remove")})

    parts: Mapping[str, float] = Field(default={"sums": 0.7, "counts": 0.3})
    made: tuple[str, ...] = ("sums", "counts")
    decides: bool = False

    def queries(self, domain, terms) -> Sequence[Measurement]:
        return [Measurement(name, 1.5, "l2", 2.0**-14, 12) for name in ("sums", "counts")]

    def default_split(self, domain, budget) -> Mapping[str, float]:
        return self.parts

    def fit(self, feedback, run) -> Release:
        listed = {one.name: one for one in self.queries(feedback.domain, run.terms)}
        for name in self.made:
            run.measure(listed[name], np.zeros(12, np.int64))
        if self.decides:
            run.decide(Branch.vote())
        return ranker(feedback.domain.items)


@pytest.mark.parametrize(
    ("made", "said"),
    [
        (("counts", "sums"), r"counts: sums comes before it in queries\(\); measure in that order"),
        (("sums", "sums"), r"sums: not booked, or already made; list it in queries\(\)"),
        (("sums",), r"counts: charged, and never measured; measure it in fit, or leave"),
    ],
)
def test_a_model_that_does_not_measure_as_it_plans_is_refused(small, made, said) -> None:
    def fitted(**settings):
        return hr.testing.fit(small, Mine(**settings), BUDGET, entropy=hr.testing.Seeded(1))

    with pytest.raises(GrantError, match=said):
        fitted(made=made)
    for whole in (fitted(), fitted(made=("sums",), decides=True)):  # a decision says why one was left out
        assert [one.name for one in whole.statement.measurements] == ["sums", "counts"]


@pytest.mark.parametrize(
    ("config", "said"),
    [
        (Mine(parts={"sums": 0.7, "count": 0.3}), r"'count' is not in queries\(\); name one of sums, counts"),
        (Mine(parts={"sums": 70, "counts": 30}), "default_split: its parts sum to 100; let them sum to 1"),
        (Mine(parts={"sums": 1.3, "counts": -0.3}), "default_split: the part of 'counts' is -0.3; every"),
        (GlobalEffects(split={"covariance": 1.0}), "'covariance' is not measured here; name one of global"),
        (GlobalEffects(split={"item sums": 0.0}), "must be a positive, finite number"),
        (GlobalEffects(split={"item sums": -1.0}), "must be a positive, finite number"),
        (Halved(), "Halved.default_split has no part for 'global count'"),
    ],
)
def test_shares_that_add_up_to_nothing_are_refused(small, config, said) -> None:
    with pytest.raises(ConfigError, match=said):
        hr.plan(small.domain, config, BUDGET)


def test_what_a_model_does_not_protect_is_refused_with_what_it_does(small) -> None:
    changed = BUDGET.model_copy(update={"adjacency": "replace"})
    with pytest.raises(
        BudgetUnsupported,
        match="GlobalEffects protects record under add-remove, record under replace, user under add-remove;",
    ):
        hr.plan(small.domain, GlobalEffects(), changed)


@pytest.mark.parametrize(("config", "free"), [(GlobalEffects(), True), (hr.UserLevelSGD(rank=2), False)])
def test_without_delta_laplace_noise_is_advised_where_it_may_be_had(small, config, free) -> None:
    with pytest.raises(BudgetUnsupported, match="needs delta > 0; set delta") as refused:
        hr.plan(small.domain, config, BUDGET.model_copy(update={"delta": 0.0}))
    assert ('noise="laplace"' in str(refused.value)) == free
