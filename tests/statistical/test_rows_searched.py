"""All rows of a few items, all answers, and all neighbours: what a person loses is at most what is planned.

The chances of answers are summed in closed form from the exponent that is drawn; that draws have this law is
tested in ``test_response_law``. A bound for fewer cells than rows may differ in is found to be false.
"""

import itertools
import math

import numpy as np
import pytest

import hushrec as hr

CASES = [
    (items, levels, cap, sample)
    for items in (1, 2, 3)
    for levels in (2, 3)
    for cap in (1, 2)
    for sample in (None, *range(1, items + 1))
]


def domain(items, levels, cap):
    return hr.Domain(range(items), scale=(1, levels, 1), max_users=10, max_per_user=cap)


def rows(items, levels, cap):
    """Every row of at most ``max_per_user`` ratings; 0 for none."""
    every = itertools.product(range(levels + 1), repeat=items)
    return [row for row in every if sum(cell > 0 for cell in row) <= cap]


def chances(row, levels, exponent, sample):
    """Chance of every report of a row: cells that are not asked for are reported as 0."""
    items, flip = len(row), math.exp(-exponent)
    found = {}
    asked = list(itertools.combinations(range(items), items if sample is None else sample))
    for cells in asked:
        for answers in itertools.product(range(levels + 1), repeat=len(cells)):
            report = [0] * items
            chance = 1.0 / len(asked)
            for cell, answer in zip(cells, answers, strict=True):
                report[cell] = answer
                chance *= -math.expm1(-exponent) if answer == row[cell] else flip / levels
            found[tuple(report)] = found.get(tuple(report), 0.0) + chance
    return found


def loss(items, levels, cap, exponent, sample):
    """Largest ln of a ratio of chances, over all pairs of rows and all reports."""
    distributions = [chances(row, levels, exponent, sample) for row in rows(items, levels, cap)]
    table = np.array(
        [[distribution[report] for report in distributions[0]] for distribution in distributions]
    )
    return float(np.log(table.max(axis=0) / table.min(axis=0)).max())


@pytest.mark.parametrize(("items", "levels", "cap", "sample"), CASES)
def test_no_two_rows_are_told_apart_by_more(items, levels, cap, sample):
    budget = hr.Budget(epsilon=3.0, delta=0.0, unit="user", adjacency="replace")
    (event,) = hr.RandomizedResponse(sample=sample).plan(domain(items, levels, cap), budget).noisy
    found = loss(items, levels, cap, event.exponent, sample)
    assert found <= 3.0 + 1e-9
    if sample is None:
        assert found == pytest.approx(3.0, abs=1e-6)  # nothing is given away


@pytest.mark.parametrize("sample", [None, 2])
def test_a_bound_for_half_the_cells_is_false(sample):
    """One rating of each in three items: rows differ in two cells, and not in one."""
    one = math.log1p(math.exp(3.0) / 2)  # a cell that loses 3 by itself, of three symbols
    assert loss(3, 2, 1, one, sample) > 3.5
