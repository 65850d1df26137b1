"""Charges and grants whose sums are kept: granted again, and every measurement has one value."""

import shutil
import sys
from collections.abc import Callable
from concurrent.futures import ThreadPoolExecutor
from contextlib import suppress
from pathlib import Path
from threading import Barrier

import numpy as np
import pytest

from hushrec import files
from hushrec.arrays import Ints
from hushrec.errors import BudgetExceeded, GrantError, SumsError
from hushrec.privacy.accounting.accountant import spent_of
from hushrec.privacy.accounting.budget import Budget
from hushrec.privacy.accounting.measurement import Measurement
from hushrec.privacy.accounting.plan import Plan
from hushrec.privacy.grant import Grant
from hushrec.privacy.ledger.ledger import Ledger
from hushrec.privacy.noise.entropy import OperatingSystem
from hushrec.privacy.sums_on_disk import ChargeSums, SumsFolder

MakePlan, MakeSum = Callable[..., Plan], Callable[..., tuple[Measurement, Ints]]
TOTAL = Budget(epsilon=2.0, delta=1e-6, unit="user", adjacency="add-remove")


@pytest.fixture
def ledger(place: str) -> Ledger:
    return Ledger.create(place, TOTAL.model_copy(update={"epsilon": 8.0}), max_releases=3)


@pytest.fixture
def folder(tmp_path: Path, ledger: Ledger) -> SumsFolder:
    return SumsFolder(tmp_path / "ledger.sums", ledger.id)


def stopped(sums: ChargeSums) -> ChargeSums:
    """The same folder, held by the next process."""
    sums.close()
    return ChargeSums(sums.path)


def copied(sums: ChargeSums) -> ChargeSums:
    """A copy of the folder, as on another host."""
    elsewhere = sums.path.parent.with_name("copy") / sums.path.name
    shutil.copytree(sums.path.parent, elsewhere.parent)
    return ChargeSums(elsewhere)


def test_a_charge_is_granted_again_and_costs_nothing_more(
    place: str, ledger: Ledger, folder: SumsFolder, make_plan: MakePlan, make_sum: MakeSum
) -> None:
    plan, sums = make_plan(), folder.new()
    first = ledger.charge(plan, sums=sums)
    noisy = first.measure(*make_sum())
    before = ledger.state()
    for _ in range(2):
        sums = stopped(sums)
        again = Ledger.open(place).charge(plan, sums=sums)
        assert (again.charge, again.ledger) == (first.charge, first.ledger)
        assert again.private
        assert again.kept
        listed, values = make_sum(values=np.zeros(4, dtype=np.int64))
        found = again.measure(listed, values)
        np.testing.assert_array_equal(found.values, noisy.values)
        assert (found.name, found.sigma, found.step, found.measurement) == (
            noisy.name,
            noisy.sigma,
            noisy.step,
            noisy.measurement,
        )
        with pytest.raises(GrantError, match="already made"):
            again.measure(listed, values)
    assert ledger.state() == before
    again.measure(*make_sum("counts"))
    ledger.finish(again, b"factors")
    with pytest.raises(GrantError, match="charge is made"):
        ledger.finish(first, b"other factors")
    with pytest.raises(GrantError, match="release 0 is made"):
        ledger.charge(plan, sums=sums)
    assert (ledger.artefact(0), ledger.state().spent) == (b"factors", plan.spent.mu_squared)


def test_a_recorded_sum_is_not_computed_again(
    ledger: Ledger, folder: SumsFolder, make_plan: MakePlan, make_sum: MakeSum
) -> None:
    (listed, values), computed, sums = make_sum(), [], folder.new()

    def compute() -> Ints:
        computed.append(1)
        return values

    noisy = ledger.charge(make_plan(), sums=sums).measure(listed, compute)
    again = ledger.charge(make_plan(), sums=stopped(sums)).measure(listed, compute)
    np.testing.assert_array_equal(again.values, noisy.values)
    assert len(computed) == 1


def test_a_posterior_sample_is_drawn_once(ledger: Ledger, folder: SumsFolder) -> None:
    sample = Measurement("sample", 1.0, "loss", 2**-8, 4, noise=4.0)
    plan, sums = Plan("toy", {}, "d" * 64, 1000, TOTAL, (sample,)), folder.new()

    def draw(key: bytes) -> dict[str, np.ndarray]:
        return {"factors": np.frombuffer(key, np.uint8), "rounds": np.arange(3)}

    found = ledger.charge(plan, sums=sums).sample(sample.listed, draw)
    again = ledger.charge(plan, sums=stopped(sums)).sample(sample.listed, draw)
    for name, array in found.items():
        np.testing.assert_array_equal(again[name], array)


