"""Fits with a checkpoint: what goes on, what is refused, what is given up."""

import shutil

import numpy as np
import pytest

import hushrec as hr
from hushrec.errors import BudgetUnsupported, CheckpointError, ConfigError, LedgerError
from hushrec.models.mcsherry_mironov.global_effects import GlobalEffects
from hushrec.privacy.accounting.plan import version
from hushrec.privacy.checkpoint.checkpoint import Checkpoint


class Stopped(GlobalEffects):
    """Item effects that are stopped once, after they were measured."""

    def fit(self, feedback, run):
        release = super().fit(feedback, run)
        if stops:
            raise stops.pop()
        return release


stops: list[BaseException] = []


@pytest.fixture(scope="module")
def small():
    return hr.synthetic.netflix_like(20, 6, 60, 1)


@pytest.fixture
def call(small, budget, tmp_path):
    """The call of a fit with a checkpoint, but for what is named."""
    total = budget(9.0)
    hr.Ledger.create(tmp_path / "ledger.db", total, max_releases=9)

    def fit(data=small, model=None, epsilon=1.0, ledger="ledger.db", **options):
        options.setdefault("checkpoint", tmp_path / "checkpoint")
        model = model or Stopped()
        return hr.fit(data, model, budget(epsilon), ledger=tmp_path / ledger, **options)

    return fit


def spent_once(folder, plan):
    ledger = hr.Ledger.open(folder / "ledger.db")
    return ledger.spent == plan.spent


@pytest.mark.parametrize("error", [ArithmeticError("planted"), KeyboardInterrupt()])
@pytest.mark.parametrize("release_index", [None, 3])
def test_a_stopped_fit_goes_on_under_its_charge(call, small, budget, tmp_path, error, release_index):
    stops.append(error)
    with pytest.raises(type(error)) as caught:
        call(release_index=release_index)
    assert "stays open" in caught.value.__notes__[0]
    ledger = hr.Ledger.open(tmp_path / "ledger.db")
    assert {entry.state for entry in ledger.entries()} == {"charged"}
    release = call(release_index=release_index)
    assert [caveat.kind for caveat in release.statement.caveats] == ["author"]  # and nothing worse
    assert release.statement.ledger["release_index"] == (release_index or 0)
    assert {entry.state for entry in ledger.entries()} == {"published"}
    assert spent_once(tmp_path, hr.plan(small.domain, Stopped(), budget(1.0)))
    assert not (tmp_path / "checkpoint").exists()
    assert (
        ledger.stored(hr.plan(small.domain, Stopped(), budget(1.0)), release_index or 0) == release.to_bytes()
    )


def test_without_a_checkpoint_a_stopped_fit_is_burnt(call, tmp_path):
    stops.append(KeyboardInterrupt())
    with pytest.raises(KeyboardInterrupt):
        call(checkpoint=False)
    assert {entry.state for entry in hr.Ledger.open(tmp_path / "ledger.db").entries()} == {"forfeited"}


def stopped(call):
    stops.append(KeyboardInterrupt())
    with pytest.raises(KeyboardInterrupt):
        call()


def test_other_ratings_are_refused(call, small, tmp_path):
    stopped(call)
    steps = small.steps.copy()
    steps[7] = (steps[7] + 1) % small.domain.scale.n_values
    moved = hr.Ratings(small.domain, small.users, small.indptr, small.items, steps)
    fewer = small.select(np.arange(small.n_ratings) != 3)
    renamed = hr.Ratings(small.domain, small.users + "x", small.indptr, small.items, small.steps)
    for other in (moved, fewer, renamed):
        with pytest.raises(CheckpointError, match="other ratings; fit with what it was started with"):
            call(other)
    assert len({entry.charge for entry in hr.Ledger.open(tmp_path / "ledger.db").entries()}) == 1
    call()


def test_a_digest_that_looks_at_nothing_would_let_them_pass(call, small, tmp_path, monkeypatch):
    """A planted fault: the commitment does not know the ratings. What comes out is of the first ones."""
    monkeypatch.setattr(hr.Ratings, "digest", lambda ratings: "any")
    stopped(call)
    call(small.select(np.arange(small.n_ratings) != 3))


@pytest.mark.parametrize(
    "change",
    [
        {"model": Stopped(split={"item sums": 0.9})},
        {"model": GlobalEffects()},
        {"epsilon": 2.0},
        {"release_index": 0},
    ],
)
def test_other_settings_are_refused(call, change, tmp_path):
    stopped(call)
    with pytest.raises(CheckpointError, match=r"other settings \(release index and version too\)"):
        call(**change)
    call()
    assert len({entry.charge for entry in hr.Ledger.open(tmp_path / "ledger.db").entries()}) == 1


