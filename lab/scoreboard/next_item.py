"""The next like of each person, by lists in which own items count alike or by their order: nDCG@10.

    python -m lab.scoreboard.next_item ../shared/data/ml-100k.parquet --draws 10

Everybody's last like by time is held out, ties broken at random, and everybody trains with the rest. The file
has the columns user, item, rating and timestamp. *Rated hidden* leaves out of the list what the person had
rated by then, *middle* also counts threes half. ± is one standard error of the difference over people.
"""

import argparse
from pathlib import Path

import numpy as np
import polars as pl

import hushrec as hr
from hushrec.release.own_items import like_weights, weigh
from hushrec.release.top_n import Rows, top_n
from hushrec.testing import Seeded

SCALE, LIKES, K, LEAST = (1.0, 5.0, 1.0), 4.0, 10, 5


def rows_of(ratings: pl.DataFrame, users: pl.Series, items: pl.Series) -> tuple[Rows, np.ndarray]:
    """What each of these users gave, and when."""
    place = pl.DataFrame({"item": items, "place": np.arange(len(items), dtype=np.int32)})
    user = pl.DataFrame({"user": users, "row": np.arange(len(users))})
    given = ratings.join(place, on="item").join(user, on="user").sort("row", "place")
    indptr = np.searchsorted(given["row"].to_numpy(), np.arange(len(users) + 1))
    values = given["rating"].cast(pl.Float64).to_numpy()
    return Rows(indptr, given["place"].to_numpy(), values), given["timestamp"].to_numpy()


def measure(path: Path, epsilons: list[float], draws: int) -> None:
    ratings = pl.read_parquet(path).with_columns(pl.col("user", "item").cast(pl.String))
    shuffled = ratings.sample(fraction=1, shuffle=True, seed=0).sort("user", "timestamp", maintain_order=True)
    liked = shuffled.filter(pl.col("rating") >= LIKES)
    last = liked.group_by("user", maintain_order=True).last()
    train = liked.join(last, on=["user", "item"], how="anti")
    enough = liked.group_by("user").len().filter(pl.col("len") >= LEAST)["user"]
    last = last.filter(pl.col("user").is_in(enough.implode())).sort("user")
    users, items = last["user"], liked["item"].unique().sort()
    target = np.searchsorted(items.to_numpy(), last["item"].to_numpy())
    known = shuffled.join(last.select("user", held="item", until="timestamp"), on="user")
    known = known.filter((pl.col("timestamp") <= pl.col("until")) & (pl.col("item") != pl.col("held")))
    (own, times), (rated, rated_times) = rows_of(train, users, items), rows_of(known, users, items)
    one, stars = np.ones(len(own.items)), like_weights(rated.values, SCALE, LIKES)
    backwards = np.random.default_rng(0).permutation(len(one))
    lists = {
        "all alike": (weigh(own, one, None), None),
        "by recency": (weigh(own, one, times), None),
        "in an order that means nothing": (weigh(own, one, backwards), None),
        "all alike, rated hidden": (weigh(own, one, None), rated),
        "by recency, rated hidden": (weigh(own, one, times), rated),
        "all alike, rated hidden, middle": (weigh(rated, stars, None), rated),
        "by recency, rated hidden, middle": (weigh(rated, stars, rated_times), rated),
    }
    domain = hr.Domain(items.to_list(), max_users=1_000)
    data = hr.load(train.select(user_id="user", item_id="item").to_arrow(), domain)
    print(f"{len(users)} people, {len(items)} items")
    for epsilon in epsilons:
        found: dict[str, list[np.ndarray]] = {name: [] for name in lists}
        for draw in range(draws if np.isfinite(epsilon) else 1):
            if np.isfinite(epsilon):
                budget = hr.Budget(epsilon=epsilon, delta=1e-6, unit="user", adjacency="add-remove")
                release = hr.testing.fit(data, hr.PrivateEASE(), budget, entropy=Seeded(draw))
            else:
                release = hr.baseline(data, hr.PrivateEASE())
            for name, (rows, seen) in lists.items():
                listed = np.concatenate([block.items for block in top_n(release, rows, K, seen=seen)])
                hits = listed == target[:, None]
                found[name].append(np.where(hits.any(1), 1 / np.log2(2 + hits.argmax(1)), 0.0))
        base = np.array(found["all alike"])
        for name, values in found.items():
            difference = (np.array(values) - base).mean(0)
            error = difference.std() / np.sqrt(len(users))
            change = f"{difference.mean():+.4f} ± {error:.4f}"
            print(f"ε = {epsilon:g} | {name} | {np.mean(values):.4f} | {change}", flush=True)


if __name__ == "__main__":
    parser = argparse.ArgumentParser(description=__doc__.split("\n", 1)[0])
    parser.add_argument("ratings", type=Path)
    parser.add_argument("--epsilon", type=float, nargs="+", default=[4.0, np.inf])
    parser.add_argument("--draws", type=int, default=10)
    asked = parser.parse_args()
    measure(asked.ratings, asked.epsilon, asked.draws)
