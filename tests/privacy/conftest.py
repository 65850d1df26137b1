"""Plans and sums for the tests of the core."""

import functools
from collections.abc import Callable
from pathlib import Path

import numpy as np
import pytest

from hushrec.privacy.accounting.budget import Budget
from hushrec.privacy.accounting.calibration import gaussian, laplace, split_gaussian, split_laplace
from hushrec.privacy.accounting.plan import Measurement, Plan
from hushrec.privacy.bounded import Bounded


@functools.cache
def _plan(epsilon: float, model: str, delta: float, names: tuple[str, ...], size: int) -> Plan:
    budget = Budget(epsilon=epsilon, delta=delta, unit="user", adjacency="add-remove")
    split = dict.fromkeys(names, 1 / len(names))
    if delta:
        events = [
            gaussian(name, rho=rho, sensitivity=2.0, step=2**-8, size=size)
            for name, rho in split_gaussian(budget, split).items()
        ]
    else:
        events = [
            laplace(name, epsilon=part, sensitivity=2.0, step=2**-8, size=size)
            for name, part in split_laplace(budget, split).items()
        ]
    measurements = tuple(Measurement(event, split[event.name]) for event in events)
    return Plan(model, {"rank": 3}, "d" * 64, 1000, budget, measurements)


@pytest.fixture
def make_plan() -> Callable[..., Plan]:
    """A plan that spends all of ε on the named measurements, in equal parts."""

    def make(
        epsilon: float = 1.0,
        model: str = "toy",
        delta: float = 1e-6,
        names: tuple[str, ...] = ("sums", "counts"),
        size: int = 4,
    ) -> Plan:
        return _plan(epsilon, model, delta, names, size)

    return make


@pytest.fixture
def make_bounded() -> Callable[..., Bounded]:
    """A bounded sum that fits a measurement of ``make_plan``, but for what is named."""

    def make(name: str = "sums", size: int = 4, **changes: object) -> Bounded:
        facts: dict[str, object] = {
            "name": name,
            "values": np.arange(size, dtype=np.int64) * 1000,
            "sensitivity": 2.0,
            "norm": "l2",
            "step": 2**-8,
        }
        return Bounded(**(facts | changes))  # type: ignore[arg-type]

    return make


@pytest.fixture
def folder(tmp_path: Path) -> Path:
    """Where a checkpoint is to be."""
    return tmp_path / "checkpoint"


@pytest.fixture
def path(tmp_path: Path) -> Path:
    """Where a ledger is to be."""
    return tmp_path / "ledger.db"


@pytest.fixture(params=["sqlite", pytest.param("postgresql", marks=pytest.mark.postgres)])
def place(request: pytest.FixtureRequest, tmp_path: Path) -> str:
    """Where a ledger is to be, in every kind of store."""
    if request.param == "sqlite":
        return str(tmp_path / "ledger.db")
    server = request.getfixturevalue("postgres")
    return str(server.url(server.database()))


@pytest.fixture
def beside(place: str) -> Callable[[str], str]:
    """Where another ledger is to be, in the same folder or database."""

    def another(name: str) -> str:
        return f"{place}?ledger={name}" if "://" in place else str(Path(place).with_name(f"{name}.db"))

    return another
