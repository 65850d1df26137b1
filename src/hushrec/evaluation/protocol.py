"""The protocol of every evaluation: compare a release with what was held out of users' data."""

from collections.abc import Iterable, Iterator, Mapping
from dataclasses import dataclass, field
from typing import Any

import numpy as np

from hushrec.arrays import Floats
from hushrec.data.people import People
from hushrec.documents import html, terminal
from hushrec.documents.document import Block, Document, Facts, Paragraph, Table
from hushrec.errors import ConfigError, DataError
from hushrec.evaluation.baselines import global_average, item_average, popularity, predict_many
from hushrec.evaluation.compare import ERROR_SCORES, Score
from hushrec.evaluation.parts import leave_out_repeats, require_apart, require_same_domain, rows_of
from hushrec.evaluation.rankings import Lists, named, rank
from hushrec.progress import Progress, stage, telling
from hushrec.release.artefact import Release
from hushrec.release.fold_in import predictor
from hushrec.release.predictors.factor_predictor import ListedPeople

WARNING = "NOT PRIVATE, not for publication: measured on held-out data, which no guarantee covers."


DEFAULT_METRICS: Mapping[str, tuple[str, ...]] = {
    "ratings": ("rmse", "mae"),
    "interactions": ("recall@20", "recall@50", "ndcg@100"),
}
"""Kind of feedback → the metrics that are measured by default."""
References = Mapping[str, Mapping[str, Score]]
"""Name of what is measured → metric → value."""


@dataclass(frozen=True, slots=True, eq=False)
class Evaluation(Mapping[str, float]):
    """The results of an evaluation on held-out data; a mapping from metric to value.

    Attributes:
        model: name of the release's model.
        scores: metric → value, with its standard error over users.
        n_users: number of users with something in the test part.
        n_held_out: number of test ratings or interactions.
        n_repeats: number of others, which were left out: their users have the item in the training part.
        predicted: the predicted ratings, in the order of the test part; None without a metric of them.
        lists: the lists that were ranked; None without a metric of them.

    Privacy: private. ``str`` says so.
    """

    model: str
    scores: Mapping[str, Score]
    n_users: int
    n_held_out: int
    n_repeats: int = 0
    predicted: Floats | None = field(default=None, repr=False)
    lists: Lists | None = field(default=None, repr=False)

    def __getitem__(self, metric: str) -> float:
        return self.scores[metric].value

    def __iter__(self) -> Iterator[str]:
        return iter(self.scores)

    def __len__(self) -> int:
        return len(self.scores)

    @property
    def n_ranked(self) -> int:
        """Number of users over whom ranking metrics are averaged: those who have something to be found."""
        return len(self.lists.users) if self.lists else 0

    @property
    def n_new(self) -> int:
        """Number of users with something to be found who fold in nothing: ranking metrics leave them out."""
        return self.lists.n_new if self.lists else 0

    @property
    def n_left_out(self) -> int:
        """Number of other users of either part, who have nothing to be found."""
        return self.lists.n_left_out if self.lists else 0

    def to_dict(self, beside: References | None = None) -> dict[str, Any]:
        """Return everything as JSON values, the warning first. Privacy: private.

        Args:
            beside: as for ``document``.
        """
        names = ("n_users", "n_held_out", "n_repeats", "n_ranked", "n_new", "n_left_out")
        counts = {name: getattr(self, name) for name in names}
        scores = [
            {"name": of, "metric": name, **score.to_json()}
            for of, measured in {self.model: self.scores, **(beside or {})}.items()
            for name, score in measured.items()
        ]
        return {"warning": WARNING, **counts, "scores": scores}

    def __repr__(self) -> str:
        values = ", ".join(f"{name} = {value:.4g}" for name, value in self.items())
        return f"Evaluation({self.model}, {values}; NOT PRIVATE)"

    def document(self, beside: References | None = None) -> Document:
        """Return the results as a document, with the warning that they are not private.

        Args:
            beside: what the release is to be compared with, such as ``references``.
        """
        scores = [(name, str(score)) for name, score in self.scores.items()]
        blocks: list[Block] = [
            Paragraph(WARNING, "caution"),
            Facts([*self._facts(), *scores]),
            Paragraph("±: one standard error over people"),
        ]
        if beside:
            rows = [(of, *(str(known.get(name, "")) for name in self)) for of, known in beside.items()]
            blocks.append(Table("References", ("not private", *self), rows))
        return Document("evaluation", "Evaluation", blocks, facts=self.to_dict(beside))

    def _repr_html_(self) -> str:
        return html.notebook(self.document())

    def __str__(self) -> str:
        return terminal.text(self.document().blocks)

    def _facts(self) -> list[tuple[str, str]]:
        rows = [("model", self.model), ("people", f"{self.n_users:,}"), ("held out", f"{self.n_held_out:,}")]
        if self.n_repeats:
            rows += [("left out", f"{self.n_repeats:,} more, which their people have in the training part")]
        if lists := self.lists:
            new = f"{self.n_new:,} are new and fold in nothing, " if self.n_new else ""
            left = f"{self.n_left_out:,} have nothing to be found"
            rows += [("ranked", f"{self.n_ranked:,} people; {new}{left}")]
            if unknown := int((lists.popularity[lists.held_out] == 0).sum()):
                rows += [("new items", f"{unknown:,} of what is to be found, which nobody had in training")]
        return rows


