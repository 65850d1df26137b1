"""The run of a published form: exact values, then the paper's noise from the keys of a seed."""

import math

import numpy as np
import pytest

from hushrec.documents.words import Clause
from hushrec.errors import GrantError
from hushrec.kernels.csr import CSR
from hushrec.privacy.accounting.budget import Unprotected
from hushrec.privacy.accounting.events import Gaussian, Laplace, PosteriorSample
from hushrec.privacy.grant import SEAL, Grant
from hushrec.privacy.noise.entropy import Seeded
from hushrec.privacy.query import CellSum, Draw, Sum
from lab.paper import PaperNoise, PaperRun, SphericalRows

STEP = 2.0**-8
NORMAL = Gaussian("sums", 1.0, 3.0, STEP, 6)
WIDE = Laplace("cells", 1.0, 2.0, STEP, 24)
SUMS, CELLS = Sum("sums", 1.0, "l2", STEP, 6), CellSum("cells", 1.0, STEP, (4, 6), 300, 700)
ROWS = SphericalRows("users, epoch 1", 1.25, 60)
VALUES, SCALES = np.arange(60.0).reshape(12, 5), np.linspace(0.5, 2.0, 12)
TERMS = Unprotected("record", "add-remove")
STEPS = np.arange(-3, 3) * 10_000
SPARSE = CSR(np.array([0, 1, 2, 2, 3]), np.array([5, 0, 3], np.int32), np.array([256, -512, 90]))


def run(*noises, seed=3):
    return PaperRun(terms=TERMS, printed={noise.name: noise for noise in noises}, keys=Seeded(seed))


def grant(*events, seed=3):
    return Grant(events, Seeded(seed), caveats=(Clause("unprotected.seeded"),), seal=SEAL)


def test_sums_get_the_noise_that_a_grant_would_draw_from_these_keys():
    for event in (NORMAL, Laplace("sums", 1.0, 3.0, STEP, 6)):
        found = run(event).measure(SUMS, STEPS)
        query = Sum("sums", 1.0, event.norm, STEP, 6)
        drawn = query.measure(grant(event), STEPS)
        np.testing.assert_array_equal(found.values, drawn.values)
        assert (found.sigma, found.step, found.event) == (drawn.sigma, drawn.step, event)
        assert (found.values != STEPS * STEP).all()


def test_cells_get_it_too_and_what_stays_below_the_threshold_is_dropped():
    found, drawn = run(WIDE).measure(CELLS, SPARSE), CELLS.measure(grant(WIDE), SPARSE)
    for name in ("indptr", "columns", "values"):
        np.testing.assert_array_equal(getattr(found, name), getattr(drawn, name))
    assert np.abs(found.values).min() >= 300
    assert found.sigma == drawn.sigma == WIDE.deviation


def test_a_draw_gets_one_key_and_keys_follow_each_other():
    draw, event = Draw("draw", 1.0, 1.0, 3), PosteriorSample("draw", 1.0, 4.0, 1.0, 3)
    measured = run(event, NORMAL)
    assert measured.measure(draw, lambda key: key) == Seeded(3).key()
    after = measured.measure(SUMS, STEPS).values
    assert (after != run(event, NORMAL).measure(SUMS, STEPS).values).any()
    assert measured.noise(draw) == 4.0


def test_what_neighbours_agree_on_stays_exact():
    found = run().measure(Sum("sums", 0.0, "l1", STEP, 6), STEPS)
    np.testing.assert_array_equal(found.values, STEPS * STEP)
    assert found.event is None


def test_every_row_gets_noise_of_its_own_scale():
    noise = PaperNoise(ROWS.name, 1.25, 2.0)
    noisy, again = (run(noise).measure(ROWS, (VALUES, scales)) for scales in (SCALES, 2 * SCALES))
    np.testing.assert_allclose(again.values - VALUES, 2 * (noisy.values - VALUES))
    assert (noisy.values != VALUES).all()
    assert noisy.sigma == pytest.approx(math.sqrt(6 * np.mean(SCALES**2)))
    assert (run(noise, seed=4).measure(ROWS, (VALUES, SCALES)).values != noisy.values).all()


def test_no_grant_draws_noise_on_rows():
    assert not ROWS.is_exact
    assert ROWS.norm not in ("l1", "l2", "loss")
    with pytest.raises(GrantError, match="measure it on a PaperRun"):
        ROWS.measure(grant(NORMAL), (VALUES, SCALES))


def test_rows_without_noise_are_as_they_were_and_not_the_same_array():
    found = ROWS.exact((VALUES, SCALES))
    np.testing.assert_array_equal(found.values, VALUES)
    assert (found.sigma, found.event) == (0.0, None)
    assert not np.shares_memory(found.values, VALUES)
