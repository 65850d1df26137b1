"""The figures that the documentation states are those that the code computes."""

import math
import re
from decimal import Decimal
from pathlib import Path
from statistics import NormalDist

import pytest

from hushrec.data.domain import Domain
from hushrec.models.du_leighton_patel.randomized_response import RandomizedResponse
from hushrec.models.friedman_berkovsky_kaafar.input_perturbation_mf import InputPerturbationMF
from hushrec.models.friedman_berkovsky_kaafar.private_als import PrivateALS
from hushrec.models.friedman_berkovsky_kaafar.private_sgd import PrivateSGD
from hushrec.models.lists.private_ease import PrivateEASE
from hushrec.models.liu_wang_smola.user_level_sgd import UserLevelSGD
from hushrec.models.mcsherry_mironov.covariance_model import CovarianceSettings
from hushrec.models.mcsherry_mironov.global_effects import GlobalEffects
from hushrec.models.mcsherry_mironov.sums import CovarianceSums
from hushrec.privacy.accounting.accountant import (
    Spent,
    gaussian_delta,
    gaussian_epsilon,
    gaussian_mu,
    largest_cost,
)
from hushrec.privacy.accounting.budget import Budget
from hushrec.privacy.local.substitution import worst_per_slot

DOCS = Path(__file__).resolve().parents[2] / "docs"


def text(page):
    return (DOCS / page).read_text("utf-8")


def row(page, *start):
    """The cells of the table row whose first cells are these."""
    for line in text(page).splitlines():
        cells = [cell.strip() for cell in line.strip("|").split("|")]
        if line.startswith("|") and tuple(cells[: len(start)]) == start:
            return cells[len(start) :]
    raise AssertionError(f"{page} has no row {start}")


def printed_sigma(epsilon, delta=1e-5):
    return math.sqrt(2 * math.log(2 / delta)) / epsilon


def budget(epsilon, unit="user", adjacency="add-remove"):
    return Budget(epsilon=epsilon, delta=1e-6, unit=unit, adjacency=adjacency)


def of(items, users=None, **crowd):
    return Domain(
        items=range(items), scale=(1, 5, 1), max_per_user=500, max_users=10_000, users=users, **crowd
    )


def declared():
    """The crowd and catalogue of the figures of covariances."""
    return of(3952, expected_users=6_000, expected_records=1_000_000)


@pytest.mark.parametrize("epsilon", [0.5, 1.0, 4.0, 8.0, 10.0, 15.0, 20.0])
def test_theorem_3(epsilon):
    sigma = printed_sigma(epsilon)
    stated = [float(cell) for cell in row("../lab/mcsherry_mironov/README.md", f"{epsilon:g}")]
    true = [
        sigma,
        1 / gaussian_mu(epsilon, 1e-5),
        gaussian_delta(1 / sigma, epsilon),
        gaussian_epsilon(1 / sigma, 1e-5),
    ]
    assert stated == pytest.approx(true, rel=0.03)
    assert (true[2] > 1e-5) == (epsilon > 9.39)


def test_theorem_3_turns_false_at_the_stated_epsilon():
    assert "from ε = 9.39 on" in text("../lab/mcsherry_mironov/README.md")
    at = [gaussian_delta(1 / printed_sigma(epsilon), epsilon) for epsilon in (9.39, 9.40)]
    assert at[0] < 1e-5 < at[1]
    assert "32 % too much noise" in text("../lab/mcsherry_mironov/README.md")
    assert printed_sigma(1.0) * gaussian_mu(1.0, 1e-5) == pytest.approx(1.32, abs=0.005)


@pytest.mark.parametrize(
    ("norm", "stated"), [("l2", ("1.22", "1.65", "1.04", "3.83")), ("l1", ("5.75", "9.67", "1.60", "11"))]
)
def test_theorems_5_and_6(norm, stated):
    def sums(limit):
        form = CovarianceSums(
            of(1000),
            "record",
            "add-remove",
            norm,
            clip=1.0,
            limit=limit,
            reg=20,
            contribution_cap=1,
            offset=0,
        )
        return [query.sensitivity for query in form.queries()]

    (covariance, weights), (unclamped, _) = sums(2.0), sums(4.0)
    printed = {"l2": 1 + 2 * math.sqrt(2), "l1": 2 * 4 + 3}[norm]
    assert [float(figure) for figure in stated] == pytest.approx(
        [covariance, unclamped, weights, printed], abs=0.0051
    )
    for figure in stated:
        assert re.search(rf"\b{re.escape(figure)}\b", text("../lab/mcsherry_mironov/README.md"))


@pytest.mark.parametrize(
    ("unit", "adjacency"), [("record", "add-remove"), ("record", "replace"), ("user", "add-remove")]
)
def test_sensitivities_of_the_defaults(unit, adjacency):
    sums = CovarianceSettings().sums(declared(), budget(8.0, unit, adjacency), "l2")
    shown = ["exact" if query.is_exact else f"{query.sensitivity:.3g}" for query in sums.queries()]
    assert row("models/covariance_svd.md", f"`{unit}`, {adjacency}") == shown


@pytest.mark.parametrize("unit", ["user", "record"])
def test_sensitivities_of_pairs(unit):
    named = {"user": "–", "record": "vector lengths"}
    planned = PrivateEASE().plan(of_interactions(5000, 10**4), budget(1.0, unit))
    found = {event.name: f"{event.sensitivity:.3g}" for event in planned.noisy} | {"–": "–"}
    names = ["item counts", "crowd size", "popular part", named[unit], "item pairs", "votes"]
    assert row("models/private_ease.md", f"`{unit}`, add-remove") == [found[name] for name in names]


