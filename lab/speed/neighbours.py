"""User-kNN and item-kNN on generated ratings: seconds, memory and error, beside Surprise where there is one.

    python -m lab bench neighbours [--users 6000 --items 4000 --ratings 1000000]

One tenth of the ratings is predicted from the others, K = 40, by the cosine. Each row is a process of its
own, on two threads where it can use them. Surprise (extra sgd-peers, `make bench-sgd`) holds a matrix of all
people, or of all items; its cosine is over the items that both rated: the errors are of other predictors.
"""

import argparse
import resource
import subprocess
import sys
import time
from importlib.util import find_spec

import numpy as np

import hushrec as hr
from hushrec.data.split import holdout

K = 40


def parts(users, items, ratings):
    """Training and test part."""
    return holdout(hr.synthetic.netflix_like(users, items, ratings, seed=1), fraction=0.1, seed=0)


def ours(model, train, test):
    """Fit and predict; seconds, and the root mean square error."""
    small = hr.synthetic.netflix_like(100, 50, 1000, seed=0)
    one, other = holdout(small, fraction=0.1, seed=0)
    hr.evaluate(hr.baseline(one, model), train=one, test=other)  # compiles
    start = time.perf_counter()
    release = hr.baseline(train, model)
    fitted = time.perf_counter()
    error = hr.evaluate(release, train=train, test=test, metrics=("rmse",))["rmse"]
    return fitted - start, time.perf_counter() - fitted, error


def surprise(by_user, train, test):
    """The same by Surprise's KNNBasic or KNNWithMeans."""
    from surprise import Dataset, KNNBasic, KNNWithMeans, Reader

    tables = (part.table().to_pydict() for part in (train, test))
    given, wanted = (list(zip(*table.values(), strict=True)) for table in tables)
    data = Dataset(Reader(rating_scale=(1, 5)))
    built = data.construct_trainset([(*row, None) for row in given])
    kind = KNNBasic if by_user else KNNWithMeans
    model = kind(k=K, sim_options={"name": "cosine", "user_based": by_user}, verbose=False)
    start = time.perf_counter()
    model.fit(built)
    fitted = time.perf_counter()
    found = model.test(wanted)
    seconds = time.perf_counter() - fitted
    error = np.sqrt(np.mean([(one.est - one.r_ui) ** 2 for one in found]))
    return fitted - start, seconds, error


RUNS = {
    "hushrec UserKNN": lambda *of: ours(hr.UserKNN(n_neighbours=K, distance="cosine"), *of),
    "hushrec ItemKNN": lambda *of: ours(hr.ItemKNN(n_neighbours=K, distance="cosine"), *of),
    "Surprise by users": lambda *of: surprise(True, *of),
    "Surprise by items": lambda *of: surprise(False, *of),
}


def main():
    """Each in its process."""
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("--users", type=int, default=6_000)
    parser.add_argument("--items", type=int, default=4_000)
    parser.add_argument("--ratings", type=int, default=1_000_000)
    parser.add_argument("--one", choices=RUNS, help=argparse.SUPPRESS)
    asked = parser.parse_args()
    sizes = ["--users", asked.users, "--items", asked.items, "--ratings", asked.ratings]
    if not asked.one:
        print(f"{asked.users:,} users, {asked.items:,} items, {asked.ratings:,} ratings, K = {K}, cosine")
        for name in RUNS:
            if name.startswith("hushrec") or find_spec("surprise"):
                subprocess.run([sys.executable, __file__, "--one", name, *map(str, sizes)], check=True)
        return
    train, test = parts(asked.users, asked.items, asked.ratings)
    before = resource.getrusage(resource.RUSAGE_SELF).ru_maxrss
    fit, predict, error = RUNS[asked.one](train, test)
    more = (resource.getrusage(resource.RUSAGE_SELF).ru_maxrss - before) / 1024
    print(
        f"{asked.one:<18}  fit {fit:6.2f} s   predict {test.n_entries:,} in {predict:6.2f} s   "
        f"{more:6.0f} MiB beyond the ratings   RMSE {error:.4f}",
        flush=True,
    )


if __name__ == "__main__":
    main()
