"""What lists find of real people's items, beside what ``hr.worth`` expects of a made-up crowd of their size.

    python -m lab bench lists_worth [--data FOLDER] [--sets ml-1m filmtrust] [--total 2 4 8] [--seeds 3]

One row a number of releases goes to ``lab/results/lists_worth.csv``: recall@20 of ``PrivateEASE`` and of
``Popularity`` at an equal share of the total, on real and on made-up people. Unit ``user``, add-remove,
δ = 1e-6. A sixth of the real people, at most 1,000, is held out, and a fifth of their items is sought; the
crowd is declared as it is. Noise is seeded: no release here is private.
"""

import argparse
import csv
from collections.abc import Mapping
from pathlib import Path
from statistics import fmean

import polars as pl

import hushrec as hr
from hushrec.data.split import held_out_people
from hushrec.data.synthetic import round_up
from hushrec.testing import Seeded

ROOT = Path(__file__).resolve().parents[2]
DATA, RESULTS = ROOT.parent / "shared/data", ROOT / "lab/results/lists_worth.csv"
SETS: Mapping[str, float] = {
    "ml-1m": 4,
    "ml-100k": 4,
    "anime-5k-users": 8,
    "filmtrust": 3.5,
    "netflix-sample/netflix-100k-rows": 0,
}
"""The lowest rating that is a like."""
RELEASES, METRIC = 52, "recall@20"
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


def measured(people: hr.Interactions, budget: hr.Budget, seeds: int) -> tuple[float, float, float]:
    """recall@20 of lists and of popular items on people who were held out, and the dimensions of taste."""
    found = []
    for seed in range(seeds):
        held_out = min(people.n_users // 6, 1_000)
        train, known, sought = held_out_people(people, held_out, seed, least=2)
        lists, popular = (
            hr.testing.fit(train, model, budget, entropy=Seeded(seed))
            for model in (hr.PrivateEASE(), hr.Popularity())
        )
        scores = [
            hr.evaluate(one, train=known, test=sought, metrics=[METRIC])[METRIC] for one in (lists, popular)
        ]
        found.append((scores[0], scores[1], float(lists.dimensions)))
    lists_find, popular_find, dimensions = map(fmean, zip(*found, strict=True))
    return lists_find, popular_find, dimensions


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
                for row in hr.worth(domain, hr.PrivateEASE(), total, RELEASES):
                    budget = total.model_copy(update={"epsilon": row.epsilon})
                    figures = (
                        *measured(people, budget, given.seeds),
                        row.recall,
                        row.popularity,
                        row.dimensions,
                    )
                    suggested = type(hr.suggest_model(domain, budget)).__name__
                    facts = name, people.n_users, domain.n_items, each, epsilon, row.releases, row.epsilon
                    rows.writerow([*facts, suggested, *(f"{figure:.4g}" for figure in figures)])
                    file.flush()


if __name__ == "__main__":
    main()
