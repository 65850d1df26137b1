"""The default checkpoint: where it lies, what resumes from it, and what is refused while a charge waits."""

import shutil
from contextlib import contextmanager

import numpy as np
import pytest

import hushrec as hr
from hushrec.curator.charging import Request
from hushrec.curator.checkpoints import folder_of, stopped
from hushrec.curator.fit import fitting
from hushrec.errors import (
    ChargeUnpublished,
    CheckpointError,
    LedgerStale,
    LedgerWarning,
    ReleaseError,
    WeakBudget,
)
from hushrec.models.mcsherry_mironov.global_effects import GlobalEffects
from hushrec.privacy.checkpoint.checkpoint import Checkpoint

stops: list[BaseException] = []


class Stopping(GlobalEffects):
    """Item effects that are stopped once, after they were measured."""

    def fit(self, feedback, run):
        release = super().fit(feedback, run)
        if stops:
            raise stops.pop()
        return release


@pytest.fixture(scope="module")
def small():
    return hr.synthetic.netflix_like(20, 6, 60, 1)


@pytest.fixture(scope="module")
def other():
    return hr.synthetic.netflix_like(20, 6, 60, 2)


@pytest.fixture
def ledger(tmp_path, budget):
    return hr.Ledger.create(tmp_path / "ledger.db", budget(9.0), max_releases=9)


@pytest.fixture
def call(small, budget, ledger):
    """A fit of the small ratings, but for what is named."""

    def fit(data=small, model=None, epsilon=1.0, **options):
        model = model or Stopping()
        return hr.fit(data, model, budget(epsilon), ledger=ledger, **options, accept="share")

    return fit


def stop(call, *given, **options):
    stops.append(KeyboardInterrupt())
    with pytest.raises(KeyboardInterrupt):
        call(*given, **options)


def charges(ledger):
    return {entry.charge: entry.state for entry in ledger.entries()}


def test_it_lies_beside_the_ledger_as_long_as_the_fit_and_only_its_owner_reads_it(call, ledger, tmp_path):
    stop(call)
    (one,) = stopped(ledger)
    assert one.folder.parent == folder_of(ledger) == tmp_path / "ledger.db.checkpoints"
    assert folder_of(ledger).stat().st_mode & 0o777 == one.folder.stat().st_mode & 0o777 == 0o700
    release = call()
    assert not release.repeated
    assert charges(ledger) == {1: "published"}
    assert [path.name for path in tmp_path.iterdir()] == ["ledger.db"], "and nothing is left"


def test_a_ledger_in_memory_and_a_seeded_fit_keep_nothing(small, budget, tmp_path, monkeypatch):
    monkeypatch.chdir(tmp_path)
    kept = []
    monkeypatch.setattr(Checkpoint, "__init__", lambda *given: kept.append(given))
    hr.testing.fit(small, GlobalEffects(), budget(1.0), entropy=hr.testing.Seeded(1))
    hr.baseline(small, GlobalEffects())
    hr.fit(small, GlobalEffects(), budget(1.0), ledger=hr.Ledger.ephemeral(budget(1.0)))
    assert (kept, [*tmp_path.iterdir()]) == ([], [])


def test_without_one_a_stopped_fit_has_lost_its_charge(call, ledger):
    stop(call, checkpoint=False)
    assert (charges(ledger), stopped(ledger)) == ({1: "forfeited"}, [])


def test_what_is_stopped_after_its_charge_keeps_others_from_being_charged(call, ledger, other):
    stop(call)
    changes = [{"data": other}, {"model": GlobalEffects()}, {"epsilon": 2.0}, {"release_index": 3}]
    for change in changes:
        with pytest.raises(
            ChargeUnpublished, match=r"release 0 \(Stopping, ε = 1, .*Nothing was charged"
        ) as told:
            call(**change)
        assert "repeat it with the same data, settings" in str(told.value)
        assert "with a release index only if it had one" in str(told.value)
        assert "hushrec ledger forfeit ledger.db 0" in str(told.value)
    assert charges(ledger) == {1: "charged"}
    call()
    assert charges(ledger) == {1: "published"}


def test_nobody_gets_past_a_charge_that_waits_without_a_checkpoint_or_with_one_elsewhere(
    call, ledger, other, tmp_path
):
    stop(call)
    for checkpoint in (False, tmp_path / "elsewhere"):
        with pytest.raises(ChargeUnpublished, match=r"release 0 \(Stopping"):
            call(other, checkpoint=checkpoint)
    assert (charges(ledger), (tmp_path / "elsewhere").exists()) == ({1: "charged"}, False)


def test_what_is_given_up_stays_spent_and_frees_its_index(call, ledger, other):
    stop(call)
    before = ledger.remaining
    ledger.forfeit_index(0)
    assert ledger.remaining == before
    release = call(other)
    assert release.statement.ledger["release_index"] == 0
    assert sorted(charges(ledger).values()) == ["forfeited", "published"]
    assert not folder_of(ledger).exists(), "the checkpoint that was given up is gone, too"


def test_each_of_two_stopped_fits_resumes_from_its_own(call, ledger, small, other):
    stop(call, other)
    (first,) = stopped(ledger)
    with Checkpoint(first.folder):  # held, as by a fit that runs
        stop(call)
    assert [one.charge.release_index for one in stopped(ledger)] == [0, 1]
    assert call().statement.ledger["release_index"] == 1
    assert call(other).statement.ledger["release_index"] == 0
    assert set(charges(ledger).values()) == {"published"}


