"""Recommendations on a person's own device, from a release and ratings that never leave it."""

import math
import unicodedata
from collections.abc import Iterable, Mapping
from pathlib import Path
from typing import NamedTuple

import numpy as np

from hushrec.arrays import Floats, Ints
from hushrec.errors import ReleaseError
from hushrec.release.artefact import Release
from hushrec.release.fold_in import predictor


class Recommendation(NamedTuple):
    """One recommended item.

    Attributes:
        item_id: the item.
        score: its predicted rating, on the scale.
        rank: 1 for the best.

    Privacy: post-processing; it tells of the person who asked, and of nobody else.
    """

    item_id: str
    score: float
    rank: int


class Client:
    """Predicts for anybody, also for those who were never in the data.

    Args:
        release: a release, or the path of its file.

    Raises:
        ReleaseError: The file cannot be trusted.

    Privacy: post-processing; what is put in stays on this device.
    """

    def __init__(self, release: Release | str | Path) -> None:
        self.release = release if isinstance(release, Release) else Release.open(release)
        self._positions = {item: position for position, item in enumerate(self.release.items)}
        self._predictor = predictor(self.release)

    def predict(self, ratings: Mapping[str, float], items: Iterable[str] | None = None) -> dict[str, float]:
        """Predict what a person would rate.

        Args:
            ratings: item id → his rating. Items out of the catalogue and ratings that are not finite are left
                out; ratings out of the scale are clamped to it.
            items: item ids to predict; the whole catalogue by default.

        Returns:
            Item id → predicted rating, clamped to the scale, in the order of ``items``.

        Raises:
            ReleaseError: One of ``items`` is not in the release's catalogue, or a rating is no number.
        """
        names = tuple(self.release.items if items is None else map(_normal, items))
        unknown = [name for name in names if name not in self._positions]
        if unknown:
            raise ReleaseError(
                f"{unknown[0]!r} is not in this release's catalogue of {len(self._positions):,} items"
            )
        targets = np.array([self._positions[name] for name in names], dtype=np.int64)
        scores = self._scores(*self._own(ratings), targets)
        return dict(zip(names, scores.tolist(), strict=True))

    def recommend(self, ratings: Mapping[str, float], n: int = 10) -> list[Recommendation]:
        """The ``n`` items of highest predicted rating that the person has not rated.

        Args:
            ratings: item id → his rating, as in ``predict``.
            n: length of the list.

        Returns:
            Best first; ties in the catalogue's order.
        """
        rated, values = self._own(ratings)
        targets = np.setdiff1d(np.arange(len(self._positions)), rated)
        lo, hi, _ = self.release.scale
        scores = self._predictor.predict(rated, values, targets)
        best = np.argsort(-scores, kind="stable")[: max(n, 0)]  # before clamping, which would make ties
        return [
            Recommendation(self.release.items[targets[i]], float(min(max(scores[i], lo), hi)), rank)
            for rank, i in enumerate(best, start=1)
        ]

    def _own(self, ratings: Mapping[str, float]) -> tuple[Ints, Floats]:
        lo, hi, _ = self.release.scale
        own: dict[int, float] = {}
        for item, rating in ratings.items():
            try:
                value = float(rating)
            except (TypeError, ValueError, OverflowError):
                raise ReleaseError("own ratings are numbers by item id, such as {'Alien': 5}") from None
            position = self._positions.get(_normal(item))
            if position is not None and math.isfinite(value):
                own[position] = min(max(value, lo), hi)
        return np.array(list(own), dtype=np.int64), np.array(list(own.values()), dtype=np.float64)

    def _scores(self, rated: Ints, values: Floats, targets: Ints) -> Floats:
        lo, hi, _ = self.release.scale
        return np.clip(self._predictor.predict(rated, values, targets), lo, hi)


def _normal(item: object) -> str:
    """An item id as catalogues hold it: Unicode in normal form C."""
    return unicodedata.normalize("NFC", str(item))
