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
from rows import report

import hushrec as hr
from hushrec.release.artefact import Release
from hushrec.release.statement import placeholder_statement

CATALOGUES, RANK, GIVEN, CALLS = (4_000, 17_770, 80_000), 20, 200, 30


def release(n):
    """A release of random numbers."""
    rng = np.random.default_rng(0)
    tensors = {
        "item_effects": rng.uniform(2, 4, n),
        "item_noise": rng.uniform(0.5, 1.5, n),
        "item_popularity": rng.lognormal(3, 2, n),
        "item_factors": rng.standard_normal((n, RANK)) / RANK**0.5,
    }
    return Release(
        model="Generated",
        settings={},
        kind="factors",
        items=tuple(f"i{k}" for k in range(n)),
        scale=(1.0, 5.0, 1.0),
        constants={"user_mean": 0.1, "user_variance": 0.2, "bias_noise": 0.8},
        tensors={name: tensor.astype(np.float32) for name, tensor in tensors.items()},
        statement=placeholder_statement(),
    )


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
        client = hr.Client(release(n))
        own = {f"i{k}": float(rng.integers(1, 6)) for k in rng.choice(n, GIVEN, replace=False)}
        ten = [f"i{k}" for k in range(10)]
        works = {"ten best": lambda c=client, o=own: c.recommend(o, 10)}
        works["ten ratings"] = lambda c=client, o=own, t=ten: c.predict(o, t)
        for name, work in works.items():
            taken, worked = milliseconds(work)
            mark = "≤ 5 ms" if n == 17_770 and name == "ten best" else ""
            more = {"amount": n, "mark": mark, "note": f"{taken:.2f} ms by the clock"}
            report("prediction", f"one user: fold-in, {name}", f"{n:,} items", "ms", worked, **more)


if __name__ == "__main__":
    main()
