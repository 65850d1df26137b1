"""Liu, Wang & Smola 2015 as printed: the scale ε/4B, what it costs in truth, and rejection."""

import math

import numpy as np
import pytest

import hushrec as hr
from hushrec.errors import BudgetUnsupported
from lab.published import Cost, LiuPosterior, cost, fit

QUICK = {"chains": 2, "epochs": 40}


def printed(**settings):
    return LiuPosterior(rank=2, **{"chain": QUICK, **settings})


def pure(budget, epsilon, adjacency="add-remove"):
    return budget(epsilon, "user", adjacency, delta=0.0)


@pytest.mark.parametrize(("adjacency", "moved", "true"), [("add-remove", 1, 2.0), ("replace", 2, 4.0)])
def test_it_is_drawn_at_a_quarter_of_what_is_claimed(world, budget, adjacency, moved, true):
    """4B is printed where a user moves the loss by B, or by 2B where they change."""
    domain, model = world[0].domain, printed()
    bound = min(domain.max_per_user, domain.n_items) * 5.0**2
    (event,) = model.printed(domain, pure(budget, 8.0, adjacency)).values()
    assert event.sensitivity == moved * bound
    assert cost(model, domain, pure(budget, 8.0, adjacency)) == Cost(8.0, pytest.approx(true))
    assert model._target(domain, event.noise).scale == pytest.approx(8.0 / bound / 4)


def test_rejection_as_printed_is_for_replace_alone(world, budget):
    with pytest.raises(BudgetUnsupported, match="rejection is only for replace: how often"):
        printed(out_of_range="reject").printed(world[0].domain, pure(budget, 8.0))
    wide = printed(out_of_range="reject", margin=10.0)
    assert fit(world[0], wide, pure(budget, 8.0, "replace"), 1).kind == "factors"


# -- §3.1 and eq. 4: constants that contradict each other, or that the text leaves open --------------------


def test_the_bound_of_algorithm_1_does_not_hold_on_the_set_of_section_3_1():
    """(5 − 1 + κ)² is of predictions in [1 − κ, 5 + κ]; §3.1 has |u·v| ≤ κ, and there (5 + κ)² is reached."""
    kappa, stars = 1.0, np.arange(1.0, 6.0)[:, None]
    worst = [
        ((stars - np.linspace(*ends, 101)) ** 2).max() for ends in ((1 - kappa, 5 + kappa), (-kappa, kappa))
    ]
    assert worst == [(5 - 1 + kappa) ** 2, (5 + kappa) ** 2]
    assert worst[1] / worst[0] == 1.44


def test_the_bound_of_yahoo_music_is_that_of_another_scale(budget):
    """Ratings "at a scale of 0 to 5", τ = 200 and B = 5,000, where 0 and a prediction of 6 cost 36."""
    bounds = []
    for scale in ((1, 5, 1), (0, 5, 1)):
        domain = hr.Domain(range(1000), scale=scale, max_per_user=200, max_users=1000)
        (event,) = printed().printed(domain, pure(budget, 8.0)).values()
        bounds.append(event.sensitivity)
    assert bounds[0] == 200 * (5 - 1 + 1) ** 2 == 5000
    star = 5 / 4  # κ is a fraction of the width
    assert bounds[1] == 200 * (5 + star) ** 2 > 200 * (0 - 6) ** 2 == 1.44 * 5000


@pytest.mark.parametrize(("drift", "power"), [(0.5, 1), (1.0, 2)])
def test_noise_of_variance_eta_samples_the_loss_once_or_twice(drift, power):
    """x ← x − drift η F′(x) + N(0, η) with F = x²/2, whose density exp(−p F) has variance 1/p."""
    eta, variance = 1e-3, 0.0
    for _ in range(20_000):
        variance = (1 - drift * eta) ** 2 * variance + eta
    assert variance == pytest.approx(1 / power, rel=1e-3)
    scale = CLAIMED / (4 * RATINGS * PART)  # of the loss, as printed
    assert 2 * power * scale * RATINGS * PART == pytest.approx(power * CLAIMED / 2)  # replace: 2 p s B


# -- §6: what a user's ε is worth for a rating ------------------------------------------------------------

RATINGS, PART, CLAIMED = 200, 5.0**2, 4.0
"""τ, B/τ = (4 + κ)² with κ = 1 and w = 1, and ε."""
SCALE = CLAIMED / (4 * RATINGS * PART)
"""ε/4B."""


def law(*losses, rare=1e-9):
    """Chances of two outcomes under exp(−(ε/4B) F), of which the second is rare beforehand."""
    weights = np.array([1 - rare, rare]) * np.exp(-SCALE * np.array(losses))
    return weights / weights.sum()


def lost(before, after):
    return np.abs(np.log(before / after)).max()


@pytest.mark.parametrize("changed", [1, RATINGS])
def test_for_this_density_a_changed_rating_loses_its_part_of_what_a_user_loses(changed):
    """Ratings of 1 that become 5, where predictions are 0 or 6: (5² − 1²) of 5² in both directions."""
    found = lost(law(changed * 1, changed * 25), law(changed * 25, changed * 1))
    true = CLAIMED / 2 * changed / RATINGS
    assert found == pytest.approx(24 / 25 * true, rel=1e-6)
    assert found <= true


def test_an_added_rating_of_a_user_who_has_them_all_also_expels_one():
    """Below τ it adds a part of the loss, for ε/4τ; at τ one of two outcomes loses a part and gains one."""
    added = lost(law(0, 0), law(PART, 0))
    swapped = lost(law(0, PART), law(PART, 0))
    assert added == pytest.approx(CLAIMED / (4 * RATINGS), rel=1e-6)
    assert swapped == pytest.approx(2 * added, rel=1e-6)


def test_that_a_rating_loses_a_fraction_of_what_a_user_loses_is_not_a_law():
    """Randomized response on whether somebody rated an item: a user and a rating lose the same ε."""
    true = 1 / (1 + math.exp(-CLAIMED))
    rated, not_rated = np.array([true, 1 - true]), np.array([1 - true, true])
    assert lost(rated, not_rated) == pytest.approx(CLAIMED)
    assert lost(rated, not_rated) > CLAIMED / RATINGS
