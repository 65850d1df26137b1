"""Whether a fit has room on this machine, asked before its charge."""

from pathlib import Path

import psutil

from hushrec.data.packed.blocks import RATINGS_PER_BLOCK, Blocks
from hushrec.data.ratings import Ratings
from hushrec.errors import MemoryExceeded
from hushrec.statistics.footprint import Footprint, in_bytes

_ROOT = Path("/sys/fs/cgroup")
_FILES = {"": ("memory.max", "memory.current"), "memory": ("memory.limit_in_bytes", "memory.usage_in_bytes")}
"""Limit and use of a control group, of version 2 and of version 1, whose name stands in /proc/self/cgroup."""


def require_memory(model: str, footprint: Footprint, ratings: Ratings | Blocks) -> None:
    """Refuse a fit that this machine has no room for, while that costs nothing.

    Args:
        model: whose fit it is.
        footprint: what it takes.
        ratings: private; those in blocks are held one block at a time.

    Raises:
        MemoryExceeded: There is less. The message tells what the plan tells, and the size of the machine.

    Privacy: public, but that there is a refusal: like an error for want of memory, which it comes before.
    """
    n_ratings = RATINGS_PER_BLOCK if isinstance(ratings, Blocks) else ratings.n_ratings
    whole, free = machine()
    if footprint.held(n_ratings, ratings.n_users) <= free:
        return
    raise MemoryExceeded(
        f"{model} needs {footprint.room}; this machine has {in_bytes(whole)}, of which too little is free. "
        "Nothing was charged. Choose another model (hushrec plan tells what each needs), a smaller catalogue "
        "or rank, or a machine with more memory"
    )


def machine(root: Path = _ROOT, own: Path = Path("/proc/self/cgroup")) -> tuple[int, int]:
    """Bytes of memory that this process may have at most, and that it may still have.

    Those of the machine, or of the control group that the process is in, whichever are less.

    Args:
        root: where control groups are mounted.
        own: which ones the process is in.

    Privacy: public; how much is free depends on the ratings that are held, so it is not told.
    """
    memory = psutil.virtual_memory()
    whole, free = memory.total, memory.available
    for group in _groups(root, own):
        for names in _FILES.values():
            try:
                limit, used = (int((group / name).read_text()) for name in names)
                cached = _cached(group)
            except (OSError, ValueError):  # not there, or "max"
                continue
            whole, free = min(whole, limit), min(free, limit - used + cached)
    return whole, max(free, 0)


def _groups(root: Path, own: Path) -> list[Path]:
    """The folders of this process' groups and of all above them, which limit it, too."""
    try:
        lines = own.read_text().splitlines()
    except OSError:  # not Linux
        return []
    found = []
    for line in lines:
        _, kind, name = line.split(":", 2)
        if kind in _FILES:
            place = root / kind / name.lstrip("/")
            found += [folder for folder in (place, *place.parents) if folder.is_relative_to(root / kind)]
    return found


def _cached(group: Path) -> int:
    """Of what a group uses, files that the kernel gives up when memory is asked for."""
    lines = (group / "memory.stat").read_text().splitlines()
    stated = dict(line.split() for line in lines)
    return int(stated.get("total_inactive_file", stated.get("inactive_file", "0")))
