"""Plans of samples of people, posterior samples and personal ε, as a model makes and states them."""

import json
import math
from collections.abc import Mapping, Sequence
from typing import ClassVar

import numpy as np
import pytest

import hushrec as hr
from hushrec.curator.fit import fit
from hushrec.curator.statements import describe
from hushrec.errors import BudgetUnsupported
from hushrec.models.global_effects import GlobalEffects
from hushrec.privacy.accounting.events import PosteriorSample, drawn_rate
from hushrec.release.artefact import Release
from hushrec.release.statement import Promised, Statement, placeholder_statement
from hushrec.statistics.query import Query

BUDGET = hr.Budget(epsilon=4.0, delta=1e-6, unit="user", adjacency="add-remove")


class Rounds(GlobalEffects):
    """Item effects as usual, and beside them rounds of samples that nothing is made from."""

    personal: ClassVar = True

    rate: float = 0.1
    chain: bool = False

    def beside(self) -> list[Query]:
        if self.chain:
            return [Query("item factors", 6.0, "l2", 2.0**-20, 12, claimed=24.0, posterior=True)]
        return [Query(f"round {i}", 1.5, "l2", 2.0**-14, 12, rate=self.rate) for i in range(5)]

    def queries(self, domain, budget) -> Sequence[tuple[Query, float]]:
        rounds = self.beside()
        return [*super().queries(domain, budget), *((query, 1.0 / len(rounds)) for query in rounds)]

    def default_split(self, budget) -> Mapping[str, float]:
        return {**super().default_split(budget), **{q.name: 1.0 / len(self.beside()) for q in self.beside()}}

    def release(self, ratings, budget, grant) -> Release:
        made = super().release(ratings, budget, grant)
        for query in self.beside():
            if query.posterior:
                assert len(grant.sample_key(query.name)) == 32
                statement = placeholder_statement(
                    {"R̂": 1.0125, "effective sample size": 812.0, "chains": "4, of 2,000 rounds"}
                )
                return type(made)(
                    **{n: getattr(made, n) for n in made.__dataclass_fields__} | {"statement": statement}
                )
            if query.rate < 1:
                assert grant.sample(query.name, ratings.n_users).shape == (ratings.n_users,)
            query.release(grant, np.zeros(12, np.int64))
        return made


Rounds.__module__ = "hushrec.models.rounds"  # it stands for one of hushrec's own: see test_authors for others


@pytest.fixture(scope="module")
def small():
    return hr.synthetic.netflix_like(60, 6, 240, 1)


def test_samples_of_people_are_planned_on_the_whole_budget(small) -> None:
    planned = hr.plan(Rounds(), small.domain, BUDGET)
    kinds = {event.name: event.mechanism for event in planned.events}
    assert [kinds[f"round {i}"] for i in range(5)] == ["subsampled gaussian"] * 5
    assert kinds.get("item sums", "gaussian") == "gaussian"
    assert 0 <= 4.0 - planned.epsilon < 1e-8
    assert {e.rate for e in planned.events if e.rate < 1} == {drawn_rate(0.1)}


def test_where_everybody_takes_part_the_plan_is_the_exact_one_to_the_bit(small) -> None:
    """As GlobalEffects alone plans it, given its part of ρ: nothing numerical is in it."""
    from hushrec.privacy.accounting.calibration import gaussian, split_gaussian

    config = Rounds(rate=1.0)
    planned = hr.plan(config, small.domain, BUDGET)
    rhos = split_gaussian(BUDGET, config.split(small.domain, BUDGET))
    for query, _ in config.queries(small.domain, BUDGET):
        exact = gaussian(
            query.name, rho=rhos[query.name], sensitivity=query.sensitivity, step=query.step, size=query.size
        )
        assert exact in planned.events


def test_a_release_of_samples_states_their_rate(small, tmp_path) -> None:
    hr.Ledger.create(tmp_path / "ledger.db", BUDGET)
    release = fit(small, Rounds(), BUDGET, ledger=tmp_path / "ledger.db")
    statement = release.statement
    assert statement.private
    lines = {m.name: m for m in statement.measurements}
    assert (lines["round 0"].mechanism, lines["round 0"].rate) == ("subsampled gaussian", drawn_rate(0.1))
    assert "q = 0.1" in str(statement)
    assert Release.from_bytes(release.to_bytes()).statement == statement
    kept = {line["name"]: "rate" in line for line in statement.to_json()["measurements"]}
    assert [name for name, there in kept.items() if there] == [f"round {i}" for i in range(5)]
    costs = [line.cost for line in statement.measurements]
    order = hr.plan(Rounds(), small.domain, BUDGET).spent.optimal_order(1e-6)
    alone = sum(costs) * order + math.log1p(-1 / order) - (math.log(1e-6) + math.log(order)) / (order - 1)
    assert alone == pytest.approx(4.0, abs=1e-6)  # the column adds up to the ε that is stated
    assert hr.Ledger.open(tmp_path / "ledger.db").remaining < 1e-8


