"""Runs benchmarks one after the other, and prints their rows and marks.

    python -m lab bench bench [SUITE ...] [--only SCRIPT ...] [--keep]

A row is a work at a size, what hushrec takes, a peer in the same run, and a mark to reach. Scripts call
``report`` once a row; it is printed as it comes, and handed on in the file that ``BENCH_ROWS`` names.
``timed``, ``resident`` and ``forget_peak`` are what scripts share that measure time and memory.

The suites are in ``SUITES``. ``--keep`` puts the rows into lab/speed/speed.csv, in the place of those of the
same work, size and peer, and writes the tables of lab/speed/speed.md from it. At the end, scripts that failed
are named.
"""

import argparse
import csv
import json
import os
import platform
import re
import subprocess
import sys
import tempfile
from collections import defaultdict
from collections.abc import Callable
from dataclasses import asdict, dataclass, fields
from importlib.metadata import PackageNotFoundError, version
from pathlib import Path
from time import perf_counter, process_time

from lab.experiments.tables import placed

FILE = "BENCH_ROWS"
"""The environment variable that names the file."""


@dataclass(frozen=True)
class Row:
    """One measurement.

    Args:
        kind: the table of the page to which it belongs, such as ``covariance``.
        work: what is done, the same at every size.
        size: how much of it, in words.
        unit: of ``ours`` and ``theirs``. What ends in ``/s`` is better when larger, all else when smaller.
        ours: what hushrec takes; a median, if it was measured repeatedly.
        amount: the size as a number. Of a rate, what is counted per second.
        peer: who does the same in the same process, one after the other.
        theirs: what the peer takes.
        mark: what is to be reached: ``≥ 10 ×`` is of the ratio, ``≤ 5 ms`` of ``ours``.
        note: anything else that the row shows, in a few words.
    """

    kind: str
    work: str
    size: str
    unit: str
    ours: float
    amount: float | None = None
    peer: str = ""
    theirs: float | None = None
    mark: str = ""
    note: str = ""

    def __post_init__(self):
        if self.mark and not _MARK.fullmatch(self.mark):
            raise ValueError(f"a mark is a sign, a number and × or {self.unit!r}, not {self.mark!r}")
        if self.mark and self.mark.split(maxsplit=2)[2] not in ("×", self.unit):
            raise ValueError(f"the mark {self.mark!r} is neither of the ratio nor in {self.unit!r}")

    @property
    def is_rate(self) -> bool:
        return self.unit.endswith("/s")

    @property
    def ratio(self) -> float | None:
        """How many times better than the peer: more a second, or fewer seconds."""
        if not self.theirs:
            return None
        return self.ours / self.theirs if self.is_rate else self.theirs / self.ours

    @property
    def met(self) -> bool | None:
        """Whether the mark is reached; None without a mark, or where the peer is not there."""
        if not self.mark:
            return None
        sign, limit, of = self.mark.split(maxsplit=2)
        found = self.ratio if of == "×" else self.ours
        if found is None:
            return None
        return found >= _number(limit) if sign == "≥" else found <= _number(limit)

    @property
    def key(self) -> tuple[str, str, str, str, str]:
        """A later row of the same key takes the place of an earlier one."""
        return self.kind, self.work, self.size, self.unit, self.peer

    def __str__(self) -> str:
        beside = self.peer and f"{self.peer}: {shown(self.theirs) or '–'}, {shown(self.ratio) or '–'} ×"
        said = {None: "", True: "met", False: "NOT MET"}[self.met]
        ours = f"{shown(self.ours)} {self.unit}"
        cells = self.kind, self.work, self.size, ours, beside, f"{self.mark} {said}".strip(), self.note
        return "  ".join(filter(None, cells))


COLUMNS = tuple(field.name for field in fields(Row))
_MARK = re.compile(r"[≥≤] [\d.,]+ \S+( \S+)*")


