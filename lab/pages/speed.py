"""Writes the tables of lab/speed/speed.md from the rows beside it, in lab/speed/speed.csv.

``python -m lab bench bench --keep`` measures the rows and calls this.
"""

import re
import sys
from collections import defaultdict
from dataclasses import replace
from pathlib import Path

ROOT = Path(__file__).resolve().parents[2]
PAGE = ROOT / "lab/speed/speed.md"
sys.path.insert(0, str(ROOT / "lab/speed"))

from bench import exponents, kept, row_of  # noqa: E402  (which lies in a folder that is no package)
from rows import shown  # noqa: E402

_TABLE = re.compile(r"(<!-- table: ([^>]+) -->\n).*?(<!-- end of table -->)", re.DOTALL)
HEAD = "| work | size | hushrec | peer | | ratio | to reach | |"


def line(row):
    """A row of a table."""
    said = {None: "", True: "yes", False: "**no**"}[row.met]
    theirs = f"{shown(row.theirs)} {row.unit}" if row.theirs else ""
    ratio = f"{shown(row.ratio)} ×" if row.ratio else ""
    work = f"{row.work} ({row.note})" if row.note else row.work
    cells = work, row.size, f"{shown(row.ours)} {row.unit}", row.peer, theirs, ratio, row.mark, said
    return "| " + " | ".join(cells) + " |\n"


def table(rows):
    return f"{HEAD}\n|---|---|---:|---|---:|---:|---:|---|\n" + "".join(map(line, rows))


def growth(rows):
    """The exponents of works at three sizes."""
    head = "| kind | work | seconds grow as | the peer's |\n|---|---|---:|---:|\n"
    return head + "".join(
        f"| {kind} | {work} | amount^{ours:.2f} | {f'amount^{theirs:.2f}' if theirs else ''} |\n"
        for kind, work, ours, theirs in exponents(rows)
    )


def machines(lines):
    """On what the rows were measured, and what else the machine did."""
    loads = defaultdict(list)
    for cells in lines:
        loads[cells["machine"], cells["versions"]] += [float(cells["load"])] if cells["load"] else []
    found = []
    for (machine, versions), load in loads.items():
        busy = " to ".join(f"{number:.1f}" for number in sorted({min(load), max(load)})) if load else ""
        found.append(f"- {machine}; {versions}; load of the machine: {busy or 'not kept'}.\n")
    return "".join(found)


def written(text, lines):
    """The page's text with its tables as the rows make them."""
    rows = [row_of(cells) for cells in lines]
    made = {kind: table([row for row in rows if row.kind == kind]) for kind in {row.kind for row in rows}}
    made |= {
        "marks": table([replace(row, work=f"{row.kind}: {row.work}", note="") for row in rows if row.mark]),
        "growth": growth(rows),
        "machines": machines(lines),
    }
    placed = [name for _, name, _ in _TABLE.findall(text)]
    if missing := sorted(set(made) - set(placed)):
        raise SystemExit(f"{PAGE.name} has no place for the tables {', '.join(missing)}")
    return _TABLE.sub(lambda found: found[1] + made.get(found[2], "Not measured yet.\n") + found[3], text)


if __name__ == "__main__":
    PAGE.write_text(written(PAGE.read_text("utf-8"), kept()), "utf-8")
