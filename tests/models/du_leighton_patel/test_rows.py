"""What are rows of people's own, and what are none."""

import numpy as np
import pytest

from hushrec.models.du_leighton_patel.rows import Rows

FINE = {
    "width": 5,
    "indptr": np.array([0, 2, 2, 5]),
    "columns": np.array([1, 4, 0, 1, 2], np.int32),
    "marks": np.array([255, 0, 31, 3, 3], np.uint8),
}


def test_rows_are_ascending_columns_with_marks() -> None:
    assert Rows("answers", **FINE).longest == 3  # type: ignore[arg-type]
    nothing = np.zeros(0, np.int32), np.zeros(0, np.uint8)
    for starts in ([0], [0, 0, 0]):
        assert Rows("answers", 5, np.array(starts), *nothing).longest == 0


@pytest.mark.parametrize(
    "change",
    [
        {"width": 4},
        {"columns": FINE["columns"] - 1},  # type: ignore[operator]
        {"columns": np.array([1, 4, 0, 1, 1], np.int32)},
        {"columns": np.array([4, 1, 0, 1, 2], np.int32)},
        {"columns": np.array([1, 4, 0, 1], np.int32)},
        {"columns": np.array([1, 4, 0, 1, 2])},
        {"marks": np.zeros(5, np.int64)},
        {"marks": np.zeros(4, np.uint8)},
        {"indptr": np.array([1, 2, 2, 5])},
        {"indptr": np.array([0, 2, 2, 4])},
        {"indptr": np.array([0, 2, 1, 5])},
        {"indptr": np.array([0, 1, 1, 5])},  # the second row would begin with its largest column
        {"indptr": np.array([0, 2, 2, 5], np.int32)},
    ],
)
def test_what_is_no_row_is_refused(change: dict[str, object]) -> None:
    with pytest.raises(ValueError, match=r"^answers: indptr, columns and marks are not rows of \d columns$"):
        Rows("answers", **(FINE | change))  # type: ignore[arg-type]


def test_cells_are_in_no_repr() -> None:
    assert not any(word in repr(Rows("answers", **FINE)) for word in ("array", "255", "31"))  # type: ignore[arg-type]
