"""The one road of a charge: no ledger starts by accident, and a failed charge says so."""

import logging
from dataclasses import replace
from types import SimpleNamespace

import numpy as np
import polars as pl
import pytest

import hushrec as hr
from hushrec.curator import charging
from hushrec.curator.charging import Request
from hushrec.curator.fit import fitting
from hushrec.data.pack import load_blocks
from hushrec.data.people import PublicFacts
from hushrec.errors import (
    BudgetError,
    ConfigError,
    LedgerError,
    LedgerMissing,
    LedgerWarning,
    MemoryExceeded,
    RecordsDropped,
    ReleaseError,
)
from hushrec.models.mcsherry_mironov import covariance_model
from hushrec.models.mcsherry_mironov.global_effects import GlobalEffects
from hushrec.privacy.ledger.ledger import Ledger
from hushrec.privacy.ledger.stores.postgres import PostgresStore
from hushrec.privacy.noise.entropy import OperatingSystem
from hushrec.testing import Seeded


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
    with pytest.warns(LedgerWarning, match=r"next to ledger\.db and films\.safetensors"):
        second = hr.Ledger.create(tmp_path / "second.db", budget(1.0))
    ledger.path.unlink()
    for renamed in (small, small.select(np.arange(small.n_ratings) != 3)):
        with pytest.raises(LedgerError, match=r"lies films\.safetensors \(charged to ledger\.db\), charged"):
            hr.fit(renamed, GlobalEffects(), budget(1.0), ledger=second)
    assert second.entries() == ()
    assert not hr.testing.fit(
        small, GlobalEffects(), budget(1.0), ledger=second, entropy=hr.testing.Seeded(1)
    ).statement.private


def test_a_fit_that_fails_burns_its_charge_and_says_so(world, budget, tmp_path, monkeypatch):
    def fail(*_, **_named):
        raise ArithmeticError("planted")

    monkeypatch.setattr(covariance_model, "weighted_factors", fail)
    ledger = hr.Ledger.create(tmp_path / "ledger.db", budget(9.0), max_releases=2)
    with pytest.raises(ArithmeticError) as caught:
        hr.fit(world[0], hr.CovarianceSVD(rank=4), budget(1.0), ledger=ledger, checkpoint=False)
    assert "stays spent" in caught.value.__notes__[0]
    assert {entry.state for entry in ledger.entries()} == {"forfeited"}


def test_a_new_ledger_has_the_plans_budget_for_one_release(small, budget, tmp_path):
    request = Request(fitting(GlobalEffects(), budget(1.0)), ledger=tmp_path / "ledger.db", new_ledger=True)
    request.make(small)
    made = Ledger.open(tmp_path / "ledger.db")
    assert (made.total, made.max_releases, len(made.entries())) == (budget(1.0), 1, 2)
    before = (tmp_path / "ledger.db").read_bytes()
    with pytest.raises(LedgerError, match="there is a ledger already"):
        request.make(small)
    assert (tmp_path / "ledger.db").read_bytes() == before


def test_a_first_charge_that_is_refused_starts_no_ledger(small, budget, tmp_path, monkeypatch):
    """Else its budget would be the population's total, and another unit or adjacency could not follow."""
    path, limit = tmp_path / "ledger.db", budget(1.0, adjacency="replace")
    with pytest.raises(BudgetError, match="too weak to promise much"):
        Request(fitting(GlobalEffects(), budget(1000.0)), ledger=path, new_ledger=True).make(small)
    request = Request(fitting(GlobalEffects(), limit), ledger=path, new_ledger=True)
    with monkeypatch.context() as patch:
        patch.setattr(charging, "machine", lambda: (1000, 10))
        with pytest.raises(MemoryExceeded, match="Nothing was charged"):
            request.make(small)
    with monkeypatch.context() as patch:
        patch.setattr(charging, "kept_size", lambda _: 1 << 60)
        with pytest.raises(ReleaseError, match="too little room"):
            request.make(small)
    assert not [*tmp_path.iterdir()]
    request.make(small)
    assert Ledger.open(path).total == limit


