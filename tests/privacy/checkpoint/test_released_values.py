"""Released values come back from a checkpoint as they were released."""

from pathlib import Path

import numpy as np
import pytest

from hushrec.privacy.accounting.budget import Budget
from hushrec.privacy.accounting.events import Gaussian, Laplace
from hushrec.privacy.accounting.plan import Measurement, Plan
from hushrec.privacy.bounded import BoundedMatrix, Noisy, NoisyMatrix
from hushrec.privacy.checkpoint import checkpoint as checkpoint_module
from hushrec.privacy.ledger.ledger import Ledger
from support.checkpoints import bound


@pytest.fixture
def folder(tmp_path: Path) -> Path:
    return tmp_path / "checkpoint"


def lose(folder: Path) -> None:
    """The value that was released, from the disk."""
    (state,) = folder.glob("*.safetensors")
    state.unlink()


def test_a_matrix_comes_back_too(path: Path, folder: Path) -> None:
    budget = Budget(epsilon=1.0, delta=0.0, unit="record", adjacency="replace")
    plan = Plan("toy", {}, "d" * 64, 9, budget, (Measurement(Laplace("cells", 1, 8, 1, 60), 1.0),))
    indptr, columns = np.array([0, 1, 1, 2, 2, 2, 2]), np.array([3, 9], dtype=np.int32)
    matrix = BoundedMatrix("cells", (6, 10), indptr, columns, np.array([90, -90]), 1.0, "l1", 1.0)
    ledger, found = Ledger.create(path, budget), []
    for drop in (False, True, False):
        with bound(folder, ledger) as checkpoint:
            grant = ledger.charge(plan, entropy=checkpoint)
            assert grant.already_released("cells") is None  # it is for vectors
            found.append(grant.measure_matrix(matrix, threshold=10, limit=100))
            if drop:
                lose(folder)
    assert found[0].indptr[-1] >= 2
    for again in found[1:]:
        for name in ("indptr", "columns", "values"):
            np.testing.assert_array_equal(getattr(again, name), getattr(found[0], name))
        for name in ("name", "shape", "sigma", "step", "event"):
            assert getattr(again, name) == getattr(found[0], name)
    assert ledger.spent == plan.spent


def test_a_value_comes_back_as_it_was_released(folder: Path) -> None:
    event = Gaussian("sums", 1.0, 40.0, 2**-8, 6)
    noisy = Noisy("sums", np.linspace(-1, 1, 6).reshape(2, 3), 40.0, 2**-8, event)
    with bound(folder) as checkpoint:
        assert checkpoint_module.load(checkpoint, event) is None
        checkpoint_module.save(checkpoint, noisy)
    with bound(folder) as checkpoint:
        again = checkpoint_module.load(checkpoint, event)
    assert isinstance(again, Noisy)
    assert (again.name, again.sigma, again.step, again.event) == ("sums", 40.0, 2**-8, event)
    np.testing.assert_array_equal(again.values, noisy.values, strict=True)


def test_a_matrix_of_nothing_comes_back_with_its_shape_and_types(folder: Path) -> None:
    event, nothing = Laplace("cells", 1.0, 8.0, 1.0, 60), np.zeros(0, np.int32)
    with bound(folder) as checkpoint:
        matrix = NoisyMatrix("cells", (6, 10), np.zeros(7, np.int64), nothing, nothing, 11.3, 1.0, event)
        checkpoint_module.save(checkpoint, matrix)
        again = checkpoint_module.load(checkpoint, event)
    assert isinstance(again, NoisyMatrix)
    assert (again.shape, again.sigma, again.step, again.event) == ((6, 10), 11.3, 1.0, event)
    for name in ("indptr", "columns", "values"):
        np.testing.assert_array_equal(getattr(again, name), getattr(matrix, name), strict=True)


def test_a_models_own_state_of_that_name_is_another(folder: Path) -> None:
    event = Gaussian("sums", 1.0, 40.0, 2**-8, 2)
    with bound(folder) as checkpoint:
        checkpoint.save_state("sums", {"values": np.ones(2)}, {"sigma": 0.0, "step": 1.0})
        assert checkpoint_module.load(checkpoint, event) is None
        checkpoint_module.save(checkpoint, Noisy("sums", np.zeros(2), 40.0, 2**-8, event))
        state = checkpoint.load_state("sums")
    assert state is not None
    assert state.arrays["values"].tolist() == [1.0, 1.0]
