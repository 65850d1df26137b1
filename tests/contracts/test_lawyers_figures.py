"""The figures that lawyers read are those that the library computes."""

import math
import re
from pathlib import Path

import pytest

from hushrec.documents.measured import best_attack, right_guess
from hushrec.privacy.accounting.accountant import gaussian_epsilon, gaussian_mu
from hushrec.text import above

PAGE = (Path(__file__).resolve().parents[2] / "docs/for-lawyers.md").read_text("utf-8")
DELTA = 1e-6


def row(table, epsilon):
    """The cells after the first, of the row of an ε."""
    block = PAGE.split(f"<!-- {table} -->\n")[1].split("\n\n")[0]
    rows = [[cell.strip() for cell in line.strip("|").split("|")] for line in block.splitlines()[2:]]
    return next(cells[1:] for cells in rows if cells[0].removeprefix("ε = ") == f"{epsilon:g}")


def number(cell):
    return float(re.match(r"[\d.,e-]+", cell)[0].replace(",", ""))


def up(figure):
    return float(above(figure, 3))


@pytest.mark.parametrize("epsilon", [1, 4])
def test_what_one_step_reveals(epsilon):
    mu = gaussian_mu(epsilon, DELTA)
    guesses = [100 * right_guess(epsilon, DELTA, known) for known in (mu, None)]
    attacks = [100 * best_attack(epsilon, DELTA, known) for known in (mu, None)]
    stated = [number(cell) for cell in row("one step", epsilon)]
    assert stated == [up(figure) for figure in (math.exp(epsilon), mu, *guesses, *attacks)]
    words = " ".join(PAGE.split("## Does it stop membership inference?")[1].split())
    assert all(f"{up(attack):g} %" in words for attack in attacks)


@pytest.mark.parametrize("epsilon", [1, 4])
def test_what_two_steps_reveal(epsilon):
    twice, delta = 2 * epsilon, (1 + math.exp(epsilon)) * DELTA
    mu = 2 * gaussian_mu(epsilon, DELTA)
    guesses = [100 * right_guess(twice, delta, known) for known in (mu, None)]
    at_delta = gaussian_epsilon(mu, DELTA)
    stated = [number(cell) for cell in row("two steps", epsilon)]
    assert stated == [up(figure) for figure in (twice, delta, math.exp(twice), *guesses, at_delta)]


@pytest.mark.parametrize("epsilon", [1, 4])
def test_one_person_with_several_accounts(epsilon):
    stated = [number(cell) for cell in row("accounts", epsilon)]
    assert stated == [up(gaussian_epsilon(k * gaussian_mu(epsilon, DELTA), DELTA)) for k in (2, 3, 5)]
