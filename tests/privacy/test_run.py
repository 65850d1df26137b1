"""A run measures what was charged and nothing else; the baseline's adds nothing to anything."""

import dataclasses
from collections.abc import Sequence
from pathlib import Path

import numpy as np
import pytest

from hushrec.documents.words import Clause
from hushrec.errors import GrantError
from hushrec.privacy.accounting.budget import Budget, Unprotected
from hushrec.privacy.accounting.plan import Measurement, Plan
from hushrec.privacy.accounting.weights import GRID, weights
from hushrec.privacy.allocation import calibrated
from hushrec.privacy.ledger.ledger import Ledger
from hushrec.privacy.noise.entropy import Seeded
from hushrec.privacy.query import AnyQuery, Draw, Sum
from hushrec.privacy.run import ChargedRun, ExactRun

BUDGET = Budget(epsilon=4.0, delta=1e-6, unit="user", adjacency="add-remove")
SUMS = Sum("sums", 3.0, "l2", 2**-10, 4)
ROUND = Sum("round", 0.5, "l2", 2**-12, 4, rate=0.25)
PUBLIC = Sum("counts", 0.0, "l2", 0.25, 4)
STEPS = np.array([4, -8, 0, 1])


def charged(queries: Sequence[AnyQuery] = (SUMS, ROUND, PUBLIC), seed: int = 1) -> ChargedRun:
    booked = [query for query in queries if not query.is_exact]
    split = {query.name: 1 / len(booked) for query in booked}
    events = calibrated(booked, split, BUDGET)
    parts = tuple(Measurement(event, split[event.name]) for event in events)
    plan = Plan("toy", {}, "d" * 64, 1000, BUDGET, parts)
    return ChargedRun(plan, queries, Ledger.ephemeral(BUDGET).charge(plan, entropy=Seeded(seed)))


def test_what_is_measured_has_the_noise_that_was_charged() -> None:
    run = charged()
    noisy = run.measure(SUMS, STEPS)
    assert noisy.event == run.plan.events[0]
    assert noisy.sigma == run.noise(SUMS) == run.plan.events[0].noise > 0
    assert (noisy.values != STEPS * SUMS.step).all()
    assert run.terms is BUDGET
    with pytest.raises(GrantError, match="sums"):
        run.measure(SUMS, STEPS)


@pytest.mark.parametrize(
    "changes",
    [
        {"sensitivity": 1e-6},
        {"sensitivity": 0.0},
        {"step": 2**-9},
        {"size": 5},
        {"norm": "l1"},
        {"rate": 0.5},
    ],
    ids=str,
)
def test_another_query_than_the_charged_one_is_refused(changes: dict[str, object]) -> None:
    """A sensitivity of 0 would be published exactly."""
    run = charged()
    with pytest.raises(GrantError, match="sums: the charged plan does not have this query"):
        run.measure(dataclasses.replace(SUMS, **changes), STEPS)  # type: ignore[arg-type]
    assert run.measure(SUMS, STEPS).sigma > 0, "nothing was used"


def test_a_query_that_was_not_planned_is_refused() -> None:
    run = charged((SUMS,))
    for unknown in (ROUND, PUBLIC, Draw("sums", 3.0, 2**-10, 4)):
        with pytest.raises(GrantError, match=r"measure only what queries\(\) lists"):
            run.measure(unknown, STEPS)  # type: ignore[arg-type]


def test_a_run_that_did_not_compare_would_publish_exact_sums() -> None:
    """The fault that the tests above catch, planted: any query of a known name passes."""

    class Careless(ChargedRun):
        def measure(self, query, values):  # type: ignore[no-untyped-def]
            return query.exact(values) if query.is_exact else query.measure(self.grant, values)

    run = charged()
    careless = Careless(run.plan, run.queries, run.grant)
    found = careless.measure(dataclasses.replace(SUMS, sensitivity=0.0), STEPS)
    np.testing.assert_array_equal(found.values, STEPS * SUMS.step)


def test_what_all_neighbours_share_is_public_and_costs_nothing() -> None:
    run = charged()
    np.testing.assert_array_equal(run.measure(PUBLIC, STEPS).values, STEPS * 0.25)
    assert "counts" not in [event.name for event in run.plan.events]


def test_a_sample_is_drawn_by_the_grant_where_there_is_one() -> None:
    run = charged()
    assert run.sample(SUMS) is None, "everybody takes part"
    sample = run.sample(ROUND)
    assert sample is not None
    assert sample.rate == ROUND.rate
    assert sample == charged().sample(ROUND) != charged(seed=2).sample(ROUND)


