"""Fits that were stopped after their charge: the same call goes on, and nothing else is charged meanwhile."""

import shutil

import numpy as np
import pytest

import hushrec as hr
from hushrec.curator.stopped_fits import stopped_fits, sums_of
from hushrec.errors import (
    ChargeUnpublished,
    LedgerStale,
    LedgerWarning,
    ReleaseError,
)
from hushrec.models.mcsherry_mironov.global_effects import GlobalEffects
from hushrec.privacy.sums_on_disk import ChargeSums
from support.stopped import stopped

stops: list[BaseException] = []
measured: list[bytes] = []


def finished(release):
    """A release whose fit is stopped here if a test wants that, after everything was measured."""
    measured.append(b"".join(release.tensors[name].tobytes() for name in sorted(release.tensors)))
    if stops:
        raise stops.pop()
    return release


class Stopping(GlobalEffects):
    def fit(self, feedback, grant):
        return finished(super().fit(feedback, grant))


class Chain(hr.PosteriorSampleMF):
    def fit(self, feedback, grant):
        return finished(super().fit(feedback, grant))


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

    def fit(data=small, model=None, epsilon=1.0, accept=(), **options):
        accept = {"share", *([accept] if accept else [])}
        return hr.fit(data, model or Stopping(), budget(epsilon), ledger=ledger, accept=accept, **options)

    return fit


def stop(call, *given, error=None, **options):
    stops.append(error or KeyboardInterrupt())
    with pytest.raises(BaseException) as caught:  # noqa: PT011
        call(*given, **options)
    return caught.value


def charges(ledger):
    return {charge.number: charge.state for charge in ledger.state().charges}


def folders(ledger, sums=None):
    return sorted(path for path in sums_of(ledger, sums).path.glob("*-*") if path.is_dir())


@pytest.mark.parametrize("error", [ArithmeticError("planted"), KeyboardInterrupt(), MemoryError()])
def test_the_same_call_goes_on_under_its_charge_with_what_was_measured(call, ledger, small, budget, error):
    measured.clear()
    assert "stays open: the same call goes on" in stop(call, error=error).__notes__[0]
    assert charges(ledger) == {1: "charged"}
    (folder,) = folders(ledger)
    assert folder.parent == ledger.path.parent / "ledger.db.sums"
    assert folder.stat().st_mode & 0o777 == folder.parent.stat().st_mode & 0o777 == 0o700
    release = call()
    assert measured[0] == measured[1]
    assert charges(ledger) == {1: "made"}
    assert [caveat.kind for caveat in release.statement.caveats] == ["author"]  # and nothing worse
    assert ledger.state().spent == hr.plan(small.domain, Stopping(), budget(1.0)).spent.mu_squared
    assert (folders(ledger), ledger.artefact(0)) == ([], release.to_bytes())
    assert not release.repeated
    assert call().statement.ledger["release_index"] == 1, "the same call makes a new release"
    assert measured[2] != measured[1]


def test_a_sample_that_was_drawn_is_not_drawn_again(small, tmp_path):
    budget = hr.Budget(epsilon=8.0, delta=1e-6, unit="user", adjacency="add-remove")
    ledger = hr.Ledger.create(tmp_path / "ledger.db", budget)

    def call():
        return hr.fit(small, Chain(rank=1, chain={"epochs": 8, "chains": 2}), budget, ledger=ledger)

    measured.clear()
    stop(call)
    call()
    assert measured[0] == measured[1]
    assert {*charges(ledger).values()} == {"made"}


@pytest.mark.parametrize(
    "change", [{"model": GlobalEffects()}, {"model": Stopping(split={"item sums": 0.9})}, {"epsilon": 2.0}]
)
def test_another_plan_is_not_charged_until_it_went_on_or_was_given_up(call, ledger, other, change):
    stop(call)
    for people in ({}, {"data": other}):
        with pytest.raises(ChargeUnpublished, match=r"release 0 \(Stopping, ε = 1, .*Nothing was") as told:
            call(**people, **change)
    assert "repeat it with the same model and budget" in str(told.value)
    assert "hushrec ledger forfeit ledger.db 0" in str(told.value)
    assert charges(ledger) == {1: "charged"}
    call()
    call(**change)
    assert [*charges(ledger).values()] == ["made", "made"]


def test_other_rows_go_on_only_if_that_is_accepted(call, ledger, small):
    """All of them with what was measured of the first ones."""
    measured.clear()
    stop(call)
    steps = small.values.copy()
    steps[7] = (steps[7] + 1) % small.domain.scale.n_values
    moved = hr.People(small.domain, small.users, small.indptr, small.items, steps)
    fewer = small.select(np.arange(small.n_entries) != 3)
    names = [f"{user}x" for user in small.users.to_pylist()]
    renamed = hr.People(small.domain, names, small.indptr, small.items, small.values)
    for others in (moved, fewer, renamed):
        with pytest.raises(ChargeUnpublished, match=r'Nothing more was charged.* accept="changed", or --acc'):
            call(others)
    call(fewer, accept="changed")
    assert measured[0] == measured[1]
    assert charges(ledger) == {1: "made"}


def test_what_is_given_up_stays_spent_and_frees_its_index(call, ledger, other):
    stop(call)
    before = ledger.state().remaining
    ledger.forfeit(0)
    assert ledger.state().remaining == before
    assert call(other, epsilon=2.0).statement.ledger["release_index"] == 0
    assert sorted(charges(ledger).values()) == ["forfeited", "made"]
    assert not folders(ledger)


