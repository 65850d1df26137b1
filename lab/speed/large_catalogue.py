"""The covariance of the head of a large catalogue, on generated ratings, for unit user at ε = 8.

python -m lab bench large_catalogue 60_000 60_000 6_000_000 1_000 4_000     items, users, ratings, heads

Error of held-out ratings, processor seconds and size of the file, of GlobalEffects and of CovarianceSVD for
each number of items whose pairs are measured. Memory grows with its square: ``hushrec plan`` says it.
"""

import sys
import time

import numpy as np

import hushrec as hr
from hushrec.data.split import holdout
from hushrec.models.base import PrivateModel

BUDGET = hr.Budget(epsilon=8.0, delta=1e-7, unit="user", adjacency="add-remove")


def measure(train: hr.People, test: hr.People, model: PrivateModel, head: int) -> str:
    """One line of the table."""
    start = time.process_time()
    release = hr.testing.fit(train, model, BUDGET, entropy=hr.testing.Seeded(1))
    seconds = time.process_time() - start
    rmse = hr.evaluate(release, train=train, test=test)["rmse"]
    counts = np.sort(np.bincount(train.items, minlength=train.domain.n_items))[::-1]
    share = counts[:head].sum() / counts.sum()
    size = len(release.to_bytes()) / 1e6
    return f"{head:>9,} {share:>8.2f} {rmse:>8.4f} {seconds:>8.0f} {size:>8.1f}"


def main() -> None:
    """Generate, split, fit, and print."""
    items, users, ratings, *heads = map(int, sys.argv[1:])
    made = hr.synthetic.netflix_like(users, items, ratings, seed=3)
    train, test = holdout(made, 0.05, seed=0)
    print("pairs of   share of   RMSE   processor   file")
    print("   items    ratings           seconds     MB", flush=True)
    print(measure(train, test, hr.GlobalEffects(), 0), flush=True)
    for head in heads:
        model = hr.CovarianceSVD(covariance={"pair_items": head})
        print(measure(train, test, model, head), flush=True)


if __name__ == "__main__":
    main()
