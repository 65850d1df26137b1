"""Charges and grants under a checkpoint: granted again, drawn again to the bit, never for other ratings."""

import shutil
import sys
from collections.abc import Callable
from concurrent.futures import ThreadPoolExecutor
from contextlib import suppress
from pathlib import Path
from threading import Barrier

import numpy as np
import pytest

from hushrec.errors import CheckpointError, GrantError
from hushrec.privacy.accounting.accountant import Spent, spent_of
from hushrec.privacy.accounting.budget import Budget
from hushrec.privacy.accounting.events import Gaussian
from hushrec.privacy.accounting.plan import Measurement, Plan
from hushrec.privacy.bounded import Bounded
from hushrec.privacy.grant import Grant
from hushrec.privacy.ledger.ledger import Ledger
from hushrec.privacy.noise.entropy import OperatingSystem
from support.checkpoints import bound

MakePlan, MakeBounded = Callable[..., Plan], Callable[..., Bounded]
TOTAL = Budget(epsilon=2.0, delta=1e-6, unit="user", adjacency="add-remove")


@pytest.fixture
def folder(tmp_path: Path) -> Path:
    return tmp_path / "checkpoint"


def with_key(folder: Path, key: bytes) -> Path:
    """A folder whose key is known beforehand."""
    folder.mkdir()
    (folder / "lock").touch()
    (folder / "key").write_bytes(key)
    return folder


def lose(folder: Path) -> None:
    """The value that was released, from the disk."""
    (state,) = folder.glob("*.safetensors")
    state.unlink()


def test_a_charge_is_granted_again_and_costs_nothing_more(
    place: str, folder: Path, make_plan: MakePlan, make_bounded: MakeBounded
) -> None:
    ledger, plan = Ledger.create(place, TOTAL, max_releases=3), make_plan()
    with bound(folder, ledger) as checkpoint:
        first = ledger.charge(plan, entropy=checkpoint)
        sums = first.measure(make_bounded()).values
    head = ledger.head
    for release_index in (None, 0):
        with bound(folder, ledger) as checkpoint:
            again = Ledger.open(place).charge(plan, release_index, checkpoint)
            assert (again.charge, again.key, again.ledger) == (first.charge, first.key, first.ledger)
            assert again.private
            np.testing.assert_array_equal(again.measure(make_bounded()).values, sums)
    assert ledger.head == head
    assert ledger.spent == plan.spent
    ledger.sampled(again, b"factors")
    with pytest.raises(GrantError, match="sampled"):
        ledger.sampled(first, b"other factors")
    with bound(folder, ledger) as checkpoint:
        assert ledger.stored(plan, None, checkpoint) == ledger.stored(plan, 0) == b"factors"
        with pytest.raises(GrantError, match=r"stored\(plan, 0\)"):
            ledger.charge(plan, entropy=checkpoint)
    assert ledger.stored(plan, None) is None


def test_a_fresh_key_would_charge_anew(place: str, folder: Path, make_plan: MakePlan) -> None:
    """A planted fault: the key does not survive the kill."""
    ledger = Ledger.create(place, TOTAL, max_releases=3)
    for _ in range(2):
        with bound(folder, ledger) as checkpoint:
            ledger.charge(make_plan(), entropy=checkpoint)
        (folder / "key").unlink()
    assert ledger.spent == make_plan().spent * 2


def test_what_was_released_comes_back_whatever_is_measured(
    place: str, folder: Path, make_plan: MakePlan, make_bounded: MakeBounded
) -> None:
    ledger, plan = Ledger.create(place, TOTAL), make_plan()
    with bound(folder, ledger) as checkpoint:
        grant = ledger.charge(plan, entropy=checkpoint)
        assert grant.already_released("sums") is None
        noisy = grant.measure(make_bounded())
    with bound(folder, ledger) as checkpoint:
        grant = ledger.charge(plan, entropy=checkpoint)
        other = make_bounded(values=np.zeros(4, dtype=np.int64))
        np.testing.assert_array_equal(grant.measure(other).values, noisy.values)
        assert grant.already_released("sums") is None  # each booking is used once
    with bound(folder, ledger) as checkpoint:
        grant = ledger.charge(plan, entropy=checkpoint)
        again = grant.already_released("sums")
        assert again is not None
        np.testing.assert_array_equal(again.values, noisy.values)
        assert (again.name, again.sigma, again.step, again.event) == (
            noisy.name,
            noisy.sigma,
            noisy.step,
            noisy.event,
        )
        assert grant.already_released("sums") is None
        with pytest.raises(GrantError, match="already made"):
            grant.measure(make_bounded())
        assert grant.already_released("counts") is None
        assert grant.already_released("not booked") is None


