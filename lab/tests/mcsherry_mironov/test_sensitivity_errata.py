"""Published claims of McSherry & Mironov 2009 that do not hold, each beside the form that does."""

import math

import numpy as np
import pytest

from hushrec.data.domain import Domain
from hushrec.models.mcsherry_mironov.sums import CovarianceSums
from hushrec.privacy.accounting.budget import Unprotected
from hushrec.sums import sensitivity
from hushrec.sums.integer_grid import Weights
from hushrec.sums.item_sums import EffectSums
from hushrec.sums.kernels.centring import centre
from lab.mcsherry_mironov.published import McSherrySVD

SPAN, STRENGTH, CLIP = 4.0, 20, 1.0
RECORD, USER = Unprotected("record", "add-remove"), Unprotected("user", "add-remove")
DOMAIN = Domain(items=range(4000), scale=(1, 5, 1), max_per_user=500, max_users=10_000)


def sums(norm="l2", **settings):
    settings = {
        "clip": CLIP,
        "limit": SPAN / 2,
        "reg": STRENGTH,
        "contribution_cap": 1.0,
        "offset": 0.0,
        **settings,
    }
    return CovarianceSums(DOMAIN, "record", "add-remove", norm, **settings)


def centred(limit, ratings, effects):
    """One user's centred and clamped ratings, in rating units."""
    n, step = len(ratings), 2.0**-12
    entries = centre(
        np.array([0, n]),
        np.arange(n, dtype=np.int32),
        (ratings - 1).astype(np.uint8),
        np.arange(1, 6) * 4096,
        np.rint(effects / step).astype(np.int64),
        round(limit / step),
        0,
        STRENGTH,
        round(CLIP / step),
    )
    return entries * step


@pytest.mark.parametrize(("limit", "holds"), [(SPAN, False), (SPAN / 2, True)])
def test_theorem_4_needs_residuals_within_half_the_scale(limit, holds):
    """A user who gave one star to 1000 items of mean five, and then five stars to an item of mean one."""
    effects = np.array([5.0] * 1000 + [1.0])
    before = centred(limit, np.ones(1000), effects[:-1])
    after = centred(limit, np.array([1.0] * 1000 + [5.0]), effects)
    moved = np.abs(after - np.append(before, 0)).sum()
    claim = SPAN + CLIP  # Theorem 4: ‖r̂ᵃ − r̂ᵇ‖₁ ≤ α + B
    assert (moved <= claim) == holds
    if not holds:
        assert moved == pytest.approx(8.8, abs=0.15)


def test_theorem_4_has_no_bound_where_the_mean_of_an_item_lies_off_the_scale():
    """One rating of an item whose noisy mean is 1,000 stars off moves all others of its user by about one."""
    effects = np.array([3.0] * 1000 + [1000.0])
    before = centred(2000.0, np.full(1000, 3.0), effects[:-1])
    after = centred(2000.0, np.full(1001, 3.0), effects)
    assert np.abs(after - np.append(before, 0)).sum() > 100 * (SPAN + CLIP)


@pytest.mark.parametrize(("theta", "at_least"), [(0.15, 0.6), (1.0, 0.2)])
def test_most_noisy_means_of_little_rated_items_lie_off_the_scale(theta, at_least):
    """MAvg = (MSum + 15 G)/(MCnt + 15) (§4.2) of 10,000 items with 20 ratings of 3.5; σ_i = Δ_i/θ_i."""
    rng, part = np.random.default_rng(7), 0.095 * theta
    sums = 20 * 3.5 + rng.normal(0, SPAN / part, 10_000)
    counts = 20 + rng.normal(0, 1 / part, 10_000)
    means = (sums + 15 * 3.5) / (counts + 15)
    assert np.mean((means < 1) | (means > 5)) > at_least
    if theta == 0.15:
        assert 1 / part == pytest.approx(70, abs=0.5)


