import ast
import dataclasses
import threading
from collections.abc import Callable
from fractions import Fraction
from pathlib import Path

import numpy as np
import pytest

from hushrec.arrays import Ints
from hushrec.errors import GrantError
from hushrec.privacy import grant as grant_module
from hushrec.privacy.accounting.measurement import Measurement
from hushrec.privacy.accounting.plan import Plan
from hushrec.privacy.grant import Grant
from hushrec.privacy.ledger.ledger import Ledger
from hushrec.privacy.noise.entropy import OperatingSystem, Seeded
from support.forks import fork, status

SOURCES = Path(grant_module.__file__).parents[1]
MakePlan, MakeSum = Callable[..., Plan], Callable[..., tuple[Measurement, Ints]]


def grant_for(plan: Plan, seed: int = 1) -> Grant:
    return Ledger.ephemeral(plan.budget).charge(plan, entropy=Seeded(seed))


def test_a_release_is_the_sum_plus_the_booked_noise(make_plan: MakePlan, make_sum: MakeSum) -> None:
    plan = make_plan(size=40_000)
    bounded = make_sum(size=40_000)
    before = bounded[1].copy()
    noisy = grant_for(plan).measure(*bounded)
    assert noisy.measurement == plan.noisy[0]
    assert (noisy.sigma, noisy.step) == (plan.noisy[0].noise, 2**-8)
    np.testing.assert_array_equal(bounded[1], before)
    noise = noisy.values - before * 2**-8
    assert not np.any(noise / 2**-8 % 1)  # on the grid
    assert is_gaussian_noise_of(plan.noisy[0].noise, noise)


def test_values_that_are_made_for_the_grant_become_the_noisy_ones(
    make_plan: MakePlan, make_sum: MakeSum
) -> None:
    """The same release, without a second array of its size."""
    plan, (listed, values) = make_plan(), make_sum()
    noisy = grant_for(plan).measure(listed, values)
    given = values.copy()
    again = grant_for(plan).measure(listed, lambda: given)
    np.testing.assert_array_equal(again.values, noisy.values)
    assert np.shares_memory(again.values, given)
    assert not np.shares_memory(noisy.values, values)


def is_gaussian_noise_of(sigma: float, noise: np.ndarray) -> bool:
    """Mean and deviation within 6 standard errors: a false alarm in 4e-9; 3 % less noise is 8 of them."""
    deviation = abs(noise.std() / sigma - 1) * np.sqrt(2 * noise.size)
    return bool(deviation < 6 and abs(noise.mean() / sigma) * np.sqrt(noise.size) < 6)


@pytest.mark.parametrize("step", [0.1, 1 / 3, 2**-8, 0.7])
def test_the_sampler_is_never_asked_for_less_than_was_booked(
    make_plan: MakePlan, step: float, monkeypatch: pytest.MonkeyPatch
) -> None:
    asked = []
    monkeypatch.setattr(
        grant_module.sampler(), "add", lambda distribution, values, width, key: asked.append(width)
    )
    event = dataclasses.replace(make_plan().noisy[0], step=step)
    plan = dataclasses.replace(make_plan(), measurements=(event,))
    grant_for(plan).measure(event, np.zeros(4, dtype=np.int64))
    assert Fraction(asked[0]) * Fraction(step) >= Fraction(event.noise)


def test_laplace_noise_is_drawn_where_it_was_booked(make_plan: MakePlan, make_sum: MakeSum) -> None:
    plan = make_plan(delta=0.0, size=40_000)
    noisy = grant_for(plan).measure(*make_sum(size=40_000, norm="l1"))
    noise = noisy.values - np.arange(40_000) * 1000 * 2**-8
    assert noisy.sigma == pytest.approx(np.sqrt(2) * plan.noisy[0].noise)
    # Mean |X| of Laplace noise is b, and its standard error b/√n; of normal noise with this σ it is 1.13 b.
    assert abs(np.abs(noise).mean() / plan.noisy[0].noise - 1) < 6 / np.sqrt(40_000)


def test_shape_is_kept_and_fresh_keys_are_used(make_plan: MakePlan, make_sum: MakeSum) -> None:
    grant = grant_for(make_plan(size=6))
    square = np.zeros((2, 3), dtype=np.int64)
    first = grant.measure(*make_sum("sums", 6, values=square))
    second = grant.measure(*make_sum("counts", 6, values=square))
    assert first.values.shape == (2, 3)
    assert np.any(first.values != second.values)