def test_weights_are_those_at_which_the_plan_costs_what_is_asked_for() -> None:
    run, asked = charged((SUMS,)), np.array([0.0, 0.5, 4.0, 9.0])
    found = run.weights(asked)
    np.testing.assert_array_equal(found, np.rint(weights(run.plan.events, 1e-6, asked) * GRID))
    assert found[0] == 0 < found[1] < found[2] == found[3] == GRID


def test_the_baseline_measures_exactly_what_it_is_given(tmp_path: Path) -> None:
    terms = Unprotected("user", "add-remove")
    run = ExactRun(terms)
    for query in (SUMS, ROUND, PUBLIC):
        np.testing.assert_array_equal(run.measure(query, STEPS).values, STEPS * query.step)
        assert (run.noise(query), run.sample(query)) == (0.0, None)
    run.measure(SUMS, STEPS)  # nothing is counted
    assert run.measure(Draw("sample", 1.0, 1.0, 4), lambda key: key) == bytes(32)
    assert run.terms is terms
    assert run.terms.epsilon == float("inf")
    np.testing.assert_array_equal(run.weights(np.array([0.0, 0.1, 9.0])), [0, GRID, GRID])


PAIRS, COUNTS = (Sum(name, 1.0, "l2", 2**-10, 4, branch=name) for name in ("pairs", "counts"))
WHY = Clause("branch.pairs", {"signal": 31.0, "least": 20.0})


def of_branches() -> ChargedRun:
    split = {"sums": 0.5, "pairs": 0.5, "counts": 0.5}
    queries = (SUMS, PAIRS, COUNTS)
    parts = tuple(Measurement(event, split[event.name]) for event in calibrated(queries, split, BUDGET))
    plan = Plan("toy", {}, "d" * 64, 1000, BUDGET, parts)
    return ChargedRun(plan, queries, Ledger.ephemeral(BUDGET).charge(plan, entropy=Seeded(1)))


@pytest.mark.parametrize(("taken", "left"), [(PAIRS, COUNTS), (COUNTS, PAIRS)], ids=["pairs", "counts"])
def test_one_branch_is_measured_and_none_before_it_is_taken(taken: Sum, left: Sum) -> None:
    """Both under one charge would cost more than was paid."""
    run = of_branches()
    run.measure(SUMS, STEPS)
    for query in (PAIRS, COUNTS):
        with pytest.raises(GrantError, match=rf"no branch was taken yet; call run.take\('{query.branch}'"):
            run.measure(query, STEPS)
    run.take(taken.branch, WHY)
    with pytest.raises(GrantError, match=f"only branch {taken.branch} is measured"):
        run.measure(left, STEPS)
    assert run.measure(taken, STEPS).sigma == run.noise(taken)
    assert (run.grant.taken, run.reasons) == (taken.branch, [WHY])


def test_what_is_always_made_may_follow_the_branch() -> None:
    run = of_branches()
    run.take("counts", WHY)
    assert run.measure(SUMS, STEPS).sigma > 0


@pytest.mark.parametrize("branch", ["", "sums", "both"])
def test_a_branch_that_the_plan_does_not_have_is_refused(branch: str) -> None:
    run = of_branches()
    with pytest.raises(GrantError, match=r"no such branch; name one of queries\(\)"):
        run.take(branch, WHY)
    run.take("pairs", WHY)
    assert run.reasons == [WHY], "nothing was taken before"


@pytest.mark.parametrize("again", ["pairs", "counts"])
def test_a_branch_is_taken_once(again: str) -> None:
    run = of_branches()
    run.take("pairs", WHY)
    with pytest.raises(GrantError, match="branch pairs was taken already"):
        run.take(again, WHY)
    with pytest.raises(GrantError, match="only branch pairs is measured"):
        run.measure(COUNTS, STEPS)


def test_a_query_of_another_branch_than_planned_is_refused() -> None:
    """One that names no branch could be measured with any."""
    run = of_branches()
    run.take("pairs", WHY)
    with pytest.raises(GrantError, match="the charged plan does not have this query"):
        run.measure(dataclasses.replace(COUNTS, branch=""), STEPS)


def test_the_baseline_takes_any_branch() -> None:
    run = ExactRun(Unprotected("user", "add-remove"))
    run.take("pairs", WHY)
    run.decide(WHY)
    np.testing.assert_array_equal(run.measure(PAIRS, STEPS).values, STEPS * PAIRS.step)