def test_a_fit_that_runs_elsewhere_is_no_obstacle_and_each_goes_on_from_its_own_sums(call, ledger, recwarn):
    stop(call, epsilon=2.0)
    (first,) = folders(ledger)
    with ChargeSums(first):  # held, as by a fit that runs
        stop(call)
    assert [*charges(ledger).values()] == ["charged", "charged"]
    assert call().statement.ledger["release_index"] == 1
    assert call(epsilon=2.0).statement.ledger["release_index"] == 0
    assert {*charges(ledger).values()} == {"made"}
    assert not [warning for warning in recwarn if warning.category is LedgerWarning]


def test_sums_are_kept_where_you_say_and_a_charge_whose_sums_are_elsewhere_is_named(call, ledger, tmp_path):
    elsewhere = tmp_path / "elsewhere"
    stop(call, sums=elsewhere)
    assert (len(folders(ledger, elsewhere)), folders(ledger)) == (1, [])
    with pytest.warns(LedgerWarning, match=r"release 0 \(Stopping, ε = 1, .*was charged and is not made"):
        assert call().statement.ledger["release_index"] == 1
    assert call(sums=elsewhere).statement.ledger["release_index"] == 0


def test_auto_takes_the_share_that_was_charged(small, ledger, budget):
    """Whatever an equal share would be by now."""

    def call():
        return hr.fit(small, Stopping(), "auto", ledger=ledger)

    stop(call)
    (before,) = ledger.state().charges
    ledger.extend(budget(20.0))
    assert call().statement.epsilon <= before.budget.epsilon
    assert charges(ledger) == {before.number: "made"}


# -- made, but never written --------------------------------------------------------------------------------


@pytest.mark.parametrize("verb", ["fit", "randomize"])
def test_a_release_that_was_made_and_never_handed_out_is_returned_once_at_no_cost(
    verb, small, other, tmp_path
):
    unit, method = ("user", hr.RandomizedResponse()) if verb == "randomize" else ("record", GlobalEffects())
    half = hr.Budget(epsilon=4.0, delta=0.0 if unit == "user" else 1e-6, unit=unit, adjacency="replace")
    total = half.model_copy(update={"epsilon": 12.2})
    ledger = hr.Ledger.create(tmp_path / "ledger.db", total, max_releases=3)

    def call(data=small):
        return getattr(hr, verb)(data, method, half, ledger=ledger)

    with stopped(made=True):
        call()
    assert {*charges(ledger).values()} == {"made"}
    head = ledger.state().head
    release = call()
    assert release.repeated
    assert release.to_bytes() == ledger.artefact(0)
    assert (ledger.state().head, folders(ledger)) == (head, [])
    with stopped(made=True):
        call()
    with pytest.warns(LedgerWarning, match="release 1 is made"):
        again = call(other)  # whose release was not made: an older one would be theirs for this week's
    assert not again.repeated
    assert again.statement.ledger["release_index"] == 2


def test_a_data_set_too_large_for_the_ledger_is_lost_once_and_stops_no_other(small, tmp_path, monkeypatch):
    monkeypatch.setattr(hr.ReleasedData, "in_ledger", False)
    budget = hr.Budget(epsilon=4.0, delta=0.0, unit="user", adjacency="replace")
    total = budget.model_copy(update={"epsilon": 8.0})
    ledger = hr.Ledger.create(tmp_path / "ledger.db", total, max_releases=2)

    def call():
        return hr.randomize(small, hr.RandomizedResponse(), budget, ledger=ledger)

    with stopped(made=True):
        call()
    with pytest.raises(ReleaseError, match="keeps only the facts of a data set this large"):
        call()
    assert not call().repeated


# -- what nothing goes on from ------------------------------------------------------------------------------


def test_folders_without_a_charge_are_removed_and_those_of_other_ledgers_are_left(call, ledger):
    root = sums_of(ledger).path
    root.mkdir()
    early, strange = (root / name for name in (f"{ledger.id[:16]}-0", "ab-0"))
    for folder in (early, strange):
        folder.mkdir()
        ChargeSums(folder).close()
    call()
    assert folders(ledger) == [strange]


@pytest.mark.parametrize("stopping", [True, False])
def test_a_ledger_that_forgot_a_charge_was_restored(call, ledger, tmp_path, stopping):
    """Also one that was made, whose sums are gone."""
    shutil.copy(ledger.path, tmp_path / "backup")
    if stopping:
        stop(call)
    else:
        call()
    shutil.copy(tmp_path / "backup", ledger.path)
    restored = hr.Ledger.open(ledger.path)
    with pytest.raises(LedgerStale, match="a backup was restored"), stopped_fits(restored, None):
        pass


def test_a_ledger_in_memory_keeps_nothing_and_what_is_stopped_is_spent(small, budget, tmp_path, monkeypatch):
    monkeypatch.chdir(tmp_path)
    ledger = hr.Ledger.ephemeral(budget(1.0))
    told = stop(lambda: hr.fit(small, Stopping(), budget(1.0), ledger=ledger))
    assert told.__notes__ == [
        "The charge stays spent, ε = 1 at δ = 1e-06: noise is never drawn twice under one charge."
    ]
    assert charges(ledger) == {1: "forfeited"}
    assert not [*tmp_path.iterdir()]
