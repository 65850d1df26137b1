"""The figures that the documentation states are those that the code computes."""

import math
import re
from decimal import Decimal
from pathlib import Path

import pytest

from hushrec.data.domain import Domain
from hushrec.documents.odds import Odds
from hushrec.models.du_leighton_patel.substitution import worst_per_slot
from hushrec.models.friedman_berkovsky_kaafar.input_perturbation_mf import InputPerturbationMF
from hushrec.models.friedman_berkovsky_kaafar.private_als import PrivateALS
from hushrec.models.friedman_berkovsky_kaafar.private_sgd import PrivateSGD
from hushrec.models.lists.private_ease import PrivateEASE
from hushrec.models.liu_wang_smola.user_level_sgd import UserLevelSGD
from hushrec.models.mcsherry_mironov.covariance_model import CovarianceSettings
from hushrec.models.mcsherry_mironov.global_effects import GlobalEffects
from hushrec.privacy.accounting.accountant import (
    Spent,
    gaussian_delta,
    gaussian_epsilon,
    gaussian_mu,
    largest_cost,
)
from hushrec.privacy.accounting.budget import Budget
from hushrec.text import above

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


# -- released data ------------------------------------------------------------------------------------------


@pytest.mark.parametrize("p", [0.8, 0.9, 0.95, 0.97])
def test_what_a_slot_costs(p):
    loss = worst_per_slot(p, p, 1_000)
    assert row("models/distance_based.md", f"{p:g}")[-1] == f"{loss:.1f}"


# -- for lawyers --------------------------------------------------------------------------------------------

ALL = dict(
    line.removeprefix("<!-- ").split(" -->\n", 1)
    for line in text("for-lawyers.md").split("\n\n")
    if line.startswith("<!-- ")
)
DELTA = 1e-6


def printed(table, epsilon):
    """The numbers of the row of an ε."""
    rows = [[cell.strip() for cell in line.strip("|").split("|")] for line in ALL[table].splitlines()[2:]]
    (cells,) = (cells[1:] for cells in rows if cells[0].removeprefix("ε = ") == f"{epsilon:g}")
    return [float(re.match(r"[\d.,e-]+", cell)[0].replace(",", "")) for cell in cells]


@pytest.mark.parametrize("epsilon", [1, 4])
def test_what_lawyers_read(epsilon):
    """Of one step, of two, and of one person with several accounts."""
    mu, twice, delta = gaussian_mu(epsilon, DELTA), 2 * epsilon, (1 + math.exp(epsilon)) * DELTA
    guesses = [100 * Odds(epsilon, DELTA, known).right_guess for known in (mu, None)]
    attacks = [100 * Odds(epsilon, DELTA, known).best_attack for known in (mu, None)]
    of_two = [100 * Odds(twice, delta, known).right_guess for known in (2 * mu, None)]
    figures = {
        "one step": [math.exp(epsilon), mu, *guesses, *attacks],
        "two steps": [twice, delta, math.exp(twice), *of_two, gaussian_epsilon(2 * mu, DELTA)],
        "accounts": [gaussian_epsilon(k * mu, DELTA) for k in (2, 3, 5)],
    }
    for table, exact in figures.items():
        assert printed(table, epsilon) == [float(above(figure, 3)) for figure in exact]
