"""Figures of a promise that the documentation states are those that the code computes."""

import math
import re
from decimal import Decimal
from pathlib import Path

import pytest

from hushrec.documents.odds import Odds
from hushrec.models.du_leighton_patel.substitution import worst_per_slot
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