def evaluate(
    release: Release,
    *,
    train: People,
    test: People,
    metrics: Iterable[str] | None = None,
    fold_in: bool = False,
    likes: float | None = None,
    fitted: People | None = None,
    rated: People | None = None,
    progress: Progress | None = None,
) -> Evaluation:
    """Measure a release's predictions or lists on held-out ratings or interactions.

    Args:
        release: any release, private or not.
        train: the data that each user folds in, which their list leaves out; absent users fold in nothing.
        test: the ratings to predict, or the items to find. What the user has in ``train`` already is left
            out, and counted.
        metrics: errors of predicted ratings, ``rmse`` and ``mae``, or metrics of the first K items of each
            list: ``recall@K``, ``precision@K``, ``ndcg@K``, ``mrr@K``, ``map@K``, ``novelty@K`` and
            ``coverage@K``, with any K. By default both errors, or ``recall@20``, ``recall@50`` and
            ``ndcg@100``.
        fold_in: users whom the release lists fold in their own ratings too, as on their own device.
        likes: for ranking metrics of ratings: the lowest rating that makes an item one to be found.
        fitted: the data that the release was fitted to, from which novelty takes the items' popularity;
            ``train`` by default.
        rated: of a release of likes, the ratings of which ``train`` has the likes: no item of them is listed,
            and stars of the middle count half, as on the users' devices.
        progress: receives the stages, of unknown length; see ``hushrec.progress``.

    Raises:
        ConfigError: A metric is unknown, or does not fit the release; or ``likes`` is missing or superfluous.
        DataError: The parts have another catalogue, scale or kind of feedback than the release, are not in
            memory, or there is nothing to measure.

    Privacy: private. No guarantee covers the values, which are functions of the test part: tune with them
    only on other people's data, and do not publish them.
    """
    by_name = named(DEFAULT_METRICS[release.feedback] if metrics is None else metrics)
    ranked = {name: at for name, at in by_name.items() if at}
    errors = [name for name, at in by_name.items() if not at]
    if errors and release.feedback == "interactions":
        raise ConfigError(
            f"{errors[0]} is an error of predicted ratings, and this release ranks items; choose a metric of "
            "rankings, such as recall@20"
        )
    if ranked and likes is None and release.feedback == "ratings":
        raise ConfigError(
            f"{next(iter(ranked))} needs to know which ratings are relevant; give likes, the lowest of them"
        )
    if not ranked and (likes is not None or fitted is not None):
        raise ConfigError(
            "likes and fitted are for rankings; leave them out, or choose one such as recall@20"
        )
    for part in (train, test, fitted, rated):
        if part is not None and not part.in_memory:
            raise DataError(
                "evaluate takes rows in memory, and these stay in files or in Spark; choose some of the "
                "people by a hash of their ids, hold out a part of their rows, and load both parts with "
                "where='memory'"
            )
    require_same_domain(release, test)
    n_given, test = test.n_entries, leave_out_repeats(train if rated is None else rated, test)
    by_metric: dict[str, Score] = {}
    predicted, lists = None, None
    if errors:
        ratings, folded_in = (part.require_ratings(by="evaluate") for part in (test, train))
        with telling(progress), stage("predicting"):
            predicted = predictions(release, train=folded_in, test=ratings, fold_in=fold_in)
        by_metric |= {name: ERROR_SCORES[name](ratings, predicted) for name in errors}
    if ranked:
        longest = max(at.k for at in ranked.values())
        options: dict[str, Any] = {"likes": likes, "fold_in": fold_in, "fitted": fitted, "rated": rated}
        with telling(progress), stage("ranking"):
            lists = rank(release, train=train, test=test, n=longest, **options)
        by_metric |= {name: at.score(lists) for name, at in ranked.items()}
    # In the order in which they were asked for.
    scores = {name: by_metric[name] for name in by_name}
    n_repeats = n_given - test.n_entries
    return Evaluation(release.model, scores, test.n_users, test.n_entries, n_repeats, predicted, lists)


