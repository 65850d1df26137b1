"""Rows of the tables of speed: a work at a size, what hushrec takes, a peer in the same run, a mark to reach.

Every benchmark calls ``report`` once a row. The row is printed as it comes; under ``bench.py`` it is also a
line of JSON in the file that ``BENCH_ROWS`` names, from which lab/speed/speed.md is made. ``timed``,
``resident`` and ``forget_peak`` are what scripts share that measure time and memory.
"""

import json
import os
import re
from collections.abc import Callable
from dataclasses import asdict, dataclass, fields
from pathlib import Path
from time import perf_counter, process_time

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