def test_a_chain_that_failed_is_not_run_again(ledger: Ledger, folder: SumsFolder) -> None:
    """Its failure is its value: "it diverged, run it again" would be a choice among samples."""
    sample = Measurement("sample", 1.0, "loss", 2**-8, 4, noise=4.0)
    plan, sums, runs = Plan("toy", {}, "d" * 64, 1000, TOTAL, (sample,)), folder.new(), []

    def diverges(error: Exception) -> Callable[[bytes], dict[str, np.ndarray]]:
        def draw(key: bytes) -> dict[str, np.ndarray]:
            runs.append(key)
            raise error

        return draw

    for error in (MemoryError(), FloatingPointError()):  # the first comes whatever the sample is
        grant = ledger.charge(plan, sums=sums)
        with pytest.raises(type(error)):
            grant.sample(sample.listed, diverges(error))
        with pytest.raises(GrantError, match="already made"):
            grant.sample(sample.listed, diverges(error))
        sums = stopped(sums)
    assert ledger.state().charges[0].measured == {"sample": "failed"}
    with pytest.raises(SumsError, match="hushrec ledger forfeit"):
        ledger.charge(plan, sums=sums)
    assert len({*runs}) == 2


def test_without_a_folder_a_grant_keeps_nothing(ledger: Ledger, make_plan: MakePlan) -> None:
    grant = ledger.charge(make_plan(0.1))
    assert not grant.kept
    assert ledger.state().charges[0].sums == ""


@pytest.mark.parametrize("end", ["made", "forfeited"])
def test_a_charge_that_is_over_stays_so(
    ledger: Ledger, folder: SumsFolder, make_plan: MakePlan, make_sum: MakeSum, end: str
) -> None:
    """Also for a fit that is at work: its next value is not recorded, and not returned."""
    sums, plan = folder.new(), make_plan(0.5)
    grant = ledger.charge(plan, sums=sums)
    grant.measure(*make_sum())
    if end == "forfeited":
        ledger.forfeit(0)
    else:
        ledger.finish(ledger.charge(plan, sums=copied(sums)), b"factors")
    before = ledger.state()
    with pytest.raises(GrantError, match=f"charge is {end}"):
        grant.measure(*make_sum("counts"))
    with pytest.raises(GrantError, match=f"release 0 is {end}"):
        ledger.charge(plan, sums=stopped(sums))
    assert ledger.state() == before


def test_of_two_copies_of_the_sums_one_is_measured_from(
    ledger: Ledger, folder: SumsFolder, make_plan: MakePlan, make_sum: MakeSum
) -> None:
    """Both are drawn, and one is recorded and returned; the other never is, nor is it gone on with."""
    sums, plan = folder.new(), make_plan()
    first = ledger.charge(plan, sums=sums)
    shared = first.measure(*make_sum()).values
    copy = copied(sums)
    second = ledger.charge(plan, sums=copy)
    np.testing.assert_array_equal(second.measure(*make_sum()).values, shared)
    first.measure(*make_sum("counts"))
    with pytest.raises(GrantError, match="another process goes on with a copy of these sums"):
        second.measure(*make_sum("counts"))
    with pytest.raises(SumsError, match=r"has recorded the value of counts.*hushrec ledger forfeit"):
        ledger.charge(plan, sums=stopped(copy))
    ledger.finish(first, b"factors")


def test_another_plan_is_not_granted(ledger: Ledger, folder: SumsFolder, make_plan: MakePlan) -> None:
    sums = folder.new()
    ledger.charge(make_plan(0.5), sums=sums)
    for other in (make_plan(0.4), make_plan(0.5, model="other")):
        with pytest.raises(GrantError, match="was charged for another plan"):
            ledger.charge(other, sums=sums)
    assert ledger.state().spent == make_plan(0.5).spent.mu_squared


def test_a_refused_charge_can_be_made_later_with_the_same_folder(
    ledger: Ledger, folder: SumsFolder, make_plan: MakePlan
) -> None:
    sums = folder.new()
    with pytest.raises(BudgetExceeded):
        ledger.charge(make_plan(9.0), sums=sums)
    assert ledger.state().under(sums.token) is None
    ledger.charge(make_plan(0.5), sums=sums)


def test_the_ledger_holds_the_token_and_digests_and_no_value(
    path: Path, make_plan: MakePlan, make_sum: MakeSum
) -> None:
    ledger = Ledger.create(path, TOTAL, max_releases=3)
    sums = SumsFolder(path.with_name("sums"), ledger.id).new()
    noisy = ledger.charge(make_plan(0.1), sums=sums).measure(*make_sum())
    ledger.charge(make_plan(0.1), entropy=OperatingSystem())  # with a folder and without, side by side
    (file,) = sums.path.glob("*.safetensors")
    charge = ledger.state().under(sums.token)
    assert charge is not None
    assert charge.measured == {"sums": files.sha256(file)}
    assert noisy.values.tobytes() in file.read_bytes()
    assert noisy.values.tobytes() not in path.read_bytes()
    assert len(Ledger.open(path).state().charges) == 2