def test_what_was_lost_is_drawn_again_to_the_bit(
    place: str, folder: Path, make_plan: MakePlan, make_bounded: MakeBounded
) -> None:
    ledger, plan = Ledger.create(place, TOTAL), make_plan()
    values = []
    for _ in range(2):
        with bound(folder, ledger) as checkpoint:
            grant = ledger.charge(plan, entropy=checkpoint)
            values.append(grant.measure(make_bounded()).values)
            lose(folder)
    np.testing.assert_array_equal(*values)
    assert ledger.spent == plan.spent


def difference(tmp_path: Path, plan: Plan, make_bounded: MakeBounded, *ratings: str) -> np.ndarray:
    """Of what two fits release under one key, plan and ledger; their sums differ by 7 in the first entry."""
    values, fresh = [], tmp_path / "fresh.db"
    Ledger.create(fresh, TOTAL)
    for number, digest in enumerate(ratings):
        folder = tmp_path / str(number)
        folder.mkdir()
        ledger = Ledger.open(shutil.copy(fresh, folder / "ledger.db"))
        with bound(with_key(folder / "checkpoint", b"k" * 32), ledger, ratings=digest) as checkpoint:
            sums = np.array([7 * number, 0, 0, 0])
            values.append(ledger.charge(plan, entropy=checkpoint).measure(make_bounded(values=sums)).values)
    return (values[1] - values[0]) / 2**-8


def test_other_ratings_never_meet_the_same_noise(
    tmp_path: Path, make_plan: MakePlan, make_bounded: MakeBounded
) -> None:
    found = difference(tmp_path, make_plan(), make_bounded, "ratings", "others")
    assert np.all(found[1:] != 0)


def test_keys_that_know_nothing_of_the_ratings_would_give_them_away(
    tmp_path: Path, make_plan: MakePlan, make_bounded: MakeBounded
) -> None:
    """A planted fault: ratings with another digest pass for the same. The difference is exact."""
    found = difference(tmp_path, make_plan(), make_bounded, "ratings", "ratings")
    np.testing.assert_array_equal(found, [7, 0, 0, 0])


def test_two_ledgers_never_draw_the_same_noise(
    tmp_path: Path, folder: Path, make_plan: MakePlan, make_bounded: MakeBounded
) -> None:
    """One checkpoint, two ledgers: their releases' difference would be that of the exact sums."""
    (tmp_path / "elsewhere").mkdir()
    one = Ledger.create(tmp_path / "ledger.db", TOTAL)
    two = Ledger.create(tmp_path / "elsewhere" / "ledger.db", TOTAL)
    with bound(folder, one) as checkpoint:
        drawn = one.charge(make_plan(), entropy=checkpoint).measure(make_bounded()).values
        for use in (two.charge, lambda plan, entropy: two.stored(plan, None, entropy)):
            with pytest.raises(CheckpointError, match="bound to another ledger, or to none; charge the one"):
                use(make_plan(), entropy=checkpoint)
    assert two.entries() == ()
    assert two.head.seq == 0
    with pytest.raises(CheckpointError, match="belongs to a fit with other ledger"):
        bound(folder, two)
    (folder / "commitment").unlink()  # and with the same key all the same, the noise is another
    lose(folder)
    with bound(folder, two) as checkpoint:
        again = two.charge(make_plan(), entropy=checkpoint).measure(make_bounded()).values
    assert np.sum(again != drawn) >= 2  # of 4 on a grid one may agree by chance; three do once in 1e10


