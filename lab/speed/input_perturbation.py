"""Noise on every cell of people × items at a scale where the matrix does not fit: seconds and memory.

    python -m lab bench input_perturbation [--users 71567 --items 10677 --ratings 10000000]

Friedman, Berkovsky & Kaafar 2016 could not run this: with 71,567 people and 10,677 items the dense matrix has
764 M cells. Here the surviving fake ratings are drawn from their law. Ratings are made up.
"""

import argparse
import resource
import time

import hushrec as hr
from hushrec.privacy.grant import Grant
from lab.paper import PaperRun
from lab.published import FriedmanInputMF, analysis, fit

PUBLISHED = FriedmanInputMF(rank=8, epochs=5, item_reg=15, user_reg=20)
"""As in the table of lab/friedman_berkovsky_kaafar/friedman.md; rank and epochs as the corrected form's."""


def listed(ratings):
    """The same ratings, their people declared public."""
    domain = hr.Domain(
        ratings.domain.items,
        scale=ratings.domain.scale,
        max_users=ratings.domain.max_users,
        users=ratings.users.to_pylist(),
    )
    return hr.People(domain, ratings.users, ratings.indptr, ratings.items, ratings.values)


def peak():
    return resource.getrusage(resource.RUSAGE_SELF).ru_maxrss / 2**20


def main():
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--users", type=int, default=71_567)
    parser.add_argument("--items", type=int, default=10_677)
    parser.add_argument("--ratings", type=int, default=10_000_000)
    parser.add_argument("--epsilon", type=float, nargs="+", default=[8, 4])
    arguments = parser.parse_args()
    ratings = listed(hr.synthetic.netflix_like(arguments.users, arguments.items, arguments.ratings, seed=1))
    cells = arguments.users * arguments.items
    print(f"{arguments.ratings:,} ratings, {cells:,} cells; before any fit {peak():.1f} GiB")
    seconds = {}

    def timed(draw):
        def measured(*given, **named):
            start = time.perf_counter()
            found = draw(*given, **named)
            seconds["noise"], seconds["kept"] = time.perf_counter() - start, len(found.columns)
            return found

        return measured

    Grant.measure_cells, PaperRun.measure_cells = timed(Grant.measure_cells), timed(PaperRun.measure_cells)
    print("    ε  analysis   cells kept  noise, s   fit, s  peak, GiB")
    for epsilon in arguments.epsilon:
        for config in (hr.InputPerturbationMF(epochs=5), PUBLISHED):
            budget = hr.Budget(epsilon=epsilon, delta=1e-7, unit="record", adjacency="add-remove")
            start = time.perf_counter()
            if config is PUBLISHED:
                fit(ratings, config, budget, 1)
            else:
                hr.testing.fit(ratings, config, budget, entropy=hr.testing.Seeded(1))
            whole, kept = time.perf_counter() - start, seconds["kept"]
            print(
                f"{epsilon:>5g}  {analysis(config):9}  {kept:>11,}"
                f"  {seconds['noise']:>8.1f}  {whole:>7.1f}  {peak():>9.1f}",
                flush=True,
            )


if __name__ == "__main__":
    main()
