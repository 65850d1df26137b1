"""One contender on one split of a named data set: the recommended model, any other, or what is public alone.

Privacy: private. Nothing is charged, noise is seeded by the split, errors are measured on held-out ratings.
"""

import math
import time
from collections.abc import Callable, Iterable
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any, TypeVar

import polars as pl

import hushrec as hr
from hushrec import models
from hushrec.arrays import Floats
from hushrec.data.split import holdout
from hushrec.errors import HushrecError
from hushrec.evaluation import baselines
from hushrec.evaluation.compare import METRICS
from hushrec.evaluation.protocol import predictions
from hushrec.models.base import Model
from lab.reproduction import Trial, Trials
from lab.scoreboard.named_sets import NamedSet

__all__ = [
    "ALONE",
    "AVERAGE",
    "DELTA",
    "LISTING",
    "RECOMMENDED",
    "UNDECLARED",
    "Contest",
    "contender",
    "trials",
]

T = TypeVar("T")
RECOMMENDED, UNDECLARED = "recommended", "recommended, no crowd declared"
AVERAGE, ALONE = "item average", "public ratings alone"
LISTING = "InputPerturbationMF", "PrivateSGD", "PrivateALS"
"""Models that need a public list of users."""
OTHERS = "ml-latest-small"
"""The set whose ratings are taken for public."""
DELTA = 1e-6
HELD_OUT = 0.1
TYPES = {
    "data": pl.String,
    "public": pl.String,
    "unit": pl.String,
    "epsilon": pl.Float64,
    "model": pl.String,
    "split": pl.Int64,
    "chosen": pl.String,
    "rmse": pl.Float64,
    "mae": pl.Float64,
    "fit_seconds": pl.Float64,
    "refused": pl.String,
}


def contender(data: str, model: str, unit: str | None, epsilon: float, split: int, public: str = "") -> Trial:
    """A run.

    Args:
        data: name of a data set.
        model: class of a model, or one of ``RECOMMENDED``, ``UNDECLARED``, ``AVERAGE`` and
            ``ALONE``.
        unit: of the budget; None without noise.
        epsilon: of the budget; infinity without noise.
        split: number of the split, and seed of the noise.
        public: nothing, ``features`` or ``ratings``: what is known of the items.
    """
    settings = {"data": data, "public": public, "unit": unit, "epsilon": epsilon, "model": model}
    return Trial(f"{model} on {data}", {**settings, "split": split})


def trials(listed: Iterable[Trial], folder: Path | None) -> Trials:
    """Runs as an experiment."""
    return Trials(list(listed), Contest(folder), TYPES)


@dataclass(frozen=True)
class Contest:
    """A place to run contenders; it holds the parts of the latest split.

    Attributes:
        folder: of the data sets.

    Privacy: private.
    """

    folder: Path | None = None
    _held: dict[str, Any] = field(default_factory=dict, init=False, repr=False, compare=False)

    def open(self) -> None:
        """Compile what fits need, so that no run is timed with it."""
        made = hr.synthetic.netflix_like(60, 20, 600, seed=0)
        hr.baseline(made, hr.GlobalEffects())

    def measure(self, trial: Trial) -> list[dict[str, Any]]:
        """RMSE, MAE and processor seconds of a fit, and which model it was; or why it was refused.

        Raises:
            ArithmeticError: A prediction is not a finite number.
        """
        try:
            return [self._measured(**trial.settings)]
        except HushrecError as error:  # a model that does not support the budget or needs too much memory
            return [{"refused": str(error)}]

    def _measured(
        self, data: str, public: str, unit: Any, epsilon: float, model: str, split: int
    ) -> dict[str, Any]:
        train, test = self._parts(data, public, model, split)
        if model == AVERAGE:
            return _errors(test, baselines.item_average(train, test))
        if model == ALONE:
            return _errors(test, predictions(self._others(train.domain), train=train, test=test))
        exact = math.isinf(epsilon)
        budget = None if exact else hr.Budget(epsilon=epsilon, delta=DELTA, unit=unit, adjacency="add-remove")
        config: Model = (
            hr.suggest_model(train.domain, budget)
            if model in (RECOMMENDED, UNDECLARED)
            else models.class_of(model)()
        )
        prior = self._others(train.domain) if public == "ratings" else None
        start = time.process_time()
        if budget is None:
            release = hr.baseline(train, config, prior=prior)
        else:
            release = hr.testing.fit(train, config, budget, entropy=hr.testing.Seeded(split), prior=prior)
        seconds = time.process_time() - start
        # The branch that was taken says more than the model that took it.
        branches = [decision.name.removeprefix("branch.") for decision in release.statement.decisions]
        chosen = branches[0] if branches else models.name_of(type(config))
        return {
            **_errors(test, predictions(release, train=train, test=test)),
            "chosen": chosen,
            "fit_seconds": seconds,
        }

    def _parts(self, data: str, public: str, model: str, split: int) -> tuple[hr.People, hr.People]:
        """Training and test part."""
        facts = {
            "roster": model in LISTING,
            "described": public == "features",
            "declared": model != UNDECLARED,
        }
        form = data, *facts.values()
        named = self._latest("set", data, lambda: NamedSet(data, self.folder))
        ratings = self._latest("ratings", form, lambda: named.ratings(**facts))
        return self._latest("parts", (form, split), lambda: holdout(ratings, HELD_OUT, seed=split))

    def _others(self, domain: hr.Domain) -> hr.Release:
        """What is learned, without noise, from ratings that are public, under the domain's scale."""

        def made() -> hr.Release:
            table = NamedSet(OTHERS, self.folder).table
            frame = hr.Domain(domain.items, scale=domain.scale, max_users=1000, max_per_user=domain.n_items)
            return hr.baseline(hr.load(table, frame), hr.suggest_model(frame))

        return self._latest("others", domain.items, made)

    def _latest(self, kind: str, key: object, make: Callable[[], T]) -> T:
        """What was made last, if it was for the same."""
        if kind not in self._held or self._held[kind][0] != key:
            self._held[kind] = key, make()
        found: T = self._held[kind][1]
        return found


def _errors(test: hr.People, predicted: Floats) -> dict[str, Any]:
    """Errors of predictions.

    Raises:
        ArithmeticError: One is not a finite number.
    """
    found = {name: metric(test.numbers(), predicted) for name, metric in METRICS.items()}
    if not all(map(math.isfinite, found.values())):
        raise ArithmeticError("a prediction is not a finite number")
    return found
