"""Search for a rating that moves noisy cells by more than Δ: there is none."""

import dataclasses
from functools import partial

import numpy as np
import pytest

from hushrec.models.friedman_berkovsky_kaafar.sums import Cells
from hushrec.privacy.bounded import Noisy, NoisyMatrix
from support.people import SCALES

ADJACENCIES = ["add-remove", "replace"]


class Door:
    """Stands where the grant stands, and sees what comes to it."""

    def already_released(self, name):
        """Nothing was released before."""

    def measure(self, bounded):
        self.came = bounded, bounded.values
        return Noisy(bounded.name, bounded.values * bounded.step, 1.0, bounded.step, None)

    def measure_matrix(self, bounded, *, threshold, limit):
        assert 1 <= threshold <= limit
        dense = np.zeros(bounded.shape, dtype=np.int64)
        rows = np.repeat(np.arange(bounded.shape[0]), np.diff(bounded.indptr))
        dense[rows, bounded.columns] = bounded.values
        self.came = bounded, dense
        none = np.zeros(0, dtype=np.int32)
        indptr = np.zeros(bounded.shape[0] + 1, dtype=np.int64)
        return NoisyMatrix(bounded.name, bounded.shape, indptr, none, none, 1.0, bounded.step, None)


class Through:
    """Stands where the run stands, and sends values through a door."""

    def __init__(self, door):
        self.door = door

    def measure(self, query, values):
        return query.measure(self.door, values)


def of_cells(cells, effects, people):
    door, query = Door(), cells.query
    entries = cells.residuals.entries(people, effects, np.linspace(-0.4, 0.4, cells.domain.n_users))
    cells.measure(Through(door), entries)
    bounded, values = door.came
    assert (bounded.name, bounded.sensitivity, bounded.norm) == (query.name, query.sensitivity, query.norm)
    assert query.size in (0, bounded.size)
    yield query, values


@pytest.mark.parametrize("scale", SCALES, ids=str)
@pytest.mark.parametrize("adjacency", ADJACENCIES)
def test_no_neighbours_move_cells_by_more_than_their_sensitivity(search, scale, adjacency):
    domain = search.domain(3, 3, scale)
    lo, hi, _ = scale
    span, largest = hi - lo, 0.0
    for effects, part in (([lo, hi, lo + span / 2], 0.25), ([hi, lo + 0.3, lo], 0.5), ([lo] * 3, 1.0)):
        cells = Cells(domain, adjacency, part * span, 0.15 * span, 4 * part * span)
        worst = search.exhaustive(domain, adjacency, partial(of_cells, cells, np.array(effects)))
        assert max(worst.values()) <= 1
        largest = max(largest, *worst.values())
    assert largest > 0.99


def test_an_understated_clip_of_cells_is_found(search, monkeypatch):
    cells = Cells(search.domain(3, 3), "add-remove", 1.0, 0.5, 1.0)
    honest = cells.query
    narrower = dataclasses.replace(honest, sensitivity=0.9)
    monkeypatch.setattr(Cells, "query", property(lambda self: narrower))
    narrow = search.exhaustive(cells.domain, "add-remove", lambda p: of_bare(cells, p))
    assert max(narrow.values()) > 1


def of_bare(cells, people):
    entries = cells.residuals.entries(people, np.full(3, 3.0), np.zeros(3))
    dense = np.zeros((3, 3), dtype=np.int64)
    dense[np.repeat(np.arange(3), np.diff(entries.indptr)), entries.columns] = entries.values
    yield cells.query, dense
