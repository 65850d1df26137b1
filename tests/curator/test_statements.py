"""What is written into a statement, and what not: nothing that nobody asked for, nothing that is not kept."""

from pathlib import Path

import numpy as np
import pytest

import hushrec as hr
from hushrec.data.people import People
from hushrec.documents.sentences import Assumes
from hushrec.models.base import Model
from hushrec.models.liu_wang_smola.chain import ChainSettings
from hushrec.models.liu_wang_smola.posterior_mf import PosteriorMF
from hushrec.models.liu_wang_smola.posterior_sample_mf import PosteriorSampleMF
from hushrec.models.liu_wang_smola.sample import Diagnostics
from hushrec.release.artefact import Release

BUDGET = hr.Budget(epsilon=4.0, delta=1e-6, unit="user", adjacency="add-remove")
LEVELS = {"strict": 0.25, "generous": 4}
CHAIN = ChainSettings(chains=2, epochs=20)
SHORT = PosteriorSampleMF(rank=2, chain=CHAIN)


def ratings(asked: float | None = None) -> People:
    """Two people who rated one item each."""
    levels = None if asked is None else LEVELS
    domain = hr.Domain(range(5), scale=(1, 5, 1), max_users=100, max_per_user=2, personal_epsilon=levels)
    people = ["a", "b"]
    asks = None if asked is None else np.full(2, asked)
    return People(
        domain,
        people,
        np.array([0, 1, 2]),
        np.zeros(2, np.int32),
        np.ones(2, np.uint8),
        personal_epsilon=asks,
    )


def fitted(tmp_path: Path, asked: float | None, model: Model, seed: int | None = None) -> Release:
    if seed is not None:
        return hr.testing.fit(ratings(asked), model, BUDGET, entropy=hr.testing.Seeded(seed))
    return hr.fit(ratings(asked), model, BUDGET, ledger=hr.Ledger.create(tmp_path / "ledger.db", BUDGET))


def test_classes_are_listed_only_where_people_were_asked(tmp_path: Path) -> None:
    """Where nobody was, everybody counts in full, the strict as well."""
    statement = fitted(tmp_path, None, PosteriorMF(epochs=2)).statement
    assert not statement.personal_epsilon
    assert statement.classes == ()
    assert "strict" not in str(statement)
    (tmp_path / "ledger.db").unlink()
    asked = fitted(tmp_path, 0.25, PosteriorMF(epochs=2)).statement
    assert [level.name for level in asked.classes] == list(LEVELS)
    assert "strict" in str(asked)
    assert "several releases add" in str(asked)
    assert Assumes.personal_epsilon(given="ratings") in asked.assumes


def test_a_seeded_experiment_tells_nobody_what_he_loses(tmp_path: Path) -> None:
    statement = fitted(tmp_path, 0.25, PosteriorMF(epochs=2), seed=1).statement
    assert statement.personal_epsilon
    for said in ("Each person", "  is promised"):
        assert said not in str(statement)
    assert "would be promised" in str(statement)


def test_a_posterior_sample_says_what_its_epsilon_does_not_cover(tmp_path: Path) -> None:
    statement = fitted(tmp_path, None, SHORT).statement
    head, refuted, *_ = str(statement).splitlines()
    assert head.startswith("CONDITIONAL ON CONVERGENCE: a posterior sample")
    assert "(R̂, effective sample size) were computed from the ratings and are covered by no ε" in head
    assert refuted.startswith("This release promises nothing")
    assert "which holds for the noise here" not in str(statement)
    assert {Assumes.converged(), Assumes.floating()} <= {*statement.assumes}
    assert "floating point, unrounded; its ε does not cover" in " ".join(str(statement).split())


@pytest.mark.parametrize("rhat", [1.0, 1.5])
def test_the_verdict_is_the_one_that_a_statement_looks_for(rhat: float, tmp_path: Path) -> None:
    statement = fitted(tmp_path, None, SHORT).statement
    found = Diagnostics(rhat=rhat, ess=1000.0, apart=0.0, functionals=9, chains=4, draws=500)
    text = str(type(statement).from_json(statement.to_json() | {"diagnostics": found.facts()}))
    assert ("promises nothing: by" in text) == (not found.converged) == (rhat > 1.01)


@pytest.mark.parametrize(
    ("crowd", "told"),
    [
        ({}, None),
        ({"expected_users": 1_200}, "about 1,200 users were expected from public knowledge"),
        ({"expected_records": 3_000}, "about 3,000 ratings were expected from public knowledge"),
        (
            {"expected_users": 20, "expected_records": 3_000},
            "about 20 users and 3,000 ratings were expected from public knowledge",
        ),
    ],
)
def test_a_declared_crowd_is_an_assumption(crowd, told, budget):
    made = hr.synthetic.netflix_like(20, 6, 60, 1)
    domain = hr.Domain(made.domain.items, scale=(1, 5, 1), max_users=2_000, **crowd)
    people = hr.People(domain, made.users, made.indptr, made.items, made.values)
    statement = hr.testing.fit(people, hr.GlobalEffects(), budget(), entropy=hr.testing.Seeded(1)).statement
    found = [str(fact) for fact in statement.assumes if fact.name.startswith("assumes.expected")]
    assert len(found) == (told is not None)
    assert all(line.startswith(told) for line in found)


@pytest.mark.parametrize(
    ("unit", "adjacency", "roster", "stated"),
    [
        ("user", "add-remove", None, {"cap"}),
        ("record", "add-remove", None, set()),
        ("record", "replace", None, {"stars_alone"}),
        ("user", "replace", None, {"cap", "everybody"}),
        ("user", "replace", ["a", "b"], {"cap", "roster"}),
    ],
)
def test_a_promise_states_what_it_rests_on(unit, adjacency, roster, stated):
    delta = 0.0 if (unit, adjacency) == ("user", "replace") else 1e-6
    budget = hr.Budget(epsilon=4.0, delta=delta, unit=unit, adjacency=adjacency)
    domain = hr.Domain(range(5), scale=(1, 5, 1), max_users=100, max_per_user=2, users=roster)
    one = ratings()
    people = People(domain, one.users, one.indptr, one.items, one.values)
    make, model = hr.testing.fit, hr.GlobalEffects()
    if not delta:
        make, model = hr.testing.randomize, hr.RandomizedResponse()
    statement = make(people, model, budget, entropy=hr.testing.Seeded(1)).statement
    names = {fact.name.removeprefix("assumes.") for fact in statement.assumes}
    assert names & {"cap", "everybody", "stars_alone", "roster", "personal_epsilon"} == stated
