"""Private ALS and SGD at three sizes: seconds of a whole fit, peak memory, and how the cost grows.

    python -m lab bench private_mf [--largest 10000000]

Ratings are made up; noise is seeded. The first fit of each model, which loads compiled code, is not counted.
"""

import argparse
import resource
import time

from rows import report

import hushrec as hr


def listed(users, items, ratings):
    made = hr.synthetic.netflix_like(users, items, ratings, seed=1)
    scale, bound = made.domain.scale, made.domain.max_users
    domain = hr.Domain(made.domain.items, scale=scale, max_users=bound, users=made.users.to_pylist())
    return hr.People(domain, made.users, made.indptr, made.items, made.values)


def main():
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--largest", type=int, default=10_000_000)
    largest = parser.parse_args().largest
    sizes = [largest // 10, largest * 3 // 10, largest]
    cases = [
        ("PrivateALS", hr.PrivateALS(), "record"),
        ("PrivateSGD", hr.PrivateSGD(), "record"),
        ("UserLevelSGD", hr.UserLevelSGD(), "user"),
        ("PosteriorMF", hr.PosteriorMF(), "user"),
        ("InputPerturbationMF", hr.InputPerturbationMF(), "replace"),
    ]
    small = listed(500, 200, 20_000)
    for place, data in enumerate([small, *(listed(n // 140, 10_677, n) for n in sizes)]):
        for name, config, unit in cases:
            adjacency = "replace" if unit == "replace" else "add-remove"
            protects = "record" if unit == "replace" else unit
            budget = hr.Budget(epsilon=4, delta=1e-8, unit=protects, adjacency=adjacency)
            start = time.perf_counter()
            hr.testing.fit(data, config, budget, entropy=hr.testing.Seeded(1))
            taken, n = time.perf_counter() - start, data.n_entries
            if place:
                work = f"{name}, unit {protects}, {adjacency}"
                report("private fit", work, f"{n / 1e6:g}M ratings", "s", taken, amount=n)
    print(f"peak memory {resource.getrusage(resource.RUSAGE_SELF).ru_maxrss / 2**20:.2f} GiB")


if __name__ == "__main__":
    main()
