"""The weighted item-item covariance beside scipy's ``X.T @ X``, at three sizes of Netflix-like ratings.

    python -m lab bench covariance [--full] [--threads 2]

``Cov`` sums w_u a_u a_uᵀ over centred ratings on a grid of 2^-9, ``Wgt`` the same over ones along with it.
Items ascend by their raters, as those of a head do. scipy multiplies float64 rows that hold √w_u a_u already,
with the one thread that it has; the ratio is its time over that of Cov alone, both in this process, one after
the other. ``peak`` is what the process held at most during Cov and Wgt, all arguments and both results
included; ``added`` is what one Cov alone added, its result included. Seconds grow with Σ c_u². ``--full`` is
100 M ratings instead, which scipy does not get to see.
"""

import argparse
import sys
from statistics import median
from time import perf_counter

import numpy as np
from rows import forget_peak, report, resident
from scipy.sparse import csr_array

from hushrec.data.synthetic import netflix_like
from hushrec.kernels.csr import diagonal_positions, packed_size
from hushrec.sums.kernels.gram import weighted_gram

SIZES = {
    "1M": (6_040, 3_706, 1_000_000),
    "3M": (21_000, 6_300, 3_000_000),
    "10M": (69_878, 10_677, 10_000_000),
}
FULL = {"100M": (480_189, 17_770, 100_500_000)}


def seconds(work):
    start = perf_counter()
    result = work()
    return perf_counter() - start, result


def measure(name, users, n_items, n_ratings, threads, *, with_scipy):
    ratings = netflix_like(users, n_items, n_ratings, seed=0)
    indptr, counts = ratings.indptr, ratings.counts
    places = np.empty(n_items, np.int32)
    places[np.argsort(np.bincount(ratings.items, minlength=n_items), kind="stable")] = np.arange(n_items)
    items = places[ratings.items]
    raters = np.maximum(np.bincount(items, minlength=n_items), 1)
    values = ratings.values.astype(np.float32)
    mean = (np.bincount(items, values, n_items) / raters).astype(np.float32)
    entries = np.rint(512 * (values - mean[items])).astype(np.int32)
    weights = np.rint(2**20 / np.sqrt(counts)).astype(np.int64)
    pairs = float((counts * (counts + 1) // 2).sum())
    del ratings, values

    def cov():
        return weighted_gram(indptr, items, entries, weights, n_items, threads=threads)

    def both():
        sums = np.zeros(packed_size(n_items), np.int64)
        return weighted_gram(indptr, items, entries, weights, n_items, threads=threads, co_rating=sums)

    before = resident("VmRSS")
    forget_peak()
    first, matrix = seconds(cov)
    added = resident("VmHWM") - before
    together = [(first, seconds(both)[0])]
    peak = resident("VmHWM")
    if with_scipy:
        scaled = entries * np.repeat(np.sqrt(weights), counts)
        x = csr_array((scaled, items, indptr), shape=(users, n_items))
        scipy, product = seconds(lambda: x.T @ x)
        diagonal = matrix[diagonal_positions(n_items)]
        if not np.allclose(product.diagonal(), diagonal, rtol=1e-9):
            sys.exit("scipy and hushrec differ")
        del product, x, scaled
        together += [(seconds(cov)[0], seconds(both)[0]) for _ in range(2)]
    cov_s, both_s = (median(times) for times in zip(*together, strict=True))
    size, squares = f"{name} ratings × {n_items:,} items", float((counts.astype(np.float64) ** 2).sum())
    note = f"{pairs / cov_s / 1e9:.2f} G pairs/s; peak {peak:.2f} GB, {added:.2f} of it added"
    if with_scipy:
        beside = {"peer": "scipy X.T @ X, one thread", "theirs": scipy, "mark": "≥ 10 ×"}
        report("covariance", f"covariance, {threads} threads", size, "s", cov_s, amount=squares, **beside)
        return
    report("covariance", f"covariance alone, {threads} threads", size, "s", cov_s, note=note)
    work = f"covariance and weights, {threads} threads"
    report("covariance", work, size, "s", both_s, mark="≤ 30 s")
    report("covariance", f"{work}: peak", size, "GB", peak, mark="≤ 8 GB")


def main():
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawTextHelpFormatter)
    parser.add_argument("--full", action="store_true", help="100 M ratings, without scipy")
    parser.add_argument("--threads", type=int, default=2)
    asked = parser.parse_args()
    one = np.array([0, 1]), np.zeros(1, np.int32), np.ones(1, np.int32), np.ones(1, np.int64), 1
    start = perf_counter()
    for sums in (None, np.zeros(1, np.int64)):
        weighted_gram(*one, co_rating=sums)
    print(f"compiled, or loaded from the cache, in {perf_counter() - start:.1f} s")
    for name, size in (FULL if asked.full else SIZES).items():
        measure(name, *size, asked.threads, with_scipy=not asked.full)


if __name__ == "__main__":
    main()