def _number(text: str) -> float:
    return float(text.replace(",", ""))


def shown(number: float | None) -> str:
    """Three digits, or all of a whole number's."""
    if number is None:
        return ""
    return f"{number:,.0f}" if abs(number) >= 100 else f"{number:.3g}"


def report(kind: str, work: str, size: str, unit: str, ours: float, **more) -> Row:
    """Print a row, and hand it to ``bench.py`` if that runs the script."""
    row = Row(kind, work, size, unit, float(ours), **more)
    print(row, flush=True)
    if path := os.environ.get(FILE):
        with Path(path).open("a", encoding="utf-8") as file:
            file.write(json.dumps(asdict(row), ensure_ascii=False) + "\n")
    return row


def timed(work: Callable[[], object]) -> tuple[float, float]:
    """Seconds by the clock, and of the CPU."""
    start, worked = perf_counter(), process_time()
    work()
    return perf_counter() - start, process_time() - worked


def resident(field: str) -> float:
    """GB that the process holds (VmRSS) or has held at most (VmHWM); 0 where Linux does not tell."""
    status = Path("/proc/self/status")
    lines = status.read_text().splitlines() if status.exists() else []
    return sum(int(line.split()[1]) for line in lines if line.startswith(field)) * 1024 / 1e9


def forget_peak() -> None:
    """Have Linux measure the largest resident size from here."""
    if (clear := Path("/proc/self/clear_refs")).exists():
        clear.write_text("5")


def read(path: Path) -> list[Row]:
    """The rows of a file that ``report`` wrote."""
    if not path.exists():
        return []
    return [Row(**json.loads(line)) for line in path.read_text("utf-8").splitlines()]


ROOT = Path(__file__).resolve().parents[2]
KEPT, PAGE = (ROOT / f"lab/speed/speed.{ending}" for ending in ("csv", "md"))
SUITES = {
    "bench": ("noise.py", "sgd.py peers", "als.py"),
    "scale": ("sgd.py large", "netflix_scale.py"),
    "spark": ("spark.py",),
}
LIBRARIES = "numpy", "numba", "scipy", "opendp", "implicit", "lenskit", "libmf", "cornac", "pyspark"
FACTS = "machine", "versions", "load"
"""Columns of the kept rows beyond those of a row."""


def facts() -> dict[str, str]:
    """The machine, the versions of Python and of libraries, and how busy the machine is."""
    cpu = Path("/proc/cpuinfo")
    named = (
        [line for line in cpu.read_text().splitlines() if line.startswith("model name")]
        if cpu.exists()
        else []
    )
    model = named[0].split(":")[1].strip() if named else platform.processor() or platform.machine()
    memory = os.sysconf("SC_PAGE_SIZE") * os.sysconf("SC_PHYS_PAGES") / 2**30
    found = [f"Python {platform.python_version()}"]
    for library in LIBRARIES:
        try:
            found.append(f"{library} {version(library)}")
        except PackageNotFoundError:
            continue
    return {
        "machine": f"{os.cpu_count()} cores, {model}, {memory:.0f} GiB",
        "versions": ", ".join(found),
        "load": f"{os.getloadavg()[0]:.1f}",
    }


def kept() -> list[dict[str, str]]:
    """The rows of the file beside the page, with their facts."""
    if not KEPT.exists():
        return []
    with KEPT.open(encoding="utf-8", newline="") as file:
        return list(csv.DictReader(file))


def row_of(cells: dict[str, str]) -> Row:
    """A row of the file, as it was reported."""
    numbers = {name: float(cells[name]) if cells[name] else None for name in ("ours", "amount", "theirs")}
    return Row(**{name: numbers.get(name, cells[name]) for name in COLUMNS})


