"""Fits at the size of the Netflix ratings, from a folder: seconds and peak memory of every stage.

    python -m lab bench netflix_scale                              all that follows, in a temporary folder
    python -m lab bench netflix_scale make FOLDER [100_500_000]    generate and store 480,189 × 17,770
    python -m lab bench netflix_scale fit FOLDER CovarianceSVD     or another of ``MODELS``
    python -m lab bench netflix_scale gram FOLDER                  the two matrices alone

A fit runs in a process of its own, whose memory is watched from outside. The seconds and the peak of a stage
are those between two calls of the progress protocol, whose stages and steps are public. ``silent`` is the
longest time between two calls in the stage.
"""

import resource
import subprocess
import sys
import tempfile
import time
from contextlib import suppress
from pathlib import Path

import numpy as np
import psutil
from rows import report

import hushrec as hr
from hushrec.data.domain import Domain
from hushrec.data.synthetic import netflix_like
from hushrec.estimation.head import Head
from hushrec.models.mcsherry_mironov.covariance_model import CovarianceSettings
from hushrec.privacy.ledger.ledger import Ledger
from hushrec.progress import telling
from hushrec.sums.population import Population

USERS, ITEMS, RATINGS = 480_189, 17_770, 100_500_000
KIND = "Netflix scale"
MODELS = {
    "CovarianceSVD": hr.CovarianceSVD(),
    "CovarianceSVD, all items": hr.CovarianceSVD(covariance=CovarianceSettings(pair_items=ITEMS)),
    "PosteriorMF": hr.PosteriorMF(epochs=32),
    "UserLevelSGD": hr.UserLevelSGD(),
    "PrivateEASE": hr.PrivateEASE(),
}
"""Those that ``make bench-scale`` fits; PrivateEASE to the same rows as clicks."""
MARKS = {
    "CovarianceSVD": ("≤ 30 s", "≤ 1 GB"),
    "CovarianceSVD, all items": ("≤ 75 s", "≤ 3.5 GB"),
    "PosteriorMF": ("≤ 160 s", "≤ 0.5 GB"),
}
BUDGET = hr.Budget(epsilon=4.0, delta=1e-8, unit="user", adjacency="add-remove")


class Clock:
    """Seconds and peak memory of every stage, as told by the progress of a fit."""

    def __init__(self) -> None:
        self.begun: dict[str, tuple[float, float]] = {}
        self.peaks: dict[str, int] = {}
        self.silences: dict[str, float] = {}
        self.whole: dict[str, tuple[float, int]] = {}
        """Seconds and peak of the stages that lie in no other."""
        self.last = time.perf_counter()

    def _heard(self) -> None:
        now, peak = time.perf_counter(), resident("VmHWM:")
        for name in self.begun:
            self.peaks[name] = max(self.peaks[name], peak)
            self.silences[name] = max(self.silences[name], now - max(self.last, self.begun[name][0]))
        self.last = now
        Path("/proc/self/clear_refs").write_text("5")  # forgets the peak so far

    def stage(self, name: str, total: int | None) -> None:
        self._heard()
        self.begun[name] = self.last, time.process_time()
        self.peaks[name] = self.silences[name] = 0

    def advance(self, name: str) -> None:
        self._heard()
        if name == "measuring":
            print(f"  step of {name} at {self.last - self.begun[name][0]:.1f} s", flush=True)

    def done(self, name: str) -> None:
        self._heard()
        start, busy = self.begun.pop(name)
        took = f"{self.last - start:.1f} s, {time.process_time() - busy:.1f} s of processors"
        most = f"peak {self.peaks[name] / 1e9:.2f} GB, silent {self.silences[name]:.1f} s"
        print(f"{'  ' * len(self.begun)}{name}: {took}; {most}", flush=True)
        if not self.begun:
            before = self.whole.get(name, (0.0, 0))
            self.whole[name] = before[0] + self.last - start, max(before[1], self.peaks[name])


def resident(field: str) -> int:
    """A line of /proc/self/status, in bytes."""
    lines = Path("/proc/self/status").read_text().splitlines()
    return next(int(line.split()[1]) << 10 for line in lines if line.startswith(field))


