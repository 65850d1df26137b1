"""Popularity: the most given items come first, for everybody, and its ε is what it says."""

import numpy as np
import pytest

import hushrec as hr
from hushrec.errors import BudgetUnsupported, ConfigError, DataError

N = 20


@pytest.fixture(scope="module")
def given():
    return hr.synthetic.interactions(3000, 100, 60_000, seed=2)


@pytest.fixture(scope="module")
def best(given):
    """The items that most people gave."""
    return first(np.bincount(given.items, minlength=given.domain.n_items))


def first(scores):
    return {*np.argsort(-scores, kind="stable")[:N].tolist()}


def found(given, budget, seed=1, **settings):
    """The best items of a release."""
    release = hr.testing.fit(given, hr.Popularity(**settings), budget, entropy=hr.testing.Seeded(seed))
    return first(release.tensors["item_scores"])


def test_without_noise_scores_are_counts(given):
    release = hr.baseline(given, hr.Popularity())
    counts = np.bincount(given.items, minlength=given.domain.n_items)
    assert (release.tensors["item_scores"] == counts).all()
    assert str(release.statement).startswith("NOT PRIVATE: no noise")


@pytest.mark.parametrize("unit", ["user", "record"])
def test_less_noise_finds_more_of_the_best(given, best, budget, unit):
    """At ε = 100 hardly any noise is left, at 0.001 the order is that of the noise."""
    split = [len(best & found(given, budget(epsilon, unit))) / N for epsilon in (0.001, 1.0, 100.0)]
    assert split[0] < 0.5
    assert split[1] >= 0.8
    assert split[2] >= 0.9


def test_what_it_does_not_protect_or_know_is_refused(given, world, budget):
    with pytest.raises(BudgetUnsupported, match="user under add-remove"):
        hr.plan(given.domain, hr.Popularity(), budget(unit="user", adjacency="replace"))
    with pytest.raises(BudgetUnsupported, match="delta > 0"):
        hr.plan(given.domain, hr.Popularity(), budget(delta=0.0))
    with pytest.raises(ConfigError, match="contribution_cap has no effect"):
        hr.plan(given.domain, hr.Popularity(contribution_cap=2), budget(unit="record"))
    with pytest.raises(
        DataError, match=r"works on interactions, .*choose CovarianceSVD \(--model covariance-svd\)"
    ):
        hr.baseline(world[0], hr.Popularity())
    with pytest.raises(DataError, match="GlobalEffects works on ratings"):
        hr.baseline(given, hr.GlobalEffects())


def test_a_cap_that_does_not_bind_is_the_number_of_items(given, budget):
    def bound(**settings):
        (event,) = hr.plan(given.domain, hr.Popularity(**settings), budget(unit="user")).noisy
        return event.sensitivity

    assert bound() == pytest.approx(30**0.5)
    assert bound(contribution_cap=1e6) == pytest.approx(100**0.5)
