"""A model measures what was charged and nothing else; the baseline adds nothing to anything."""

import dataclasses
import inspect
from collections.abc import Callable

import numpy as np
import pytest

from hushrec.arrays import Ints
from hushrec.documents.sentences import Branch
from hushrec.errors import GrantError
from hushrec.privacy.accounting.budget import Budget, Unprotected
from hushrec.privacy.accounting.calibration import calibrated
from hushrec.privacy.accounting.measurement import Measurement
from hushrec.privacy.accounting.plan import Plan
from hushrec.privacy.accounting.weights import GRID, weights
from hushrec.privacy.grant import Grant, Measures, WithoutNoise
from hushrec.privacy.ledger.ledger import Ledger
from hushrec.privacy.noise.entropy import Seeded
from hushrec.privacy.noisy import Cells

BUDGET = Budget(epsilon=4.0, delta=1e-6, unit="user", adjacency="add-remove")
SUMS = Measurement("sums", 3.0, "l2", 2**-10, 4)
ROUND = Measurement("round", 0.5, "l2", 2**-12, 4)
PUBLIC = Measurement("counts", 0.0, "l2", 0.25, 4)
STEPS = np.array([4, -8, 0, 1])
BOTH_WAYS = pytest.mark.parametrize("values", [STEPS, STEPS.copy], ids=["made", "to be made"])


def granted(*listed: Measurement, **split: float) -> Grant:
    split = split or {one.name: 1 / sum(not one.is_exact for one in listed) for one in listed}
    plan = Plan("toy", {}, "d" * 64, 1000, BUDGET, calibrated(listed, split, BUDGET))
    return Ledger.ephemeral(BUDGET).charge(plan, entropy=Seeded(1))


def test_what_is_measured_has_the_noise_that_was_charged() -> None:
    grant = granted(SUMS, ROUND, PUBLIC)
    noisy = grant.measure(SUMS, STEPS)
    assert noisy.measurement == grant.plan.noisy[0]
    assert noisy.sigma == grant.noise(SUMS) == grant.plan.noisy[0].noise > 0
    assert (noisy.values != STEPS * SUMS.step).all()
    assert grant.terms is BUDGET
    with pytest.raises(GrantError, match="sums"):
        grant.measure(SUMS, STEPS)


@BOTH_WAYS
def test_what_all_neighbours_share_is_public_made_once_and_costs_nothing(
    values: Ints | Callable[[], Ints],
) -> None:
    grant = granted(SUMS, PUBLIC)
    found = grant.measure(PUBLIC, values)
    assert (found.values.tolist(), found.sigma, found.measurement) == ([1.0, -2.0, 0.0, 0.25], 0.0, None)
    assert [one.name for one in grant.plan.noisy] == ["sums"]
    with pytest.raises(GrantError, match="already made"):
        grant.measure(PUBLIC, values)
    found.values[0] = 9.0
    assert STEPS[0] == 4, "the private sum is not what was published"


def test_weights_are_those_at_which_the_plan_costs_what_is_asked_for() -> None:
    grant, asked = granted(SUMS), np.array([0.0, 0.5, 4.0, 9.0])
    found = grant.weights(asked)
    np.testing.assert_array_equal(found, np.rint(weights(grant.plan.noisy, 1e-6, asked) * GRID))
    assert found[0] == 0 < found[1] < found[2] == found[3] == GRID


def test_what_a_model_measures_with_is_documented_in_full() -> None:
    """``help(Measures)`` has each name that the grant and the baseline share."""
    shared = {name for name in {*dir(Grant)} & {*dir(WithoutNoise)} if not name.startswith("_")}
    assert shared | {"prior", "terms"} <= {name for name in vars(Measures) if not name.startswith("_")}
    for name in (*shared, "__doc__"):
        text = inspect.getdoc(getattr(Measures, name)) or ""
        assert text
        assert "As ``Measures" not in text


# -- the baseline -------------------------------------------------------------------------------------------

TERMS = Unprotected("user", "add-remove")


@BOTH_WAYS
def test_the_baseline_measures_exactly_what_it_is_given(values: Ints | Callable[[], Ints]) -> None:
    grant = WithoutNoise(TERMS)
    for one in (SUMS, ROUND, PUBLIC, SUMS):  # nothing is counted
        found = grant.measure(one, values)
        np.testing.assert_array_equal(found.values, STEPS * one.step)
        assert (found.sigma, found.measurement, grant.noise(one)) == (0.0, None, 0.0)
        found.values[0] = 9.0
    assert STEPS[0] == 4
    assert grant.terms is TERMS
    assert grant.terms.epsilon == float("inf")
    np.testing.assert_array_equal(grant.weights(np.array([0.0, 0.1, 9.0])), [0, GRID, GRID])