def test_a_checkpoint_that_is_bound_to_no_ledger_is_refused(
    place: str, folder: Path, make_plan: MakePlan
) -> None:
    ledger = Ledger.create(place, TOTAL)
    for account in (ledger, Ledger.ephemeral(TOTAL)):
        with bound(folder) as checkpoint, pytest.raises(CheckpointError, match="or to none"):
            account.charge(make_plan(), entropy=checkpoint)
        assert account.entries() == ()


def test_what_was_handed_out_is_published(place: str, folder: Path, make_plan: MakePlan) -> None:
    """A kill between the artefact and the mark; what comes back after it has left the building."""
    ledger, plan = Ledger.create(place, TOTAL, max_releases=3), make_plan(0.5)
    with bound(folder, ledger) as checkpoint:
        ledger.handed_out(plan, None, checkpoint)  # nothing is there yet
        ledger.sampled(ledger.charge(plan, entropy=checkpoint), b"factors")
        assert {entry.state for entry in ledger.entries()} == {"sampled"}
        ledger.handed_out(make_plan(0.4), 0)  # another plan was not handed out
        assert {entry.state for entry in ledger.entries()} == {"sampled"}
        ledger.handed_out(plan, None, checkpoint)
    assert {entry.state for entry in Ledger.open(place).entries()} == {"published"}
    head = ledger.head
    ledger.handed_out(plan, 0)
    assert ledger.head == head
    with pytest.raises(GrantError, match="finished"):
        ledger.charge(plan, 0)
    ledger.sampled(ledger.charge(plan, 1), b"others")
    ledger.handed_out(plan, 1)
    assert {entry.state for entry in ledger.entries()} == {"published"}


def test_the_same_people_take_part_again(place: str, folder: Path) -> None:
    events = [Gaussian(name, 1.0, 4.0, 1.0, 4, 0.5) for name in ("sums", "counts")]
    measurements = tuple(Measurement(event, 0.5) for event in events)
    plan = Plan("toy", {}, "d" * 64, 1000, TOTAL, measurements)
    ledger, drawn = Ledger.create(place, TOTAL), []
    for _ in range(2):
        with bound(folder, ledger) as checkpoint:
            grant = ledger.charge(plan, entropy=checkpoint)
            drawn.append([grant.sample(event.name) for event in events])
    assert drawn[0] == drawn[1]
    assert drawn[0][0] != drawn[0][1]


def test_a_charge_that_was_given_up_stays_so(place: str, folder: Path, make_plan: MakePlan) -> None:
    ledger = Ledger.create(place, TOTAL, max_releases=3)
    with bound(folder, ledger) as checkpoint:
        ledger.charge(make_plan(0.5), entropy=checkpoint)
    ledger.forfeit_index(0)
    spent = ledger.spent
    for release_index in (None, 0, 1):
        with bound(folder, ledger) as checkpoint, pytest.raises(CheckpointError, match="is forfeited"):
            ledger.charge(make_plan(0.5), release_index, checkpoint)
    assert ledger.spent == spent


def test_another_plan_or_slot_is_not_granted(place: str, folder: Path, make_plan: MakePlan) -> None:
    ledger = Ledger.create(place, TOTAL, max_releases=3)
    with bound(folder, ledger) as checkpoint:
        ledger.charge(make_plan(0.5), entropy=checkpoint)
        for plan, release_index in ((make_plan(0.5), 1), (make_plan(0.4), 0), (make_plan(0.4), None)):
            with pytest.raises(CheckpointError, match="another plan or release index"):
                ledger.charge(plan, release_index, checkpoint)
    assert ledger.spent == make_plan(0.5).spent


def test_the_ledger_holds_the_commitment_and_never_the_key(
    path: Path, folder: Path, make_plan: MakePlan
) -> None:
    ledger = Ledger.create(path, TOTAL, max_releases=3)
    with bound(folder, ledger) as checkpoint:
        ledger.charge(make_plan(0.1), entropy=checkpoint)
        commitment, key = checkpoint.commitment, (folder / "key").read_bytes()
    bytes_on_disk = path.read_bytes()
    assert commitment.encode() in bytes_on_disk
    for secret in (key, key.hex().encode()):
        assert secret not in bytes_on_disk
    ledger.charge(make_plan(0.1), entropy=OperatingSystem())
    assert len(Ledger.open(path).entries()) == 4  # records with and without a checkpoint, side by side