def of_interactions(items, users):
    return Domain(items=range(items), max_users=users)


# -- private matrix factorisation -------------------------------------------------------------------------

LISTED = of(100, users=range(50))
PROTECTED = [("record", "add-remove"), ("record", "replace"), ("user", "add-remove")]


FACTORS = (
    (PrivateSGD(epochs=12), "models/private_als.md", ["PrivateSGD"]),
    (UserLevelSGD(epochs=12), "models/user_level_sgd.md", []),
    (PrivateALS(epochs=5), "models/private_als.md", ["PrivateALS"]),
)


def events(model, *protected, epsilon=1.0):
    planned = model.plan(LISTED, budget(epsilon, *protected))
    return {m.name: m for m in planned.measurements}


@pytest.mark.parametrize(("unit", "adjacency"), PROTECTED)
def test_sensitivities_of_gradients_and_right_hand_sides(unit, adjacency):
    for model, page, named in FACTORS:
        if (unit, adjacency) in model.supports:
            found = events(model, unit, adjacency)
            sides = [found[f"{side}, epoch 1"] for side in ("users", "items") if f"{side}, epoch 1" in found]
            shown = [f"{m.sensitivity:.3g}" for m in sides]
            assert row(page, *named, f"`{unit}`, {adjacency}") == shown


@pytest.mark.parametrize("adjacency", ["add-remove", "replace"])
def test_sensitivities_of_cells_and_levels(adjacency):
    name = {"replace": "ratings", "add-remove": "cells"}[adjacency]
    found = events(InputPerturbationMF(epochs=6), "record", adjacency)[name].sensitivity
    assert row("models/private_als.md", f"`record`, {adjacency}", name)[0] == f"{found:g}"
    levels = events(GlobalEffects(user_biases="released"), "record", adjacency)
    stated = row("models/global_effects.md", f"`record`, {adjacency}", "user sums")[0]
    assert stated == f"{levels['user sums'].sensitivity:g}"


# -- posterior sampling -----------------------------------------------------------------------------------


def rounded_up(stated, exact):
    """Whether a loss is stated as statements do: in the last digit that is given, never below what it is."""
    stated = Decimal(stated.replace(",", ""))
    return exact <= float(stated) < exact + 10.0 ** int(stated.as_tuple().exponent)


@pytest.mark.parametrize("epsilon", [1.0, 0.5, 0.1])
def test_repeated_releases(epsilon):
    one = largest_cost(budget(epsilon))
    sums = [Spent(one * times, None).epsilon_at(1e-6) for times in (2, 4, 12, 26, 52, 260, 520)]
    stated = row("promise.md", f"ε = {epsilon:g}")
    assert all(rounded_up(cell, exact) for cell, exact in zip(stated, sums, strict=True))


def test_two_steps():
    """Of a guess what somebody gave, who is known to have taken part."""
    mu = gaussian_mu(1.0, 1e-6)
    epsilon = gaussian_epsilon(2 * mu, 1e-6)
    told = " ".join(text("choosing.md").split())
    said = re.search(r"2μ = ([\d.]+), which is ε = ([\d.]+) .*?most ([\d.]+) % .*? in ([\d.]+) % by", told)
    right = [100 / (1 + math.exp(-epsilon)), 100 * NormalDist().cdf(mu)]
    assert all(map(rounded_up, said.groups(), [2 * mu, epsilon, *right]))


@pytest.mark.parametrize(("total", "each"), [(1.0, 0.1206), (4.0, 0.4659)])
def test_what_a_weekly_release_may_cost(total, each):
    part = Spent(largest_cost(budget(total)) // 52, None)
    assert each <= part.epsilon_at(1e-6) < each + 1e-4  # rounded down: a share that is larger would not fit
    assert re.search(rf"\b{re.escape(str(each))}\b", text("promise.md"))


# -- released data ------------------------------------------------------------------------------------------


def answered(epsilon, delta=0.0):
    """What the budget of a person buys for a cell, of 1,000."""
    paid = Budget(epsilon=epsilon, delta=delta, unit="user", adjacency="replace")
    (event,) = RandomizedResponse().plan(of(1_000), paid).noisy
    return event


def test_what_a_cell_may_have_at_a_delta():
    page = text("models/randomized_response.md")
    for epsilon, shown in ((50.0, "0.29 in place of 0.05"), (8.0, "0.072 in place of 0.008")):
        loose, pure = (float(answered(epsilon, delta).loss) for delta in (1e-6, 0.0))
        assert shown == f"{loose:.2g} in place of {pure:.1g}"
        assert shown in page
    assert f"answered truly with chance {1 - answered(50.0).noise:.3f}" in page


@pytest.mark.parametrize("p", [0.8, 0.9, 0.95, 0.97])
def test_what_a_slot_costs(p):
    loss = worst_per_slot(p, p, 1_000)
    assert row("models/distance_based.md", f"{p:g}")[-1] == f"{loss:.1f}"
    if p in (0.9, 0.97):
        assert f"**{loss:.1f}**" in text("models/distance_based.md")
        assert f"**{loss:.1f}**" in text("../lab/du_leighton_patel/README.md")


def test_what_a_group_costs():
    assert worst_per_slot(0.989, 0.0, 1_000) == pytest.approx(worst_per_slot(0.9, 0.9, 1_000), abs=0.01)
    assert "p* = 0.989 with p = 0" in text("models/distance_based.md")
