"""The TOML file of an experiment: which data, which splits, which metrics, which models and budgets.

Privacy: public. A grid names where the data are; it holds none.
"""

import itertools
import json
import math
import tomllib
from collections.abc import Callable, Iterator
from pathlib import Path
from typing import Annotated, Any, Self, TypeVar

from pydantic import BeforeValidator, Field, ValidationError, field_validator, model_validator

from hushrec.errors import ConfigError, HushrecError
from hushrec.evaluation import baselines
from hushrec.evaluation.protocol import DEFAULT_METRICS
from hushrec.evaluation.rankings import named
from hushrec.models.base import Model
from hushrec.privacy.accounting.budget import Adjacency, Budget, Unit
from hushrec.settings import Frozen
from lab import published
from lab.experiments.measure import Bench, Case
from lab.experiments.results import columns_of
from lab.experiments.source import Data, Place, Split

T = TypeVar("T")
OneOrMore = Annotated[
    tuple[T, ...],
    BeforeValidator(lambda value: value if isinstance(value, list) else [value]),
    Field(min_length=1),
]
"""A value, or a list of values of which each is run."""
_RANKED_REFERENCE = "popularity"


class Run(Frozen):
    """A curve, or several: every combination of the listed units, adjacencies and ε is run.

    Args:
        name: of the curve.
        model: by its name in ``hushrec`` or ``lab.published``, by that of the command line, or as
            ``module:Class``.
        settings: of the model.
        unit: of the budget.
        adjacency: of the budget.
        epsilon: ε of the budget; ``inf`` is the baseline without noise, run once a split, and the default of
            models that are never noisy.
        delta: δ of the budget.
        seeds: draws of all noise for each split.
        fold_in: have known people folded in like everybody else, also where the release lists them.
    """

    name: str
    model: str
    settings: dict[str, Any] = Field(default_factory=dict)
    unit: OneOrMore[Unit] | None = None
    adjacency: OneOrMore[Adjacency] | None = None
    epsilon: OneOrMore[Annotated[float, Field(gt=0, allow_inf_nan=True)]] = ()
    delta: float | None = None
    seeds: int = Field(1, ge=1, le=1000)
    fold_in: bool = False

    @field_validator("model")
    @classmethod
    def _is_a_model(cls, name: str) -> str:
        return published.name_of(published.class_of(name))

    @model_validator(mode="before")
    @classmethod
    def _has_an_epsilon(cls, given: Any) -> Any:
        """Without noise, where the model has none."""
        if not isinstance(given, dict) or "epsilon" in given or not isinstance(given.get("model"), str):
            return given
        if getattr(published.class_of(given["model"]), "supports", ()):
            raise ValueError("a run of a model with noise needs epsilon; inf is the baseline without noise")
        return {**given, "epsilon": math.inf}

    @model_validator(mode="after")
    def _can_be_run(self) -> Self:
        offered = self.config().supports
        if not offered and self.budgets():
            raise ValueError(f"{self.model} adds no noise; leave out epsilon, or set it to inf")
        for budget in self.budgets():
            if (budget.unit, budget.adjacency) not in offered:
                raise ValueError(
                    f"{self.model} offers no guarantee for unit {budget.unit} under {budget.adjacency}"
                )
        return self

    def config(self) -> Model:
        """The model."""
        made: Model = published.class_of(self.model)(**self.settings)
        return made

    def budgets(self) -> list[Budget]:
        """Every combination of unit, adjacency and finite ε."""
        finite = sorted(filter(math.isfinite, self.epsilon))
        if not finite:
            return []
        if self.unit is None or self.adjacency is None or self.delta is None:
            raise ValueError("a budget has all of epsilon, delta, unit and adjacency")
        return [
            Budget(epsilon=epsilon, delta=self.delta, unit=unit, adjacency=adjacency)
            for unit, adjacency, epsilon in itertools.product(self.unit, self.adjacency, finite)
        ]

    def cases(self, split: int, entropy: Callable[[int, int], int]) -> Iterator[Case]:
        """Its runs on one split, the baseline without noise last."""
        config = self.config()
        for budget, seed in itertools.product(self.budgets(), range(self.seeds)):
            yield Case(self.name, split, config, budget, seed, entropy(split, seed), self.fold_in)
        if math.inf in self.epsilon:
            yield Case(self.name, split, config, fold_in=self.fold_in)


class Measure(Frozen):
    """What is measured. RMSE and MAE are measured of all ratings that a model predicts.

    Args:
        metrics: of rankings, such as recall@20. On interactions,
            ``hushrec.evaluation.protocol.DEFAULT_METRICS`` by default; on ratings nothing.
        likes: of ratings that are ranked: the lowest rating of an item to be found.
    """

    metrics: tuple[str, ...] = ()
    likes: float | None = None

    @field_validator("metrics")
    @classmethod
    def _of_rankings(cls, names: tuple[str, ...]) -> tuple[str, ...]:
        if errors := [name for name, at in named(names).items() if not at]:
            raise ValueError(f"{errors[0]} is measured of ratings by itself; list only metrics of rankings")
        return tuple(dict.fromkeys(names))


