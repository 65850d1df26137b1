"""One run of a grid, measured.

Privacy: private. Nothing is charged, and what is measured depends on what was held out.
"""

import math
import time
from dataclasses import dataclass, field
from functools import cached_property
from typing import Any, Protocol

import hushrec as hr
from hushrec.arrays import Floats
from hushrec.data.people import People
from hushrec.evaluation import baselines
from hushrec.evaluation.compare import METRICS
from hushrec.evaluation.protocol import predictions
from hushrec.evaluation.rankings import named, rank
from hushrec.models.base import Model
from hushrec.privacy.accounting.budget import Budget
from hushrec.privacy.noise.entropy import Seeded
from hushrec.release.artefact import Release
from lab import published
from lab.experiments.case import Case
from lab.experiments.source import Parts, Split
from lab.published import Cost, PublishedModel


class Source(Protocol):
    """Where ratings or interactions come from."""

    def load(self) -> People:
        """The ratings or interactions. Privacy: private."""


@dataclass(frozen=True)
class Bench:
    """A place to run cases: holds the data, and the parts of the latest split.

    Attributes:
        data: what is loaded, once.
        split: how it is divided.
        metrics: of rankings, such as recall@20.
        likes: of ratings that are ranked: the lowest rating of an item to be found.

    Privacy: private.
    """

    data: Source
    split: Split
    metrics: tuple[str, ...] = ()
    likes: float | None = None
    _latest: dict[int, Parts] = field(default_factory=dict, init=False, repr=False, compare=False)

    @cached_property
    def _feedback(self) -> People:
        return self.data.load()

    def open(self) -> None:
        """Load the data."""
        self._feedback  # noqa: B018  (cached)

    def measure(self, case: Case) -> list[dict[str, Any]]:
        """What a case came to, by column: one row.

        Raises:
            ArithmeticError: A prediction or score is not a finite number.

        Privacy: private.
        """
        parts = self._of(case.split)
        start = time.perf_counter()
        if case.config is None:
            found = self._of_reference(case.name, parts)
            return [{**found, "predict_seconds": time.perf_counter() - start}]
        release, cost = _fitted(parts.train, case.config, case.budget, case.entropy)
        fitted = time.perf_counter()
        found = self._of_release(release, parts, case.fold_in)
        seconds = time.perf_counter() - fitted
        return [
            {
                **found,
                "true_epsilon": cost.true,
                "claimed_epsilon": cost.claimed,
                "fit_seconds": fitted - start,
                "predict_seconds": seconds,
            }
        ]

    def errors(self, train: People, test: People, predicted: Floats) -> dict[str, Any]:
        """Every metric on the test part. Privacy: private."""
        found = {name: metric(test.numbers(), predicted) for name, metric in METRICS.items()}
        if not all(map(math.isfinite, found.values())):
            raise ArithmeticError("a prediction is not a finite number")
        return found

    def _of_reference(self, name: str, parts: Parts) -> dict[str, Any]:
        made = getattr(baselines, name.replace(" ", "_"))
        if made is baselines.popularity:
            return self._ranked(made(parts.train), parts, fold_in=False)
        train, test = (part.require_ratings(by=name) for part in (parts.train, parts.test))
        return self.errors(train, test, made(train, test))

    def _of_release(self, release: Release, parts: Parts, fold_in: bool) -> dict[str, Any]:
        found = self._ranked(release, parts, fold_in) if self.metrics else {}
        if release.feedback == "interactions":
            return found
        train, known, test = (part.require_ratings(by="an experiment") for part in parts)
        predicted = predictions(release, train=known, test=test, fold_in=fold_in)
        return {**found, **self.errors(train, test, predicted)}

    def _ranked(self, release: Release, parts: Parts, fold_in: bool) -> dict[str, Any]:
        metrics = [(name, at) for name, at in named(self.metrics).items() if at]
        lists = rank(
            release,
            train=parts.fold_in,
            test=parts.test,
            n=max(at.k for _, at in metrics),
            likes=self.likes,
            fold_in=fold_in,
            fitted=parts.train,
        )
        if (lists.items[:, 0] < 0).any():  # what is to be found can be listed, so an empty list has no scores
            raise ArithmeticError("a score is not a finite number")
        return {name: at.score(lists).value for name, at in metrics}

    def _of(self, number: int) -> Parts:
        if number not in self._latest:
            self._latest.clear()
            self._latest[number] = self.split.parts(self._feedback, number)
        return self._latest[number]


def _fitted(data: People, config: Model, budget: Budget | None, seed: int) -> tuple[Release, Cost]:
    """The release of a model or a published form, and what its noise costs."""
    if budget and isinstance(config, PublishedModel):
        train = data.require_ratings(by=type(config).__name__)
        return published.fit(train, config, budget, seed), published.cost(config, data.domain, budget)
    if budget is None:
        release = hr.baseline(data, config)
    else:
        release = hr.testing.fit(data, config, budget, entropy=Seeded(seed))
    return release, Cost(None, release.statement.epsilon)
