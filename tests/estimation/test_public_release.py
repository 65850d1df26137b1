"""A release as prior: items are matched by id, and what cannot be one is refused with what to do."""

import dataclasses
import hashlib

import numpy as np
import polars as pl
import pytest

import hushrec as hr
from hushrec.documents.words import Clause, english
from hushrec.errors import ConfigError
from hushrec.estimation.public_release import of_release
from hushrec.release.artefact import Release

SCALE = (1.0, 5.0, 1.0)


@pytest.fixture(scope="module")
def world():
    return hr.synthetic.netflix_like(60, 12, 400, 1)


@pytest.fixture(scope="module")
def release(world):
    return hr.baseline(world, hr.CovarianceSVD(rank=3))


def test_items_are_matched_by_id(release: Release) -> None:
    items = ("new", *reversed(release.items[2:]))
    prior = of_release(release, items, SCALE)
    theirs = [release.items.index(item) for item in items[1:]]
    assert np.isnan(prior.effects[0])
    level = release.constants["user_mean"]
    np.testing.assert_allclose(prior.effects[1:], release.tensors["item_effects"][theirs] + level, rtol=1e-6)
    assert (prior.effect_variance >= 0).all()
    assert not prior.factors[0].any()
    np.testing.assert_array_equal(prior.factors[1:], release.tensors["item_factors"][theirs])


def test_what_is_known_well_has_less_variance(release: Release) -> None:
    prior = of_release(release, release.items, SCALE)
    popular = np.argmax(release.tensors["item_popularity"])
    assert prior.effect_variance[popular] < np.median(prior.effect_variance)


def test_it_is_told_which_release_and_whose_ratings(release: Release) -> None:
    (told,) = of_release(release, release.items, SCALE).clauses
    digest = hashlib.sha256(release.to_bytes()).hexdigest()
    which = {"sha256": digest, "model": "CovarianceSVD", "n_items": 12}
    assert told == Clause("assumes.prior_public", which)
    private = dataclasses.replace(
        release.statement, caveats=(), epsilon=2.0, delta=1e-6, unit="user", adjacency="add-remove"
    )
    (paid,) = of_release(dataclasses.replace(release, statement=private), release.items, SCALE).clauses
    assert (paid.name, paid.values["epsilon"]) == ("assumes.prior_paid", 2.0)
    assert paid.is_known
    assert english.clause(paid).endswith("is public, and its ε = 2 is paid for by the people in it")


def test_what_cannot_be_a_prior_is_refused(release: Release) -> None:
    with pytest.raises(ConfigError, match=r"on the scale 1 to 5, the domain on 1 to 10; load the public"):
        of_release(release, release.items, (1.0, 10.0, 1.0))
    with pytest.raises(ConfigError, match="shares no item"):
        of_release(release, ("x", "y"), SCALE)
    clicks = hr.Domain(range(5), max_users=10)
    popular = hr.baseline(hr.load(pl.DataFrame({"user": ["a"], "item": ["1"]}), clicks), hr.Popularity())
    with pytest.raises(ConfigError, match=r"Popularity has no effects of items.*GlobalEffects"):
        of_release(popular, ("1", "2"), SCALE)
    for caveat in (Clause("convergence.chain"), Clause("author.ledger"), Clause("groups.ledger")):
        doubted = dataclasses.replace(release.statement, caveats=(caveat,))
        with pytest.raises(ConfigError, match=rf"only on a condition \({caveat.kind}\)"):
            of_release(dataclasses.replace(release, statement=doubted), release.items, SCALE)