class Reference(Frozen):
    """One of ``hushrec.evaluation.baselines``: a prediction such as ``item average``, or ``popularity``."""

    name: str

    @field_validator("name")
    @classmethod
    def _is_known(cls, name: str) -> str:
        made = [n for n, f in vars(baselines).items() if getattr(f, "__module__", "") == baselines.__name__]
        known = [n.replace("_", " ") for n in made if not n.startswith("_")]
        if name not in known:
            raise ValueError(f"there is no reference {name!r}; there are {', '.join(known)}")
        return name


class Grid(Frozen):
    """An experiment.

    Args:
        data: the ratings or interactions.
        split: training and test parts.
        measure: metrics.
        run: curves.
        reference: predictions or rankings that know nothing of noise, one row a split.
    """

    data: Data
    split: Split
    measure: Measure = Measure()
    run: tuple[Run, ...] = ()
    reference: tuple[Reference, ...] = ()

    @model_validator(mode="after")
    def _has_apart_names(self) -> Self:
        shared = {run.name for run in self.run} & {reference.name for reference in self.reference}
        if shared:
            raise ValueError(f"a run and a reference are both named {min(shared)!r}; rename the run")
        return self

    @classmethod
    def open(cls, path: Path, data: Path | None = None) -> Self:
        """Read a TOML file.

        Args:
            path: the file.
            data: folder of the data sets that it names; by default where ``data get`` keeps them.
        """
        try:
            values = tomllib.loads(path.read_text(encoding="utf-8"))
        except (OSError, ValueError) as error:
            raise ConfigError(f"{path} cannot be read as a grid: {error}") from None
        try:
            return cls.model_validate(values, context=Place(path.parent, data))
        except ValidationError as error:
            parts = (f"{_key(e['loc'])}: {e['msg'].removeprefix('Value error, ')}" for e in error.errors())
            raise ConfigError(f"{path}: {'; '.join(parts)}") from None
        except HushrecError as error:
            raise ConfigError(f"{path}: {error}") from None

    def cases(self) -> list[Case]:
        """Every run, split by split, so that early rows already show whole curves."""
        self._require_fit()
        made = [case for split in self.split.numbers for case in self._cases(split)]
        seen: dict[str, str] = {}
        for case in made:
            said = json.dumps(case.coordinates(), sort_keys=True)
            if said in seen:
                raise ConfigError(f"{case.name!r} repeats a run of {seen[said]!r}; list every run once")
            seen[said] = case.name
        return made

    def metrics(self) -> tuple[str, ...]:
        """Metrics of rankings."""
        if not self.measure.metrics and self.data.feedback == "interactions":
            return DEFAULT_METRICS["interactions"]
        return self.measure.metrics

    def columns(self) -> dict[str, Any]:
        """Columns of the table."""
        return columns_of(self.data.feedback == "ratings", self.metrics())

    def source(self) -> dict[str, str]:
        """Digests of data and domain, the way of splitting, and of rankings what is measured."""
        domain = self.data.domain_of().digest
        said = {"splits": str(self.split), "data": self.data.digest(), "domain": domain}
        if not self.metrics():
            return said
        likes = "" if self.measure.likes is None else f", likes {self.measure.likes:g}"
        return {**said, "measured": ", ".join(self.metrics()) + likes}

    def bench(self) -> Bench:
        """Where the runs are measured."""
        return Bench(self.data, self.split, self.metrics(), self.measure.likes)

    def _require_fit(self) -> None:
        feedback, ranked, likes = self.data.feedback, self.metrics(), self.measure.likes
        for run in self.run:
            if (needed := run.config().feedback) != feedback:
                raise ConfigError(
                    f"{run.name!r}: {run.model} works on {needed}, and these data are {feedback}; choose "
                    "another model, or other data"
                )
        for reference in self.reference:
            if reference.name == _RANKED_REFERENCE and not ranked:
                raise ConfigError("popularity is a ranking; list metrics of rankings under [measure]")
            if reference.name != _RANKED_REFERENCE and feedback == "interactions":
                raise ConfigError(f"{reference.name!r} predicts ratings; the reference here is popularity")
        if feedback == "ratings" and bool(ranked) != (likes is not None):
            raise ConfigError(
                "metrics of rankings of ratings need likes, the lowest rating of an item to be found, and "
                "likes need such metrics; give both or neither under [measure]"
            )
        if feedback == "interactions" and likes is not None:
            raise ConfigError("all held-out interactions are to be found; leave out likes under [measure]")

    def _cases(self, split: int) -> Iterator[Case]:
        for reference in self.reference:
            yield Case(reference.name, split)
        for run in self.run:
            yield from run.cases(split, self.split.entropy)


def _key(path: tuple[int | str, ...]) -> str:
    """``run[1].epsilon``, the number counted from 1 as a reader of the file counts."""
    parts = (f"[{part + 1}]" if isinstance(part, int) else f".{part}" for part in path)
    return "".join(parts).lstrip(".")