@pytest.mark.parametrize("noise", ["gaussian", "laplace"])
def test_a_posterior_sample_gets_its_part_of_epsilon_and_sums_the_rest(small, noise) -> None:
    config = Rounds(chain=True, noise=noise)
    planned = hr.plan(config, small.domain, BUDGET)
    (sample,) = (event for event in planned.events if isinstance(event, PosteriorSample))
    share = config.split(small.domain, BUDGET)["item factors"]
    assert sample.sensitivity / sample.noise == pytest.approx(4.0 * share)
    assert 0 <= 4.0 - planned.epsilon < 1e-8
    assert [e.name for e in planned.events] == [q.name for q, _ in config.queries(small.domain, BUDGET)]


def test_a_published_posterior_sample_states_the_claim_beside_the_truth(small) -> None:
    config = Rounds(chain=True, analysis="published")
    planned = hr.plan(config, small.domain, BUDGET)
    (sample,) = (event for event in planned.events if isinstance(event, PosteriorSample))
    share = config.split(small.domain, BUDGET)["item factors"]
    assert sample.noise == pytest.approx(24.0 / (4.0 * share))
    assert (sample.sensitivity, planned.claimed_epsilon) == (6.0, 4.0)
    assert planned.cost(sample) == pytest.approx(share)  # a quarter of its part, which is what it is worth


def test_a_conditional_release_says_so_first_and_shows_its_chain(small, tmp_path) -> None:
    hr.Ledger.create(tmp_path / "ledger.db", BUDGET.model_copy(update={"epsilon": 20.0}), 3)
    release = fit(small, Rounds(chain=True), BUDGET, ledger=tmp_path / "ledger.db")
    statement = release.statement
    lines = str(statement).splitlines()
    assert lines[0] == (
        "CONDITIONAL ON CONVERGENCE: a posterior sample (item factors) keeps its ε only if the chain had "
        "converged; its diagnostics (R̂, effective sample size) were computed from the ratings and are "
        "covered by no ε"
    )
    assert lines[1].startswith("ε = 4 at δ = 1e-06")
    assert not statement.private
    where = lines.index("The chain:")
    assert lines[where + 1 : where + 4] == [
        "  · R̂: 1.012",
        "  · effective sample size: 812",
        "  · chains: 4, of 2,000 rounds",
    ]
    assert (
        "  · the chain that a posterior sample was taken from had converged, which nobody can check" in lines
    )
    assert Release.from_bytes(release.to_bytes()).statement == statement
    after = fit(small, GlobalEffects(), BUDGET, ledger=tmp_path / "ledger.db").statement
    assert after.caveat == statement.caveat
    assert not after.diagnostics


def classes(ratings):
    levels = {"strict": 0.5, "default": 2.0, "generous": 8.0}
    domain = ratings.domain
    return hr.Domain(domain.items, scale=domain.scale, max_users=domain.max_users, privacy_classes=levels)


def test_the_statement_lists_what_each_class_is_promised(small, tmp_path) -> None:
    domain, config = classes(small), Rounds()
    planned = hr.plan(config, domain, BUDGET)
    grant = hr.Ledger.create(tmp_path / "ledger.db", BUDGET).charge(planned)
    made = fit(small, GlobalEffects(), None)
    statement = describe(made, config, planned, grant, domain, personal=True).statement
    assert [(level.name, level.asked) for level in statement.promises] == [
        ("strict", 0.5),
        ("default", 2.0),
        ("generous", 8.0),
    ]
    for level, (weight, promised) in zip(
        statement.promises, [(0.3, 0.5), (0.7, 2.0), (1.0, 4.0)], strict=True
    ):
        assert level.weight == pytest.approx(weight, abs=0.1)
        assert promised - 0.001 < level.promised <= promised
    text = str(statement)
    assert "class     asks for  is promised   weight" in text
    assert "Each person loses at most the ε that they asked for, at the same δ, and never more" in text
    assert "each person's ε was chosen without looking at ratings, and is itself never published" in text
    assert Statement.from_json(json.loads(json.dumps(statement.to_json()))) == statement
    assert hr.plan(GlobalEffects(), domain, BUDGET).promises == ()
    assert isinstance(statement.promises[0], Promised)


def test_people_who_ask_are_refused_where_nobody_is_weighed() -> None:
    rating = BUDGET.model_copy(update={"unit": "rating"})
    for config, budget in ((GlobalEffects(), BUDGET), (GlobalEffects(), None), (Rounds(), rating)):
        with pytest.raises(BudgetUnsupported, match="drop the column epsilon"):
            config.require_personal_budgets(budget, asks=True)
        config.require_personal_budgets(budget, asks=False)
    Rounds().require_personal_budgets(BUDGET, asks=True)
    Rounds().require_personal_budgets(None, asks=True)