def test_the_same_seed_gives_the_same_release_and_the_system_never_does(
    make_plan: MakePlan, make_sum: MakeSum
) -> None:
    def released(entropy: Seeded | OperatingSystem) -> bytes:
        plan = make_plan(size=100)
        grant = Ledger.ephemeral(plan.budget).charge(plan, entropy=entropy)
        return grant.measure(*make_sum(size=100)).values.tobytes()

    assert released(Seeded(5)) == released(Seeded(5)) != released(Seeded(6))
    assert released(OperatingSystem()) != released(OperatingSystem())


def test_a_measurement_is_made_once_by_many_threads(make_plan: MakePlan, make_sum: MakeSum) -> None:
    size = 50_000
    grant = grant_for(make_plan(size=size))
    made, refused = [], []
    start = threading.Barrier(4)

    def attempt() -> None:
        start.wait()
        try:
            made.append(grant.measure(*make_sum(size=size)))
        except GrantError as error:
            refused.append(error)

    threads = [threading.Thread(target=attempt) for _ in range(4)]
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join()
    assert (len(made), len(refused)) == (1, 3)


@pytest.mark.parametrize(
    ("change", "complaint"),
    [
        ({"name": "covariance"}, "not booked"),
        ({"sensitivity": 2.0000001}, "lists it otherwise"),
        ({"sensitivity": 1.9999999}, "lists it otherwise"),
        ({"sensitivity": 0.0}, "lists it otherwise"),  # its sum would be published exactly
        ({"values": np.zeros(5, dtype=np.int64)}, "size is 5, booked was 4"),
        ({"values": np.zeros(4)}, "int64"),
        ({"size": 5}, "lists it otherwise"),
        ({"step": 2**-7}, "lists it otherwise"),
        ({"norm": "l1"}, "lists it otherwise"),
        ({"branch": "pairs"}, "lists it otherwise"),
    ],
)
def test_what_was_not_booked_is_refused_and_spends_nothing(
    make_plan: MakePlan, make_sum: MakeSum, change: dict[str, object], complaint: str
) -> None:
    grant = grant_for(make_plan())
    with pytest.raises(GrantError, match=complaint):
        grant.measure(*make_sum(**change))
    grant.measure(*make_sum())  # the booking is still there for the right sum


def test_nobody_makes_a_grant(make_plan: MakePlan) -> None:
    with pytest.raises(GrantError, match=r"Ledger\.charge"):
        Grant(make_plan(), OperatingSystem(), seal=None)


@pytest.mark.filterwarnings("ignore:This process .* is multi-threaded:DeprecationWarning")
def test_a_forked_child_cannot_use_its_parents_grant(make_plan: MakePlan, make_sum: MakeSum) -> None:
    grant = grant_for(make_plan())

    def work() -> None:
        with pytest.raises(GrantError, match="stays in the process"):
            grant.measure(*make_sum())

    assert status(fork(work)) == 0
    grant.measure(*make_sum())


def test_the_sampler_proves_itself_before_anything_is_charged(
    make_plan: MakePlan, monkeypatch: pytest.MonkeyPatch
) -> None:
    class Unsound(Exception):
        pass

    def fails() -> None:
        raise Unsound

    plan = make_plan()
    ledger = Ledger.ephemeral(plan.budget)
    monkeypatch.setattr("hushrec.privacy.noise.sampler.self_test", fails)
    grant_module.sampler.cache_clear()
    with pytest.raises(Unsound):
        ledger.charge(plan)
    assert ledger.state().charges == ()
    monkeypatch.undo()
    ledger.charge(plan)


def importers(module: str, root: Path) -> set[str]:
    """Files below a folder that import a module or a name from one."""
    parent, _, leaf = module.rpartition(".")
    found = set()
    for path in root.rglob("*.py"):
        for node in ast.walk(ast.parse(path.read_text())):
            names = {a.name for a in node.names} if isinstance(node, ast.Import | ast.ImportFrom) else set()
            if isinstance(node, ast.ImportFrom) and (
                node.module == module or (node.module == parent and leaf in names)
            ):
                found.add(path.name)
            if isinstance(node, ast.Import) and module in names:
                found.add(path.name)
    return found


def test_noise_has_one_door_and_grants_one_maker(tmp_path: Path) -> None:
    assert importers("hushrec.privacy.noise.sampler", SOURCES) == {"grant.py"}
    assert importers("hushrec.privacy.grant.SEAL", SOURCES) == {"ledger.py"}
    for number, planted in enumerate(
        (
            "from hushrec.privacy.noise.sampler import rounded",
            "from hushrec.privacy.noise import sampler",
            "import hushrec.privacy.noise.sampler",
            "def f():\n    from hushrec.privacy.noise import sampler as s",
        )
    ):
        (tmp_path / f"planted_{number}.py").write_text(planted)
    assert len(importers("hushrec.privacy.noise.sampler", tmp_path)) == 4
