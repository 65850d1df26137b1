"""One run of a grid: a model under a budget on a split, or a reference on it. Privacy: public."""

import hashlib
import json
import math
import sys
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import hushrec
from hushrec.models.base import Model
from hushrec.privacy.accounting.budget import Budget
from lab.published import analysis, name_of


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
        facts = {**self.coordinates(), **source, "hushrec": hushrec.__version__, **self._code()}
        return hashlib.sha256(json.dumps(facts, sort_keys=True).encode()).hexdigest()

    def _code(self) -> dict[str, str]:
        """Digest of the module of a model outside hushrec."""
        if self.config is None or ":" not in name_of(type(self.config)):
            return {}
        file = getattr(sys.modules[type(self.config).__module__], "__file__", None)
        return {"code": hashlib.sha256(Path(file).read_bytes()).hexdigest()} if file else {}