def test_the_head_of_a_release_is_that_of_its_charge(place: str, folder: Path, make_plan: MakePlan) -> None:
    ledger = Ledger.create(place, TOTAL, max_releases=3)
    with bound(folder, ledger) as checkpoint:
        first = ledger.charge(make_plan(0.1), entropy=checkpoint).ledger
    ledger.charge(make_plan(0.1))
    with bound(folder, ledger) as checkpoint:
        assert ledger.charge(make_plan(0.1), entropy=checkpoint).ledger == first


def branched(name: str, branch: str = "", sigma: float = 9.0) -> Gaussian:
    return Gaussian(name, 2.0, sigma, 2**-8, 4, branch=branch)


BRANCHED = (
    branched("sums"),
    branched("pairs", "pairs"),
    branched("means", "pairs"),
    branched("again", "counts", 8.0),
)


def of_branches() -> Plan:
    parts = {"sums": 0.5, "pairs": 0.2, "means": 0.2, "again": 0.5}
    made = tuple(Measurement(event, parts[event.name]) for event in BRANCHED)
    return Plan("toy", {}, "d" * 64, 1000, TOTAL, made)


def test_all_branches_are_booked_and_the_dearest_is_paid(place: str) -> None:
    """Two measurements of one branch cost more here than the dearest of all, in the other."""
    ledger, plan = Ledger.create(place, TOTAL), of_branches()
    grant = ledger.charge(plan)
    entries = Ledger.open(place).entries()
    assert [(e.measurement, e.branch) for e in entries] == [(e.name, e.branch) for e in BRANCHED]
    assert [bool(e.rho) for e in entries] == [True, True, True, False]
    assert ledger.spent == sum((e.spent for e in entries), Spent()) == plan.spent == spent_of(BRANCHED[:3])
    assert grant.ledger["spent_epsilon"] == pytest.approx(plan.epsilon, abs=1e-9)
    (release,) = ledger.document().facts["releases"]
    assert (release["measurements"], release["epsilon"]) == (4, plan.epsilon)


def test_of_two_threads_that_take_branches_one_has_all_of_its_own(make_bounded: MakeBounded) -> None:
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
                for event in BRANCHED[1:]:
                    if event.branch == grant.taken:
                        grant.measure(make_bounded(event.name))
    finally:
        sys.setswitchinterval(interval)


def test_an_interrupted_fit_takes_the_same_branch_again(
    place: str, folder: Path, make_bounded: MakeBounded
) -> None:
    """Its first releases come back, so that its choice does too; another one would be a second release."""
    ledger, plan = Ledger.create(place, TOTAL), of_branches()
    with bound(folder, ledger) as checkpoint:
        grant = ledger.charge(plan, entropy=checkpoint)
        grant.take("pairs")
        pairs = grant.measure(make_bounded("pairs")).values
    with bound(folder, ledger) as checkpoint:
        again = ledger.charge(plan, entropy=checkpoint)
        with pytest.raises(GrantError, match="the interrupted fit took another branch"):
            again.take("counts")
        with pytest.raises(GrantError, match="no branch was taken yet"):
            again.measure(make_bounded("again"))
        again.take("pairs")
        np.testing.assert_array_equal(again.measure(make_bounded("pairs")).values, pairs)
        assert again.measure(make_bounded("means")).values.shape == (4,)


def test_a_fit_that_stopped_before_its_branch_may_take_any(
    place: str, folder: Path, make_bounded: MakeBounded
) -> None:
    ledger, plan = Ledger.create(place, TOTAL), of_branches()
    for _ in range(2):
        with bound(folder, ledger) as checkpoint:
            grant = ledger.charge(plan, entropy=checkpoint)
            grant.measure(make_bounded())
            grant.take("counts")
