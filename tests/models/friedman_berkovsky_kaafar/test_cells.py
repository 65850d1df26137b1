"""Search for a rating that moves noisy cells by more than Δ: there is none."""

from functools import partial

import numpy as np
import pytest

from hushrec.models.friedman_berkovsky_kaafar.sums import Cells
from hushrec.privacy.accounting.budget import Unprotected
from hushrec.privacy.grant import WithoutNoise
from support.people import SCALES

ADJACENCIES = ["add-remove", "replace"]


class Door(WithoutNoise):
    """Stands where the grant stands, and sees what comes to it."""

    def measure(self, measurement, values):
        self.came.append((measurement, values))
        return super().measure(measurement, values)

    def measure_cells(self, measurement, cells):
        assert measurement.size == cells.size
        self.came.append((measurement, dense(cells.shape, cells.indptr, cells.columns, cells.values)))
        return super().measure_cells(measurement, cells)


def dense(shape, indptr, columns, values):
    made = np.zeros(shape, dtype=np.int64)
    made[np.repeat(np.arange(shape[0]), np.diff(indptr)), columns] = values
    return made


def of_cells(cells, effects, people):
    door = Door(Unprotected("record", cells.adjacency))
    door.__dict__["came"] = came = []
    entries = cells.residuals.entries(people, effects, np.linspace(-0.4, 0.4, cells.domain.n_users))
    cells.measure(door, entries)
    assert [measurement for measurement, _ in came] == [cells.query]
    return came


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