@pytest.mark.parametrize(("limit", "holds"), [(SPAN, False), (SPAN / 2, True)])
def test_theorem_5_fails_in_l1(limit, holds):
    """115 ones for items of mean five and 885 fives for items of mean one; then one more one."""
    given, effects = np.array([1.0] * 116 + [5.0] * 885), np.array([5.0] * 116 + [1.0] * 885)
    after = centred(limit, given, effects)
    before = np.append(0, centred(limit, given[1:], effects[1:]))
    moved = np.abs(np.outer(after, after) / 1001 - np.outer(before, before) / 1000)
    assert (moved.sum() <= printed("l1")) == holds
    if not holds:
        assert moved.sum() == pytest.approx(13.0, abs=0.05)
        bound, _ = McSherrySVD(noise="laplace")._covariance(DOMAIN, RECORD).queries()
        assert moved.sum() <= bound.sensitivity


def test_a_user_adds_more_than_any_constant_to_the_scalars_of_section_4_5():
    """Σ r_ui/‖e_u‖₂ grows as 5√c; a user's mean, which is summed here, does not."""
    added = {count: (5 * count / math.sqrt(count), math.sqrt(count)) for count in (1, 100, 1000)}
    assert added[1] == (5, 1)
    assert added[1000] == pytest.approx((158, 32), abs=0.5)
    sums = McSherrySVD()._effects(DOMAIN, USER)
    total, people = (query for query in sums.queries() if query.name.startswith("global"))
    assert (total.sensitivity, people.sensitivity) == pytest.approx((5, 1), rel=1e-3)


@pytest.mark.parametrize(("origin", "holds"), [(0.0, False), (3.0, True)])
def test_a_sum_of_ratings_moves_by_the_largest_rating_not_by_the_width_of_the_scale(origin, holds):
    """Adding a five-star rating moves Σ r by 5, charged is α = 4. Shifted to the middle it moves by 2."""
    effects = EffectSums(DOMAIN, "record", "add-remove", "l2", 2, origin)
    query = next(query for query in effects.queries() if query.name == "item sums")
    moved = np.abs(effects.grid_values).max() * effects.grid.step
    assert (moved <= SPAN) == holds
    assert moved == query.sensitivity


def test_a_user_adds_more_to_the_weighted_sums_than_section_4_5_prints():
    """‖r_u/‖e_u‖‖ ≤ α = 4: five for somebody who gives nothing but fives, however many."""
    for count in (1, 20, 3000):
        given, rated = np.full(count, 5.0), np.ones(count)
        for order in (1, 2):
            lengths = np.linalg.norm(given, order), np.linalg.norm(rated, order)
            assert lengths[0] / lengths[1] == pytest.approx(5)
            assert lengths[0] / lengths[1] > SPAN


def printed(norm):
    """Δ of the covariance by Theorem 5."""
    model = McSherrySVD(noise={"l1": "laplace", "l2": "gaussian"}[norm], covariance={"clip": CLIP / SPAN})
    return model.claims(DOMAIN, RECORD)["covariance"]


def test_the_corrected_covariance_needs_less_noise_than_is_printed():
    """B = 1, α = 4, β_p = 20: printed 1 + 2√2 = 3.83 and √2; bounded here by 1.23 and 1.03."""
    covariance, weights = sums().queries()
    assert printed("l2") == pytest.approx(3.83, abs=0.01)
    assert covariance.sensitivity == pytest.approx(1.22, abs=0.02)
    assert weights.sensitivity == pytest.approx(1.02, abs=0.03)
    covariance, weights = sums("l1").queries()
    assert covariance.sensitivity < printed("l1") == pytest.approx(11)
    assert weights.sensitivity < 3


def test_rounding_a_weight_to_nearest_would_break_the_bound():
    """Weights are truncated: rounded up, a user's matrix would exceed the norm that is claimed for him."""
    contribution_cap, counts = 20.0, np.arange(501)
    exact = np.minimum(1, contribution_cap / np.maximum(counts, 1))
    claimed = sensitivity.matrix_user(exact, CLIP, 0.0, "l2") / (1 + 1e-12)
    coarse = 4
    nearest = np.rint(exact * 2**coarse) / 2**coarse
    truncated = Weights(500, coarse, 1.0, contribution_cap).values
    assert sensitivity.matrix_user(nearest, CLIP, 0.0, "l2") > claimed * 1.01
    assert sensitivity.matrix_user(truncated, CLIP, 0.0, "l2") <= claimed * (1 + 1e-9)


def test_a_cap_would_make_one_more_rating_displace_another():
    """Under unit ``record`` no cap applies: with one, adding a rating can change which others count."""
    assert sums().weights.largest == DOMAIN.n_items > DOMAIN.max_per_user
