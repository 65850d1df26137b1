"""The memory and time that plans foretell, beside what fits take: python -m lab bench footprint [NAME...]"""

import argparse
import ctypes
import json
import subprocess
import sys
import time

from bench import forget_peak, resident

import hushrec as hr
from hushrec.data.domain import Domain
from hushrec.models.base import Model
from hushrec.models.du_leighton_patel.method import Method
from hushrec.models.liu_wang_smola.chain import ChainSettings

RATING, USER = ("record", "add-remove"), ("user", "add-remove")
SHORT = ChainSettings(epochs=40)
SMALL, LARGE = (5_000, 2_000, 300_000), (20_000, 8_000, 1_000_000)
GROUPED = {"keep_probability": 0.5, "group_probability": 0.5, "threshold": 0.5, "groups": "ratings"}
CASES = {
    "GlobalEffects": (hr.GlobalEffects(), USER, [(20_000, 60_000, 1_000_000), (100_000, 2_000, 2_000_000)]),
    "GlobalEffects, released": (hr.GlobalEffects(user_biases="released"), RATING, [LARGE]),
    "CovarianceSVD": (hr.CovarianceSVD(), USER, [SMALL, (5_000, 6_000, 300_000)]),
    "CovarianceSVD, Laplace": (hr.CovarianceSVD(noise="laplace"), RATING, [SMALL]),
    "CovarianceKNN": (hr.CovarianceKNN(), RATING, [SMALL]),
    "InputPerturbationMF": (hr.InputPerturbationMF(epochs=6), RATING, [SMALL, (10_000, 4_000, 600_000)]),
    "PrivateALS": (hr.PrivateALS(epochs=5), RATING, [LARGE, (100_000, 8_000, 1_000_000)]),
    "PrivateSGD": (hr.PrivateSGD(epochs=12), RATING, [LARGE]),
    "UserLevelSGD": (hr.UserLevelSGD(epochs=12), USER, [LARGE]),
    "PosteriorMF": (hr.PosteriorMF(epochs=8), USER, [LARGE, (50_000, 50_000, 2_000_000)]),
    "PosteriorSampleMF": (hr.PosteriorSampleMF(chain=SHORT), USER, [LARGE]),
    "Popularity": (hr.Popularity(), USER, [LARGE]),
    "PrivateEASE": (hr.PrivateEASE(), USER, [LARGE, (100_000, 60_000, 2_000_000)]),
    "RandomizedResponse": (hr.RandomizedResponse(), ("user", "replace"), [(10_000, 2_000, 300_000)]),
    "DistanceBased": (
        hr.DistanceBased(**GROUPED, distance="cosine"),
        ("user", "replace-items"),
        [(20_000, 2_000, 1_000_000)],
    ),
}


def feedback(people: int, items: int, number: int, *, rated: bool) -> hr.People:
    """Netflix-shaped ratings of a roster, or interactions of the same shape."""
    made = hr.synthetic.netflix_like(people, items, number, 1)
    known = {"max_users": people, "users": made.users.to_pylist()}
    if not rated:
        domain = Domain(made.domain.items, **known)
        return hr.People(domain, made.users, made.indptr, made.items)
    domain = Domain(made.domain.items, scale=(1, 5, 1), **known)
    return hr.People(domain, made.users, made.indptr, made.items, made.values)


def made(data: hr.People, config: object, budget: hr.Budget) -> None:
    verb = hr.testing.fit if isinstance(config, Model) else hr.testing.randomize
    verb(data, config, budget, entropy=hr.testing.Seeded(1))


def measure(name: str, place: int) -> None:
    """In a process of its own: libraries and compiled code are there before, and are not counted."""
    config, (unit, adjacency), sizes = CASES[name]
    epsilon = 20_000.0 if name == "DistanceBased" else 4.0
    budget = hr.Budget(epsilon=epsilon, delta=1e-7, unit=unit, adjacency=adjacency)
    rated = not isinstance(config, Model) or config.feedback == "ratings"
    made(feedback(200, 140, 5_000, rated=rated), config, budget)
    data = feedback(*sizes[place], rated=rated)
    data.domain.digest  # noqa: B018  (cached, as by whoever has made a plan)
    planned = config.plan(data.domain, budget)
    first = planned if isinstance(config, Method) else None
    expected = config.footprint(*((first, data.domain) if first else (data.domain, budget)))
    ctypes.CDLL("libc.so.6").malloc_trim(0)
    before = resident("VmRSS")
    forget_peak()
    start = time.process_time()
    made(data, config, budget)
    seconds = time.process_time() - start
    print(
        json.dumps(
            {
                "memory": 1e9 * (resident("VmHWM") - before),
                "seconds": seconds,
                "expected": expected.bytes_held(len(data.items), data.n_users),
                "roughly": expected.seconds + expected.million_ratings * len(data.items) / 1e6,
            }
        )
    )


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("names", nargs="*", default=list(CASES), help="all by default")
    parser.add_argument("--one", nargs=2, help=argparse.SUPPRESS)
    asked = parser.parse_args()
    if asked.one:
        measure(asked.one[0], int(asked.one[1]))
        return
    print(
        "| model | people | items | ratings | planned, MB | measured, MB | ratio | planned, s | measured, s |"
    )
    print("|---|---:|---:|---:|---:|---:|---:|---:|---:|")
    for name in asked.names:
        for place, (people, items, number) in enumerate(CASES[name][2]):
            command = [sys.executable, __file__, "--one", name, str(place)]
            done = subprocess.run(command, capture_output=True, text=True)
            if done.returncode:
                print(name, place, done.stderr[-600:])
                continue
            found = json.loads(done.stdout)
            sizes = f"| {name} | {people:,} | {items:,} | {number:,} "
            memory = f"| {found['expected'] / 1e6:,.0f} | {found['memory'] / 1e6:,.0f} "
            ratio = f"| {found['expected'] / found['memory']:.2f} "
            print(sizes + memory + ratio + f"| {found['roughly']:.1f} | {found['seconds']:.1f} |", flush=True)


if __name__ == "__main__":
    main()
