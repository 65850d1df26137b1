"""Exact noise: draws per second of the sampler, beside OpenDP's exact integers and NumPy's unsafe normals.

Run as ``python benchmarks/noise.py``; needs about 2 GB. OpenDP is optional: ``pip install 'hushrec[bench]'``.
"""

import time
from collections.abc import Callable

import numpy as np

from hushrec.privacy.noise import sampler

KEY = bytes(range(32))
SCALES = {"3": 3.0, "1000": 1000.0, "10^4": 1e4, "2^20": 2.0**20, "2^45": 2.0**45}
PAIRS = 17_770 * 17_771 // 2  # of the items of the Netflix Prize


def seconds(run: Callable[[], object], repeats: int) -> tuple[float, float]:
    """Wall and processor seconds: medians of the repeats, after one run that is not counted."""
    taken = []
    for _ in range(repeats + 1):
        wall, processor = time.perf_counter(), time.process_time()
        run()
        taken.append((time.perf_counter() - wall, time.process_time() - processor))
    wall, processor = np.median(taken[1:], axis=0)
    return float(wall), float(processor)


def heading(sizes: list[int]) -> None:
    """Print what the columns are."""
    columns = "".join(f"{f'{size:.0e}':>10s}" for size in sizes)
    print(f"\n{'million draws a second, at size':42s}{columns}{'per CPU s':>14s}{'exponent':>10s}")


def measure(
    name: str, draw: Callable[[int], object], sizes: list[int], repeats: int = 5
) -> tuple[float, float]:
    """Print draws per second at each size, per processor second, and p of time ~ size^p; the last two rates.

    On a machine with other work the rate per processor second says more than the rate per second.
    """
    taken = np.array([seconds(lambda size=size: draw(size), repeats) for size in sizes])
    walls, processors = taken.T
    columns = "".join(f"{size / wall / 1e6:10.3f}" for size, wall in zip(sizes, walls, strict=True))
    exponent = np.polyfit(np.log(sizes), np.log(processors), 1)[0]
    print(f"{name:42s}{columns}{sizes[-1] / processors[-1] / 1e6:14.3f}{exponent:10.2f}")
    return sizes[-1] / walls[-1], sizes[-1] / processors[-1]


def opendp_gaussian(sigma: float) -> Callable[[int], object] | None:
    """OpenDP's exact discrete Gaussian on 64-bit integers, or None where it is not installed."""
    try:
        import opendp.prelude as dp
    except ImportError:
        return None
    dp.enable_features("contrib")
    space = dp.vector_domain(dp.atom_domain(T="i64")), dp.l2_distance(T="f64")
    measurement = dp.m.make_gaussian(*space, scale=sigma)
    return lambda size: measurement([0] * size)


def main() -> None:
    """Print the tables."""
    start = time.perf_counter()
    sampler.self_test()
    print(f"load or compile, tables and self-test: {time.perf_counter() - start:.2f} s; then", end=" ")
    print(f"{seconds(sampler.self_test, 5)[0] * 1e3:.0f} ms a self-test")

    sizes, ours = [10**5, 10**6, 10**7], {}
    heading(sizes)
    for name, sigma in SCALES.items():
        for threads in (1, 2):
            ours[name, threads] = measure(
                f"hushrec, rounded Gaussian, {name}, {threads} threads",
                lambda n, s=sigma, t=threads: sampler.rounded_gaussian(n, s, KEY, threads=t),
                sizes,
            )
    measure(
        "hushrec, rounded Laplace, 1000, 2 threads", lambda n: sampler.rounded_laplace(n, 1e3, KEY), sizes
    )
    measure("numpy normals: neither exact nor secure", np.random.default_rng(0).standard_normal, sizes)

    values = np.zeros(PAIRS, np.int64)
    for name in ("1000", "2^45"):
        wall, processor = seconds(lambda name=name: sampler.add_gaussian(values, SCALES[name], KEY), 2)
        print(f"{PAIRS:,} draws of {name} added in place, 2 threads: {wall:.2f} s, {processor:.2f} CPU s")

    small = [5_000, 20_000, 80_000]
    heading(small)
    for name in ("3", "1000", "2^20"):
        draw = opendp_gaussian(SCALES[name])
        if draw is None:
            print("OpenDP is not installed: pip install 'hushrec[bench]'")
            return
        theirs = measure(f"OpenDP, discrete Gaussian, {name}", draw, small, repeats=2)
        for threads in (1, 2):
            clock, processor = np.divide(ours[name, threads], theirs)
            print(
                f"    hushrec, {threads} threads: {clock:,.0f} × by the clock, {processor:,.0f} × per CPU s"
            )


if __name__ == "__main__":
    main()
