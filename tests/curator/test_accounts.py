"""Ledgers that releases are charged to: none starts by accident, and a failed charge says so."""

import numpy as np
import pytest

import hushrec as hr
from hushrec.curator.accounts import account_of, start
from hushrec.errors import LedgerError, LedgerMissing, LedgerWarning
from hushrec.models.global_effects import GlobalEffects
from hushrec.models.phases import covariance
from hushrec.privacy.noise.entropy import OperatingSystem


@pytest.fixture(scope="module")
def small():
    return hr.synthetic.netflix_like(20, 6, 60, 1)


def test_a_fit_starts_no_ledger(small, budget, tmp_path, monkeypatch):
    """A typo is not a fresh budget."""
    (tmp_path / "shop").mkdir()
    hr.Ledger.create(tmp_path / "shop" / "ledger.db", budget(1.0))
    monkeypatch.chdir(tmp_path / "shop")
    before = sorted(tmp_path.rglob("*"))
    with pytest.raises(
        LedgerMissing, match=r"no ledger ledgr\.db in the folder shop \(did you mean ledger\.db\?"
    ):
        hr.fit(small, GlobalEffects(), budget(1.0), ledger="ledgr.db")
    monkeypatch.chdir(tmp_path)  # another working directory
    with pytest.raises(LedgerMissing, match=f"no ledger ledger.db in the folder {tmp_path.name};"):
        hr.fit(small, GlobalEffects(), budget(1.0), ledger="ledger.db")
    assert sorted(tmp_path.rglob("*")) == before


def test_a_second_ledger_for_the_same_ratings_is_refused(small, budget, tmp_path):
    ledger = hr.Ledger.create(tmp_path / "ledger.db", budget(1.0))
    hr.fit(small, GlobalEffects(), budget(1.0), ledger=ledger).save(tmp_path / "films.safetensors")
    with pytest.raises(
        LedgerError, match=r"lies ledger\.db and films\.safetensors \(charged to ledger\.db\)"
    ):
        hr.Ledger.create(tmp_path / "second.db", budget(1.0), domain=small.domain.digest)
    with pytest.warns(LedgerWarning, match=r"beside ledger\.db and films\.safetensors"):
        second = hr.Ledger.create(tmp_path / "second.db", budget(1.0))
    ledger.path.unlink()
    for renamed in (small, small.select(np.arange(small.n_ratings) != 3)):
        with pytest.raises(LedgerError, match=r"lies films\.safetensors \(charged to ledger\.db\), charged"):
            hr.fit(renamed, GlobalEffects(), budget(1.0), ledger=second)
    assert second.entries() == ()
    assert not hr.fit(
        small, GlobalEffects(), budget(1.0), ledger=second, entropy=hr.testing.Seeded(1)
    ).statement.private


def test_a_fit_that_fails_burns_its_charge_and_says_so(world, budget, tmp_path, monkeypatch):
    def fail(*_, **_named):
        raise ArithmeticError("planted")

    monkeypatch.setattr(covariance, "weighted_factors", fail)
    ledger = hr.Ledger.create(tmp_path / "ledger.db", budget(9.0), max_releases=2)
    with pytest.raises(ArithmeticError) as caught:
        hr.fit(world[0], hr.CovarianceSVD(rank=4), budget(1.0), ledger=ledger, checkpoint=False)
    assert "stays spent" in caught.value.__notes__[0]
    assert {entry.state for entry in ledger.entries()} == {"forfeited"}


def test_a_started_ledger_has_the_plans_budget_for_one_release(small, budget, tmp_path):
    planned = hr.plan(GlobalEffects(), small.domain, budget(1.0))
    made = start(tmp_path / "ledger.db", planned)
    assert (made.total, made.max_releases, made.entries()) == (budget(1.0), 1, ())
    before = (tmp_path / "ledger.db").read_bytes()
    with pytest.raises(LedgerError, match="there is a ledger already"):
        start(tmp_path / "ledger.db", planned)
    assert (tmp_path / "ledger.db").read_bytes() == before


def test_only_a_seeded_experiment_does_without_a_ledger(small, budget):
    """Its ledger is in memory."""
    planned = hr.plan(GlobalEffects(), small.domain, budget(1.0))
    for entropy in (None, OperatingSystem()):
        with pytest.raises(LedgerError, match="charged to a ledger"):
            account_of(None, planned, entropy)
    paid = account_of(None, planned, hr.testing.Seeded(1))
    assert paid.path is None
    assert paid.total.epsilon >= planned.epsilon
    assert account_of(paid, planned, None) is paid