def keep(rows: list[tuple[Row, dict[str, str]]]) -> None:
    """Put rows and their facts into the file, in the place of those with the same key."""
    new = {row.key: {**asdict(row), **about} for row, about in rows}
    lines = [new.pop(row_of(cells).key, cells) for cells in kept()] + list(new.values())
    with KEPT.open("w", encoding="utf-8", newline="") as file:
        writer = csv.DictWriter(file, (*COLUMNS, *FACTS), lineterminator="\n")
        writer.writeheader()
        writer.writerows(lines)


def table(rows: list[Row]) -> str:
    """Rows of a kind, as Markdown."""
    text = "| work | size | hushrec | peer | | ratio | to reach | |\n|---|---|---:|---|---:|---:|---:|---|\n"
    for row in rows:
        theirs = f"{shown(row.theirs)} {row.unit}" if row.theirs else ""
        ratio = f"{shown(row.ratio)} ×" if row.ratio else ""
        work = f"{row.work} ({row.note})" if row.note else row.work
        said = {None: "", True: "yes", False: "**no**"}[row.met]
        cells = work, row.size, f"{shown(row.ours)} {row.unit}", row.peer, theirs, ratio, row.mark, said
        text += f"| {' | '.join(cells)} |\n"
    return text


def machines(lines: list[dict[str, str]]) -> str:
    """On what the rows were measured, and what else the machine did."""
    loads = defaultdict(list)
    for cells in lines:
        loads[cells["machine"], cells["versions"]] += [float(cells["load"])] if cells["load"] else []
    found = []
    for (machine, versions), load in loads.items():
        busy = " to ".join(f"{number:.1f}" for number in sorted({min(load), max(load)})) if load else ""
        found.append(f"- {machine}; {versions}; load of the machine: {busy or 'not kept'}.\n")
    return "".join(found)


def written(text: str, lines: list[dict[str, str]]) -> str:
    """The page with its tables as the rows make them."""
    rows = [row_of(cells) for cells in lines]
    made = {kind: table([row for row in rows if row.kind == kind]) for kind in {row.kind for row in rows}}
    made["machines"] = machines(lines)
    for name, part in made.items():
        text = placed(text, f"<!-- table: {name} -->", part)
    return text


def ran(commands: list[str]) -> tuple[list[tuple[Row, dict[str, str]]], list[str]]:
    """Rows of scripts with what held when they ran, and the commands that failed."""
    found, failed = [], []
    with tempfile.TemporaryDirectory() as folder:
        for number, command in enumerate(commands):
            script, *arguments = command.split()
            path, into, about = ROOT / "lab/speed" / script, Path(folder) / str(number), facts()
            print(f"== lab/speed/{command}", flush=True)
            start = perf_counter()
            done = subprocess.run([sys.executable, path, *arguments], env=os.environ | {FILE: str(into)})
            print(f"   {perf_counter() - start:.0f} s\n", flush=True)
            if done.returncode:
                failed.append(command)
            found += [(row, about) for row in read(into)]
    return found, failed


def main():
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawTextHelpFormatter)
    parser.add_argument("suite", nargs="*", default=["bench"], choices=[*SUITES, []], metavar="SUITE")
    parser.add_argument("--only", nargs="+", metavar="SCRIPT", help="those scripts of the suites")
    parser.add_argument("--keep", action="store_true")
    asked = parser.parse_args()
    commands = [command for suite in asked.suite for command in SUITES[suite]]
    if asked.only:
        commands = [command for command in commands if command.split()[0] in asked.only]
    found, failed = ran(commands)
    rows = [row for row, _ in found]
    print(*rows, "", sep="\n")
    about = facts()
    print(f"\n{about['machine']}\n{about['versions']}")
    judged = [row for row in rows if row.met is not None]
    print(f"{sum(row.met for row in judged)} of {len(judged)} marks met")
    if asked.keep:
        keep(found)
        PAGE.write_text(written(PAGE.read_text("utf-8"), kept()), "utf-8")
    if failed:
        sys.exit(f"failed: {', '.join(failed)}")


if __name__ == "__main__":
    main()