def make(folder: Path, n_ratings: int) -> None:
    start = time.perf_counter()
    folder.mkdir(exist_ok=True)
    ratings = netflix_like(max(USERS * n_ratings // RATINGS, 1), ITEMS, n_ratings, 1)
    made = time.perf_counter()
    clicks = hr.Domain(ratings.domain.items, max_users=ratings.domain.max_users)
    for kind, rows in (
        ("ratings", ratings),
        ("interactions", hr.People(clicks, ratings.users, ratings.indptr, ratings.items)),
    ):
        rows.domain.save(folder / f"{kind}.json")
        hr.load(rows.table(), rows.domain, where=folder / kind)
    print(f"generated in {made - start:.0f} s, stored in {time.perf_counter() - made:.0f} s")


def opened(folder: Path, kind: str = "ratings") -> hr.People:
    return hr.People.open(folder / kind, Domain.open(folder / f"{kind}.json"))


def size(blocks: hr.People) -> str:
    return f"{blocks.n_entries / 1e6:.1f}M ratings × {len(blocks.domain.items):,} items"


def fit(folder: Path, name: str) -> None:
    model = MODELS[name]
    blocks = opened(folder, model.feedback)
    plan = model.footprint(blocks.domain, BUDGET)
    print(f"{name}: {blocks.n_entries:,} ratings in {blocks.n_blocks} blocks; {plan}")
    start, busy, clock = time.perf_counter(), time.process_time(), Clock()
    ledger = Ledger.ephemeral(BUDGET.model_copy(update={"epsilon": 1e6}))
    release = hr.testing.fit(
        blocks, model, BUDGET, ledger=ledger, entropy=hr.testing.Seeded(1), progress=clock
    )
    note = f"{time.process_time() - busy:.1f} CPU s"
    mark = marks(name, blocks)[0]
    took = time.perf_counter() - start
    report(KIND, f"{name}, unit user", size(blocks), "s", took, mark=mark, note=note)
    for stage, (seconds, peak) in clock.whole.items():
        report(KIND, f"{name}: {stage}", size(blocks), "s", seconds, note=f"peak {peak / 1e9:.2f} GB")
    release.save(folder / f"{name}.safetensors")


def marks(name: str, blocks: hr.People) -> tuple[str, str]:
    """The most seconds and the most memory, at full size."""
    return MARKS.get(name, ("", "")) if blocks.n_entries >= RATINGS else ("", "")


def gram(folder: Path) -> None:
    """The covariance and the weights around effects of zero, without noise."""
    blocks = opened(folder)
    sums = hr.CovarianceSVD().covariance.sums(blocks.domain, BUDGET, "l2")
    effects, people = np.full(ITEMS, 3.6), Population(blocks.capped(blocks.domain.max_per_user))
    counts = sum(np.bincount(block.items, minlength=ITEMS) for block in blocks.blocks())
    head = Head.of(counts.astype(np.float64), sums.n_items)
    start, busy = time.perf_counter(), time.process_time()
    with telling(Clock()):
        both = {query.name: values() for query, values in sums.measure(people, effects, 0.0, head)}
    now, cpu = time.perf_counter(), time.process_time()
    print(f"{now - start:.1f} s, {cpu - busy:.1f} s of processors")
    print(*(f"{name}: sum {values.sum()}" for name, values in both.items()), sep="\n")
    print(f"peak {resident('VmHWM:') / 1e9:.2f} GB")


def watched(command: list[str]) -> None:
    """Run a command, and print the most memory that it and its children held, looked at every 20 ms."""
    start, peak = time.perf_counter(), 0
    with psutil.Popen([sys.executable, __file__, *command]) as child:
        while child.poll() is None:
            with suppress(psutil.Error):
                tree = [child, *child.children(recursive=True)]
                peak = max(peak, sum(one.memory_info().rss for one in tree))
            time.sleep(0.02)
    used = resource.getrusage(resource.RUSAGE_CHILDREN)
    print(
        f"{' '.join(command[1:2] + command[3:])}: {time.perf_counter() - start:.1f} s in all, "
        f"{used.ru_utime + used.ru_stime:.1f} s of processors, peak {peak / 1e9:.2f} GB"
    )
    if child.returncode:
        sys.exit(child.returncode)
    if command[1] == "fit":
        blocks = opened(Path(command[2]))
        mark = marks(command[3], blocks)[1]
        report(KIND, f"{command[3]}, unit user: peak", size(blocks), "GB", peak / 1e9, mark=mark)


if __name__ == "__main__":
    given = sys.argv[1:]
    if not given:
        with tempfile.TemporaryDirectory() as made:
            subprocess.run([sys.executable, __file__, "make", f"{made}/set"], check=True)
            for fitted in MODELS:
                watched(["--one", "fit", f"{made}/set", fitted])
    elif len(given) < 2:
        sys.exit(__doc__)
    elif given[0] == "make":
        make(Path(given[1]), int(given[2]) if len(given) > 2 else RATINGS)
    elif given[0] == "--one":
        fit(Path(given[2]), given[3]) if given[1] == "fit" else gram(Path(given[2]))
    else:
        watched(["--one", *given])