def references(
    metrics: Iterable[str],
    *,
    train: People,
    test: People,
    likes: float | None = None,
    fitted: People | None = None,
    rated: People | None = None,
) -> References:
    """What a release should beat, without any noise: popularity in lists, averages in predicted ratings.

    Args:
        metrics, train, test, likes, fitted, rated: as for ``evaluate``.

    Privacy: private.
    """
    by_name, found = named(metrics), dict[str, dict[str, Score]]()
    test = leave_out_repeats(train if rated is None else rated, test)
    if ranked := {name: at for name, at in by_name.items() if at}:
        popular = popularity(train if fitted is None else fitted)
        longest = max(at.k for at in ranked.values())
        lists = rank(popular, train=train, test=test, n=longest, likes=likes, fitted=fitted, rated=rated)
        found["popularity"] = {name: at.score(lists) for name, at in ranked.items()}
    errors = by_name.keys() - ranked.keys()
    for name, average in (("item average", item_average), ("global average", global_average)):
        if errors:
            found[name] = {error: ERROR_SCORES[error](test, average(train, test)) for error in sorted(errors)}
    return found


def predictions(release: Release, *, train: People, test: People, fold_in: bool = False) -> Floats:
    """Predict all test ratings from a release.

    Listed users are predicted from the vectors that the release holds; all others fold in their training
    ratings, as on their own devices.

    Args:
        train: the ratings that each user folds in.
        test: the ratings to predict.
        fold_in: listed users fold in their own ratings too.

    Returns:
        Predicted ratings, clamped to the scale, in the order of ``test``; shape (test.n_entries,).

    Privacy: private.
    """
    lo, hi, _ = release.require_scale()
    test.domain.require("ratings", by="evaluate")
    require_apart(train, test)
    require_same_domain(release, test)
    rows = rows_of(train, test)
    # Neighbours of many users share most of their work, so they have a compiled loop of their own.
    if (at_once := predict_many(release, train, test, rows)) is not None:
        return np.clip(at_once, lo, hi)
    predicted = np.empty(test.n_entries)
    listed = np.full(test.n_users, -1, dtype=np.int64)
    if release.users and not fold_in:
        people = ListedPeople(release)
        listed = people.find(test.users.to_pylist())
        # The release holds a vector for these: no ratings of theirs are folded in.
        persons = listed[test.user_index()]
        of_listed = persons >= 0
        predicted[of_listed] = people.predict(persons[of_listed], test.items[of_listed].astype(np.int64))
    predict, own_ratings = predictor(release).predict, train.numbers()
    # Everybody else folds in their own ratings, one user at a time, as on their device.
    for user in np.flatnonzero(listed < 0):
        row = rows[user]
        folded_in = slice(train.indptr[row], train.indptr[row + 1]) if row >= 0 else slice(0)
        held_out = slice(test.indptr[user], test.indptr[user + 1])
        rated, targets = train.items[folded_in].astype(np.int64), test.items[held_out].astype(np.int64)
        predicted[held_out] = predict(rated, own_ratings[folded_in], targets)
    return np.clip(predicted, lo, hi)
