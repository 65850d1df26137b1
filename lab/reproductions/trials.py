"""Runs of a reproduction that no grid describes: settings by name, and a bench of its own."""

import hashlib
import json
import math
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass
from typing import Any

import polars as pl
from scipy.special import stdtrit

import hushrec
from lab.experiments.results import RUN
from lab.experiments.work import Bench


def mean(values: Iterable[float]) -> tuple[float, float]:
    """Mean and half the width of its 95 % interval over seeds; NaN of one. Privacy: private."""
    values = list(values)
    n, centre = len(values), sum(values) / len(values)
    spread = math.sqrt(sum((v - centre) ** 2 for v in values) / (n - 1)) if n > 1 else math.nan
    return centre, float(stdtrit(n - 1, 0.975)) * spread / math.sqrt(n)


@dataclass(frozen=True, slots=True)
class Trial:
    """One run.

    Attributes:
        name: what it is called on the page.
        settings: JSON values by column, on which its result depends.
    """

    name: str
    settings: Mapping[str, Any]

    @property
    def digest(self) -> bytes:
        """SHA-256 of the settings: a seed of its own."""
        return hashlib.sha256(json.dumps(self.settings, sort_keys=True).encode()).digest()

    def coordinates(self) -> dict[str, Any]:
        """The settings."""
        return dict(self.settings)

    def key(self, source: dict[str, str]) -> str:
        """Digest of settings, source and hushrec's version."""
        facts = json.dumps({**source, "hushrec": hushrec.__version__}, sort_keys=True)
        return hashlib.sha256(self.digest + facts.encode()).hexdigest()


@dataclass(frozen=True, slots=True)
class Trials:
    """Trials as an experiment.

    Attributes:
        listed: the runs, in the order of the table.
        place: where they are run.
        types: of the columns: settings and results.
    """

    listed: Sequence[Trial]
    place: Bench[Trial]
    types: Mapping[str, type[pl.DataType]]

    def columns(self) -> dict[str, Any]:
        """Columns of the table."""
        return {**self.types, **RUN}

    def source(self) -> dict[str, str]:
        """Nothing beside the settings."""
        return {}

    def cases(self) -> Sequence[Trial]:
        """Every run."""
        return self.listed

    def bench(self) -> Bench[Trial]:
        """Where they are run."""
        return self.place
