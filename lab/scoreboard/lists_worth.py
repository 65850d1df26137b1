"""What lists find of real people's items, beside what they find of a made-up crowd of their size.

    python -m lab bench lists_worth [--data FOLDER] [--sets ml-1m filmtrust] [--total 2 4 8] [--seeds 3]

One row a number of releases goes to ``lab/scoreboard/lists_worth.csv``: recall@20 of ``PrivateEASE`` and of
``Popularity`` at an equal share of the total, on real and on made-up people. Unit ``user``, add-remove,
δ = 1e-6. A sixth of the real people, at most 1,000, is held out, and a fifth of their items is sought; the
crowd is declared as it is. Noise is seeded: no release here is private.
"""

import argparse
import csv
import math
from collections.abc import Iterator, Mapping
from dataclasses import replace
from pathlib import Path
from statistics import fmean
from typing import NamedTuple

import polars as pl

import hushrec as hr
from hushrec.data.split import held_out_people
from hushrec.data.synthetic import round_up
from hushrec.privacy.accounting.accountant import gaussian_epsilon, gaussian_mu
from hushrec.testing import Seeded

ROOT = Path(__file__).resolve().parents[2]
DATA, RESULTS = ROOT.parent / "shared/data", ROOT / "lab/scoreboard/lists_worth.csv"
SETS: Mapping[str, float] = {
    "ml-1m": 4,
    "ml-100k": 4,
    "anime-5k-users": 8,
    "filmtrust": 3.5,
    "netflix-sample/netflix-100k-rows": 0,
}
"""The lowest rating that is a like."""
RELEASES, METRIC = (52, 26, 12), "recall@20"
MOST_USERS, MOST_INTERACTIONS, MOST_ITEMS = 20_000, 1_000_000, 4_000
"""Largest made-up crowd, chosen by hand."""
TRIED = 2_000
"""Additional made-up people whose lists are measured and who are not in the fit; chosen by hand."""
TASTES = 1 / 3
"""Factors of their tastes, over the root of the number of items: 20 of 3,600 items. What lists gain over
popularity is then close to what they gain on MovieLens 1M and animated series.
"""
COLUMNS = ("data", "people", "items", "each", "total", "releases", "epsilon", "suggested", "lists")
COLUMNS += ("popularity", "dimensions", "made-up lists", "made-up popularity", "made-up dimensions")


def likes(path: Path, least: float) -> hr.Interactions:
    """What people like, in a domain that declares the crowd as it is."""
    table = pl.read_parquet(path).filter(pl.col("rating") >= least).unique(["user", "item"])
    people = table["user"].n_unique()
    items = table["item"].unique().sort().to_list()
    crowd = {"max_users": round_up(people), "expected_users": people, "expected_records": len(table)}
    columns = {"user_id": "user", "item_id": "item"}
    loaded = hr.load(table.select("user", "item"), hr.Domain(items, **crowd), hr.Reading(columns=columns))
    assert isinstance(loaded, hr.Interactions)
    return loaded


class Parts(NamedTuple):
    """People to fit, and others with the items that they fold in and those to be found."""

    train: hr.Interactions
    known: hr.Interactions
    sought: hr.Interactions


class Figures(NamedTuple):
    """recall@20 of lists and of popular items on people who were held out, and the dimensions of taste."""

    lists: float
    popularity: float
    dimensions: float


