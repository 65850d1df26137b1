"""Sparse matrices through the one door: what is booked, what is refused, what comes out."""

import hashlib
import math
from dataclasses import replace

import numpy as np
import pytest

from hushrec.errors import GrantError
from hushrec.privacy import noisy
from hushrec.privacy.accounting.budget import Budget
from hushrec.privacy.accounting.measurement import EVERY_RATING, Measurement
from hushrec.privacy.accounting.plan import Plan
from hushrec.privacy.grant import Grant
from hushrec.privacy.ledger.ledger import Ledger
from hushrec.privacy.noise.entropy import Entropy, OperatingSystem, Seeded
from hushrec.privacy.noisy import NoisyMatrix
from support.matrices import SHAPE, STEP, matrix

SCALE = 8.0
CELLS = Measurement("cells", 1.0, "l1", STEP, SHAPE[0] * SHAPE[1], noise=SCALE * STEP)
BUDGET = Budget(epsilon=2.0, delta=0.0, unit="record", adjacency="add-remove")


def plan_of(*events: Measurement, budget: Budget = BUDGET) -> Plan:
    return Plan("toy", {}, "d" * 64, 1000, budget, events)


def grant_for(*events: Measurement, entropy: Entropy | None = None, **facts: object) -> Grant:
    plan = plan_of(*events, **facts)  # type: ignore[arg-type]
    return Ledger.ephemeral(plan.budget).charge(plan, entropy=entropy or Seeded(1))


def is_a_matrix(noisy: NoisyMatrix, threshold: int, limit: int) -> bool:
    """Compressed rows of the shape, columns ascending, sizes between threshold and limit."""
    owner = np.repeat(np.arange(noisy.shape[0]), np.diff(noisy.indptr))
    places = owner * noisy.shape[1] + noisy.columns
    sizes = np.abs(noisy.values)
    types = noisy.indptr.dtype, noisy.columns.dtype, noisy.values.dtype
    return bool(
        types == (np.int64, np.int32, np.int32)
        and noisy.indptr.shape == (noisy.shape[0] + 1,)
        and noisy.columns.size == noisy.indptr[-1]
        and np.all(np.diff(places) > 0)
        and np.all((sizes >= threshold) & (sizes <= limit))
    )


# -- matrices ---------------------------------------------------------------------------------------------


@pytest.mark.parametrize("filled", [0.0, 0.2, 1.0])
@pytest.mark.parametrize(("threshold", "limit"), [(1, 1), (20, 32), (200, 2**31 - 1)])
def test_the_cells_that_reach_the_threshold_are_listed(filled: float, threshold: int, limit: int) -> None:
    found = grant_for(CELLS).measure_cells(CELLS, matrix(filled, threshold=threshold, limit=limit))
    assert is_a_matrix(found, threshold, limit)
    assert (found.measurement, found.sigma, found.step) == (CELLS, math.sqrt(2) * SCALE * STEP, STEP)
    assert found.columns.size < CELLS.size
    assert "values" not in repr(found)


def test_nothing_given_is_written_to() -> None:
    bounded = matrix()
    before = bounded.values.copy(), bounded.columns.copy(), bounded.indptr.copy()
    grant_for(CELLS).measure_cells(CELLS, bounded)
    for now, then in zip((bounded.values, bounded.columns, bounded.indptr), before, strict=True):
        np.testing.assert_array_equal(now, then)


