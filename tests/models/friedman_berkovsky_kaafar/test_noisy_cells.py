"""Public facts of noisy cells: how many empty cells are kept."""

import math

import pytest

import hushrec as hr
from hushrec.models.friedman_berkovsky_kaafar.input_perturbation_mf import cells_footprint
from hushrec.models.friedman_berkovsky_kaafar.sums import Cells
from hushrec.sums.footprint import Footprint

DOMAIN = hr.Domain(range(50), scale=(1, 5, 1), max_users=100, users=range(40))
BEFORE = Footprint(1e6, 0, 0, 1.0)


def cells(adjacency="add-remove", threshold=0.6):
    return Cells(DOMAIN, adjacency, 1.0, threshold, 1.0)


def test_empty_cells_are_kept_by_the_noise_alone():
    """P(|X| ≥ α) = e^(−α ε/Δ) of all cells, each of 60 bytes."""
    kept = {e: (cells_footprint(BEFORE, cells(), e, 2.0).memory - BEFORE.memory) / 60 for e in (0.5, 5.0)}
    for epsilon, count in kept.items():
        assert count == pytest.approx(40 * 50 * math.exp(-cells().threshold * epsilon / 1.0), rel=0.01)
    assert kept[5.0] < kept[0.5] / 10


def test_under_replace_only_ratings_are_kept():
    found = cells_footprint(BEFORE, cells("replace"), 1.0, 2.0)
    assert (found.memory, found.each_rating) == (BEFORE.memory, 40)
