"""Recommendations on a user's own device, from a release and ratings that never leave the device."""

import math
import unicodedata
from collections.abc import Iterable, Mapping
from pathlib import Path
from typing import NamedTuple

import numpy as np

from hushrec.arrays import Floats, Ints
from hushrec.errors import ReleaseError
from hushrec.release.artefact import Release
from hushrec.release.fold_in import ListedPeople, predictor


class Recommendation(NamedTuple):
    """One recommended item.

    Attributes:
        item_id: the item.
        score: its predicted rating, on the scale.
        rank: 1 for the best.

    Privacy: post-processing; it depends on the release and on the ratings of the user who asks.
    """

    item_id: str
    score: float
    rank: int


class Client:
    """Predicts for anybody, including users who were never in the data.

    A user whom a release lists (kind "factors and people") can ask by id instead. Their own ratings often
    give better predictions, because on their own device they need no noise.

    Args:
        release: a release, or the path of its file.

    Raises:
        ReleaseError: The file cannot be trusted.

    Privacy: post-processing; all input stays on this device.
    """

    def __init__(self, release: Release | str | Path) -> None:
        self.release = release if isinstance(release, Release) else Release.open(release)
        self._positions = {item: position for position, item in enumerate(self.release.items)}
        self._predictor = predictor(self.release)
        self._people = ListedPeople(self.release) if self.release.users else None

    def predict(
        self,
        ratings: Mapping[str, float] | None = None,
        items: Iterable[str] | None = None,
        *,
        user: str | None = None,
    ) -> dict[str, float]:
        """Predict a user's ratings, from their own ratings or, if the release lists them, by their id.

        Args:
            ratings: item id → rating. Items that are not in the catalogue and ratings that are not finite
                are ignored; ratings off the scale are clamped to it.
            items: item ids to predict; the whole catalogue by default.
            user: id of a user whom the release lists, instead of ``ratings``.

        Returns:
            Item id → predicted rating, clamped to the scale, in the order of ``items``.

        Raises:
            ReleaseError: One of ``items`` is not in the release's catalogue, a rating is not a number, both
                or neither of ``ratings`` and ``user`` are given, or the release's numbers are unusable.
        """
        names = tuple(self.release.items if items is None else map(_normal, items))
        unknown = [name for name in names if name not in self._positions]
        if unknown:
            raise ReleaseError(
                f"{unknown[0]!r} is not in this release's catalogue of {len(self._positions):,} items"
            )
        targets = np.array([self._positions[name] for name in names], dtype=np.int64)
        lo, hi, _ = self.release.scale
        if user is None:
            scores = self._of_own(*self._own(ratings), targets)
        else:
            scores = self._of_listed(user, ratings, targets)
        return dict(zip(names, np.clip(scores, lo, hi).tolist(), strict=True))

    def recommend(
        self, ratings: Mapping[str, float] | None = None, n: int = 10, *, user: str | None = None
    ) -> list[Recommendation]:
        """The ``n`` items with the highest predicted ratings, without those in ``ratings``.

        Args:
            ratings: item id → rating, as in ``predict``.
            n: length of the list.
            user: id of a user whom the release lists, instead of ``ratings``. A release does not say what
                they have rated, so those items may be recommended too.

        Returns:
            Best first; ties in the catalogue's order.

        Raises:
            ReleaseError: A rating is not a number, both or neither of ``ratings`` and ``user`` are given, or
                the release's numbers are unusable.
        """
        targets = np.arange(len(self._positions))
        lo, hi, _ = self.release.scale
        if user is None:
            rated, values = self._own(ratings)
            targets = np.setdiff1d(targets, rated)
            scores = self._of_own(rated, values, targets)
        else:
            scores = self._of_listed(user, ratings, targets)
        best = np.argsort(-scores, kind="stable")[: max(n, 0)]  # before clamping, which would make ties
        return [
            Recommendation(self.release.items[targets[i]], float(min(max(scores[i], lo), hi)), rank)
            for rank, i in enumerate(best, start=1)
        ]

    def _of_own(self, rated: Ints, values: Floats, targets: Ints) -> Floats:
        try:
            return self._predictor.predict(rated, values, targets)
        except np.linalg.LinAlgError:
            pass
        raise ReleaseError("nothing can be predicted from this release's numbers; fetch it again")

    def _of_listed(self, user: str, ratings: Mapping[str, float] | None, targets: Ints) -> Floats:
        if ratings is not None:
            raise ReleaseError("give either own ratings or user=, not both")
        if self._people is None:
            raise ReleaseError("this release lists no people; give own ratings instead of user=")
        (person,) = self._people.find([_normal(user)])
        if person < 0:
            raise ReleaseError(
                f"{user!r} is not among the {len(self.release.users):,} people whom this release lists; "
                "give own ratings instead of user="
            )
        return self._people.predict(np.full(len(targets), person), targets)

    def _own(self, ratings: Mapping[str, float] | None) -> tuple[Ints, Floats]:
        if ratings is None:
            raise ReleaseError("give own ratings, {} if there are none, or user=, the id of a listed user")
        lo, hi, _ = self.release.scale
        own: dict[int, float] = {}
        for item, rating in ratings.items():
            try:
                value = float(rating)
            except (TypeError, ValueError, OverflowError):
                raise ReleaseError("own ratings must map item ids to numbers, as in {'Alien': 5}") from None
            position = self._positions.get(_normal(item))
            if position is not None and math.isfinite(value):
                own[position] = min(max(value, lo), hi)
        return np.array(list(own), dtype=np.int64), np.array(list(own.values()), dtype=np.float64)


def _normal(name: object) -> str:
    """An id in the form that domains use: Unicode normal form C."""
    return unicodedata.normalize("NFC", str(name))