def test_the_head_of_a_release_is_that_of_its_charge(
    ledger: Ledger, folder: SumsFolder, make_plan: MakePlan, make_sum: MakeSum
) -> None:
    sums = folder.new()
    grant = ledger.charge(make_plan(0.1), sums=sums)
    grant.measure(*make_sum())
    ledger.charge(make_plan(0.1))
    assert ledger.charge(make_plan(0.1), sums=stopped(sums)).ledger == grant.ledger


def branched(name: str, branch: str = "", sigma: float = 9.0) -> Measurement:
    return Measurement(name, 2.0, "l2", 2**-8, 4, branch, sigma)


BRANCHED = (
    branched("sums"),
    branched("pairs", "pairs"),
    branched("means", "pairs"),
    branched("again", "counts", 8.0),
)
SUMS, PAIRS, MEANS, AGAIN = (one.listed for one in BRANCHED)
VALUES = np.arange(4, dtype=np.int64)


def of_branches() -> Plan:
    return Plan("toy", {}, "d" * 64, 1000, TOTAL, BRANCHED)


def test_all_branches_are_booked_and_the_dearest_is_paid(place: str) -> None:
    """Two measurements of one branch cost more here than the dearest of all, in the other."""
    ledger, plan = Ledger.create(place, TOTAL), of_branches()
    grant = ledger.charge(plan)
    state = Ledger.open(place).state()
    booked = state.charges[0].booked
    assert [(one["measurement"], one.get("branch", "")) for one in booked] == [
        (one.name, one.branch) for one in BRANCHED
    ]
    assert state.spent == state.charges[0].cost == plan.spent.mu_squared
    assert plan.spent == spent_of(BRANCHED[:3])
    assert grant.ledger["spent_epsilon"] == pytest.approx(plan.epsilon, abs=1e-9)
    (release,) = ledger.document().facts["releases"]
    assert (release["measurements"], release["epsilon"]) == (4, plan.epsilon)


def test_of_two_threads_that_take_branches_one_has_all_of_its_own() -> None:
    """Without a lock, some threads that took theirs found a measurement of it gone."""
    plan, interval = of_branches(), sys.getswitchinterval()
    ledger = Ledger.ephemeral(TOTAL.model_copy(update={"epsilon": 1e4}))
    sys.setswitchinterval(1e-6)
    try:
        with ThreadPoolExecutor(2) as pool:
            for _ in range(150):
                grant, start = ledger.charge(plan), Barrier(2)

                def take(branch: str, grant: Grant = grant, start: Barrier = start) -> bool:
                    start.wait()
                    with suppress(GrantError):
                        grant.take(branch)
                        return True
                    return False

                assert sum(pool.map(take, ("pairs", "counts"))) == 1
                for one in BRANCHED:
                    if one.branch in ("", grant.taken):
                        grant.measure(one.listed, VALUES)
    finally:
        sys.setswitchinterval(interval)


def test_a_stopped_fit_takes_the_same_branch_again(ledger: Ledger, folder: SumsFolder) -> None:
    """Whatever it asks for: a value of another branch would be one that nothing pays for."""
    sums, plan = folder.new(), of_branches()
    grant = ledger.charge(plan, sums=sums)
    grant.measure(SUMS, VALUES)
    assert grant.take("pairs") == "pairs"
    pairs = grant.measure(PAIRS, VALUES).values
    again = ledger.charge(plan, sums=stopped(sums))
    with pytest.raises(GrantError, match="no branch was taken yet"):
        again.measure(MEANS, VALUES)
    again.measure(SUMS, VALUES)
    assert again.take("counts") == again.taken == "pairs"
    with pytest.raises(GrantError, match="only branch pairs is measured"):
        again.measure(AGAIN, VALUES)
    np.testing.assert_array_equal(again.measure(PAIRS, VALUES).values, pairs)
    assert again.measure(MEANS, VALUES).values.shape == (4,)


def test_of_two_copies_of_the_sums_one_takes_a_branch(ledger: Ledger, folder: SumsFolder) -> None:
    sums, plan = folder.new(), of_branches()
    first = ledger.charge(plan, sums=sums)
    second = ledger.charge(plan, sums=copied(sums))
    first.take("pairs")
    with pytest.raises(GrantError, match="another process goes on with a copy of these sums"):
        second.take("counts")


def test_a_fit_that_stopped_before_its_branch_may_take_any(ledger: Ledger, folder: SumsFolder) -> None:
    sums, plan = folder.new(), of_branches()
    ledger.charge(plan, sums=sums).measure(SUMS, VALUES)
    assert ledger.charge(plan, sums=stopped(sums)).take("counts") == "counts"
