"""The protocol of every evaluation: compare a release's predictions with users' held-out ratings."""

from collections.abc import Iterable, Iterator, Mapping
from dataclasses import dataclass
from typing import Any

import numpy as np

from hushrec.arrays import Floats, Ints
from hushrec.data.feedback import Feedback
from hushrec.data.ratings import Ratings
from hushrec.errors import DataError
from hushrec.evaluation.batch_knn import predict_many
from hushrec.evaluation.metrics import named
from hushrec.release.artefact import Release
from hushrec.release.fold_in import ListedPeople, predictor

WARNING = "NOT PRIVATE, not for publication: measured on held-out ratings, which no guarantee covers."


@dataclass(frozen=True, slots=True, eq=False)
class Evaluation(Mapping[str, float]):
    """How well a release predicts held-out ratings; a mapping from metric to value.

    Attributes:
        model: name of the release's model.
        metrics: metric → value.
        n_users: number of users with a test rating.
        n_ratings: number of test ratings.

    Privacy: private. ``str`` says so.
    """

    model: str
    metrics: Mapping[str, float]
    n_users: int
    n_ratings: int

    def __getitem__(self, metric: str) -> float:
        return self.metrics[metric]

    def __iter__(self) -> Iterator[str]:
        return iter(self.metrics)

    def __len__(self) -> int:
        return len(self.metrics)

    def to_dict(self) -> dict[str, Any]:
        """Everything as JSON values, the warning first. Privacy: private."""
        facts = {"model": self.model, "n_users": self.n_users, "n_ratings": self.n_ratings}
        return {"warning": WARNING, **facts, "metrics": dict(self.metrics)}

    def __str__(self) -> str:
        rows = [("model", self.model), ("people", f"{self.n_users:,}"), ("ratings", f"{self.n_ratings:,}")]
        rows += [(name, f"{value:.4f}") for name, value in self.metrics.items()]
        width = max(len(name) for name, _ in rows)
        return "\n".join([WARNING, "", *(f"{name:<{width}}  {value}" for name, value in rows)])


def evaluate(
    release: Release,
    *,
    train: Ratings,
    test: Ratings,
    metrics: Iterable[str] = ("rmse", "mae"),
    fold_in: bool = False,
) -> Evaluation:
    """Errors of a release's predictions on held-out ratings.

    Args:
        release: any release, private or not.
        train: the ratings that each user folds in; absent users fold in nothing.
        test: the ratings to predict. No rating may be in both.
        metrics: names of ``hushrec.evaluation.metrics.METRICS``.
        fold_in: as in ``predictions``.

    Returns:
        The errors.

    Raises:
        ConfigError: A metric is unknown.
        DataError: The parts have another catalogue or scale than the release, share ratings, or there is
            nothing to predict; or they are interactions.
        ReleaseError: The release is of interactions and predicts no ratings.

    Privacy: private. No guarantee covers the errors, which are functions of the test ratings: tune with them
    only on other people's data, and do not publish them.
    """
    measures = named(metrics)
    predicted = predictions(release, train=train, test=test, fold_in=fold_in)
    ratings = test.values()
    values = {name: measure(ratings, predicted) for name, measure in measures.items()}
    return Evaluation(release.model, values, test.n_users, test.n_ratings)


def predictions(release: Release, *, train: Ratings, test: Ratings, fold_in: bool = False) -> Floats:
    """The release's predictions of all test ratings.

    Listed users are predicted from the vectors that the release holds; all others fold in their training
    ratings, as on their own devices.

    Args:
        release: any release.
        train: what each user folds in.
        test: the ratings to predict.
        fold_in: listed users fold in their own ratings too.

    Returns:
        Predicted ratings, clamped to the scale, in the order of ``test``; shape (test.n_ratings,).

    Raises:
        DataError, ReleaseError: As ``evaluate``.

    Privacy: private.
    """
    lo, hi, _ = scale = release.require_scale()
    test.domain.require("ratings", by="evaluate")
    require_apart(train, test)
    if release.items != test.domain.items or scale != tuple(test.domain.scale):
        raise DataError(
            "the release and the ratings have different catalogues or scales; load the ratings with the "
            "release's domain"
        )
    rows = _rows(train, test)
    if (at_once := predict_many(release, train, test, rows)) is not None:
        return np.clip(at_once, lo, hi)
    predicted = np.empty(test.n_ratings)
    listed = np.full(test.n_users, -1, dtype=np.int64)
    if release.users and not fold_in:
        people = ListedPeople(release)
        listed = people.find(test.users.to_list())
        persons = listed[test.user_index()]
        known = persons >= 0
        predicted[known] = people.predict(persons[known], test.items[known].astype(np.int64))
    predict, own_ratings = predictor(release).predict, train.values()
    for user in np.flatnonzero(listed < 0):
        row = rows[user]
        own = slice(train.indptr[row], train.indptr[row + 1]) if row >= 0 else slice(0)
        held_out = slice(test.indptr[user], test.indptr[user + 1])
        rated, targets = train.items[own].astype(np.int64), test.items[held_out].astype(np.int64)
        predicted[held_out] = predict(rated, own_ratings[own], targets)
    return np.clip(predicted, lo, hi)


def require_apart(train: Feedback, test: Feedback) -> None:
    """Refuse parts from which nothing can be measured.

    Raises:
        DataError: The parts have different catalogues, scales or kinds of feedback, share a pair of user and
            item, or the test part is empty.

    Privacy: private.
    """
    first, second = ((of.domain.items, of.domain.rating_scale, of.domain.likes) for of in (train, test))
    if first != second:
        raise DataError("train and test have different catalogues or scales; load both with the same domain")
    if not len(test.items):
        raise DataError("the test part holds nothing of a known item; choose another test part")
    rows, n_items = _rows(train, test), test.domain.n_items
    known = np.full(train.n_users, -1, dtype=np.int64)
    known[rows[rows >= 0]] = np.flatnonzero(rows >= 0)
    of_train = known[train.user_index()]
    codes = of_train[of_train >= 0] * n_items + train.items[of_train >= 0]
    if np.isin(codes, test.user_index().astype(np.int64) * n_items + test.items).any():
        raise DataError(
            f"train and test share {test.KIND}, so what is held out would be known in training; split the "
            f"{test.KIND} first (hushrec.data.split)"
        )


def _rows(train: Feedback, test: Feedback) -> Ints:
    """Row in ``train`` of every user of ``test``, −1 if absent."""
    where = {user: row for row, user in enumerate(train.users.to_list())}
    return np.array([where.get(user, -1) for user in test.users.to_list()], dtype=np.int64)
