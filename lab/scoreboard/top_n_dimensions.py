"""How many dimensions of taste survive the noise on real ratings and likes, and whether lists then differ.

    python -m lab bench top_n_dimensions [--data FOLDER] [--sets ml-100k ml-1m] [--epsilon 1 4] [--seeds 3]

One row a fit goes to ``lab/scoreboard/dimensions.csv``: the dimensions that its release counts, and the part
of the ten best items of the popular list, without their own, that a hundred people's lists share. Unit
``user``, add-remove, δ = 1e-6; the crowd is declared as the next of 1, 2, 5, 10, …; likes are ratings of 4 or
more (FilmTrust: 3.5). Models have their default settings. Noise is seeded: no release here is private.
"""

import argparse
import csv
from collections.abc import Mapping
from pathlib import Path

import numpy as np
import polars as pl

import hushrec as hr
from hushrec.testing import Seeded

ROOT = Path(__file__).resolve().parents[2]
DATA, RESULTS = ROOT.parent / "shared/data", ROOT / "lab/scoreboard/dimensions.csv"
SETS: Mapping[str, tuple[tuple[float, float, float], float]] = {
    "filmtrust": ((0.5, 4, 0.5), 3.5),
    "ml-latest-small": ((0.5, 5, 0.5), 4),
    "ml-100k": ((1, 5, 1), 4),
    "ml-1m": ((1, 5, 1), 4),
}
"""Scale, and the lowest rating that is a like."""
MODELS = hr.PrivateEASE, hr.CovarianceSVD, hr.UserLevelSGD, hr.PosteriorMF
EPSILONS, LENGTH, ASKED = (0.5, 1.0, 2.0, 4.0, 8.0), 10, 100
COLUMNS = "data", "people", "items", "model", "epsilon", "seed", "dimensions", "of popular list"


def domain(name: str, table: pl.DataFrame, *, likes: bool) -> hr.Domain:
    people = table["user"].n_unique()
    crowd = next(n * 10**k for k in range(9) for n in (1, 2, 5) if n * 10**k >= people)
    scale, least = SETS[name]
    items = sorted(table["item"].unique().to_list())
    return hr.Domain(items, scale=scale, likes=least if likes else None, max_users=crowd)


def shared(release: hr.Release, table: pl.DataFrame) -> float:
    """Mean part of the popular list, without own items, that people's own lists hold."""
    client, found = hr.Client(release), []
    ranked = [row.item_id for row in client.recommend({} if release.scale else [], len(release.items))]
    for user in table["user"].unique().sort().sample(ASKED, seed=0):
        rows = table.filter(pl.col("user") == user)
        own = dict(zip(rows["item"].cast(pl.String), rows["rating"], strict=True))
        popular = [item for item in ranked if item not in own][:LENGTH]
        listed = {row.item_id for row in client.recommend(own, LENGTH)}
        found.append(len(listed & set(popular)) / LENGTH)
    return float(np.mean(found))


def main() -> None:
    parser = argparse.ArgumentParser(
        description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter
    )
    parser.add_argument("--data", type=Path, default=DATA)
    parser.add_argument("--sets", nargs="+", default=[*SETS], choices=[*SETS])
    parser.add_argument("--epsilon", nargs="+", type=float, default=EPSILONS)
    parser.add_argument("--seeds", type=int, default=1)
    given = parser.parse_args()
    is_there = RESULTS.is_file()
    with RESULTS.open("a", newline="", encoding="utf-8") as file:
        rows = csv.writer(file, lineterminator="\n")
        if not is_there:
            rows.writerow(COLUMNS)
        for name in given.sets:
            table = pl.read_parquet(given.data / f"{name}.parquet").select("user", "item", "rating")
            columns = {"user_id": "user", "item_id": "item"}
            loaded = {
                likes: hr.load(table, domain(name, table, likes=likes), hr.Reading(columns=columns))
                for likes in (True, False)
            }
            sizes = loaded[False].n_users, loaded[False].domain.n_items
            for model in MODELS:
                for epsilon in given.epsilon:
                    budget = hr.Budget(epsilon=epsilon, delta=1e-6, unit="user", adjacency="add-remove")
                    for seed in range(given.seeds):
                        private = loaded[model.feedback == "interactions"]
                        release = hr.testing.fit(private, model(), budget, entropy=Seeded(seed))
                        row = (release.dimensions, f"{shared(release, table):.3f}")
                        rows.writerow([name, *sizes, model.__name__, epsilon, seed, *row])
                        file.flush()


if __name__ == "__main__":
    main()
