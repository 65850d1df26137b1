"""Exact noise: draws per second of the sampler, beside OpenDP's exact integers and NumPy's unsafe normals.

Run as ``python -m lab bench noise``; needs about 2 GB. OpenDP is optional: it is in
lab/requirements-bench.txt.
"""

from collections.abc import Callable
from functools import partial

import numpy as np
from bench import report, timed

from hushrec.privacy.noise import sampler
from hushrec.privacy.noise.distributions import GAUSSIAN, LAPLACE

KEY = bytes(range(32))
SCALES = {"3": 3.0, "1000": 1000.0, "10^4": 1e4, "2^20": 2.0**20, "2^45": 2.0**45}
SIZES, FEW = (10**5, 10**6, 10**7), 20_000
BESIDE = "3", "1000", "2^20"
PAIRS = 17_770 * 17_771 // 2  # of the items of the Netflix Prize


def seconds(run: Callable[[], object], repeats: int) -> tuple[float, float]:
    """Wall and processor seconds: medians of the repeats, after one run that is not counted."""
    wall, processor = np.median([timed(run) for _ in range(repeats + 1)][1:], axis=0)
    return float(wall), float(processor)


def rate(draw: Callable[[int], object], size: int, repeats: int = 5) -> float:
    """Million draws a second."""
    return size / seconds(lambda: draw(size), repeats)[0] / 1e6


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
    """Report every scale beside OpenDP, three sizes, and the noise of a whole triangle."""
    print(f"load or compile, tables and self-test: {timed(sampler.self_test)[0]:.2f} s")
    for name, sigma in SCALES.items():
        work, draw = f"rounded Gaussian, {name}", partial(sampler.rounded, GAUSSIAN, scale=sigma, key=KEY)
        sizes = SIZES if name == "1000" else SIZES[-1:]
        for size in sizes:
            ours = rate(draw, size)
            report("noise", work, f"{size:,} draws", "M draws/s", ours, amount=size)
        theirs = opendp_gaussian(sigma) if name in BESIDE else None
        if theirs:
            beside = {"peer": f"OpenDP's integer Gaussian, {FEW:,} draws", "theirs": rate(theirs, FEW, 2)}
            report("noise", f"{work}, beside", f"{size:,} draws", "M draws/s", ours, **beside, mark="≥ 500 ×")
    draw = partial(sampler.rounded, LAPLACE, scale=1e3, key=KEY)
    report("noise", "rounded Laplace, 1000", f"{size:,} draws", "M draws/s", rate(draw, size))
    draw = partial(sampler.rounded, GAUSSIAN, scale=1e3, key=KEY, threads=1)
    beside = {"peer": "NumPy's normals, neither exact nor secure"}
    beside |= {"theirs": rate(np.random.default_rng(0).standard_normal, size)}
    report(
        "noise",
        "rounded Gaussian, 1000, one thread",
        f"{size:,} draws",
        "M draws/s",
        rate(draw, size),
        **beside,
    )

    values = np.zeros(PAIRS, np.int64)
    for name in ("1000", "2^45"):
        wall, processor = seconds(lambda name=name: sampler.add(GAUSSIAN, values, SCALES[name], KEY), 2)
        work, note = f"rounded Gaussian, {name}, added in place", f"{processor:.2f} CPU s"
        report("noise", work, f"{PAIRS:,} draws", "s", wall, mark="≤ 2 s", note=note)


if __name__ == "__main__":
    main()