def test_the_baseline_draws_from_a_public_key() -> None:
    sample = Measurement("sample", 1.0, "loss", 1.0, 4)
    drawn = WithoutNoise(TERMS).sample(sample, lambda key: {"key": np.frombuffer(key, np.uint8)})
    assert not drawn["key"].any()
    assert drawn["key"].size == 32


def test_the_baseline_lists_all_stored_cells_and_clamps_them() -> None:
    stored = np.array([1, -20, 13]), np.array([1, -12, 12])
    cells = Cells((2, 3), np.array([0, 2, 3]), np.array([0, 2, 1], np.int32), stored[0], 9, 12)
    found = WithoutNoise(TERMS).measure_cells(Measurement("cells", 1.0, "l1", 0.5, 6), cells)
    np.testing.assert_array_equal(found.values, stored[1])
    np.testing.assert_array_equal(found.columns, cells.columns)
    np.testing.assert_array_equal(found.indptr, cells.indptr)
    assert (found.sigma, found.measurement, found.values.dtype) == (0.0, None, np.int32)


# -- branches -----------------------------------------------------------------------------------------------

PAIRS, COUNTS = (Measurement(name, 1.0, "l2", 2**-10, 4, branch=name) for name in ("pairs", "counts"))
WHY = Branch.pairs(signal=31.0, least=20.0)


def of_branches() -> Grant:
    return granted(SUMS, PAIRS, COUNTS, sums=0.5, pairs=0.5, counts=0.5)


@pytest.mark.parametrize(("taken", "left"), [(PAIRS, COUNTS), (COUNTS, PAIRS)], ids=["pairs", "counts"])
def test_one_branch_is_measured_and_none_before_it_is_taken(taken: Measurement, left: Measurement) -> None:
    """Both under one charge would cost more than was paid."""
    grant = of_branches()
    grant.measure(SUMS, STEPS)
    for one in (PAIRS, COUNTS):
        with pytest.raises(GrantError, match=rf"no branch was taken yet; call take\('{one.branch}'"):
            grant.measure(one, STEPS)
    assert grant.take(taken.branch, WHY) == taken.branch
    with pytest.raises(GrantError, match=f"only branch {taken.branch} is measured"):
        grant.measure(left, STEPS)
    assert grant.measure(taken, STEPS).sigma == grant.noise(taken)
    assert (grant.taken, grant.reasons) == (taken.branch, [WHY])


def test_what_is_always_made_may_follow_the_branch() -> None:
    grant = of_branches()
    grant.take("counts", WHY)
    assert grant.measure(SUMS, STEPS).sigma > 0


@pytest.mark.parametrize("branch", ["", "sums", "both"])
def test_a_branch_that_the_plan_does_not_have_is_refused(branch: str) -> None:
    grant = of_branches()
    with pytest.raises(GrantError, match=r"no such branch; name one of queries\(\)"):
        grant.take(branch, WHY)
    grant.take("pairs", WHY)
    assert grant.reasons == [WHY], "nothing was taken before"


@pytest.mark.parametrize("again", ["pairs", "counts"])
def test_a_branch_is_taken_once(again: str) -> None:
    grant = of_branches()
    grant.take("pairs", WHY)
    with pytest.raises(GrantError, match="branch pairs was taken already"):
        grant.take(again, WHY)
    with pytest.raises(GrantError, match="only branch pairs is measured"):
        grant.measure(COUNTS, STEPS)


def test_a_measurement_of_another_branch_than_planned_is_refused() -> None:
    """One that names no branch could be made with any."""
    grant = of_branches()
    grant.take("counts", WHY)
    with pytest.raises(GrantError, match="the charged plan lists it otherwise"):
        grant.measure(dataclasses.replace(COUNTS, branch=""), STEPS)


def test_the_baseline_takes_any_branch() -> None:
    grant = WithoutNoise(TERMS)
    assert grant.take("pairs", WHY) == "pairs"
    grant.decide(WHY)
    np.testing.assert_array_equal(grant.measure(PAIRS, STEPS).values, STEPS * PAIRS.step)
