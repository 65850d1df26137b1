"""One run of a grid, measured.

Privacy: private. Nothing is charged, and errors are measured on held-out ratings.
"""

import math
import platform
import time
from contextlib import suppress
from pathlib import Path
from typing import Any

import numpy as np

import hushrec
from hushrec.curator.fit import fit
from hushrec.data.ratings import Ratings
from hushrec.evaluation import baselines
from hushrec.evaluation.metrics import METRICS
from hushrec.evaluation.protocol import evaluate
from hushrec.experiments.case import Case
from hushrec.experiments.source import Data, Split
from hushrec.privacy.noise.entropy import Seeded


class Bench:
    """A place to run cases: holds the ratings, and the parts of the latest split.

    Args:
        data: what is loaded, once.
        split: how it is divided.

    Privacy: private.
    """

    def __init__(self, data: Data, split: Split) -> None:
        self._ratings, self._split = data.load(), split
        self._number, self._parts = -1, (self._ratings, self._ratings)

    def measure(self, case: Case) -> dict[str, Any]:
        """Columns of what a case came to; of a case that fails, ``error`` says why.

        Privacy: private.
        """
        versions = {
            "hushrec": hushrec.__version__,
            "numpy": np.__version__,
            "python": platform.python_version(),
        }
        _forget_peak()
        try:
            found = self._measure(case)
        except Exception as error:  # whatever it is, the other runs go on
            found = {"error": f"{type(error).__name__}: {error}"}
        return {**case.coordinates(), **found, "peak_mb": _peak(), **versions}

    def _measure(self, case: Case) -> dict[str, Any]:
        train, test = self._of(case.split)
        start = time.perf_counter()
        if case.config is None:
            predicted = getattr(baselines, case.name.replace(" ", "_"))(train, test)
            errors = {name: metric(test.values(), predicted) for name, metric in METRICS.items()}
            return {**_finite(errors), "predict_seconds": time.perf_counter() - start}
        entropy = Seeded(case.entropy) if case.budget else None
        release = fit(train, case.config, case.budget, entropy=entropy)
        fitted = time.perf_counter()
        found = evaluate(release, train=train, test=test, metrics=METRICS, at_home=case.at_home)
        return {
            **_finite(dict(found)),
            "true_epsilon": release.statement.epsilon,
            "claimed_epsilon": release.statement.claimed_epsilon,
            "fit_seconds": fitted - start,
            "predict_seconds": time.perf_counter() - fitted,
        }

    def _of(self, number: int) -> tuple[Ratings, Ratings]:
        if number != self._number:
            self._number, self._parts = number, self._split.parts(self._ratings, number)
        return self._parts


def _finite(errors: dict[str, float]) -> dict[str, float]:
    if not all(map(math.isfinite, errors.values())):
        raise ArithmeticError("a prediction is not a finite number")
    return errors


def _forget_peak() -> None:
    """Have Linux measure the largest resident size from here."""
    with suppress(OSError):
        Path("/proc/self/clear_refs").write_text("5")


def _peak() -> float | None:
    """Largest resident size of this process in MB; None where the system does not tell."""
    with suppress(OSError):
        for line in Path("/proc/self/status").read_text().splitlines():
            if line.startswith("VmHWM:"):
                return int(line.split()[1]) * 1024 / 1e6
    return None
