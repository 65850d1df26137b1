"""The run of a published form: exact values, then the paper's noise from the keys of a seed."""

import math
from dataclasses import replace

import numpy as np
import pytest

from hushrec.kernels.csr import CSR
from hushrec.privacy.accounting.budget import Budget, Unprotected
from hushrec.privacy.accounting.measurement import Measurement
from hushrec.privacy.accounting.plan import Plan
from hushrec.privacy.grant import SEAL, Grant
from hushrec.privacy.noise.entropy import Seeded
from hushrec.privacy.noisy import Cells
from lab.paper import PaperNoise, PaperRun, SphericalRows

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
    assert measured.sample(draw.listed, lambda key: key) == Seeded(3).key()
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