def test_every_block_of_rows_has_a_key_of_its_own(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(noisy, "_BLOCK", 15 * SHAPE[1])
    keys: list[bytes] = []

    class Watched(Seeded):
        def key(self) -> bytes:
            keys.append(super().key())
            return keys[-1]

    grant_for(CELLS, entropy=Watched(1)).measure_cells(CELLS, matrix(threshold=20, limit=60))
    assert len(set(keys)) == len(keys) == -(-SHAPE[0] // 15)


@pytest.mark.parametrize("block", [1, 40, 2**21])
def test_cells_that_reach_the_threshold_are_listed_and_clamped(
    block: int, monkeypatch: pytest.MonkeyPatch
) -> None:
    """With noise of 1 on every cell, over blocks of one row, of two and of all."""
    monkeypatch.setattr(noisy, "_BLOCK", block)
    generator = np.random.default_rng(0)
    truth = np.where(generator.random((50, 17)) < 0.4, generator.integers(-12, 13, (50, 17)), 0)
    indptr = np.concatenate([[0], np.cumsum((truth != 0).sum(axis=1))])
    columns = np.nonzero(truth)[1].astype(np.int32)
    cells = noisy.Cells((50, 17), indptr, columns, truth[truth != 0], threshold=5, limit=9)
    starts, places, values = cells.noisy(lambda steps: np.add(steps, 1, out=steps))
    found = np.zeros((50, 17), np.int64)
    found[np.repeat(np.arange(50), np.diff(starts)), places] = values
    np.testing.assert_array_equal(found, np.where(np.abs(truth + 1) >= 5, np.clip(truth + 1, -9, 9), 0))
    assert (starts.dtype, places.dtype, values.dtype) == (np.int64, np.int32, np.int32)


def test_values_may_be_32_bits_wide() -> None:
    wide, narrow = matrix(), matrix(values=matrix().values.astype(np.int32))
    one, two = (grant_for(CELLS).measure_cells(CELLS, m) for m in (wide, narrow))
    np.testing.assert_array_equal(one.values, two.values)


def digest(noisy: NoisyMatrix) -> str:
    return hashlib.sha256(
        b"".join(a.tobytes() for a in (noisy.indptr, noisy.columns, noisy.values))
    ).hexdigest()


def test_the_same_seed_gives_the_same_bytes_and_the_system_never_does() -> None:
    def released(entropy: Entropy) -> str:
        return digest(grant_for(CELLS, entropy=entropy).measure_cells(CELLS, matrix(threshold=9, limit=32)))

    assert released(Seeded(5)) == released(Seeded(5)) != released(Seeded(6))
    assert released(OperatingSystem()) != released(OperatingSystem())


def test_the_cells_are_the_known_ones() -> None:
    found = grant_for(CELLS).measure_cells(CELLS, matrix(threshold=20, limit=32))
    assert digest(found)[:16] == "4d9bbd57c1cc661a"


@pytest.mark.parametrize(
    ("change", "complaint"),
    [
        ({"name": "others"}, "not booked"),
        ({"sensitivity": 1.0000001}, "lists it otherwise"),
        ({"step": 2**-5}, "lists it otherwise"),
        ({"norm": "l2"}, "lists it otherwise"),
        ({"size": 1240}, "lists it otherwise"),
    ],
)
def test_what_was_not_booked_is_refused_and_spends_nothing(change: dict[str, object], complaint: str) -> None:
    grant = grant_for(CELLS)
    with pytest.raises(GrantError, match=complaint):
        grant.measure_cells(replace(CELLS, noise=0.0, **change), matrix())  # type: ignore[arg-type]
    with pytest.raises(GrantError, match="size is 1240, booked was 1200"):
        grant.measure_cells(CELLS, matrix(shape=(40, 31)))
    grant.measure_cells(CELLS, matrix())
    with pytest.raises(GrantError, match="already made"):
        grant.measure_cells(CELLS, matrix())


def test_every_release_adds_its_own_kind_of_noise() -> None:
    booked = Measurement("cells", 1.0, "l2", STEP, CELLS.size, noise=40.0)
    with pytest.raises(GrantError, match="booked was gaussian"):
        grant_for(booked, budget=BUDGET.model_copy(update={"delta": 1e-6})).measure_cells(booked, matrix())


@pytest.mark.parametrize(("threshold", "limit"), [(0, 5), (-3, 5), (6, 5), (1, 2**31)])
def test_thresholds_have_an_order(threshold: int, limit: int) -> None:
    with pytest.raises(ValueError, match="1 ≤ threshold ≤ limit"):
        matrix(threshold=threshold, limit=limit)


def test_a_size_of_every_rating_is_checked_in_all_but_its_number() -> None:
    hidden = BUDGET.model_copy(update={"adjacency": "replace"})
    sums, counts = (
        Measurement(name, 1.0, "l1", 2**-8, EVERY_RATING, noise=8.0) for name in ("sums", "counts")
    )
    grant = grant_for(sums, counts, budget=hidden)
    for change in ({"sensitivity": 1.1}, {"norm": "l2"}, {"step": 1.0}):
        with pytest.raises(GrantError):
            grant.measure(replace(sums.listed, **change), np.zeros(77, np.int64))  # type: ignore[arg-type]
    for listed, size in ((sums, 77), (counts, 3)):
        assert grant.measure(listed, np.zeros(size, np.int64)).values.shape == (size,)
    every = replace(CELLS, size=EVERY_RATING)
    with pytest.raises(GrantError, match="size"):
        grant_for(every, budget=hidden).measure_cells(every, matrix())
