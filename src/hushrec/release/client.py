"""Recommendations on a user's own device, from a release and own ratings or items, which never leave it."""

import math
import unicodedata
from collections.abc import Callable, Iterable, Mapping, Sequence, Set
from contextlib import suppress
from numbers import Real
from pathlib import Path
from typing import Any, NamedTuple, TypeVar

import numpy as np

from hushrec.arrays import Floats, Ints
from hushrec.errors import ReleaseError
from hushrec.release.artefact import Release
from hushrec.release.fold_in import predictor
from hushrec.release.lists import POOL, Reason, Similar, diversify
from hushrec.release.own_items import like_weights, recency_weights
from hushrec.release.predictors.factor_predictor import ListedPeople
from hushrec.release.predictors.linear_items import LinearItems
from hushrec.release.titles import Titles
from hushrec.text import is_number, whole

Row = TypeVar("Row")


class Recommendation(NamedTuple):
    """One recommended item.

    Attributes:
        score: by which the list is ordered, a number without a unit. From a release of ratings, the logarithm
            of how likely the user chooses and likes the item, up to a constant
            (``hushrec.release.predictors.scores``).
        rank: 1 for the best.
        rating: the predicted rating, on the scale; None from a release of interactions. A list need not be
            ordered by it.

    Privacy: post-processing; it depends on the release and on what the user who asks gave.
    """

    item_id: str
    score: float
    rank: int
    rating: float | None


class Rows(list[Row]):
    """A list as any other, and what of the user's own it was made without.

    Attributes:
        ignored: ids that were given and not used, in the order given: those that are not in the catalogue,
            and those without a rating or count that is a finite number.

    Privacy: post-processing, of what the user who asks gave.
    """

    def __init__(self, rows: Iterable[Row] = (), ignored: Iterable[str] = ()) -> None:
        super().__init__(rows)
        self.ignored = tuple(ignored)


class Predictions(dict[str, float]):
    """Item id → predicted rating, and what of the user's own they were made without.

    Attributes:
        ignored: as of ``Rows``.

    Privacy: post-processing, of what the user who asks gave.
    """

    def __init__(self, ratings: Iterable[tuple[str, float]] = (), ignored: Iterable[str] = ()) -> None:
        super().__init__(ratings)
        self.ignored = tuple(ignored)


