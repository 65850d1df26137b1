"""Prediction for the users whom a release lists."""

from collections.abc import Iterable

import numpy as np

from hushrec.arrays import Floats, Ints
from hushrec.errors import ReleaseError
from hushrec.release.artefact import Release
from hushrec.release.predictors.block_scores import InnerProducts
from hushrec.release.predictors.choice import choice, popularity_and_span


class ListedPeople:
    """Prediction for the users whom a release lists, from the vectors that it holds.

    μ_i + user_mean + b_u + f_i · p_u, with the released effect b_u and factors p_u of user u (Friedman et
    al. 2016, §4.1). Lists are ordered by ``choice`` of the popularity and the taste f_i · p_u. Listed users
    can also fold in their own ratings with ``predictor``. That is often better, because on their own device
    the ratings need no noise.

    Args:
        release: of kind "factors and people".

    Privacy: post-processing.
    """

    def __init__(self, release: Release) -> None:
        if not release.users:
            raise ReleaseError("this release lists no people; predict from a person's own ratings instead")
        tensors = release.tensors
        self._positions = {user: position for position, user in enumerate(release.users)}
        self._effects = tensors["item_effects"].astype(np.float64) + release.constants["user_mean"]
        self._biases = tensors["user_effects"].astype(np.float64)
        self._products = InnerProducts(tensors["item_factors"].astype(np.float64))
        self._vectors = tensors["user_factors"].astype(np.float64)
        self._popularity, self._span = popularity_and_span(release)

    def find(self, users: Iterable[str]) -> Ints:
        """Position of each id on the list, −1 for ids that are not on it."""
        return np.array([self._positions.get(user, -1) for user in users], dtype=np.int64)

    def predict(self, people: Ints, items: Ints) -> Floats:
        """The predicted rating of each (user, item) pair, not clamped to the scale.

        Args:
            people: positions on the list, shape (n_pairs,).
            items: shape (n_pairs,).

        Returns:
            Shape (n_pairs,).
        """
        return self._effects[items] + self._biases[people] + self._tastes(people, items)

    def rank(self, people: Ints, items: Ints) -> Floats:
        """How likely the user of each (user, item) pair chooses and likes the item, as ``predict``."""
        return choice(self._popularity[items], self._tastes(people, items), self._span)

    def _tastes(self, people: Ints, items: Ints) -> Floats:
        """f_i · p_u of each pair."""
        return self._products.pairs(self._vectors, people, items)
