"""One user's list and ratings from a release at rank 20, by the client; ``recommend_all.py`` has many users.

    python -m lab bench prediction

Made-up releases of three catalogues. The user rated 200 items; the client solves for their vector and ranks
the whole catalogue for ten items, or predicts ten ratings. Milliseconds of the CPU, on one thread: medians of
30 calls.
"""

import os

os.environ |= {"OPENBLAS_NUM_THREADS": "1", "OMP_NUM_THREADS": "1"}

from statistics import median  # NumPy, below, reads how many threads to use
from time import perf_counter, process_time

import numpy as np
from recommend_all import release
from rows import report

import hushrec as hr

CATALOGUES, GIVEN, CALLS = (4_000, 17_770, 80_000), 200, 30


def milliseconds(work):
    """Medians by the clock and of the CPU, after one call that is not counted."""
    taken = []
    for _ in range(CALLS + 1):
        start, worked = perf_counter(), process_time()
        work()
        taken.append((perf_counter() - start, process_time() - worked))
    return [1e3 * median(each) for each in zip(*taken[1:], strict=True)]


def main():
    rng = np.random.default_rng(1)
    for n in CATALOGUES:
        client = hr.Client(release("factors", n))
        own = {f"item-{k}": float(rng.integers(1, 6)) for k in rng.choice(n, GIVEN, replace=False)}
        ten = [f"item-{k}" for k in range(10)]
        works = {"ten best": lambda c=client, o=own: c.recommend(o, 10)}
        works["ten ratings"] = lambda c=client, o=own, t=ten: c.predict(o, t)
        for name, work in works.items():
            taken, worked = milliseconds(work)
            mark = "≤ 5 ms" if n == 17_770 and name == "ten best" else ""
            more = {"amount": n, "mark": mark, "note": f"{taken:.2f} ms by the clock"}
            report("prediction", f"one user: fold-in, {name}", f"{n:,} items", "ms", worked, **more)


if __name__ == "__main__":
    main()
