"""A release as prior: items are matched by id, and what cannot be one is refused with what to do."""

import dataclasses
import hashlib

import numpy as np
import polars as pl
import pytest

import hushrec as hr
from hushrec.documents.sentences import Assumes, Author, Convergence, Groups, Unprotected
from hushrec.errors import ConfigError
from hushrec.estimation import public_release
from hushrec.models.lists.estimate.pair_factors import Crowd, ItemFactors, ease, muting
from hushrec.models.lists.outputs import linear_release
from hushrec.release.artefact import Release

SCALE = (1.0, 5.0, 1.0)


def of_release(release, domain):
    scale = None if domain.feedback == "interactions" else domain.scale
    return public_release.of_release(release, domain.items, domain.titles or (), scale)


def domain(items, scale=SCALE, **more):
    return hr.Domain(items, scale=scale, max_users=1000, **more)


@pytest.fixture(scope="module")
def world():
    return hr.synthetic.netflix_like(60, 12, 400, 1)


@pytest.fixture(scope="module")
def release(world):
    return hr.baseline(world, hr.CovarianceSVD(rank=3))


def test_items_are_matched_by_id(release: Release) -> None:
    items = ("new", *reversed(release.items[2:]))
    prior = of_release(release, domain(items))
    theirs = [release.items.index(item) for item in items[1:]]
    assert np.isnan(prior.effects[0])
    level = release.constants["user_mean"]
    np.testing.assert_allclose(prior.effects[1:], release.tensors["item_effects"][theirs] + level, rtol=1e-6)
    assert (prior.effect_variance >= 0).all()
    assert not prior.factors[0].any()
    np.testing.assert_array_equal(prior.factors[1:], release.tensors["item_factors"][theirs])


def test_it_is_told_which_release_and_whose_ratings(release: Release) -> None:
    (told,) = of_release(release, domain(release.items)).says
    digest = hashlib.sha256(release.to_bytes()).hexdigest()
    which = {"sha256": digest, "model": "CovarianceSVD", "n_items": 12}
    assert told == Assumes.prior_public(**which)
    private = dataclasses.replace(
        release.statement, caveats=(), epsilon=2.0, delta=1e-6, unit="user", adjacency="add-remove"
    )
    (paid,) = of_release(dataclasses.replace(release, statement=private), domain(release.items)).says
    assert (paid.name, paid.values["epsilon"]) == ("assumes.prior_paid", 2.0)
    assert str(paid).endswith("is public, and its ε = 2 is paid for by the people in it")


def test_what_cannot_be_a_prior_is_refused(release: Release) -> None:
    with pytest.raises(ConfigError, match=r"on the scale 1 to 5, the domain on 1 to 10; load the public"):
        of_release(release, domain(release.items, (1.0, 10.0, 1.0)))
    with pytest.raises(ConfigError, match="shares no item"):
        of_release(release, domain(("x", "y")))
    clicks = hr.Domain(range(5), max_users=10)
    popular = hr.baseline(hr.load(pl.DataFrame({"user": ["a"], "item": ["1"]}), clicks), hr.Popularity())
    with pytest.raises(ConfigError, match=r"Popularity has no effects of items.*GlobalEffects"):
        of_release(popular, domain(("1", "2")))
    for other in (popular, release):
        with pytest.raises(ConfigError, match=r"does not say which items go together.*PrivateEASE"):
            of_release(other, clicks)
    for caveat in (Convergence.chain(), Author.ledger(), Groups.ledger()):
        doubted = dataclasses.replace(release.statement, caveats=(caveat,))
        with pytest.raises(ConfigError, match=rf"only on a condition \({caveat.kind}\)"):
            of_release(dataclasses.replace(release, statement=doubted), domain(release.items))


@pytest.mark.parametrize("caveat", Unprotected)
def test_of_what_promises_nothing_only_a_baseline_is_taken_for_public(
    release: Release, caveat: Unprotected
) -> None:
    """A seed tells the noise, and a charge that was not kept is none."""
    stated = dataclasses.replace(release.statement, caveats=(caveat(),))
    prior = dataclasses.replace(release, statement=stated)
    if caveat is Unprotected.exact:
        assert of_release(prior, domain(release.items)).effects.size
        return
    with pytest.raises(ConfigError, match=r"promises nothing: .*hushrec\.baseline"):
        of_release(prior, domain(release.items))


def test_a_baseline_that_does_not_say_whose_it_is_is_refused(release: Release) -> None:
    stated = dataclasses.replace(release.statement, people=())
    with pytest.raises(ConfigError, match=r"does not say whose data.*make it again"):
        of_release(dataclasses.replace(release, statement=stated), domain(release.items))


# -- of interactions ----------------------------------------------------------------------------------------


@pytest.fixture(scope="module")
def clicks():
    """A release of linear scores, and the covariance that they were solved for."""
    rng = np.random.default_rng(4)
    weights = muting(rng.gamma(1, 100, 40) + 1, 1e4)
    factors, part, total = 3 * rng.standard_normal((40, 5)), 40.0, 1000.0
    linear, _ = ease(
        ItemFactors(factors, np.zeros((0, factors.shape[1]))),
        weights,
        part,
        Crowd(total, total, 1e4, 1e4, 0.0),
    )
    low = np.column_stack([factors * np.sqrt(1 - part / total), np.sqrt(part) * weights.direction])
    catalogue = hr.Domain([f"i{k}" for k in range(40)], max_users=1000)
    made = linear_release(hr.PrivateEASE(), catalogue, linear, np.arange(40.0))
    statement = hr.baseline(hr.load(pl.DataFrame({"user": ["a"], "item": ["i1"]}), catalogue)).statement
    return dataclasses.replace(made, statement=statement), low / weights.weights[:, None]


def test_how_items_go_together_is_read_from_linear_scores(clicks) -> None:
    """Its factors are those of the covariance, up to rotation and scale, for the weights of the items."""
    release, low = clicks
    pairs = of_release(release, hr.Domain([*reversed(release.items), "new"], max_users=9)).pairs
    assert not pairs[-1].any()
    found, expected = pairs[-2::-1] @ pairs[-2::-1].T, low @ low.T
    scale = np.trace(found) / np.trace(expected)
    np.testing.assert_allclose(found, scale * expected, atol=1e-3 * found.max())
    assert np.trace(found) == pytest.approx(40)
