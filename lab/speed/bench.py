"""Runs benchmarks one after the other, and prints their rows and marks.

    python -m lab bench bench [SUITE ...] [--only SCRIPT ...] [--keep]

The suites are in ``SUITES``. ``--keep`` puts the rows into lab/speed/speed.csv, in the place of those of
the same work, size and peer, and writes the tables of lab/speed/speed.md from it. At the end, scripts that
failed are named.
"""

import argparse
import csv
import os
import platform
import subprocess
import sys
import tempfile
from collections import defaultdict
from dataclasses import asdict
from importlib.metadata import PackageNotFoundError, version
from pathlib import Path
from time import perf_counter

from rows import COLUMNS, FILE, Row, read, shown

from lab.experiments.tables import placed

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
