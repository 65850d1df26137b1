"""Plans and sums for the tests of the core."""

import functools
from collections.abc import Callable
from pathlib import Path

import numpy as np
import pytest

from hushrec.arrays import Ints
from hushrec.privacy.accounting.budget import Budget
from hushrec.privacy.accounting.calibration import calibrated
from hushrec.privacy.accounting.measurement import Measurement
from hushrec.privacy.accounting.plan import Plan


@functools.cache
def _plan(epsilon: float, model: str, delta: float, names: tuple[str, ...], size: int) -> Plan:
    budget = Budget(epsilon=epsilon, delta=delta, unit="user", adjacency="add-remove")
    listed = [Measurement(name, 2.0, "l2" if delta else "l1", 2**-8, size) for name in names]
    measurements = calibrated(listed, dict.fromkeys(names, 1 / len(names)), budget)
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
def make_sum() -> Callable[..., tuple[Measurement, Ints]]:
    """A measurement as ``make_plan`` lists it, and its values, but for what is named."""

    def make(
        name: str = "sums", size: int = 4, values: Ints | None = None, **changes: object
    ) -> tuple[Measurement, Ints]:
        if values is None:
            values = np.arange(size, dtype=np.int64) * 1000
        facts = {"sensitivity": 2.0, "norm": "l2", "step": 2**-8, "size": size} | changes
        return Measurement(name, **facts), values  # type: ignore[arg-type]

    return make


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