def test_only_a_seeded_experiment_does_without_a_ledger(small, budget):
    """Its ledger is in memory, and no private noise is seeded."""
    asked = Request(fitting(GlobalEffects(), budget(1.0)), ledger=None)
    for entropy in (None, OperatingSystem()):
        with pytest.raises(LedgerError, match="charged to a ledger"):
            replace(asked, entropy=entropy).make(small)
    with pytest.raises(ConfigError, match="pass entropy=Seeded"):
        hr.testing.fit(small, GlobalEffects(), budget(1.0), entropy=OperatingSystem())
    assert not hr.testing.fit(small, GlobalEffects(), budget(1.0), entropy=Seeded(1)).statement.private


def test_what_is_accepted_has_one_of_five_names(small, budget):
    with pytest.raises(ConfigError, match=r"accept: 'all' is nothing .* choose among dropped, users, rating"):
        hr.fit(small, GlobalEffects(), budget(1.0), ledger=Ledger.ephemeral(budget(1.0)), accept="all")


@pytest.mark.parametrize("where", ["memory", "disk"])
def test_thumbs_down_are_charged_as_likes_only_if_somebody_says_so(budget, tmp_path, where):
    table = pl.DataFrame(
        {"user_id": [f"u{k}" for k in range(20)], "item_id": ["a", "b"] * 10, "rating": [1] * 19 + [-1]}
    )
    people = hr.load(table, hr.Domain(["a", "b"], max_users=50), where=where)
    path = tmp_path / "ledger.db"
    hr.Ledger.create(path, budget(1.0, unit="user"))
    before = path.read_bytes()
    for accept in ((), "dropped", ("dropped", "users", "weak", "share")):
        with pytest.raises(
            RecordsDropped, match=r"have ratings other than 1, .* accept=\"rating\", or --accept"
        ):
            hr.fit(people, hr.Popularity(), budget(1.0, unit="user"), ledger=path, accept=accept)
    assert path.read_bytes() == before
    made = hr.fit(people, hr.Popularity(), budget(1.0, unit="user"), ledger=path, accept="rating")
    assert made.statement.private


def test_the_first_step_reads_no_record_and_refuses_for_public_reasons(small, budget, tmp_path):
    facts = PublicFacts(small.domain)
    Ledger.create(tmp_path / "ledger.db", budget(1.0))
    out = tmp_path / "release.safetensors"
    request = Request(fitting(GlobalEffects(), budget(1.0)), ledger=tmp_path / "ledger.db", out=out)
    assert request.resolved(facts).plan == hr.plan(small.domain, GlobalEffects(), budget(1.0))
    with pytest.raises(LedgerMissing):
        replace(request, ledger=tmp_path / "nosuch.db").resolved(facts)
    (tmp_path / "made").mkdir()
    out = tmp_path / "made" / "release.safetensors"
    out.touch()
    with pytest.raises(ReleaseError, match="exists; choose another file"):
        replace(request, out=out).resolved(facts)


def test_a_file_is_written_before_its_release_counts_as_published(small, budget, tmp_path, monkeypatch):
    Ledger.create(tmp_path / "ledger.db", budget(1.0))
    request = Request(
        fitting(GlobalEffects(), budget(1.0)), ledger=tmp_path / "ledger.db", out=tmp_path / "r.safetensors"
    )

    def full(*_):
        raise OSError(28, "No space left on device")

    with monkeypatch.context() as patch:
        patch.setattr(hr.Release, "save", full)
        with pytest.raises(
            ReleaseError, match=r"stored in the ledger: .* --release-index 0 and another file"
        ):
            request.make(small)
    assert {entry.state for entry in Ledger.open(tmp_path / "ledger.db").entries()} == {"sampled"}
    made = request.make(small)
    assert made.repeated
    assert hr.Release.open(tmp_path / "r.safetensors").to_bytes() == made.to_bytes()
    assert {entry.state for entry in Ledger.open(tmp_path / "ledger.db").entries()} == {"published"}


