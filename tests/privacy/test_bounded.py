"""What is a bounded sum or matrix, and what is none; what is booked, and what is not."""

import math

import numpy as np
import pytest

from hushrec.errors import GrantError
from hushrec.privacy import bounded as bounded_module
from hushrec.privacy.bounded import Bounded, Noisy, in_own_units, require_booked
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
        {"sensitivity": 0.0},
        {"step": math.inf},
    ],
)
def test_what_is_no_matrix_is_refused(change: dict[str, object]) -> None:
    with pytest.raises(ValueError, match="cells: "):
        matrix(**change)
    assert "values" not in repr(matrix())


def test_a_column_given_twice_is_refused_wherever_the_row_ends() -> None:
    facts = {"shape": (2, 5), "values": np.ones(4, np.int64), "columns": np.array([1, 3, 3, 4], np.int32)}
    matrix(indptr=np.array([0, 2, 4]), **facts)
    matrix(indptr=np.array([0, 2, 2, 4]), **facts | {"shape": (3, 5)})
    for starts in ([0, 1, 4], [0, 3, 4], [0, 0, 4], [0, 4, 4]):
        with pytest.raises(ValueError, match="ascend"):
            matrix(indptr=np.array(starts), **facts)


def test_private_values_are_in_no_repr() -> None:
    secret = Bounded("sums", np.array([31337], dtype=np.int64), 1.0, "l2", 1.0)
    assert "31337" not in repr(secret)
    assert secret.size == 1
    assert "31337" not in repr(Noisy("sums", np.array([31337.0]), 1.0, 1.0, None))


def test_bounded_values_are_integers_with_a_bound() -> None:
    with pytest.raises(ValueError, match="int64"):
        Bounded("sums", np.zeros(3), 1.0, "l2", 1.0)  # type: ignore[arg-type]
    with pytest.raises(ValueError, match="positive"):
        Bounded("sums", np.zeros(3, dtype=np.int64), math.inf, "l2", 1.0)


def test_what_is_booked_may_be_smaller_in_its_sensitivity_alone(make_plan, make_bounded) -> None:  # type: ignore[no-untyped-def]
    event = make_plan().events[0]
    require_booked(make_bounded(), event)
    require_booked(make_bounded(sensitivity=1.0), event)
    for change, complaint in (
        ({"sensitivity": math.nextafter(2, 3)}, "sensitivity .* above the booked"),
        ({"values": np.zeros(3, np.int64)}, "size is 3, booked was 4"),
        ({"step": 2**-9}, "step is"),
        ({"norm": "l1"}, "norm is l1, booked was l2"),
    ):
        with pytest.raises(GrantError, match=f"sums: .*{complaint}"):
            require_booked(make_bounded(**change), event)


@pytest.mark.parametrize("chunk", [1, 5, 10**6])
def test_grid_integers_become_floats_where_they_lie(chunk: int, monkeypatch: pytest.MonkeyPatch) -> None:
    """Exact up to 2^53, whatever the pieces that are converted at once."""
    monkeypatch.setattr(bounded_module, "_CHUNK", chunk)
    steps = np.array([[0, -1, 3], [2**53, -(2**53), 7]])
    before = steps.tolist()
    found = in_own_units(steps, 2**-8)
    assert (found.tolist(), found.shape) == ([[n * 2**-8 for n in row] for row in before], (2, 3))
    assert np.shares_memory(found, steps)
