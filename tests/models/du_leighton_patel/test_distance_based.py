"""What a distance-based release covers, and what it costs."""

import numpy as np
import pytest

import hushrec as hr
from hushrec.documents.sentences import Assumes, Groups
from hushrec.errors import BudgetExceeded, ConfigError
from hushrec.models.du_leighton_patel.features import ItemFeatures
from hushrec.privacy.ledger.ledger import Ledger
from hushrec.testing import Seeded
from hushrec.text import above

ALTER = {"keep_probability": 0.8, "group_probability": 0.5, "threshold": 30.0, "groups": "ratings"}


def budget(epsilon=20.0, delta=0.0, **others):
    return hr.Budget(**{"epsilon": epsilon, "delta": delta, "unit": "user", "adjacency": "replace", **others})


def _features(values=4):
    """Two groups of items, by the last bit of their number."""
    return ItemFeatures(np.eye(2)[np.arange(20) % 2] * values, ("even", "odd"))


def test_published_groups_are_not_covered_and_the_ledger_remembers(ratings, tmp_path):
    method = hr.DistanceBased(**ALTER)
    ledger = Ledger.create(
        tmp_path / "l.db",
        method.plan(ratings.domain).budget.model_copy(update={"epsilon": 1000.0}),
        max_releases=2,
    )
    said = hr.randomize(ratings, method, ledger=ledger, accept="weak").statement
    assert said.caveats == (Groups.exact(),)
    assert Assumes.near_ratings(threshold=ALTER["threshold"], distance="squared") in said.assumes
    assert not said.private
    assert (said.unit, said.adjacency) == ("user", "replace-items")
    covered = hr.DistanceBased(**{**ALTER, "threshold": 0.5, "groups": _features()})
    later = hr.randomize(ratings, covered, ledger=ledger, accept="weak").statement
    assert later.caveats == (Groups.ledger(),)
    assert Assumes.features() in later.assumes


def test_public_features_are_covered_and_a_slot_costs_what_its_law_says(ratings, tmp_path):
    method = hr.DistanceBased(**{**ALTER, "threshold": 0.5, "groups": _features()})
    plan = method.plan(ratings.domain)
    randomizer = method.randomizer(plan, ratings)
    assert plan.noisy[0].per_slot == randomizer.per_slot
    ledger = hr.Ledger.create(tmp_path / "l.db", plan.budget)
    data = hr.randomize(ratings, method, ledger=ledger, accept="weak")
    assert data.statement.private
    assert data.statement.local.epsilon == randomizer.per_slot
    assert data.statement.epsilon == pytest.approx(20 * randomizer.per_slot)  # items are fewer than the cap
    with pytest.raises(BudgetExceeded):
        method.plan(ratings.domain, budget(5.0, adjacency="replace-items"))


def test_groups_of_a_charged_release_are_covered_and_of_a_seeded_one_are_not(ratings, tmp_path):
    away = hr.Budget(epsilon=4.0, delta=1e-6, unit="user", adjacency="add-remove")
    ledger = Ledger.create(tmp_path / "covariance.db", away)
    paid = hr.fit(ratings, hr.CovarianceSVD(), away, ledger=ledger)
    method = hr.DistanceBased(**{**ALTER, "groups": paid})
    # Of another adjacency, so in a ledger of its own: such losses do not add.
    (tmp_path / "released").mkdir()
    other = hr.Ledger.create(tmp_path / "released" / "l.db", method.plan(ratings.domain).budget)
    said = hr.randomize(ratings, method, ledger=other, accept="weak").statement
    assert said.private
    assert said.beside.values == {
        "model": "CovarianceSVD",
        "epsilon": 4.0,
        "delta": 1e-6,
        "unit": "user",
        "adjacency": "add-remove",
    }
    shown = " ".join(str(said).split())
    assert "made from a release of CovarianceSVD (ε = 4 at δ = 1e-06 per user, add-remove)" in shown
    assert f"ε = {above(said.epsilon + 8)} at δ = 5.56e-05 together" in shown
    assert "tells beyond that release" in shown
    assert Assumes.only_beside(given="ratings") in said.assumes
    assert "assumes.only" not in [fact.name for fact in said.assumes]
    seeded = hr.testing.fit(ratings, hr.CovarianceSVD(), away, entropy=Seeded(1))
    for free in (seeded, hr.baseline(ratings, hr.CovarianceSVD())):
        plan = hr.DistanceBased(**{**ALTER, "groups": free}).plan(ratings.domain)
        assert plan.uncovered == Groups.release()
    other = hr.Domain(range(20), scale=(1, 5, 1), max_users=200)
    with pytest.raises(ConfigError, match="another catalogue"):
        method.plan(other)


def test_other_groups_are_another_key(ratings):
    def key(values):
        method = hr.DistanceBased(**{**ALTER, "threshold": 0.5, "groups": _features(values)})
        return method.plan(ratings.domain).key("ledger")

    assert key(2) == key(2) != key(3)


def test_settings_that_hide_nothing_are_refused():
    for wrong in ({"group_probability": 1.0}, {"keep_probability": 1.0}, {"threshold": 0.0}):
        with pytest.raises(ConfigError):
            hr.DistanceBased(**{**ALTER, **wrong})
