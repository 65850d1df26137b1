"""What is a matrix of cells, and what is none; integers of a grid in their own units."""

import numpy as np
import pytest

from hushrec.privacy import noisy as noisy_module
from hushrec.privacy.noisy import Noisy, in_own_units
from support.matrices import matrix


@pytest.mark.parametrize(
    "change",
    [
        {"values": matrix().values.astype(np.float64)},
        {"columns": matrix().columns.astype(np.int64)},
        {"indptr": matrix().indptr[:-1]},
        {"indptr": matrix().indptr + 1},
        {"indptr": matrix().indptr[::-1].copy()},
        {"values": matrix().values[1:]},
        {"columns": matrix().columns[::-1].copy()},
        {"columns": np.full_like(matrix().columns, 3)},
        {"columns": matrix().columns - 5},
        {"shape": (40, 5)},
        {"shape": (0, 30)},
        {"shape": (40, 2**31)},
        {"threshold": 0},
        {"limit": 2**31},
    ],
)
def test_what_is_no_matrix_is_refused(change: dict[str, object]) -> None:
    with pytest.raises(ValueError, match=r"matrix|columns|threshold"):
        matrix(**change)
    assert "values" not in repr(matrix())


def test_a_column_given_twice_is_refused_wherever_the_row_ends() -> None:
    facts = {"shape": (2, 5), "values": np.ones(4, np.int64), "columns": np.array([1, 3, 3, 4], np.int32)}
    matrix(indptr=np.array([0, 2, 4]), **facts)
    matrix(indptr=np.array([0, 2, 2, 4]), **facts | {"shape": (3, 5)})
    for starts in ([0, 1, 4], [0, 3, 4], [0, 0, 4], [0, 4, 4]):
        with pytest.raises(ValueError, match="ascend"):
            matrix(indptr=np.array(starts), **facts)


def test_values_are_in_no_repr() -> None:
    assert "31337" not in repr(Noisy("sums", np.array([31337.0]), 1.0, 1.0, None))


@pytest.mark.parametrize("chunk", [1, 5, 10**6])
def test_grid_integers_become_floats_where_they_lie(chunk: int, monkeypatch: pytest.MonkeyPatch) -> None:
    """Exact up to 2^53, whatever the pieces that are converted at once."""
    monkeypatch.setattr(noisy_module, "_CHUNK", chunk)
    steps = np.array([[0, -1, 3], [2**53, -(2**53), 7]])
    before = steps.tolist()
    found = in_own_units(steps, 2**-8)
    assert (found.tolist(), found.shape) == ([[n * 2**-8 for n in row] for row in before], (2, 3))
    assert np.shares_memory(found, steps)