class Crowd(NamedTuple):
    """A crowd to make up, and its μ over that of the declared crowd.

    Above ``MOST_USERS`` it is smaller, n′ of n users, with less noise. Sums over people grow with n, and
    their noise Δ/μ does not, so signal over noise depends on μ n alone. It does not change with μ′ = μ n/n′.
    Directions of taste show by μ n/√m for m items, so a smaller catalogue takes μ′ = μ (n/n′) √(m′/m). Two
    effects remain: a smaller sample of people tells less even without noise, and a list finds more in a
    smaller catalogue.
    """

    domain: hr.Domain
    users: int
    each: float
    ratio: float

    @classmethod
    def like(cls, domain: hr.Domain) -> "Crowd":
        """The crowd for a domain that declares how many people give how much."""
        declared, items = domain.crowd, min(domain.n_items, MOST_ITEMS)
        each = min(declared.each, float(items))
        users = max(int(min(declared.users, MOST_USERS, MOST_INTERACTIONS / each)), 1)
        smaller = declared.users / users
        bound = max(math.ceil(domain.max_users / smaller), users)
        own = hr.Domain(range(items), max_users=bound, max_per_user=domain.max_per_user)
        return cls(own, users, each, smaller * math.sqrt(items / domain.n_items))

    def people(self, seed: int) -> Parts:
        everybody, items = self.users + TRIED, self.domain.n_items
        tastes = max(round(TASTES * math.sqrt(items)), 1)
        drawn = hr.synthetic.interactions(everybody, items, round(everybody * self.each), seed, tastes)
        drawn = replace(drawn, domain=self.domain)
        fitted = drawn.user_index() < self.users
        others = drawn.select(~fitted)
        _, known, sought = held_out_people(others, int((others.counts >= 2).sum()), seed, least=2)
        return Parts(drawn.select(fitted), known, sought)

    def less_noise(self, budget: hr.Budget) -> hr.Budget:
        """The budget with μ times ``ratio``."""
        if self.ratio == 1:
            return budget
        mu = self.ratio * gaussian_mu(budget.epsilon, budget.delta)
        return budget.model_copy(update={"epsilon": gaussian_epsilon(mu, budget.delta)})


def real(people: hr.Interactions, seeds: int) -> Iterator[Parts]:
    """Yield real people, of whom a sixth, at most 1,000, are held out."""
    for seed in range(seeds):
        yield Parts(*held_out_people(people, min(people.n_users // 6, 1_000), seed, least=2))


def measured(parts: Iterator[Parts], budget: hr.Budget) -> Figures:
    """Means over parts, each with noise of its own."""
    found = []
    for seed, (train, known, sought) in enumerate(parts):
        lists, popular = (
            hr.testing.fit(train, model, budget, entropy=Seeded(seed))
            for model in (hr.PrivateEASE(), hr.Popularity())
        )
        scores = [
            hr.evaluate(one, train=known, test=sought, metrics=[METRIC])[METRIC] for one in (lists, popular)
        ]
        found.append((*scores, float(lists.dimensions)))
    return Figures(*map(fmean, zip(*found, strict=True)))


def main() -> None:
    parser = argparse.ArgumentParser(
        description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter
    )
    parser.add_argument("--data", type=Path, default=DATA)
    parser.add_argument("--sets", nargs="+", default=[*SETS], choices=[*SETS])
    parser.add_argument("--total", nargs="+", type=float, default=(2.0, 4.0, 8.0))
    parser.add_argument("--seeds", type=int, default=3)
    given = parser.parse_args()
    is_there = RESULTS.is_file()
    with RESULTS.open("a", newline="", encoding="utf-8") as file:
        rows = csv.writer(file, lineterminator="\n")
        if not is_there:
            rows.writerow(COLUMNS)
        for name in given.sets:
            people = likes(given.data / f"{name}.parquet", SETS[name])
            domain = people.domain
            each = f"{domain.crowd.each:.1f}"
            for epsilon in given.total:
                total = hr.Budget(epsilon=epsilon, delta=1e-6, unit="user", adjacency="add-remove")
                for releases in RELEASES:
                    budget = hr.split_budget(total, releases)
                    crowd = Crowd.like(domain)
                    made_up = (crowd.people(seed) for seed in range(3))
                    figures = (
                        *measured(real(people, given.seeds), budget),
                        *measured(made_up, crowd.less_noise(budget)),
                    )
                    suggested = type(hr.suggest_model(domain, budget)).__name__
                    facts = name, people.n_users, domain.n_items, each, epsilon, releases, budget.epsilon
                    rows.writerow([*facts, suggested, *(f"{figure:.4g}" for figure in figures)])
                    file.flush()


if __name__ == "__main__":
    main()
