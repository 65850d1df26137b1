"""One run of a grid, measured.

Privacy: private. Nothing is charged, and what is measured depends on what was held out.
"""

import hashlib
import json
import math
import sys
import time
from dataclasses import dataclass, field
from functools import cached_property
from pathlib import Path
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
from lab.experiments.source import Parts, Split
from lab.published import Cost, PublishedModel, analysis, name_of


@dataclass(frozen=True, slots=True)
class Case:
    """One run.

    Attributes:
        name: of its curve, or of the reference. A label: it changes no result.
        split: number of the split.
        config: the model; None for a reference.
        budget: what is spent; None without noise.
        seed: which draw of the noise on this split.
        entropy: seed of the noise: the same for every model and ε, so that curves differ by these alone.
        fold_in: whether known people fold in like everybody else.
    """

    name: str
    split: int
    config: Model | None = None
    budget: Budget | None = None
    seed: int = 0
    entropy: int = 0
    fold_in: bool = False

    def coordinates(self) -> dict[str, Any]:
        """What the result depends on, as columns of the table of results.

        Unit, adjacency and δ are null where there is no noise, so such a run is made once for all of them.
        """
        config, budget = self.config, self.budget
        return {
            "model": name_of(type(config)) if config else self.name,
            "unit": budget.unit if budget else None,
            "adjacency": budget.adjacency if budget else None,
            "analysis": analysis(config) if config else None,
            "epsilon": budget.epsilon if budget else math.inf,
            "delta": budget.delta if budget else None,
            "split": self.split,
            "seed": self.seed,
            "fold_in": self.fold_in,
            "settings": json.dumps(config.settings(), sort_keys=True) if config else None,
        }

    def key(self, source: dict[str, str]) -> str:
        """SHA-256, in hex, of the coordinates, the ratings, their splits and hushrec's version.

        For a model outside hushrec, the text of its module takes the place of a version.

        Args:
            source: digests of ratings and domain, and the way of splitting.
        """
        facts = {**self.coordinates(), **source, "hushrec": hr.__version__, **self._code()}
        return hashlib.sha256(json.dumps(facts, sort_keys=True).encode()).hexdigest()

    def _code(self) -> dict[str, str]:
        """Digest of the module of a model outside hushrec."""
        if self.config is None or ":" not in name_of(type(self.config)):
            return {}
        file = getattr(sys.modules[type(self.config).__module__], "__file__", None)
        return {"code": hashlib.sha256(Path(file).read_bytes()).hexdigest()} if file else {}


class Source(Protocol):
    """Where ratings or interactions come from."""

    def load(self) -> People:
        """The ratings or interactions."""


@dataclass(frozen=True)
class Bench:
    """A place to run cases: holds the data, and the parts of the latest split.

    Attributes:
        data: what is loaded, once.
        split: how it is divided.
        metrics: of rankings, such as recall@20.
        likes: of ratings that are ranked: the lowest rating of an item to be found.
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
        """What a case came to, by column: one row."""
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
        """Every metric on the test part."""
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