def test_another_ledger_or_version_is_refused(call, budget, tmp_path, monkeypatch):
    stopped(call)
    (tmp_path / "elsewhere").mkdir()
    hr.Ledger.create(tmp_path / "elsewhere" / "other.db", budget(9.0))
    with pytest.raises(CheckpointError, match="other ledger and settings"):
        call(ledger="elsewhere/other.db")
    later = f"{version()} and later"
    monkeypatch.setattr("hushrec.privacy.accounting.plan.version", lambda: later)
    with pytest.raises(CheckpointError, match="other settings"):
        call()


def test_a_copy_of_a_checkpoint_publishes_nothing_of_its_own(call, tmp_path):
    stopped(call)
    shutil.copytree(tmp_path / "checkpoint", tmp_path / "copy")
    release = call()
    assert call(checkpoint=tmp_path / "copy").to_bytes() == release.to_bytes()
    assert len({entry.charge for entry in hr.Ledger.open(tmp_path / "ledger.db").entries()}) == 1


def test_what_is_refused_beforehand_leaves_no_folder(call, small, budget, tmp_path):
    with pytest.raises(BudgetUnsupported):
        call(model=hr.MatrixFactorization(rank=2))
    with pytest.raises(LedgerError, match="charged to a ledger"):
        hr.fit(small, GlobalEffects(), budget(1.0), ledger=None, checkpoint=tmp_path / "checkpoint")
    assert not (tmp_path / "checkpoint").exists()


class Chain(hr.PosteriorSampleMF):
    """A sample that is stopped once it is drawn, before its release is stored."""

    def fit(self, feedback, run):
        release = super().fit(feedback, run)
        drawn.append(release.tensors["item_factors"].tobytes())
        if stops:
            raise stops.pop()
        return release


drawn: list[bytes] = []


def test_a_sample_that_was_stopped_is_drawn_again_to_the_same_bits(small, tmp_path):
    budget = hr.Budget(epsilon=8.0, delta=1e-6, unit="user", adjacency="add-remove")
    ledger = hr.Ledger.create(tmp_path / "ledger.db", budget)
    config = Chain(rank=1, chain={"epochs": 8, "chains": 2})
    drawn.clear()
    stops.append(KeyboardInterrupt())
    with pytest.raises(KeyboardInterrupt):
        hr.fit(small, config, budget, ledger=ledger)
    hr.fit(small, config, budget, ledger=ledger)
    assert drawn[0] == drawn[1]
    assert {entry.state for entry in ledger.entries()} == {"published"}


def test_a_checkpoint_is_no_entropy(call, small, budget, tmp_path):
    """It would claim privacy, bound to nothing that a fit knows: two ledgers could draw the same noise."""
    with Checkpoint(tmp_path / "own") as checkpoint:
        checkpoint.bind({"ratings": "any"}, hr.Ledger.open(tmp_path / "ledger.db").id)
        with pytest.raises(ConfigError, match="takes noise that can be repeated"):
            hr.testing.fit(small, GlobalEffects(), budget(1.0), entropy=checkpoint)
    assert hr.Ledger.open(tmp_path / "ledger.db").entries() == ()


def killed_before_the_mark(monkeypatch, make):
    """What a call leaves that ends between storing the artefact and saying that it is published."""

    def end(*_):
        raise KeyboardInterrupt

    with monkeypatch.context() as patch:
        patch.setattr(hr.Ledger, "published", end)
        with pytest.raises(KeyboardInterrupt):
            make()


@pytest.mark.parametrize("release_index", [None, 2])
def test_a_resumed_fit_whose_release_is_handed_out_is_published(call, tmp_path, monkeypatch, release_index):
    killed_before_the_mark(monkeypatch, lambda: call(release_index=release_index))
    ledger = hr.Ledger.open(tmp_path / "ledger.db")
    assert {entry.state for entry in ledger.entries()} == {"sampled"}
    call(release_index=release_index)
    assert {entry.state for entry in ledger.entries()} == {"published"}


def test_a_slot_whose_data_are_handed_out_is_published(small, tmp_path, monkeypatch):
    limit = hr.Budget(epsilon=8.0, delta=0.0, unit="user", adjacency="replace")
    ledger = hr.Ledger.create(tmp_path / "ledger.db", limit)

    def release():
        return hr.randomize(small, hr.RandomizedResponse(), limit, ledger=ledger, release_index=0)

    killed_before_the_mark(monkeypatch, release)
    assert {entry.state for entry in ledger.entries()} == {"sampled"}
    release()
    assert {entry.state for entry in ledger.entries()} == {"published"}


def test_a_held_checkpoint_charges_nothing(call, tmp_path):
    with Checkpoint(tmp_path / "checkpoint"), pytest.raises(CheckpointError, match="another process"):
        call()
    assert hr.Ledger.open(tmp_path / "ledger.db").entries() == ()
