"""Fits at the size of the Netflix ratings, from a folder: seconds of every stage, and peak memory.

    python -m lab bench netflix_scale [--ratings 100_500_000] [--models CovarianceSVD ...]

Ratings of 480,189 people for 17,770 items are generated and stored in a temporary folder; PrivateEASE is
fitted to the same rows as clicks. Each fit runs in a process of its own. The seconds of a stage are those
between two calls of the progress protocol, whose stages are public. The peak is the most that the process
held, libraries included.
"""

import argparse
import subprocess
import sys
import tempfile
import time
from pathlib import Path

from bench import report, resident

import hushrec as hr
from hushrec.data.domain import Domain
from hushrec.data.synthetic import netflix_like
from hushrec.models.mcsherry_mironov.covariance_model import CovarianceSettings

USERS, ITEMS, RATINGS = 480_189, 17_770, 100_500_000
KIND = "Netflix scale"
MODELS = {
    "CovarianceSVD": hr.CovarianceSVD(),
    "CovarianceSVD, all items": hr.CovarianceSVD(covariance=CovarianceSettings(pair_items=ITEMS)),
    "PosteriorMF": hr.PosteriorMF(epochs=32),
    "UserLevelSGD": hr.UserLevelSGD(),
    "PrivateEASE": hr.PrivateEASE(),
}
MARKS = {
    "CovarianceSVD": ("≤ 30 s", "≤ 1 GB"),
    "CovarianceSVD, all items": ("≤ 75 s", "≤ 3.5 GB"),
    "PosteriorMF": ("≤ 160 s", "≤ 0.5 GB"),
}
BUDGET = hr.Budget(epsilon=4.0, delta=1e-8, unit="user", adjacency="add-remove")


class Clock:
    """Seconds of the stages that lie in no other, as told by the progress of a fit."""

    def __init__(self) -> None:
        self.begun: dict[str, float] = {}
        self.whole: dict[str, float] = {}

    def stage(self, name: str, total: int | None) -> None:
        self.begun[name] = time.perf_counter()

    def advance(self, name: str) -> None:
        """Steps are not timed."""

    def done(self, name: str) -> None:
        took = time.perf_counter() - self.begun.pop(name)
        if not self.begun:
            self.whole[name] = self.whole.get(name, 0.0) + took


def make(folder: Path, n_ratings: int) -> None:
    """Store ratings, and the same as clicks."""
    ratings = netflix_like(max(USERS * n_ratings // RATINGS, 1), ITEMS, n_ratings, 1)
    clicks = hr.Domain(ratings.domain.items, max_users=ratings.domain.max_users)
    same = hr.People(clicks, ratings.users, ratings.indptr, ratings.items)
    for kind, rows in (("ratings", ratings), ("interactions", same)):
        rows.domain.save(folder / f"{kind}.json")
        hr.load(rows.table(), rows.domain, where=folder / kind)


def fit(folder: Path, name: str) -> None:
    """Fit once, and report."""
    model = MODELS[name]
    kind = model.feedback
    people = hr.People.open(folder / kind, Domain.open(folder / f"{kind}.json"))
    size = f"{people.n_entries / 1e6:.1f}M ratings × {people.domain.n_items:,} items"
    marks = MARKS.get(name, ("", "")) if people.n_entries >= RATINGS else ("", "")
    start, busy, clock = time.perf_counter(), time.process_time(), Clock()
    hr.testing.fit(people, model, BUDGET, entropy=hr.testing.Seeded(1), progress=clock)
    took, note = time.perf_counter() - start, f"{time.process_time() - busy:.1f} CPU s"
    report(KIND, f"{name}, unit user", size, "s", took, mark=marks[0], note=note)
    for stage, seconds in clock.whole.items():
        report(KIND, f"{name}: {stage}", size, "s", seconds)
    report(KIND, f"{name}, unit user: peak", size, "GB", resident("VmHWM"), mark=marks[1])


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawTextHelpFormatter)
    parser.add_argument("--ratings", type=int, default=RATINGS)
    parser.add_argument("--models", nargs="+", default=list(MODELS), choices=MODELS)
    parser.add_argument("--one", nargs=2, help=argparse.SUPPRESS)
    asked = parser.parse_args()
    if asked.one:
        fit(Path(asked.one[0]), asked.one[1])
        return
    with tempfile.TemporaryDirectory() as folder:
        make(Path(folder), asked.ratings)
        for name in asked.models:
            subprocess.run([sys.executable, __file__, "--one", folder, name], check=True)


if __name__ == "__main__":
    main()
