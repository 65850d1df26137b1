"""What models have in common that publish a vector for every person on the roster."""

import numpy as np
import pytest

import hushrec as hr
from hushrec.curator.public_items import item_prior
from hushrec.errors import DomainError, ReleaseError
from hushrec.models.effects import ItemEffects
from hushrec.models.outputs import LONGEST, factor_release
from hushrec.release.artefact import LARGEST_RANK

MODELS = [
    hr.GlobalEffects(user_biases="released"),
    hr.InputPerturbationMF(rank=3, epochs=6),
    hr.PrivateSGD(rank=3, epochs=4),
    hr.PrivateALS(rank=3, epochs=2),
]
ADJACENCIES = ["add-remove", "replace"]

each_model = pytest.mark.parametrize("model", MODELS, ids=lambda model: type(model).__name__)
each_adjacency = pytest.mark.parametrize("adjacency", ADJACENCIES)


@each_model
@each_adjacency
@pytest.mark.full
def test_less_noise_is_more_accurate_and_much_budget_approaches_none(listed_rmse, budget, model, adjacency):
    errors = [listed_rmse(model, budget(epsilon, adjacency=adjacency)) for epsilon in (0.5, 5.0, 100.0)]
    assert errors[0] > errors[1] + 0.02 > errors[2] + 0.02
    assert errors[2] == pytest.approx(listed_rmse(model), abs=0.01)


# -- what is refused --------------------------------------------------------------------------------------


@each_model
def test_without_a_roster_the_error_names_the_fix(world, budget, model):
    with pytest.raises(DomainError, match=r"declare it with Domain\(users="):
        hr.plan(world[0].domain, model, budget())
    with pytest.raises(DomainError, match=r"declare it with Domain\(users="):
        hr.baseline(world[0], model)


# -- what is released -------------------------------------------------------------------------------------


@pytest.fixture(scope="module", params=MODELS, ids=lambda model: type(model).__name__)
def release(request, listed, budget):
    made = hr.testing.fit(listed[0], request.param, budget(4.0), entropy=hr.testing.Seeded(3))
    return hr.Release.from_bytes(made.to_bytes())


def test_a_release_lists_everybody_on_the_roster_and_nothing_else(release, listed):
    domain = listed[0].domain
    assert release.kind == "factors and people"
    assert release.users == domain.users
    assert (release.items, release.scale) == (domain.items, tuple(domain.scale))
    n, m = domain.n_users, domain.n_items
    rank = release.tensors["item_factors"].shape[1]
    assert {name: tensor.shape for name, tensor in release.tensors.items()} == {
        "item_effects": (m,),
        "item_noise": (m,),
        "item_popularity": (m,),
        "item_factors": (m, rank),
        "user_effects": (n,),
        "user_factors": (n, rank),
    }


def test_an_outsider_folds_in(release, listed, listed_rmse):
    client = hr.Client(release)
    with pytest.raises(ReleaseError, match="give own ratings"):
        client.predict(user="somebody else")
    liked, disliked = (client.predict(dict.fromkeys(release.items[:10], stars)) for stars in (5.0, 1.0))
    assert sum(liked.values()) > sum(disliked.values()) + 10
    train, test = listed
    fold_in = hr.evaluate(release, train=train, test=test, fold_in=True)["rmse"]
    assert fold_in < hr.evaluate(release, train=train, test=test)["rmse"], "own ratings need no noise"
    assert fold_in < 1.0


def test_features_take_the_room_that_the_factors_of_a_prior_leave():
    """A prior may have as many factors as a release may have, and more than the catalogue has items."""
    domain = hr.Domain([*"abc"], scale=(1, 5, 1), max_users=9, features={"genres": ["x", "x|y", "y"]})
    prior = item_prior(hr.GlobalEffects(), domain)
    effects = ItemEffects(np.arange(3.0) / 4, np.ones(3), np.ones(3), 3.0, np.ones(3), prior)
    for n_factors, known in ((5, 2), (LARGEST_RANK - 1, 1), (LARGEST_RANK, None)):
        made = factor_release(hr.GlobalEffects(), domain, effects, np.zeros((3, n_factors)))
        assert made.tensors["item_factors"].shape[1] == n_factors + (known or 0)
        assert made.constants.get("known_factors") == known


def test_factors_that_only_noise_makes_so_long_are_shortened_and_no_others():
    domain = hr.Domain([*"abcdef"], scale=(1, 5, 1), max_users=9)
    effects = ItemEffects(np.arange(6.0) / 4, np.ones(6), np.ones(6), 3.0, np.ones(6))
    factors = np.random.default_rng(0).standard_normal((6, 3))
    factors[3:] = 1e15
    made = factor_release(hr.GlobalEffects(), domain, effects, factors)
    np.testing.assert_array_equal(made.tensors["item_factors"][:3], factors[:3].astype(np.float32))
    np.testing.assert_allclose(
        np.linalg.norm(made.tensors["item_factors"][3:], axis=1), 4 * LONGEST, rtol=1e-6
    )
    assert all(1 <= stars <= 5 for stars in hr.Client(made).predict({"d": 5.0, "e": 1.0, "f": 4.0}).values())
