"""One run of a grid, measured.

Privacy: private. Nothing is charged, and errors are measured on held-out ratings.
"""

import math
import time
from dataclasses import dataclass, field
from functools import cached_property
from typing import Any, Protocol

from hushrec.arrays import Floats
from hushrec.curator.fit import fit
from hushrec.data.ratings import Ratings
from hushrec.evaluation import baselines
from hushrec.evaluation.metrics import METRICS
from hushrec.evaluation.protocol import predictions
from hushrec.experiments.case import Case
from hushrec.experiments.source import Split
from hushrec.privacy.noise.entropy import Seeded


class Source(Protocol):
    """Where ratings come from."""

    def load(self) -> Ratings:
        """The ratings. Privacy: private."""


@dataclass(frozen=True)
class Bench:
    """A place to run cases: holds the ratings, and the parts of the latest split.

    Attributes:
        data: what is loaded, once.
        split: how it is divided.

    Privacy: private.
    """

    data: Source
    split: Split
    _latest: dict[int, tuple[Ratings, Ratings]] = field(
        default_factory=dict, init=False, repr=False, compare=False
    )

    @cached_property
    def _ratings(self) -> Ratings:
        return self.data.load()

    def open(self) -> None:
        """Load the ratings."""
        self._ratings  # noqa: B018  (cached)

    def measure(self, case: Case) -> list[dict[str, Any]]:
        """What a case came to, by column: one row.

        Raises:
            ArithmeticError: A prediction is not a finite number.

        Privacy: private.
        """
        train, test = self._of(case.split)
        start = time.perf_counter()
        if case.config is None:
            predicted = getattr(baselines, case.name.replace(" ", "_"))(train, test)
            seconds = time.perf_counter() - start
            return [{**self.errors(train, test, predicted), "predict_seconds": seconds}]
        entropy = Seeded(case.entropy) if case.budget else None
        release = fit(train, case.config, case.budget, entropy=entropy)
        fitted = time.perf_counter()
        predicted = predictions(release, train=train, test=test, fold_in=case.fold_in)
        seconds = time.perf_counter() - fitted
        found = {
            **self.errors(train, test, predicted),
            "true_epsilon": release.statement.epsilon,
            "claimed_epsilon": release.statement.claimed_epsilon,
            "fit_seconds": fitted - start,
            "predict_seconds": seconds,
        }
        return [found]

    def errors(self, train: Ratings, test: Ratings, predicted: Floats) -> dict[str, Any]:
        """Every metric on the test part. Privacy: private."""
        found = {name: metric(test.values(), predicted) for name, metric in METRICS.items()}
        if not all(map(math.isfinite, found.values())):
            raise ArithmeticError("a prediction is not a finite number")
        return found

    def _of(self, number: int) -> tuple[Ratings, Ratings]:
        if number not in self._latest:
            self._latest.clear()
            self._latest[number] = self.split.parts(self._ratings, number)
        return self._latest[number]