def test_a_fit_that_runs_is_no_obstacle_and_is_not_named(call, ledger, other, recwarn):
    stop(call, other)
    (first,) = stopped(ledger)
    with Checkpoint(first.folder):
        assert call().statement.ledger["release_index"] == 1
    assert not [w for w in recwarn if w.category is LedgerWarning]


def test_a_charge_whose_checkpoint_is_elsewhere_is_named(call, ledger, other, tmp_path):
    stop(call, other, checkpoint=tmp_path / "elsewhere")
    with pytest.warns(
        LedgerWarning, match=r"release 0 \(Stopping, ε = 1, .*was charged and is not published"
    ):
        assert call().statement.ledger["release_index"] == 1


def test_auto_takes_the_share_of_the_charge_that_it_resumes(small, ledger):
    stops.append(KeyboardInterrupt())
    with pytest.raises(KeyboardInterrupt):
        hr.fit(small, Stopping(), "auto", ledger=ledger)
    (before,) = ledger.unpublished
    hr.fit(small, Stopping(), "auto", ledger=ledger)
    assert charges(ledger) == {before.number: "published"}


@pytest.fixture
def full(monkeypatch):
    """A context in which no release can be written; it keeps what would have been."""
    kept = []

    @contextmanager
    def context():
        def save(release, path):
            kept.append(release.to_bytes())
            raise OSError(28, "No space left on device")

        with monkeypatch.context() as patch:
            patch.setattr(hr.Release, "save", save)
            with pytest.raises(ReleaseError, match="No space left on device"):
                yield kept

    return context


def test_a_file_that_could_not_be_written_is_made_again_from_the_same_bytes(
    small, budget, ledger, tmp_path, full
):
    request = Request(fitting(GlobalEffects(), budget(1.0)), ledger=ledger, out=tmp_path / "out.safetensors")
    with full() as kept:
        request.make(small)
    assert charges(ledger) == {1: "sampled"}
    assert [request.make(small).to_bytes()] == kept == [(tmp_path / "out.safetensors").read_bytes()]
    assert charges(ledger) == {1: "published"}


def test_a_stored_release_is_named_and_does_not_stop_others(small, other, budget, ledger, tmp_path, full):
    request = Request(
        fitting(GlobalEffects(), budget(1.0)), ledger=ledger, out=tmp_path / "out.safetensors", accept="share"
    )
    with full():
        request.make(small)
    with pytest.warns(
        LedgerWarning, match=r"release 0 is stored in the ledger.*--release-index 0 gives its bytes"
    ):
        request.make(other)
    again = hr.fit(small, GlobalEffects(), budget(1.0), ledger=ledger, release_index=0)
    assert again.repeated
    assert (set(charges(ledger).values()), folder_of(ledger).exists()) == ({"published"}, False)


def test_a_ledger_that_forgot_the_charge_was_restored(call, ledger, tmp_path):
    shutil.copy(tmp_path / "ledger.db", tmp_path / "backup")
    stop(call)
    shutil.copy(tmp_path / "backup", tmp_path / "ledger.db")
    again = hr.Ledger.open(tmp_path / "ledger.db")
    with pytest.raises(
        LedgerStale, match=r"does not know the charge of the checkpoint .*a backup was restored"
    ):
        stopped(again)


def test_what_was_stopped_before_its_charge_is_removed_and_other_ledgers_are_left_alone(call, ledger):
    root = folder_of(ledger)
    root.mkdir()
    (root / f"{ledger.id[:16]}-11111111").mkdir()  # as another process is just making it
    (early, strange) = root / f"{ledger.id[:16]}-00000000", root / "0123456789abcdef-00000000"
    for folder in (early, strange):
        Checkpoint(folder).close()
    call()
    assert sorted(root.iterdir()) == sorted([strange, root / f"{ledger.id[:16]}-11111111"])


def test_a_release_index_that_was_charged_is_not_charged_again(call, ledger, small, budget):
    planned = hr.plan(small.domain, Stopping(), budget(1.0))
    stop(call, checkpoint=False)
    cost = r"a new charge would cost ε = 1(\.0*)? more\. Nothing was charged"
    with pytest.raises(ChargeUnpublished, match=f"release 0 was charged and forfeited.*{cost}"):
        call(release_index=0)
    ledger.charge(planned, accept="share")
    with pytest.raises(
        ChargeUnpublished, match=f"release 0 was charged, and no release.*{cost}.*ledger forfeit"
    ):
        ledger.charge(planned, 0, accept="share")
    assert list(charges(ledger).values()) == ["forfeited", "charged"]


def test_a_charge_that_is_refused_leaves_no_checkpoint(call, ledger):
    with pytest.raises(WeakBudget):
        call(epsilon=8.5)
    assert (charges(ledger), folder_of(ledger).exists()) == ({}, False)


def test_a_folder_that_cannot_be_made_is_refused_before_the_charge(call, ledger):
    folder_of(ledger).write_text("a file")
    with pytest.raises(
        CheckpointError, match=r"no checkpoint can be kept next to the ledger.*--no-checkpoint"
    ):
        call()
    assert charges(ledger) == {}


def test_resumed_sums_are_of_the_same_ratings(call, ledger, small):
    """Equal but for one rating: not the fit that was stopped."""
    stop(call)
    steps = small.steps.copy()
    steps[0] = (steps[0] + 1) % small.domain.scale.n_values
    moved = hr.Ratings(small.domain, small.users, small.indptr, small.items, steps)
    assert not np.array_equal(moved.steps, small.steps)
    with pytest.raises(ChargeUnpublished):
        call(moved)
