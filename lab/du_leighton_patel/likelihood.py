"""How much released cells and slots tell, by simulation: likelihood ratios beside what is claimed.

Made-up rows are randomized as the methods say. The chance of every answer to every truth is bounded by
Clopper-Pearson limits that it passes once in 1e9; what is found is the largest logarithm of a ratio of lower
to upper limits. It is therefore a lower bound on ε, and above the truth once in millions of runs.

Privacy: public. Nobody's ratings are in it.
"""

import itertools
from dataclasses import dataclass
from typing import Any

import numpy as np
import polars as pl
from scipy import stats

import hushrec as hr
from hushrec.arrays import Ints
from hushrec.models.du_leighton_patel.features import ItemFeatures
from hushrec.privacy.noise.entropy import Seeded
from lab.attacks.rehearsal import seeded
from lab.du_leighton_patel.randomizing import RANDOMIZED, worth
from lab.experiments.tables import markdown
from lab.reproduction import Trial, Trials

MISTAKEN = 1e-9
PEOPLE, EACH = 500, 5_000
"""People, and cells of each symbol that each of them has."""
SLOTS = 400_000
"""People with one rating, for each item of the small catalogue."""
TYPES = dict.fromkeys(("claimed", "keep", "group", "true", "proven"), pl.Float64)


@dataclass(frozen=True)
class Simulation:
    """Where released cells and slots are counted."""

    def open(self) -> None:
        """Nothing is loaded."""

    def measure(self, trial: Trial) -> list[dict[str, Any]]:
        """True ε of a cell or slot, and what is found of it."""
        true, proven = (slots if "keep" in trial.settings else responses)(**trial.settings)
        return [{"true": true, "proven": proven}]


def work() -> Trials:
    """Both forms of randomized response, and distance-based releases."""
    listed = [
        Trial(analysis, {"analysis": analysis, "claimed": claimed})
        for analysis in ("published", "corrected")
        for claimed in (0.0, 0.5, 2.0, 5.0)
        if claimed or analysis == "published"
    ]
    for keep, group in ((0.9, 0.9), (0.8, 0.5), (0.5, 0.0)):
        listed.append(Trial(f"p* = {keep:g}, p = {group:g}", {"keep": keep, "group": group}))
    return Trials(listed, Simulation(), {"analysis": pl.String, **TYPES})


def tables(rows: pl.DataFrame) -> str:
    """Both tables."""
    cells, places = rows.filter(pl.col("keep").is_null()), rows.filter(pl.col("keep").is_not_null())
    first = [
        [row["name"], f"{row['claimed']:g}", f"{row['true']:.4f}", f"{row['proven']:.4f}"]
        for row in cells.iter_rows(named=True)
    ]
    second = [
        [row["name"], f"{row['true']:.4f}", f"{row['proven']:.4f}"] for row in places.iter_rows(named=True)
    ]
    header = ["randomized response", "ε_k claimed", "true ε of a cell", "found, at least"]
    slots = ["distance-based, 8 items in 2 groups", "exact ε of a slot", "found, at least"]
    return f"{markdown(header, first)}\n{markdown(slots, second)}"


def found(counts: Ints) -> float:
    """Lower bound on the largest ln of a ratio of chances; a row of counts for each truth."""
    total = counts.sum(axis=1, keepdims=True)
    least = np.asarray(stats.beta.ppf(MISTAKEN, counts, total - counts + 1))
    most = np.asarray(stats.beta.ppf(1 - MISTAKEN, counts + 1, total - counts))
    pairs = itertools.permutations(range(len(counts)), 2)
    return max(float(np.log(np.nan_to_num(least[a]) / most[b] + 1e-300).max()) for a, b in pairs)


def responses(claimed: float, analysis: str) -> tuple[float, float]:
    """True ε of a cell, and what is found of it, where ``claimed`` is claimed."""
    items = 6 * EACH
    domain = hr.Domain(range(items), scale=(1, 5, 1), max_users=PEOPLE, max_per_user=items)
    rated = items - EACH
    ratings = hr.People(
        domain,
        [f"{n:04d}" for n in range(PEOPLE)],
        np.arange(PEOPLE + 1) * rated,
        np.tile(np.arange(rated, dtype=np.int32), PEOPLE),
        np.tile(np.repeat(np.arange(5, dtype=np.uint8), EACH), PEOPLE),
    )
    budget = hr.Budget(epsilon=max(claimed, 1e-9) * items, delta=0.0, unit="user", adjacency="replace")
    method = RANDOMIZED[analysis]()
    data = seeded(ratings, method, budget, Seeded(1)).data
    assert data.ratings.values is not None
    pairs = data.ratings.items // EACH * 6 + data.ratings.values
    counts = np.bincount(pairs, minlength=36).reshape(6, 6)
    counts[:, 5] = PEOPLE * EACH - counts.sum(axis=1)
    return worth(data, method, ratings, budget)["cell_epsilon"], found(counts)


def slots(keep: float, group: float, items: int = 8) -> tuple[float, float]:
    """Exact ε of a slot, and what is found of it, on a small catalogue of two groups."""
    domain = hr.Domain(range(items), scale=(1, 5, 1), max_users=SLOTS * items)
    features = ItemFeatures(np.eye(2)[np.arange(items) % 2], ("even", "odd"))
    method = hr.DistanceBased(keep_probability=keep, group_probability=group, threshold=0.5, groups=features)
    counts = np.zeros((items, items), np.int64)
    for item in range(items):
        ratings = hr.People(
            domain,
            [f"{n:07d}" for n in range(SLOTS)],
            np.arange(SLOTS + 1),
            np.full(SLOTS, item, np.int32),
            np.zeros(SLOTS, np.uint8),
        )
        data = hr.testing.randomize(ratings, method, entropy=Seeded(item))
        counts[item] = np.bincount(data.ratings.items, minlength=items)
    local = data.statement.local
    assert local is not None
    return local.epsilon, found(counts)
