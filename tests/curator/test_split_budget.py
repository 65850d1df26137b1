"""Equal shares of models: planned for a year, taken week by week, given again for a release that was made."""

import pytest

import hushrec as hr
from hushrec.errors import BudgetError, ConfigError, GrantError, LedgerError, ShareExceeded
from hushrec.models.mcsherry_mironov.global_effects import GlobalEffects
from hushrec.privacy.ledger import ledger as module

WEEKS = 52
MODEL = GlobalEffects()


@pytest.fixture(scope="module")
def small():
    return hr.synthetic.netflix_like(20, 6, 60, 1)


@pytest.fixture
def total(budget):
    return budget(4.0)


@pytest.fixture
def ledger(tmp_path, total):
    return hr.Ledger.create(tmp_path / "ledger.db", total, max_releases=WEEKS)


def test_a_share_is_read_off_public_facts(small, total):
    share = hr.split_budget(small.domain, MODEL, total, WEEKS)
    assert share == total.model_copy(update={"epsilon": 0.4659})
    assert hr.plan(small.domain, MODEL, share).epsilon <= 0.4659
    assert hr.split_budget(small.domain, MODEL, total, 1) == total
    with pytest.raises(BudgetError, match="releases must be a whole number, 1 or more"):
        hr.split_budget(small.domain, MODEL, total, 0)


def test_auto_takes_the_next_share(small, ledger, total):
    planned = hr.split_budget(small.domain, MODEL, total, WEEKS)
    release = hr.fit(small, MODEL, "auto", ledger=ledger)
    assert release.statement.private
    assert release.statement.epsilon <= planned.epsilon
    assert release.statement.epsilon == pytest.approx(planned.epsilon)
    assert ledger.releases_left == WEEKS - 1
    following = ledger.share(lambda budget: MODEL.plan(small.domain, budget))
    assert following.epsilon == pytest.approx(planned.epsilon, rel=0.002)


def test_the_same_index_gives_the_same_bytes_whatever_was_charged_since(small, ledger, total):
    first = hr.fit(small, MODEL, "auto", ledger=ledger)
    hr.fit(
        small,
        hr.CovarianceSVD(rank=2),
        total.model_copy(update={"epsilon": 2.0}),
        ledger=ledger,
        accept="share",
    )
    ledger.extend(total.model_copy(update={"epsilon": 8.0}), max_releases=99)
    spent = ledger.spent
    again = hr.fit(small, MODEL, "auto", ledger=ledger.path, release_index=0)
    assert again.to_bytes() == first.to_bytes()
    assert (first.repeated, again.repeated) == (False, True)
    assert ledger.spent == spent
    with pytest.raises(GrantError, match="release 0 is finished"):
        hr.fit(small, hr.CovarianceSVD(rank=2), "auto", ledger=ledger, release_index=0)
    by_hand = hr.fit(small, hr.CovarianceSVD(rank=2), "auto", ledger=ledger, release_index=1)
    assert by_hand.repeated  # an index that another budget made keeps that budget
    assert ledger.spent == spent


def test_more_than_a_share_is_refused_and_the_share_is_named(small, ledger, total, tmp_path):
    """The fault that was seen: a ledger for 52 releases lets the first take all of it."""
    with pytest.raises(ShareExceeded, match=r"An equal share is ε = 0\.4659: --epsilon auto takes it"):
        hr.fit(small, MODEL, total, ledger=ledger)
    with pytest.raises(ShareExceeded, match=r"An equal share is ε = 0\.4659"):
        hr.fit(small, MODEL, total, ledger=ledger, checkpoint=tmp_path / "checkpoint")
    assert ledger.entries() == ()
    hr.fit(small, MODEL, total, ledger=ledger, accept="share")
    assert ledger.remaining == pytest.approx(0.0, abs=1e-9)


def test_released_data_is_held_to_its_share_too(small, tmp_path):
    budget = hr.Budget(epsilon=8.0, delta=0.0, unit="user", adjacency="replace")
    ledger = hr.Ledger.create(tmp_path / "ledger.db", budget, max_releases=2)
    with pytest.raises(ShareExceeded, match=r"An equal share is ε = 4:"):
        hr.randomize(small, hr.RandomizedResponse(), budget, ledger=ledger)
    data = hr.randomize(small, hr.RandomizedResponse(), budget, ledger=ledger, accept="share")
    again = hr.randomize(small, hr.RandomizedResponse(), budget, ledger=ledger, release_index=0)
    assert (data.repeated, again.repeated) == (False, True)
    assert again.table.equals(data.table)


def test_settings_that_decide_the_cost_have_no_smaller_share(small, tmp_path):
    method = hr.DistanceBased(groups="ratings", keep_probability=0.5, group_probability=0.5, threshold=4.0)
    cost = method.plan(small.domain).epsilon
    total = hr.Budget(epsilon=1.5 * cost, delta=0.0, unit="user", adjacency="replace-items")
    ledger = hr.Ledger.create(tmp_path / "ledger.db", total, max_releases=2)
    with pytest.raises(ShareExceeded) as refusal:
        hr.randomize(small, method, ledger=ledger)
    assert "An equal share is" not in str(refusal.value)


def test_auto_needs_a_ledger(small, ledger):
    with pytest.raises(LedgerError, match="pass ledger="):
        hr.fit(small, MODEL, "auto", ledger=None)
    with pytest.raises(ConfigError, match='budget is a Budget, or "auto"'):
        hr.fit(small, MODEL, "all", ledger=ledger)
    with pytest.raises(ConfigError, match=r"a fit charges a budget.*call hushrec\.baseline"):
        hr.fit(small, MODEL, ledger=ledger)


@pytest.mark.parametrize("place", ["before-charge", "after-charge"])
def test_a_checkpoint_resumes_with_the_share_that_it_began_with(small, ledger, tmp_path, monkeypatch, place):
    """Also once its own charge is in the ledger, of which the next share would be another."""

    def stop(name):
        if name == place:
            raise KeyboardInterrupt

    folder = tmp_path / "checkpoint"
    with monkeypatch.context() as patched:
        patched.setattr(module, "failpoint", stop)
        with pytest.raises(KeyboardInterrupt):
            hr.fit(small, MODEL, "auto", ledger=ledger, checkpoint=folder)
    charged = len({entry.charge for entry in ledger.entries()})
    assert charged == (place == "after-charge")
    release = hr.fit(small, MODEL, "auto", ledger=ledger, checkpoint=folder)
    assert len({entry.charge for entry in ledger.entries()}) == 1
    assert release.statement.epsilon == pytest.approx(0.4659)
    assert not folder.exists()