class Client:
    """Predicts and recommends for anybody, including users who were never in the data.

    A user whom a release lists (kind "factors and people") can ask by id instead. Their own ratings often
    give better predictions, because on their own device they need no noise.

    Ids are texts. Numbers are refused, because an id that was read as one has lost its leading zeros. Items
    that the release does not know are left out, and named in ``ignored`` of the answer. If the release knows
    nothing of what was given, that is refused, since the answer would be everybody's.

    Args:
        release: a release, or the path of its file.
        key: the owner's public key, its file or its text: a release that it did not sign is refused.

    Raises:
        ReleaseError: The file cannot be trusted, or a release is given with a key: give its file.

    Privacy: post-processing; all input stays on this device.
    """

    def __init__(self, release: Release | str | Path, *, key: str | Path | None = None) -> None:
        if isinstance(release, Release):
            if key is not None:
                raise ReleaseError("a signature is checked on a file's bytes: give the path of the release")
            self.release = release
        else:
            self.release = Release.open(release, key=key)
        self._positions = {item: position for position, item in enumerate(self.release.items)}
        self._predictor = predictor(self.release)
        self._people = ListedPeople(self.release) if self.release.users else None
        self._titles = Titles(self.release.items, self.release.titles)

    def title(self, item: str) -> str:
        """The title of an item, or its id where the release has none.

        Raises:
            ReleaseError: The item is not in the catalogue.
        """
        (position,) = self._positions_of([_normal(item)])
        title = self.release.titles[position] if self.release.titles else ""
        return title or self.release.items[position]

    def find(self, text: str) -> list[str]:
        """Ids of the items that a text may mean: one if it is clear, several to choose from, or none.

        If it is the id of an item and the title of others, the item with the id comes first.

        Args:
            text: an id; or a title or its beginning, whatever the case, accents, punctuation, place of the
                article ("Matrix, The") and year, which tells namesakes apart.
        """
        if (item := _normal(text)) not in self._positions:
            return [self.release.items[position] for position in self._titles.find(text)]
        items, titles = self.release.items, self.release.titles
        named = self._titles.named(text) if titles else ()
        return [item, *(items[at] for at in named if titles[at] and items[at] != item)]

    def __repr__(self) -> str:
        return f"Client({self.release!r})"

    def predict(
        self,
        ratings: Mapping[str, float] | None = None,
        items: Iterable[str] | None = None,
        *,
        user: str | None = None,
    ) -> Predictions:
        """Predict a user's ratings, from their own ratings or, if the release lists them, by their id.

        Args:
            ratings: item id → rating. Items that are not in the catalogue and ratings that are not finite
                are left out, and named in ``ignored``; ratings off the scale are clamped to it.
            items: item ids to predict; the whole catalogue by default.
            user: id of a user whom the release lists, instead of ``ratings``.

        Returns:
            Item id → predicted rating, clamped to the scale, in the order of ``items``.

        Raises:
            ReleaseError: One of ``items``, or nothing of what was given in ``ratings``, is in the release's
                catalogue; an id is not a text, a rating is not a number, both or neither of ``ratings`` and
                ``user`` are given, the release is of interactions, or its numbers are unusable.
        """
        lo, hi, _ = self.release.require_scale()
        names = tuple(self.release.items if items is None else map(_normal, items))
        targets = self._positions_of(names)
        ignored: list[str] = []
        if user is None:
            own_values, ignored = self._parse_own(ratings)
            scores = self._score_own(self._predictor.predict, *_arrays(own_values), targets)
        else:
            scores = self._score_listed(user, ratings, targets)
        return Predictions(zip(names, np.clip(scores, lo, hi).tolist(), strict=True), ignored)

    def recommend(
        self,
        ratings: Mapping[str, float] | Iterable[str] | None = None,
        n: int = 10,
        *,
        user: str | None = None,
        times: Mapping[str, Any] | None = None,
        recency: bool = True,
        exclude: Iterable[str] = (),
        allowed: Iterable[str] | None = None,
        diversity: float = 0.0,
    ) -> Rows[Recommendation]:
        """The ``n`` items that the user is most likely to choose and like, without those in ``ratings``.

        Args:
            ratings: item id → rating, as in ``predict``. For a release of interactions, ids of the items that
                the user gave, the latest last, or a set of ids if the order is not known; or item id → count,
                if they are counted; or item id → rating, if they are likes: a rating below the threshold
                counts half from the middle of the scale on, and else not. No rated item is recommended.
            n: length of the list.
            user: id of a user whom the release lists, instead of ``ratings``. A release does not say what
                they have rated, so those items may be recommended too.
            times: item id → when the user gave it: numbers, dates or ISO 8601 texts, larger is later. Items
                without one come first. They go before the order of ``ratings``.
            recency: of a release of interactions, items count less the more of the user's own are later
                (``own_items``), where ``ratings`` or ``times`` say the order.
            exclude: ids of items that are not recommended, such as what the user dismissed.
            allowed: ids of the only items that are recommended; the whole catalogue by default. Ids in
                ``exclude`` and ``allowed`` that are not in the catalogue are ignored.
            diversity: from 0, the best items, to 1, where a list that starts with the best item goes on with
                the items of the best ``10 n`` that are least like those before (``lists.diversify``).

        Returns:
            Best first; ties in the catalogue's order. With ``diversity``, in the order of choice, in which
            scores may rise. Its ``ignored`` are ids of ``ratings`` that were not used.

        Raises:
            ReleaseError: Something was given in ``ratings`` and nothing of it is in the catalogue; an id is
                not a text, a rating or count is not a number, the release takes none, both or neither of
                ``ratings`` and ``user`` are given, ``exclude`` or ``allowed`` is not a list of ids,
                ``diversity`` is out of range or the release does not tell which items are alike, or the
                release's numbers are unusable.
        """
        n = whole(n, "n", 0, ReleaseError)
        if not is_number(diversity) or not 0 <= diversity <= 1:
            raise ReleaseError("diversity must be between 0 and 1")
        own_values, ignored = self._parse_own(ratings) if user is None else ({}, [])
        targets = self._listable_positions(own_values, exclude, allowed)
        if user is None:
            used = self._used(own_values, self._places(own_values, ratings, times) if recency else None)
            scores = self._score_own(self._predictor.rank, *used, targets)
        else:
            scores = self._score_listed(user, ratings, targets, rank=True)
        best = np.argsort(-scores, kind="stable")[: POOL * n if diversity else n]
        if diversity:
            similarity = self._predictor.similarity(targets[best], targets[best])
            best = best[diversify(scores[best], similarity, n, diversity)]
        items = targets[best]
        # Ordered by choice (docs/decisions/lists-by-choice.md); stars are shown for what is listed.
        stars: list[float | None] = [None] * len(best)
        if self.release.feedback == "ratings":
            lo, hi, _ = self.release.require_scale()
            if user is None:
                predicted = self._score_own(self._predictor.predict, *_arrays(own_values), items)
            else:
                predicted = self._score_listed(user, None, items)
            stars = np.clip(predicted, lo, hi).tolist()
        listed = zip(items, scores[best], stars, strict=True)
        rows = (
            Recommendation(self.release.items[item], float(score), rank, rating)
            for rank, (item, score, rating) in enumerate(listed, start=1)
        )
        return Rows(rows, ignored)

    def similar(self, item: str, n: int = 10) -> list[Similar]:
        """The ``n`` items most like an item, for everybody the same: no own ratings are needed.

        Similarity depends on the release's kind: the cosine of two items' factors, or by the released
        similarity, or of two columns of released rows. Noisy items count less, where their noise is known.

        Args:
            item: id of an item of the catalogue.
            n: length of the list.

        Returns:
            Most similar first, without the item itself; ties in the catalogue's order. Only items whose
            similarity is above 0.

        Raises:
            ReleaseError: The item is not in the catalogue, or the release does not tell which are alike.
        """
        n = whole(n, "n", 0, ReleaseError)
        (position,) = positions = self._positions_of([_normal(item)])
        alike = self._predictor.similarity(positions, np.arange(len(self._positions)))[0]
        alike[position] = 0
        best = np.argsort(-alike, kind="stable")[:n]
        return [
            Similar(self.release.items[i], float(alike[i]), rank)
            for rank, i in enumerate(best[alike[best] > 0], start=1)
        ]

    def reasons(
        self,
        ratings: Mapping[str, float] | Iterable[str] | None,
        item: str,
        n: int = 3,
        *,
        times: Mapping[str, Any] | None = None,
        recency: bool = True,
    ) -> Rows[Reason]:
        """Which of the user's own items, or of their features, raise or lower the prediction of an item most.

        The contributions of all own items add up to the prediction, before it is clamped to the scale, minus
        what it starts from: the item's effect, and what the user's level and slopes add to it. From a release
        of interactions they add up to the item's score. Where a release says what values of features explain,
        such as a genre, these are reasons of their own, and an item's is what is left to it.

        Args:
            ratings, times, recency: the user's own, as in ``recommend``.
            item: id of an item of the catalogue.
            n: length of the list.

        Returns:
            Strongest first, whether they raise or lower; ties in the order given, items before features.
            Those that add nothing are left out.

        Raises:
            ReleaseError: As ``recommend``; the item is not in the catalogue, or the prediction is not a sum
                over own items.
        """
        n = whole(n, "n", 0, ReleaseError)
        own_values, ignored = self._parse_own(ratings)
        used, weights = self._used(own_values, self._places(own_values, ratings, times) if recency else None)
        target = self._positions_of([_normal(item)])
        added = self._score_own(self._predictor.contributions, used, weights, target)[:, 0]
        names = [self.release.items[position] for position in used]
        features: list[tuple[str, str]] = []
        parts = np.zeros((len(names), 0))
        if isinstance(self._predictor, LinearItems):
            features, parts = self._predictor.feature_parts(used, weights, target[0])
        # Each part is counted once: with its feature if one explains it, else with its item.
        reasons = [Reason(*each) for each in zip(names, (added - parts.sum(axis=1)).tolist(), strict=True)]
        for (feature, value), part in zip(features, parts.T, strict=True):
            order = np.argsort(-np.abs(part), kind="stable")
            carriers = tuple(names[i] for i in order if part[i])
            reasons.append(Reason(None, float(part.sum()), feature, value, carriers))
        strongest = sorted(reasons, key=lambda reason: -abs(reason.contribution))[:n]
        return Rows((reason for reason in strongest if reason.contribution), ignored)

    def _score_own(
        self, ask: Callable[[Ints, Floats, Ints], Floats], rated: Ints, values: Floats, targets: Ints
    ) -> Floats:
        """Return a predictor's answer to a user's own ratings or interactions."""
        try:
            return ask(rated, values, targets)
        except np.linalg.LinAlgError:
            pass
        raise ReleaseError("nothing can be predicted from this release's numbers; fetch it again")

    def _score_listed(self, user: str, ratings: object, targets: Ints, *, rank: bool = False) -> Floats:
        """Predicted ratings for a listed user, or the scores by which lists are ordered."""
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
        ask = self._people.rank if rank else self._people.predict
        return ask(np.full(len(targets), person), targets)

    def _listable_positions(
        self, own_items: Iterable[int], exclude: Iterable[str], allowed: Iterable[str] | None
    ) -> Ints:
        """Positions of the items that may be recommended, ascending."""
        listable = np.full(len(self._positions), allowed is None)
        if allowed is not None:
            listable[self._known_positions(allowed)] = True
        listable[[*own_items, *self._known_positions(exclude)]] = False
        return np.flatnonzero(listable)

    def _known_positions(self, names: Iterable[str]) -> list[int]:
        """Positions of the ids that are in the catalogue."""
        if isinstance(names, str | bytes) or not isinstance(names, Iterable):
            raise ReleaseError("exclude and allowed take item ids, as in ['Alien', 'Heat']")
        return [self._positions[name] for name in map(_normal, names) if name in self._positions]

    def _positions_of(self, names: Sequence[str]) -> Ints:
        """Positions of ids that must be in the catalogue."""
        unknown = [name for name in names if name not in self._positions]
        if unknown:
            raise ReleaseError(
                f"{unknown[0]!r} is not in this release's catalogue of {len(self._positions):,} items"
            )
        return np.array([self._positions[name] for name in names], dtype=np.int64)

    def _parse_own(
        self, data: Mapping[str, float] | Iterable[str] | None
    ) -> tuple[dict[int, float], list[str]]:
        """Position → rating, or how often it was given, of the items that the user gave; and ids not used."""
        if data is None:
            raise ReleaseError("give own ratings, {} if there are none, or user=, the id of a listed user")
        lo, hi = self._bounds()
        own_values: dict[int, float] = {}
        ignored: list[str] = []
        any_known = False
        numbers = self._numbers(data)
        for item, rating in numbers.items():
            value = _float(rating)
            name = _normal(item)
            position = self._positions.get(name)
            any_known |= position is not None
            if position is not None and self.release.counts is not None and math.isfinite(value):
                value = math.floor(value + 0.5)  # as in loading
                value = value if value >= 1 else math.nan
            if position is None or not math.isfinite(value):
                ignored.append(name)
                continue
            # Off the scale, a rating counts as the nearest end, as in loading.
            own_values[position] = min(max(value, lo), hi)
        if numbers and not any_known:
            raise ReleaseError(
                "nothing of what was given is in this release's catalogue; give ids as the catalogue has "
                "them, with their leading zeros, or give nothing to list what is popular"
            )
        return own_values, ignored

    def _bounds(self) -> tuple[float, float]:
        """The smallest and the largest rating or count."""
        if self.release.scale is not None:
            return self.release.scale[:2]
        return 1.0, float(self.release.counts or 1)

    def _numbers(self, data: Mapping[str, float] | Iterable[str]) -> Mapping[str, float]:
        """Ratings or counts by item id; an id alone is a like, or was given once."""
        release = self.release
        if isinstance(data, Mapping):
            if release.scale is None and release.counts is None:
                raise ReleaseError("this release takes item ids without numbers, as in ['Alien', 'Heat']")
            return data
        if release.feedback == "ratings" or isinstance(data, str | bytes) or not isinstance(data, Iterable):
            example = "{'Alien': 5}" if release.feedback == "ratings" else "['Alien', 'Heat']"
            raise ReleaseError(f"this release is of {release.feedback}: give your own as in {example}")
        _, most = self._bounds()
        counts: dict[str, float] = {}
        for name in map(_normal, data):  # in the order in which they were given last
            counts[name] = counts.pop(name, 0) + 1
        return counts if release.counts is not None else dict.fromkeys(counts, most)

    def _used(self, own_values: Mapping[int, float], places: Ints | None) -> tuple[Ints, Floats]:
        """Positions and values by which a predictor ranks: ratings, or of interactions weights."""
        release, (items, values) = self.release, _arrays(own_values)
        if release.feedback == "ratings":
            return items, values
        weights = np.ones(len(items))
        if release.likes is not None and release.scale is not None:
            weights = like_weights(values, release.scale, release.likes)
        used = np.flatnonzero(weights)
        if places is None:
            return items[used], weights[used]
        return items[used], weights[used] * recency_weights(np.array([0, len(used)]), places[used])

    def _places(
        self, own_values: Mapping[int, float], data: object, times: Mapping[str, Any] | None
    ) -> Ints | None:
        """Each own item's place in the order of times, or else of a list; None where neither tells it."""
        if times is None:
            return None if isinstance(data, Mapping | Set) else np.arange(len(own_values))
        if not isinstance(times, Mapping):
            raise ReleaseError("times map item ids to when they were given, as in {'Alien': '2026-05-01'}")
        known = {self._positions.get(_normal(name)): time for name, time in times.items() if time == time}
        try:
            places = {time: place for place, time in enumerate(sorted({*known.values()}))}
        except TypeError:
            places = None
        if places is None:
            raise ReleaseError("times must be all numbers, all dates, or all texts of ISO 8601")
        return np.array([places[known[item]] if item in known else -1 for item in own_values], dtype=np.int64)


def _arrays(own_values: Mapping[int, float]) -> tuple[Ints, Floats]:
    """Positions and values of own items."""
    return np.array([*own_values], dtype=np.int64), np.array([*own_values.values()], dtype=np.float64)


def _float(rating: object) -> float:
    """A rating, or a number that is not finite, which is left out."""
    with suppress(OverflowError):
        if not isinstance(rating, bool) and isinstance(rating, Real):
            return float(rating)
    raise ReleaseError("own ratings must map item ids to numbers, as in {'Alien': 5}")


def _normal(name: object) -> str:
    """An id in the form that domains use: Unicode normal form C."""
    if not isinstance(name, str):
        raise ReleaseError(
            f"ids are texts, and this one is of type {type(name).__name__}: give str(id), with the leading "
            "zeros that it has in the catalogue"
        )
    return unicodedata.normalize("NFC", name)
