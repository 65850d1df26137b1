"""The one road of a charge: no ledger starts by accident, and what is refused charges nothing."""

import pytest

import hushrec as hr
from hushrec.curator import admit
from hushrec.curator.charging import charged, starting
from hushrec.curator.fit import recipe
from hushrec.curator.stopped_fits import stopped_fits
from hushrec.data.people import PublicFacts
from hushrec.errors import (
    BudgetError,
    ConfigError,
    LedgerError,
    LedgerMissing,
    MemoryExceeded,
)
from hushrec.models.mcsherry_mironov.global_effects import GlobalEffects
from hushrec.privacy.ledger.ledger import Ledger
from hushrec.privacy.noise.entropy import OperatingSystem


@pytest.fixture(scope="module")
def small():
    return hr.synthetic.netflix_like(20, 6, 60, 1)


def made(people, budget, ledger=None, **options):
    """What the command line does: plan from public facts, then charge."""
    with stopped_fits(ledger, None) as stopped:
        planned = recipe(people.facts, GlobalEffects(), budget, None, stopped)
        return charged(people, planned, stopped, **options)


def test_a_fit_starts_no_ledger(small, budget, tmp_path, monkeypatch):
    """A typo is not a fresh budget."""
    (tmp_path / "shop").mkdir()
    hr.Ledger.create(tmp_path / "shop" / "ledger.db", budget(1.0))
    monkeypatch.chdir(tmp_path / "shop")
    before = sorted(tmp_path.rglob("*"))
    with pytest.raises(LedgerMissing, match=r"no ledger ledgr\.db in the folder shop;"):
        hr.fit(small, GlobalEffects(), budget(1.0), ledger="ledgr.db")
    monkeypatch.chdir(tmp_path)  # another working directory
    with pytest.raises(LedgerMissing, match=f"no ledger ledger.db in the folder {tmp_path.name};"):
        hr.fit(small, GlobalEffects(), budget(1.0), ledger="ledger.db")
    assert sorted(tmp_path.rglob("*")) == before


def test_a_new_ledger_has_the_plans_budget_for_one_release(small, budget, tmp_path):
    place, plan = str(tmp_path / "ledger.db"), hr.plan(small.domain, GlobalEffects(), budget(1.0))
    made(small, budget(1.0), start=starting(place, plan, ()))
    ledger = Ledger.open(place)
    state = ledger.state()
    assert (state.total, state.max_releases, len(state.charges)) == (budget(1.0), 1, 1)
    before = ledger.path.read_bytes()
    with pytest.raises(LedgerError, match="there is a ledger already"):
        starting(place, plan, ())
    assert ledger.path.read_bytes() == before


def test_a_first_charge_that_is_refused_starts_no_ledger(small, budget, tmp_path, monkeypatch):
    """Else its budget would be the population's total, and another unit or adjacency could not follow."""
    place, limit = str(tmp_path / "ledger.db"), budget(1.0, adjacency="replace")
    with pytest.raises(BudgetError, match="too weak to promise much"):
        starting(place, hr.plan(small.domain, GlobalEffects(), budget(1000.0)), ())
    start = starting(place, hr.plan(small.domain, GlobalEffects(), limit), ())
    with monkeypatch.context() as patch:
        patch.setattr(admit, "machine", lambda: (1000, 10))
        with pytest.raises(MemoryExceeded, match="Nothing was charged"):
            made(small, limit, start=start)
    assert not [*tmp_path.iterdir()]
    made(small, limit, start=start)
    assert Ledger.open(place).state().total == limit


def test_only_a_seeded_experiment_does_without_a_ledger(small, budget):
    """Its ledger is in memory, and no private noise is seeded."""
    with pytest.raises(LedgerError, match="charged to a ledger"):
        made(small, budget(1.0))
    with pytest.raises(ConfigError, match="pass entropy=Seeded"):
        hr.testing.fit(small, GlobalEffects(), budget(1.0), entropy=OperatingSystem())


def test_what_is_accepted_has_a_name(small, budget):
    with pytest.raises(ConfigError, match=r"'all' is nothing .*dropped, users, rating, changed"):
        hr.fit(small, GlobalEffects(), budget(1.0), ledger=Ledger.ephemeral(budget(1.0)), accept="all")


def test_a_plan_reads_no_record(small, budget):
    with stopped_fits(None, None) as stopped:
        planned = recipe(PublicFacts(small.domain), GlobalEffects(), budget(1.0), None, stopped)
    assert planned.plan == hr.plan(small.domain, GlobalEffects(), budget(1.0))


def test_a_file_is_written_before_the_sums_are_removed(small, budget, tmp_path):
    ledger, seen = Ledger.create(tmp_path / "ledger.db", budget(1.0)), []

    def save(release):
        seen.append((release.repeated, len([*tmp_path.glob("*.sums/*/people")])))
        raise OSError(28, "No space left on device")

    for repeated in (False, True, True):
        with pytest.raises(OSError, match="No space"):
            made(small, budget(1.0), ledger, save=save)
        assert seen.pop() == (repeated, 1)
    files = []
    made(small, budget(1.0), ledger, save=lambda release: files.append(release.to_bytes()))
    assert files == [ledger.artefact(0)]
    assert not [*tmp_path.glob("*.sums/*/people")]
