"""The linkage attack of Narayanan & Shmatikov 2008 on releases of MovieLens 1M.

Of 1,000 people the attacker knows 8 ratings each, 2 of them of items that the person never rated, and looks
for the person's row.

Privacy: private. All noise is seeded, and the shares are measured on real ratings.
"""

from dataclasses import dataclass
from functools import cached_property
from pathlib import Path
from typing import Any

import numpy as np
import polars as pl

import hushrec as hr
from hushrec.models.du_leighton_patel.groups import quantile_threshold
from hushrec.models.du_leighton_patel.method import Method
from hushrec.models.du_leighton_patel.substitution import worst_per_slot
from lab.attacks.linkage import simulate_attack
from lab.du_leighton_patel.randomizing import RANDOMIZED, SHARED, UNSTATED
from lab.experiments import datasets
from lab.experiments.tables import markdown
from lab.published import DuRepresentatives, PublishedMethod, cost
from lab.reproduction import Trial, Trials

RESPONSES = {"corrected": (50, 500, 1000, 2000, 3000, 5000, 7000), "published": (50, 2000)}
KEPT = 0.97, 0.95, 0.9, 0.8, 0.5, 0.2
SHARES = ("first", "named", "misnamed")
TYPES = {"kept": pl.Float64, "shared": pl.Boolean, "analysis": pl.String}
TYPES |= {"claimed": pl.Int64, "epsilon": pl.String}


@dataclass(frozen=True)
class Attack:
    """Where releases are attacked.

    Attributes:
        folder: of the data sets.
    """

    folder: Path | None

    @cached_property
    def ratings(self) -> hr.People:
        """All of it, under a domain that names its items."""
        table = datasets.table("ml-1m", self.folder)
        domain = hr.Domain(sorted(table["item"].unique()), scale=(1, 5, 1), max_users=10_000)
        ratings: hr.People = hr.load(table, domain)
        return ratings

    @cached_property
    def threshold(self) -> float:
        """λ that a tenth of all pairs of items are within."""
        return quantile_threshold(self.ratings, "squared", 0.1)

    def open(self) -> None:
        """Load the ratings."""
        self.ratings  # noqa: B018  (cached)

    def measure(self, trial: Trial) -> list[dict[str, Any]]:
        """How each attacker fares, of 1,000 targets, and the true ε of a person."""
        method, budget, epsilon = self._release(**trial.settings)
        attacks = simulate_attack(self.ratings, method, budget).attacks
        return [
            {"attacker": a.name, "epsilon": epsilon, **{key: 1000 * getattr(a, key) for key in SHARES}}
            for a in attacks
        ]

    def _release(
        self, kept: float | None = None, shared: bool = False, analysis: Any = None, claimed: int = 0
    ) -> tuple[Method | None, hr.Budget | None, str]:
        if kept is not None:
            form = DuRepresentatives if shared else hr.DistanceBased
            local = form(
                keep_probability=kept, group_probability=kept, threshold=self.threshold, groups="ratings"
            )
            if isinstance(local, PublishedMethod):
                return local, UNSTATED, "∞"
            each = worst_per_slot(kept, kept, self.ratings.domain.n_items)
            return local, None, f"{each * np.median(self.ratings.counts):,.0f} (items only)"
        if analysis is None:
            return None, None, "∞"
        method = RANDOMIZED[analysis]()
        budget = hr.Budget(epsilon=float(claimed), delta=0.0, unit="user", adjacency="replace")
        return method, budget, f"{_worth(method, self.ratings.domain, budget):,.0f}"


def _worth(method: Method, domain: hr.Domain, budget: hr.Budget) -> float:
    """True ε of a person."""
    if isinstance(method, PublishedMethod):
        return cost(method, domain, budget).true
    return method.plan(domain, budget).epsilon


def work(folder: Path | None) -> Trials:
    """Every release that is attacked."""
    listed = [Trial("raw", {}), *(Trial(f"distance-based, p = p* = {p:g}", {"kept": p}) for p in KEPT)]
    listed += [Trial(f"{SHARED}, p = p* = {p:g}", {"kept": p, "shared": True}) for p in KEPT]
    for analysis, epsilons in RESPONSES.items():
        for epsilon in epsilons:
            name = f"randomized response, {analysis}, ε = {epsilon:,}"
            listed.append(Trial(name, {"analysis": analysis, "claimed": epsilon}))
    types = {**TYPES, "attacker": pl.String, **dict.fromkeys(SHARES, pl.Float64)}
    return Trials(listed, Attack(folder), types)


def table(rows: pl.DataFrame) -> str:
    """Of 1,000 targets, how many are found."""
    body = [
        [row["name"], row["attacker"], row["epsilon"], *(f"{row[share]:.1f}" for share in SHARES)]
        for row in rows.iter_rows(named=True)
    ]
    header = ["release", "attacker", "true ε of a person", "own row first", "named rightly", "named wrongly"]
    return markdown(header, body)
