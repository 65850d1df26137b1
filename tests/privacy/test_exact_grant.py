"""The grant of the non-private baseline: exact values, nothing kept, and it says so."""

from collections.abc import Callable
from pathlib import Path

import numpy as np
import pytest

from hushrec.privacy.bounded import Bounded
from hushrec.privacy.exact_grant import unprotected
from support.checkpoints import bound
from support.matrices import matrix

MakeBounded = Callable[..., Bounded]


def test_without_protection_the_values_are_exact_and_say_so(make_bounded: MakeBounded) -> None:
    grant = unprotected()
    bounded = make_bounded(values=np.array([[3, -4]], dtype=np.int64), step=0.5)
    noisy = grant.release(bounded)
    np.testing.assert_array_equal(noisy.values, [[1.5, -2.0]])
    assert (noisy.sigma, noisy.event, grant.private, grant.ledger) == (0.0, None, False, {})
    assert grant.caveat == "not private: no noise was added"
    np.testing.assert_array_equal(bounded.values, [[3, -4]])
    grant.release(bounded)  # nothing is counted
    grant.close()


def test_without_protection_the_cells_are_exact_and_say_so() -> None:
    bounded = matrix()
    noisy = unprotected().release_matrix(bounded, threshold=9, limit=12)
    np.testing.assert_array_equal(noisy.values, np.clip(bounded.values, -12, 12))
    np.testing.assert_array_equal(noisy.columns, bounded.columns)
    assert (noisy.sigma, noisy.event, noisy.values.dtype) == (0.0, None, np.int32)


def test_without_protection_the_rows_are_exact() -> None:
    values = np.arange(60.0).reshape(12, 5)
    noisy = unprotected().release_rows("rows", values, np.ones(12))
    np.testing.assert_array_equal(noisy.values, values)
    assert (noisy.sigma, noisy.event) == (0.0, None)


def test_without_protection_everybody_takes_part() -> None:
    assert unprotected().sample("anything", 7).all()


@pytest.fixture
def folder(tmp_path: Path) -> Path:
    return tmp_path / "checkpoint"


def test_exact_values_are_not_kept(folder: Path, make_bounded: MakeBounded) -> None:
    with bound(folder) as checkpoint:
        grant = unprotected(checkpoint)
        assert grant.checkpoint is checkpoint
        grant.release(make_bounded())
        assert grant.already_released("sums") is None
        assert not list(folder.glob("*.safetensors"))
    assert unprotected().checkpoint is None