def test_room_is_held_on_every_disk_that_is_written_to(small, budget, tmp_path, monkeypatch):
    held, reserved = {}, charging.reserved

    def watched(place, size, *, private=False):
        held[place] = size
        return reserved(place, size, private=private)

    monkeypatch.setattr(charging, "reserved", watched)
    ledger = Ledger.create(tmp_path / "ledger.db", budget(1.0))
    own, out = tmp_path / "checkpoint", tmp_path / "out.safetensors"
    Request(fitting(GlobalEffects(), budget(1.0)), ledger=ledger, checkpoint=own, out=out).make(small)
    assert {*held} == {own, ledger.path, out}
    assert held[ledger.path] == 2 * held[out] > 2 * out.stat().st_size
    assert held[own] > 0


# -- what the records may be like ---------------------------------------------------------------------------

BUDGET = hr.Budget(epsilon=1.0, delta=1e-6, unit="user", adjacency="add-remove")
ROWS = hr.Budget(epsilon=4.0, delta=0.0, unit="user", adjacency="replace")
MODEL = hr.GlobalEffects()
TENTH = "more than a tenth of the records were dropped or changed"


def table(bad, records=100):
    """Records of 20 users, the first ``bad`` of them above the scale."""
    return pl.DataFrame(
        {
            "user_id": [f"secret-{k % 20}" for k in range(records)],
            "item_id": [str(k // 20) for k in range(records)],
            "rating": [77.0 if k < bad else 3.0 for k in range(records)],
        }
    )


DOMAIN = hr.Domain(range(5), scale=(1, 5, 1), max_users=100)


@pytest.fixture
def domain():
    return DOMAIN


@pytest.fixture
def few(domain):
    return hr.load(table(10), domain)


@pytest.fixture
def many(domain):
    return hr.load(table(11), domain)


@pytest.fixture
def nobody(domain):
    return hr.load(table(0).with_columns(item_id=pl.lit("nosuch")), domain)


@pytest.fixture
def ledger(tmp_path):
    return Ledger.create(tmp_path / "ledger.db", BUDGET)


def same(tmp_path):
    """The bytes of everything in a folder."""
    return {path.name: path.read_bytes() for path in sorted(tmp_path.iterdir()) if path.is_file()}


def test_more_than_a_tenth_is_not_charged_and_nothing_is_left(many, ledger, tmp_path):
    before = same(tmp_path)
    with pytest.raises(RecordsDropped, match=TENTH) as error:
        hr.fit(many, MODEL, BUDGET, ledger=ledger.path, checkpoint=tmp_path / "fit.checkpoint")
    assert same(tmp_path) == before  # the ledger byte for byte
    assert not (tmp_path / "fit.checkpoint").exists()
    assert not ledger.entries()
    assert "hushrec check" in str(error.value)
    assert 'accept="dropped", or --accept dropped' in str(error.value)


def test_a_tenth_is_charged(few, ledger):
    assert hr.fit(few, MODEL, BUDGET, ledger=ledger).statement.private


def test_what_is_accepted_is_charged(many, ledger):
    assert hr.fit(many, MODEL, BUDGET, ledger=ledger, accept="dropped").statement.private


def test_what_is_paid_for_is_handed_out(many, ledger):
    made = hr.fit(many, MODEL, BUDGET, ledger=ledger, accept="dropped")
    assert hr.fit(many, MODEL, BUDGET, ledger=ledger, release_index=0).to_bytes() == made.to_bytes()


def test_nobody_is_never_charged_accepted_or_not(nobody, ledger, tmp_path):
    before = same(tmp_path)
    for accepted in ((), "dropped", ("dropped", "users", "share", "weak")):
        with pytest.raises(RecordsDropped, match="no one has an item left"):
            hr.fit(nobody, MODEL, BUDGET, ledger=ledger, accept=accepted)
    assert same(tmp_path) == before


def test_an_empty_file_is_charged_only_if_that_is_accepted(domain, ledger):
    empty = hr.load(table(0).clear(), domain)
    with pytest.raises(RecordsDropped, match=r'there is no record.*accept="dropped"'):
        hr.fit(empty, MODEL, BUDGET, ledger=ledger)
    assert not ledger.entries()
    assert hr.fit(empty, MODEL, BUDGET, ledger=ledger, accept="dropped").statement.private


def test_blocks_are_refused_like_ratings(domain, ledger, tmp_path):
    for bad, name in ((11, "many"), (10, "few")):
        blocks = load_blocks(table(bad), domain, tmp_path / name, ratings_per_block=20)
        assert blocks.dropped.records == 100
        if bad == 11:
            with pytest.raises(RecordsDropped, match=TENTH):
                hr.fit(hr.Blocks.open(tmp_path / name, domain), MODEL, BUDGET, ledger=ledger)
    assert not ledger.entries()
    assert hr.fit(blocks, MODEL, BUDGET, ledger=ledger).statement.private


def test_parts_of_ratings_are_refused_like_the_whole(many):
    work = fitting(MODEL, BUDGET)(PublicFacts(many.domain), None, None, "")
    with pytest.raises(RecordsDropped):
        charging.admit(many.capped(2).slice(0, 3), PublicFacts(many.domain), work, accept=())


def test_experiments_and_baselines_go_on(many, nobody, tmp_path):
    total = BUDGET.model_copy(update={"epsilon": 9.0})
    on_disk = Ledger.create(tmp_path / "seeded.db", total, max_releases=2)
    for ratings in (many, nobody):
        assert not hr.testing.fit(ratings, MODEL, BUDGET, entropy=Seeded(0)).statement.private
        assert not hr.baseline(ratings, MODEL).statement.private
        assert not hr.fit(ratings, MODEL, BUDGET, ledger=Ledger.ephemeral(BUDGET)).statement.private
        made = hr.testing.fit(ratings, MODEL, BUDGET, ledger=on_disk, entropy=Seeded(0))
        assert not made.statement.private


def test_a_ledger_without_a_file_asks_if_it_is_kept(ledger):
    work = fitting(MODEL, BUDGET)(PublicFacts(DOMAIN), ledger, None, "")
    request = Request(fitting(MODEL, BUDGET), ledger=ledger)
    assert PostgresStore.kept
    for account in (SimpleNamespace(path=None, kept=PostgresStore.kept), ledger):
        assert request._accepted(account, work) == frozenset()
        assert replace(request, entropy=Seeded(0))._accepted(account, work) is None
    assert request._accepted(Ledger.ephemeral(BUDGET), work) is None


def test_a_data_set_is_refused_too(many, nobody, tmp_path):
    ledger = Ledger.create(tmp_path / "ledger.db", ROWS)
    method, before = hr.RandomizedResponse(), same(tmp_path)
    for ratings, accepted in ((many, ()), (nobody, ()), (nobody, "dropped")):
        with pytest.raises(RecordsDropped):
            hr.randomize(ratings, method, ROWS, ledger=ledger, accept=accepted)
    assert same(tmp_path) == before
    assert not hr.testing.randomize(many, method, ROWS, entropy=Seeded(0)).statement.private
    assert hr.randomize(many, method, ROWS, ledger=ledger, accept="dropped").statement.private


@pytest.mark.parametrize("bad", [0, 5])
@pytest.mark.parametrize("item", ["0", "nosuch"])
def test_whether_a_device_reports_does_not_depend_on_what_its_user_rated(tmp_path, bad, item):
    device = hr.Domain(range(5), scale=(1, 5, 1), max_users=100, users=["secret-0"])
    own = hr.load(table(bad, 5).with_columns(user_id=pl.lit("secret-0"), item_id=pl.lit(item)), device)
    ledger = Ledger.create(tmp_path / "ledger.db", ROWS)
    assert hr.randomize(own, hr.RandomizedResponse(), ROWS, ledger=ledger).n_people == 1


def test_no_number_and_no_value_reaches_the_error_or_a_log(domain, ledger, caplog):
    told = set()
    with caplog.at_level(logging.DEBUG):
        for bad in (11, 83):
            with pytest.raises(RecordsDropped) as error:
                hr.fit(hr.load(table(bad), domain), MODEL, BUDGET, ledger=ledger)
            told.add(str(error.value))
    (message,) = told  # the same, however much was dropped
    assert not any(character.isdigit() for character in message)
    assert "secret" not in message
    assert not caplog.records
